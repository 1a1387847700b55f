// Pooling of planes [planes, height, width] and its gradients.
//
// Grid: one invocation for each element of what is written. A gradient gathers from the windows that hold its element,
// so that no two invocations add to one place and none of it needs atomics.
// Cost: forward reads each window once; backward reads each window that holds an element, one or a few.

@group(0) @binding(0) var<storage, read_write> pool_in: array<f32>;
@group(0) @binding(1) var<storage, read_write> pool_out: array<f32>;
@group(0) @binding(2) var<storage, read_write> pool_found: array<u32>;
@group(0) @binding(1) var<storage, read_write> pool_saved: array<u32>;
@group(0) @binding(2) var<storage, read_write> pool_slope: array<f32>;

struct Pool2dParams {
    planes: u32,
    height: u32,
    width: u32,
    out_h: u32,
    out_w: u32,
    kernel_h: u32,
    kernel_w: u32,
    stride_h: u32,
    stride_w: u32,
    pad_h: u32,
    pad_w: u32,
    pad: u32,
}
@group(1) @binding(1) var<uniform> p: Pool2dParams;

// First and one past the last row or column of the input in the window of result i.
fn window(i: u32, stride: u32, kernel: u32, margin: u32, size: u32) -> vec2<u32> {
    let start = i * stride;
    return vec2<u32>(max(start, margin) - margin, min(max(start + kernel, margin) - margin, size));
}

// First and one past the last result whose window may hold row or column i of the input.
fn holders(i: u32, stride: u32, kernel: u32, margin: u32, results: u32) -> vec2<u32> {
    let u = i + margin;
    var first = 0u;
    if (u >= kernel) { first = (u - kernel) / stride + 1u; }
    return vec2<u32>(first, min(u / stride + 1u, results));
}

fn adaptive_window(i: u32, size: u32, results: u32) -> vec2<u32> {
    return vec2<u32>(i * size / results, ((i + 1u) * size + results - 1u) / results);
}

fn adaptive_holders(i: u32, size: u32, results: u32) -> vec2<u32> {
    return vec2<u32>(i * results / size, ((i + 1u) * results - 1u) / size + 1u);
}

// The first of several largest; NaN if there is one, the last of several.
@compute @workgroup_size(WG)
fn max_pool2d(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let plane = i / (p.out_w * p.out_h) * p.height * p.width;
    let rows = window((i / p.out_w) % p.out_h, p.stride_h, p.kernel_h, p.pad_h, p.height);
    let columns = window(i % p.out_w, p.stride_w, p.kernel_w, p.pad_w, p.width);
    // Where nothing is larger than minus infinity, the window's first place is the answer.
    var best = -inf();
    var found = rows.x * p.width + columns.x;
    for (var y = rows.x; y < rows.y; y++) {
        for (var x = columns.x; x < columns.y; x++) {
            let v = pool_in[off(0u) + plane + y * p.width + x];
            if (is_nan(v) || (!is_nan(best) && v > best)) {
                best = v;
                found = y * p.width + x;
            }
        }
    }
    pool_out[off(1u) + i] = best;
    pool_found[off(2u) + i] = found;
}

// The gradient in two forms. *apart*, where no two windows overlap and there is no margin: one invocation a window writes
// all elements up to the next window. *overlapping*: one an element, which looks into every window that holds it.
@compute @workgroup_size(WG)
fn max_pool2d_grad_apart(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let ox = i % p.out_w;
    let oy = (i / p.out_w) % p.out_h;
    let plane = off(2u) + i / (p.out_w * p.out_h) * p.height * p.width;
    // The last windows take what is left at the edges.
    let y1 = select((oy + 1u) * p.stride_h, p.height, oy + 1u == p.out_h);
    let x1 = select((ox + 1u) * p.stride_w, p.width, ox + 1u == p.out_w);
    let found = pool_saved[off(1u) + i];
    let g = pool_in[off(0u) + i];
    for (var y = oy * p.stride_h; y < y1; y++) {
        for (var x = ox * p.stride_w; x < x1; x++) {
            let at = y * p.width + x;
            pool_slope[plane + at] = select(0.0, g, at == found);
        }
    }
}

@compute @workgroup_size(WG)
fn max_pool2d_grad_overlapping(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let size = p.height * p.width;
    let plane = i / size * p.out_h * p.out_w;
    let rows = holders((i / p.width) % p.height, p.stride_h, p.kernel_h, p.pad_h, p.out_h);
    let columns = holders(i % p.width, p.stride_w, p.kernel_w, p.pad_w, p.out_w);
    var sum = 0.0;
    for (var oy = rows.x; oy < rows.y; oy++) {
        for (var ox = columns.x; ox < columns.y; ox++) {
            let at = plane + oy * p.out_w + ox;
            if (pool_saved[off(1u) + at] == i % size) { sum += pool_in[off(0u) + at]; }
        }
    }
    pool_slope[off(2u) + i] = sum;
}

fn window_sum(plane: u32, rows: vec2<u32>, columns: vec2<u32>) -> f32 {
    var sum = 0.0;
    for (var y = rows.x; y < rows.y; y++) {
        for (var x = columns.x; x < columns.y; x++) {
            sum += pool_in[off(0u) + plane + y * p.width + x];
        }
    }
    return sum;
}

// Padding counts as zeros.
@compute @workgroup_size(WG)
fn avg_pool2d(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let plane = i / (p.out_w * p.out_h) * p.height * p.width;
    let rows = window((i / p.out_w) % p.out_h, p.stride_h, p.kernel_h, p.pad_h, p.height);
    let columns = window(i % p.out_w, p.stride_w, p.kernel_w, p.pad_w, p.width);
    pool_out[off(1u) + i] = window_sum(plane, rows, columns) / f32(p.kernel_h * p.kernel_w);
}

@compute @workgroup_size(WG)
fn avg_pool2d_grad(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let plane = i / (p.height * p.width) * p.out_h * p.out_w;
    let rows = holders((i / p.width) % p.height, p.stride_h, p.kernel_h, p.pad_h, p.out_h);
    let columns = holders(i % p.width, p.stride_w, p.kernel_w, p.pad_w, p.out_w);
    var sum = 0.0;
    for (var oy = rows.x; oy < rows.y; oy++) {
        for (var ox = columns.x; ox < columns.y; ox++) {
            sum += pool_in[off(0u) + plane + oy * p.out_w + ox];
        }
    }
    pool_out[off(1u) + i] = sum / f32(p.kernel_h * p.kernel_w);
}

@compute @workgroup_size(WG)
fn adaptive_avg_pool2d(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let plane = i / (p.out_w * p.out_h) * p.height * p.width;
    let rows = adaptive_window((i / p.out_w) % p.out_h, p.height, p.out_h);
    let columns = adaptive_window(i % p.out_w, p.width, p.out_w);
    let places = (rows.y - rows.x) * (columns.y - columns.x);
    pool_out[off(1u) + i] = window_sum(plane, rows, columns) / f32(places);
}

@compute @workgroup_size(WG)
fn adaptive_avg_pool2d_grad(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let plane = i / (p.height * p.width) * p.out_h * p.out_w;
    let rows = adaptive_holders((i / p.width) % p.height, p.height, p.out_h);
    let columns = adaptive_holders(i % p.width, p.width, p.out_w);
    var sum = 0.0;
    for (var oy = rows.x; oy < rows.y; oy++) {
        let down = adaptive_window(oy, p.height, p.out_h);
        for (var ox = columns.x; ox < columns.y; ox++) {
            let along = adaptive_window(ox, p.width, p.out_w);
            let places = (down.y - down.x) * (along.y - along.x);
            sum += pool_in[off(0u) + plane + oy * p.out_w + ox] / f32(places);
        }
    }
    pool_out[off(1u) + i] = sum;
}

// Operations along lines: the tensor is seen as [outer, n, inner], a line is the n elements of one outer and one inner
// index.
//
// Grid: one invocation a line, which walks it two or three times; neighbouring invocations read neighbouring elements
// when inner > 1. Lines of classes or of a hidden layer are short, so a workgroup a line would mostly wait at barriers.
// Cost: every element is read two or three times (from the caches, for short lines) and written once.

@group(0) @binding(0) var<storage, read_write> line_in: array<f32>;
@group(0) @binding(1) var<storage, read_write> soft: array<f32>;
@group(0) @binding(1) var<storage, read_write> soft_saved: array<f32>;
@group(0) @binding(2) var<storage, read_write> slope: array<f32>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;
@group(0) @binding(0) var<storage, read_write> counts_in: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> counts: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> best_at: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> top_values: array<f32>;
@group(0) @binding(2) var<storage, read_write> top_indices: array<vec2<u32>>;

struct LineParams {
    outer: u32,
    n: u32,
    inner: u32,
    flag: u32,
    k: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}
@group(1) @binding(1) var<uniform> p: LineParams;

// First element of a line of `length` elements.
fn line_start(line: u32, length: u32) -> u32 {
    return (line / p.inner) * length * p.inner + line % p.inner;
}

@compute @workgroup_size(WG)
fn softmax(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let line = linear_index(wid, lid);
    if (line >= launch.count) { return; }
    let first = line_start(line, p.n);
    var top = line_in[off(0u) + first];
    for (var j = 1u; j < p.n; j++) {
        top = max_nan(top, line_in[off(0u) + first + j * p.inner]);
    }
    // The largest exponent is 0, so that the sum neither overflows nor vanishes.
    var sum = 0.0;
    for (var j = 0u; j < p.n; j++) {
        sum += exp_(line_in[off(0u) + first + j * p.inner] - top);
    }
    let log_total = log_(sum);
    for (var j = 0u; j < p.n; j++) {
        let at = first + j * p.inner;
        let v = line_in[off(0u) + at] - top;
        if (p.flag != 0u) {
            soft[off(1u) + at] = v - log_total;
        } else {
            soft[off(1u) + at] = exp_(v) / sum;
        }
    }
}

// softmax: dx = y (g - sum(g y)); log_softmax: dx = g - e^y sum(g). Operand 0 is the gradient of the result.
@compute @workgroup_size(WG)
fn softmax_backward(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let line = linear_index(wid, lid);
    if (line >= launch.count) { return; }
    let first = line_start(line, p.n);
    var sum = 0.0;
    for (var j = 0u; j < p.n; j++) {
        let at = first + j * p.inner;
        let g = line_in[off(0u) + at];
        if (p.flag != 0u) {
            sum += g;
        } else {
            sum += g * soft_saved[off(1u) + at];
        }
    }
    for (var j = 0u; j < p.n; j++) {
        let at = first + j * p.inner;
        let g = line_in[off(0u) + at];
        let y = soft_saved[off(1u) + at];
        if (p.flag != 0u) {
            slope[off(2u) + at] = g - exp_(y) * sum;
        } else {
            slope[off(2u) + at] = y * (g - sum);
        }
    }
}

@compute @workgroup_size(WG)
fn cumsum(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let line = linear_index(wid, lid);
    if (line >= launch.count) { return; }
    let first = line_start(line, p.n);
    var sum = 0.0;
    for (var step = 0u; step < p.n; step++) {
        let j = select(step, p.n - 1u - step, p.flag != 0u);
        let at = first + j * p.inner;
        sum += line_in[off(0u) + at];
        sums[off(1u) + at] = sum;
    }
}

@compute @workgroup_size(WG)
fn cumsum_i64(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let line = linear_index(wid, lid);
    if (line >= launch.count) { return; }
    let first = line_start(line, p.n);
    var sum = vec2<u32>();
    for (var step = 0u; step < p.n; step++) {
        let j = select(step, p.n - 1u - step, p.flag != 0u);
        let at = first + j * p.inner;
        sum = i64_add(sum, counts_in[off(0u) + at]);
        counts[off(1u) + at] = sum;
    }
}

// Whether a comes before b by value, falling (rising if flag is set); NaN before all numbers if nan_first, else after.
fn before(a: f32, b: f32, nan_first: bool) -> bool {
    if (is_nan(a) || is_nan(b)) {
        return is_nan(a) == nan_first && is_nan(a) != is_nan(b);
    }
    return select(a > b, a < b, p.flag != 0u);
}

@compute @workgroup_size(WG)
fn arg_extreme(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let line = linear_index(wid, lid);
    if (line >= launch.count) { return; }
    let first = line_start(line, p.n);
    var best = 0u;
    var top = line_in[off(0u) + first];
    for (var j = 1u; j < p.n; j++) {
        let v = line_in[off(0u) + first + j * p.inner];
        if (before(v, top, true)) {
            top = v;
            best = j;
        }
    }
    best_at[off(1u) + line] = vec2<u32>(best, 0u);
}

// The k first in order, by k passes: each looks for the first element after the one that the pass before found. Equal
// values keep their order.
@compute @workgroup_size(WG)
fn topk(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let line = linear_index(wid, lid);
    if (line >= launch.count) { return; }
    let first = line_start(line, p.n);
    let to = line_start(line, p.k);
    let nan_first = p.flag == 0u;
    var last = 0u;
    for (var rank = 0u; rank < p.k; rank++) {
        let last_value = line_in[off(0u) + first + last * p.inner];
        var found = p.n;
        var top = 0.0;
        for (var j = 0u; j < p.n; j++) {
            let v = line_in[off(0u) + first + j * p.inner];
            let after = rank == 0u || before(last_value, v, nan_first)
                || (!before(v, last_value, nan_first) && j > last);
            if (after && (found == p.n || before(v, top, nan_first))) {
                found = j;
                top = v;
            }
        }
        top_values[off(1u) + to + rank * p.inner] = top;
        top_indices[off(2u) + to + rank * p.inner] = vec2<u32>(found, 0u);
        last = found;
    }
}

// Convolution of images [batch, channels, height, width] with filters, and its two gradients, without a matrix of patches.
//
// conv2d, conv2d_grad_input: one invocation makes 4 neighbouring columns of 4 channels in registers. The gradient of the
//   input is the same sum over the result's gradient, with the filters turned round and, for a stride above 1, zeros
//   between its elements. No workgroup memory and no barrier, which cost a software adapter more than they save.
// conv2d_grad_weight: one invocation makes 5 neighbouring taps of 4 filters for one part of the batch, row by row, so that
//   no sum is long; the parts are added up afterwards.
//
// Each in two forms. *sliding* is for strides of 1 and neighbouring taps: along a row the columns (or taps) slide, so that
// each step reads one new element, and four weights (or gradients), for 16 (or 20) multiplications. *stepping* is for all
// others and reads every element anew. They are kernels of their own, since a branch in the innermost loop, or only the
// registers that the other way would need, doubles the time on a software adapter.
// Cost: 2 operations for each result and tap.

@group(0) @binding(0) var<storage, read_write> conv_in: array<f32>;
@group(0) @binding(1) var<storage, read_write> conv_filters: array<f32>;
@group(0) @binding(2) var<storage, read_write> conv_bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> conv_out: array<f32>;
@group(0) @binding(2) var<storage, read_write> conv_in_slope: array<f32>;
@group(0) @binding(1) var<storage, read_write> conv_images: array<f32>;
@group(0) @binding(2) var<storage, read_write> conv_filter_slope: array<f32>;

struct Conv2dParams {
    batch: u32,
    channels: u32,
    height: u32,
    width: u32,
    filters: u32,
    kernel_h: u32,
    kernel_w: u32,
    groups: u32,
    out_h: u32,
    out_w: u32,
    stride_h: u32,
    stride_w: u32,
    pad_h: u32,
    pad_w: u32,
    dilation_h: u32,
    dilation_w: u32,
    bias: u32,
    parts: u32,
    relu: u32,
    pad: u32,
}
@group(1) @binding(1) var<uniform> p: Conv2dParams;

// What a tile sums, and where it goes. Places and steps are modulo 2^32, so that they may be negative: what lies left of
// or above the source is then far beyond its end. Place u of a row holds element u / grain where grain divides u, else zero.
struct Tile {
    start: u32,        // first element of the first channel that is read
    channels: u32,     // how many are read
    height: u32,
    width: u32,
    weight: u32,       // weight of the first tap for the first channel read and made
    weight_read: u32,  // from one channel read to the next
    weight_made: u32,  // from one channel made to the next
    weight_row: u32,
    weight_column: u32,
    made: u32,         // channels that the tile makes, 1 to 4
    y: u32,            // place of the first tap
    x: u32,
    step: u32,         // from one column of the tile to the next
    grain_h: u32,
    grain_w: u32,
    image: u32,        // where the results go: image, first channel, row and column
    channel: u32,
    row: u32,
    column: u32,
}

// Of each channel that is made, four columns.
struct Sums {
    r0: vec4<f32>,
    r1: vec4<f32>,
    r2: vec4<f32>,
    r3: vec4<f32>,
}

fn conv2d_tile(i: u32) -> Tile {
    let read = p.channels / p.groups;
    let made = p.filters / p.groups;
    let across = (p.out_w + 3u) / 4u;
    let deep = (made + 3u) / 4u;
    let ox = (i % across) * 4u;
    let oy = (i / across) % p.out_h;
    let block = (i / (across * p.out_h)) % deep;
    let group = (i / (across * p.out_h * deep)) % p.groups;
    let image = i / (across * p.out_h * deep * p.groups);
    let taps = p.kernel_h * p.kernel_w;
    let filter0 = group * made + block * 4u;
    return Tile(
        (image * p.channels + group * read) * p.height * p.width, read, p.height, p.width,
        filter0 * read * taps, taps, read * taps, p.kernel_w, 1u, min(4u, made - block * 4u),
        oy * p.stride_h - p.pad_h, ox * p.stride_w - p.pad_w, p.stride_w, 1u, 1u,
        image, filter0, oy, ox);
}

fn grad_input_tile(i: u32) -> Tile {
    let read = p.filters / p.groups;
    let made = p.channels / p.groups;
    let across = (p.width + 3u) / 4u;
    let deep = (made + 3u) / 4u;
    let x = (i % across) * 4u;
    let y = (i / across) % p.height;
    let block = (i / (across * p.height)) % deep;
    let group = (i / (across * p.height * deep)) % p.groups;
    let image = i / (across * p.height * deep * p.groups);
    let taps = p.kernel_h * p.kernel_w;
    // The filters turned round: from the last tap of each backwards.
    return Tile(
        (image * p.filters + group * read) * p.out_h * p.out_w, read, p.out_h, p.out_w,
        (group * read * made + block * 4u) * taps + taps - 1u, made * taps, taps, 0u - p.kernel_w, 0u - 1u,
        min(4u, made - block * 4u),
        y + p.pad_h - (p.kernel_h - 1u) * p.dilation_h, x + p.pad_w - (p.kernel_w - 1u) * p.dilation_w, 1u,
        p.stride_h, p.stride_w,
        image, group * made + block * 4u, y, x);
}

// Zero beyond the row's ends. Without a branch, and without a division, which no adapter does fast.
fn near(row: u32, u: u32, width: u32) -> f32 {
    return select(0.0, conv_in[row + min(u, width - 1u)], u < width);
}

fn place(row: u32, u: u32, grain: u32, width: u32) -> f32 {
    let column = u / grain;
    if (column >= width || column * grain != u) { return 0.0; }
    return conv_in[row + column];
}

fn slide(c: Tile) -> Sums {
    var r0 = vec4<f32>();
    var r1 = vec4<f32>();
    var r2 = vec4<f32>();
    var r3 = vec4<f32>();
    // Channels past the last repeat it; they are not stored.
    let made1 = min(1u, c.made - 1u) * c.weight_made;
    let made2 = min(2u, c.made - 1u) * c.weight_made;
    let made3 = min(3u, c.made - 1u) * c.weight_made;
    for (var channel = 0u; channel < c.channels; channel++) {
        for (var ky = 0u; ky < p.kernel_h; ky++) {
            let v = c.y + ky * p.dilation_h;
            if (v >= c.height) { continue; }
            let row = off(0u) + c.start + (channel * c.height + v) * c.width;
            var w = off(1u) + c.weight + channel * c.weight_read + ky * c.weight_row;
            var u = c.x;
            // The first column comes in by the loop.
            var x = vec4<f32>(0.0, near(row, u, c.width), near(row, u + 1u, c.width), near(row, u + 2u, c.width));
            for (var kx = 0u; kx < p.kernel_w; kx++) {
                x = vec4<f32>(x.yzw, near(row, u + 3u, c.width));
                r0 += conv_filters[w] * x;
                r1 += conv_filters[w + made1] * x;
                r2 += conv_filters[w + made2] * x;
                r3 += conv_filters[w + made3] * x;
                w += c.weight_column;
                u += 1u;
            }
        }
    }
    return Sums(r0, r1, r2, r3);
}

fn step(c: Tile) -> Sums {
    var r0 = vec4<f32>();
    var r1 = vec4<f32>();
    var r2 = vec4<f32>();
    var r3 = vec4<f32>();
    let made1 = min(1u, c.made - 1u) * c.weight_made;
    let made2 = min(2u, c.made - 1u) * c.weight_made;
    let made3 = min(3u, c.made - 1u) * c.weight_made;
    for (var channel = 0u; channel < c.channels; channel++) {
        for (var ky = 0u; ky < p.kernel_h; ky++) {
            let v = c.y + ky * p.dilation_h;
            let line = v / c.grain_h;
            if (line >= c.height || line * c.grain_h != v) { continue; }
            let row = off(0u) + c.start + (channel * c.height + line) * c.width;
            var w = off(1u) + c.weight + channel * c.weight_read + ky * c.weight_row;
            var u = c.x;
            for (var kx = 0u; kx < p.kernel_w; kx++) {
                let x = vec4<f32>(
                    place(row, u, c.grain_w, c.width),
                    place(row, u + c.step, c.grain_w, c.width),
                    place(row, u + 2u * c.step, c.grain_w, c.width),
                    place(row, u + 3u * c.step, c.grain_w, c.width));
                r0 += conv_filters[w] * x;
                r1 += conv_filters[w + made1] * x;
                r2 += conv_filters[w + made2] * x;
                r3 += conv_filters[w + made3] * x;
                w += c.weight_column;
                u += p.dilation_w;
            }
        }
    }
    return Sums(r0, r1, r2, r3);
}

@compute @workgroup_size(WG)
fn conv2d_sliding(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let c = conv2d_tile(i);
    store_result(c, slide(c));
}

@compute @workgroup_size(WG)
fn conv2d_stepping(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let c = conv2d_tile(i);
    store_result(c, step(c));
}

fn store_result(c: Tile, t: Sums) {
    store_filter(c, 0u, t.r0);
    store_filter(c, 1u, t.r1);
    store_filter(c, 2u, t.r2);
    store_filter(c, 3u, t.r3);
}

fn store_filter(c: Tile, k: u32, sums: vec4<f32>) {
    if (k >= c.made) { return; }
    var values = sums;
    if (p.bias != 0u) { values += vec4<f32>(conv_bias[off(2u) + c.channel + k]); }
    // A NaN is not below zero, and stays one.
    if (p.relu != 0u) { values = select(values, vec4<f32>(), values < vec4<f32>()); }
    let at = off(3u) + ((c.image * p.filters + c.channel + k) * p.out_h + c.row) * p.out_w + c.column;
    conv_out[at] = values.x;
    if (c.column + 1u < p.out_w) { conv_out[at + 1u] = values.y; }
    if (c.column + 2u < p.out_w) { conv_out[at + 2u] = values.z; }
    if (c.column + 3u < p.out_w) { conv_out[at + 3u] = values.w; }
}

@compute @workgroup_size(WG)
fn conv2d_grad_input_sliding(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let c = grad_input_tile(i);
    store_slope(c, slide(c));
}

@compute @workgroup_size(WG)
fn conv2d_grad_input_stepping(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let c = grad_input_tile(i);
    store_slope(c, step(c));
}

fn store_slope(c: Tile, t: Sums) {
    store_channel(c, 0u, t.r0);
    store_channel(c, 1u, t.r1);
    store_channel(c, 2u, t.r2);
    store_channel(c, 3u, t.r3);
}

fn store_channel(c: Tile, k: u32, values: vec4<f32>) {
    if (k >= c.made) { return; }
    let at = off(2u) + ((c.image * p.channels + c.channel + k) * p.height + c.row) * p.width + c.column;
    conv_in_slope[at] = values.x;
    if (c.column + 1u < p.width) { conv_in_slope[at + 1u] = values.y; }
    if (c.column + 2u < p.width) { conv_in_slope[at + 2u] = values.z; }
    if (c.column + 3u < p.width) { conv_in_slope[at + 3u] = values.w; }
}

// Neighbouring taps of a filter's row that one invocation makes.
const TAPS = 5u;

// Which taps of which filters, from which images.
struct Share {
    kx: u32,
    ky: u32,
    channel: u32,  // within the group
    filter0: u32,
    filters: u32,  // 1 to 4
    part: u32,
    image0: u32,
    image1: u32,
    input: u32,    // channel of the input
}

// Of each tap a sum for each of the four filters.
struct TapSums {
    t0: vec4<f32>,
    t1: vec4<f32>,
    t2: vec4<f32>,
    t3: vec4<f32>,
    t4: vec4<f32>,
}

fn share_of(i: u32) -> Share {
    let read = p.channels / p.groups;
    let made = p.filters / p.groups;
    let across = (p.kernel_w + TAPS - 1u) / TAPS;
    let deep = (made + 3u) / 4u;
    let c = (i / (across * p.kernel_h)) % read;
    let block = (i / (across * p.kernel_h * read)) % deep;
    let group = (i / (across * p.kernel_h * read * deep)) % p.groups;
    let part = i / (across * p.kernel_h * read * deep * p.groups);
    // The images whose number times parts, divided by batch, is this part.
    return Share(
        (i % across) * TAPS, (i / across) % p.kernel_h, c, group * made + block * 4u, min(4u, made - block * 4u), part,
        (part * p.batch + p.parts - 1u) / p.parts, ((part + 1u) * p.batch + p.parts - 1u) / p.parts, group * read + c);
}

fn pixel(row: u32, u: u32) -> f32 {
    return select(0.0, conv_images[row + min(u, p.width - 1u)], u < p.width);
}

// Operand 0 is the gradient of the result, operand 1 the input.
fn slide_taps(s: Share) -> TapSums {
    let plane = p.out_h * p.out_w;
    // Filters past the last repeat it; they are not stored.
    let next1 = min(1u, s.filters - 1u) * plane;
    let next2 = min(2u, s.filters - 1u) * plane;
    let next3 = min(3u, s.filters - 1u) * plane;
    var t0 = vec4<f32>();
    var t1 = vec4<f32>();
    var t2 = vec4<f32>();
    var t3 = vec4<f32>();
    var t4 = vec4<f32>();
    for (var image = s.image0; image < s.image1; image++) {
        for (var oy = 0u; oy < p.out_h; oy++) {
            let y = oy + s.ky * p.dilation_h - p.pad_h;
            if (y >= p.height) { continue; }
            let row = off(1u) + ((image * p.channels + s.input) * p.height + y) * p.width;
            let slopes = off(0u) + ((image * p.filters + s.filter0) * p.out_h + oy) * p.out_w;
            var r0 = vec4<f32>();
            var r1 = vec4<f32>();
            var r2 = vec4<f32>();
            var r3 = vec4<f32>();
            var r4 = vec4<f32>();
            let u = s.kx - p.pad_w;
            // The last tap comes in by the loop.
            var x0 = pixel(row, u);
            var x1 = pixel(row, u + 1u);
            var x2 = pixel(row, u + 2u);
            var x3 = pixel(row, u + 3u);
            for (var ox = 0u; ox < p.out_w; ox++) {
                let x4 = pixel(row, u + ox + 4u);
                let at = slopes + ox;
                let g = vec4<f32>(conv_in[at], conv_in[at + next1], conv_in[at + next2], conv_in[at + next3]);
                r0 += g * x0;
                r1 += g * x1;
                r2 += g * x2;
                r3 += g * x3;
                r4 += g * x4;
                x0 = x1;
                x1 = x2;
                x2 = x3;
                x3 = x4;
            }
            t0 += r0;
            t1 += r1;
            t2 += r2;
            t3 += r3;
            t4 += r4;
        }
    }
    return TapSums(t0, t1, t2, t3, t4);
}

fn step_taps(s: Share) -> TapSums {
    let plane = p.out_h * p.out_w;
    let next1 = min(1u, s.filters - 1u) * plane;
    let next2 = min(2u, s.filters - 1u) * plane;
    let next3 = min(3u, s.filters - 1u) * plane;
    var t0 = vec4<f32>();
    var t1 = vec4<f32>();
    var t2 = vec4<f32>();
    var t3 = vec4<f32>();
    var t4 = vec4<f32>();
    for (var image = s.image0; image < s.image1; image++) {
        for (var oy = 0u; oy < p.out_h; oy++) {
            let y = oy * p.stride_h + s.ky * p.dilation_h - p.pad_h;
            if (y >= p.height) { continue; }
            let row = off(1u) + ((image * p.channels + s.input) * p.height + y) * p.width;
            let slopes = off(0u) + ((image * p.filters + s.filter0) * p.out_h + oy) * p.out_w;
            var r0 = vec4<f32>();
            var r1 = vec4<f32>();
            var r2 = vec4<f32>();
            var r3 = vec4<f32>();
            var r4 = vec4<f32>();
            var u = s.kx * p.dilation_w - p.pad_w;
            for (var ox = 0u; ox < p.out_w; ox++) {
                let at = slopes + ox;
                let g = vec4<f32>(conv_in[at], conv_in[at + next1], conv_in[at + next2], conv_in[at + next3]);
                r0 += g * pixel(row, u);
                r1 += g * pixel(row, u + p.dilation_w);
                r2 += g * pixel(row, u + 2u * p.dilation_w);
                r3 += g * pixel(row, u + 3u * p.dilation_w);
                r4 += g * pixel(row, u + 4u * p.dilation_w);
                u += p.stride_w;
            }
            t0 += r0;
            t1 += r1;
            t2 += r2;
            t3 += r3;
            t4 += r4;
        }
    }
    return TapSums(t0, t1, t2, t3, t4);
}

@compute @workgroup_size(WG)
fn conv2d_grad_weight_sliding(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let s = share_of(i);
    store_taps(s, slide_taps(s));
}

@compute @workgroup_size(WG)
fn conv2d_grad_weight_stepping(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let s = share_of(i);
    store_taps(s, step_taps(s));
}

fn store_taps(s: Share, t: TapSums) {
    let size = (p.channels / p.groups) * p.kernel_h * p.kernel_w;
    let to = off(2u) + (s.part * p.filters + s.filter0) * size + (s.channel * p.kernel_h + s.ky) * p.kernel_w + s.kx;
    let taps = min(TAPS, p.kernel_w - s.kx);
    for (var f = 0u; f < s.filters; f++) {
        let sums = array<f32, 5>(t.t0[f], t.t1[f], t.t2[f], t.t3[f], t.t4[f]);
        for (var k = 0u; k < taps; k++) {
            conv_filter_slope[to + f * size + k] = sums[k];
        }
    }
}

// Convolution of images [batch, channels, height, width] with filters, and its two gradients, without a matrix of patches.
//
// conv2d, conv2d_grad_input: one invocation makes 4 neighbouring columns of 4 channels in registers. Along a row of a
//   filter with stride and dilation 1 the four columns slide: each tap reads one new element and four weights for 16
//   multiplications. The gradient of the input is the same sum over the result's gradient, with the filters turned round
//   and, for a stride above 1, zeros between its elements. No workgroup memory and no barrier, which cost a software
//   adapter more than they save.
// conv2d_grad_weight: one invocation makes 5 neighbouring taps of 4 filters for one part of the batch, row by row, so that
//   no sum is long; the parts are added up afterwards. Along a row the taps slide too: five reads for 20 multiplications.
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
    pad0: u32,
    pad1: u32,
}
@group(1) @binding(1) var<uniform> p: Conv2dParams;

// What a tile sums. Places and steps are modulo 2^32, so that they may be negative: what lies left of or above the
// source is then far beyond its end. Place u of a row holds element u / grain where grain divides u, else zero.
struct Correlation {
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
    y: u32,
    x: u32,
    step: u32,         // from one column of the tile to the next
    grain_h: u32,
    grain_w: u32,
}

struct Tile {
    r0: vec4<f32>,
    r1: vec4<f32>,
    r2: vec4<f32>,
    r3: vec4<f32>,
}

// Without a branch, and without a division, which no adapter does fast.
fn near(row: u32, u: u32, width: u32) -> f32 {
    return select(0.0, conv_in[row + min(u, width - 1u)], u < width);
}

fn place(row: u32, u: u32, grain: u32, width: u32) -> f32 {
    let column = u / grain;
    if (column >= width || column * grain != u) { return 0.0; }
    return conv_in[row + column];
}

fn correlate(c: Correlation) -> Tile {
    var r0 = vec4<f32>();
    var r1 = vec4<f32>();
    var r2 = vec4<f32>();
    var r3 = vec4<f32>();
    // Channels past the last repeat it; they are not stored.
    let made1 = min(1u, c.made - 1u) * c.weight_made;
    let made2 = min(2u, c.made - 1u) * c.weight_made;
    let made3 = min(3u, c.made - 1u) * c.weight_made;
    let slides = c.step == 1u && p.dilation_w == 1u && c.grain_w == 1u;
    for (var channel = 0u; channel < c.channels; channel++) {
        for (var ky = 0u; ky < p.kernel_h; ky++) {
            let v = c.y + ky * p.dilation_h;
            let line = v / c.grain_h;
            if (line >= c.height || line * c.grain_h != v) { continue; }
            let row = off(0u) + c.start + (channel * c.height + line) * c.width;
            var w = off(1u) + c.weight + channel * c.weight_read + ky * c.weight_row;
            var u = c.x;
            var x = vec4<f32>();
            if (slides) {
                // The first column comes in by the loop.
                x = vec4<f32>(0.0, near(row, u, c.width), near(row, u + 1u, c.width), near(row, u + 2u, c.width));
            }
            for (var kx = 0u; kx < p.kernel_w; kx++) {
                if (slides) {
                    x = vec4<f32>(x.yzw, near(row, u + 3u, c.width));
                } else {
                    x = vec4<f32>(
                        place(row, u, c.grain_w, c.width),
                        place(row, u + c.step, c.grain_w, c.width),
                        place(row, u + 2u * c.step, c.grain_w, c.width),
                        place(row, u + 3u * c.step, c.grain_w, c.width));
                }
                r0 += conv_filters[w] * x;
                r1 += conv_filters[w + made1] * x;
                r2 += conv_filters[w + made2] * x;
                r3 += conv_filters[w + made3] * x;
                w += c.weight_column;
                u += p.dilation_w;
            }
        }
    }
    return Tile(r0, r1, r2, r3);
}

@compute @workgroup_size(WG)
fn conv2d(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
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
    let count = min(4u, made - block * 4u);
    let t = correlate(Correlation(
        (image * p.channels + group * read) * p.height * p.width, read, p.height, p.width,
        filter0 * read * taps, taps, read * taps, p.kernel_w, 1u, count,
        oy * p.stride_h - p.pad_h, ox * p.stride_w - p.pad_w, p.stride_w, 1u, 1u));
    store_filter(image, filter0, oy, ox, t.r0);
    if (count > 1u) { store_filter(image, filter0 + 1u, oy, ox, t.r1); }
    if (count > 2u) { store_filter(image, filter0 + 2u, oy, ox, t.r2); }
    if (count > 3u) { store_filter(image, filter0 + 3u, oy, ox, t.r3); }
}

fn store_filter(image: u32, filter_: u32, oy: u32, ox: u32, sums: vec4<f32>) {
    var values = sums;
    if (p.bias != 0u) { values += vec4<f32>(conv_bias[off(2u) + filter_]); }
    let at = off(3u) + ((image * p.filters + filter_) * p.out_h + oy) * p.out_w + ox;
    conv_out[at] = values.x;
    if (ox + 1u < p.out_w) { conv_out[at + 1u] = values.y; }
    if (ox + 2u < p.out_w) { conv_out[at + 2u] = values.z; }
    if (ox + 3u < p.out_w) { conv_out[at + 3u] = values.w; }
}

@compute @workgroup_size(WG)
fn conv2d_grad_input(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
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
    let count = min(4u, made - block * 4u);
    // The filters turned round: from the last tap of each backwards.
    let t = correlate(Correlation(
        (image * p.filters + group * read) * p.out_h * p.out_w, read, p.out_h, p.out_w,
        (group * read * made + block * 4u) * taps + taps - 1u, made * taps, taps, 0u - p.kernel_w, 0u - 1u, count,
        y + p.pad_h - (p.kernel_h - 1u) * p.dilation_h, x + p.pad_w - (p.kernel_w - 1u) * p.dilation_w,
        1u, p.stride_h, p.stride_w));
    let channel0 = group * made + block * 4u;
    store_channel(image, channel0, y, x, t.r0);
    if (count > 1u) { store_channel(image, channel0 + 1u, y, x, t.r1); }
    if (count > 2u) { store_channel(image, channel0 + 2u, y, x, t.r2); }
    if (count > 3u) { store_channel(image, channel0 + 3u, y, x, t.r3); }
}

fn store_channel(image: u32, channel: u32, y: u32, x: u32, values: vec4<f32>) {
    let at = off(2u) + ((image * p.channels + channel) * p.height + y) * p.width + x;
    conv_in_slope[at] = values.x;
    if (x + 1u < p.width) { conv_in_slope[at + 1u] = values.y; }
    if (x + 2u < p.width) { conv_in_slope[at + 2u] = values.z; }
    if (x + 3u < p.width) { conv_in_slope[at + 3u] = values.w; }
}

// Neighbouring taps of a filter's row that one invocation makes.
const TAPS = 5u;

fn pixel(row: u32, u: u32) -> f32 {
    return select(0.0, conv_images[row + min(u, p.width - 1u)], u < p.width);
}

// Operand 0 is the gradient of the result, operand 1 the input.
@compute @workgroup_size(WG)
fn conv2d_grad_weight(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let read = p.channels / p.groups;
    let made = p.filters / p.groups;
    let across = (p.kernel_w + TAPS - 1u) / TAPS;
    let deep = (made + 3u) / 4u;
    let kx = (i % across) * TAPS;
    let ky = (i / across) % p.kernel_h;
    let c = (i / (across * p.kernel_h)) % read;
    let block = (i / (across * p.kernel_h * read)) % deep;
    let group = (i / (across * p.kernel_h * read * deep)) % p.groups;
    let part = i / (across * p.kernel_h * read * deep * p.groups);
    let filter0 = group * made + block * 4u;
    let count = min(4u, made - block * 4u);
    let plane = p.out_h * p.out_w;
    // Filters past the last repeat it; they are not stored.
    let next1 = min(1u, count - 1u) * plane;
    let next2 = min(2u, count - 1u) * plane;
    let next3 = min(3u, count - 1u) * plane;
    // The images whose number times parts, divided by batch, is this part.
    let image0 = (part * p.batch + p.parts - 1u) / p.parts;
    let image1 = ((part + 1u) * p.batch + p.parts - 1u) / p.parts;
    let slides = p.stride_w == 1u && p.dilation_w == 1u;
    // Of each tap a sum for each of the four filters.
    var t0 = vec4<f32>();
    var t1 = vec4<f32>();
    var t2 = vec4<f32>();
    var t3 = vec4<f32>();
    var t4 = vec4<f32>();
    for (var image = image0; image < image1; image++) {
        for (var oy = 0u; oy < p.out_h; oy++) {
            let y = oy * p.stride_h + ky * p.dilation_h - p.pad_h;
            if (y >= p.height) { continue; }
            let row = off(1u) + ((image * p.channels + group * read + c) * p.height + y) * p.width;
            let slopes = off(0u) + ((image * p.filters + filter0) * p.out_h + oy) * p.out_w;
            var r0 = vec4<f32>();
            var r1 = vec4<f32>();
            var r2 = vec4<f32>();
            var r3 = vec4<f32>();
            var r4 = vec4<f32>();
            var u = kx * p.dilation_w - p.pad_w;
            var x0 = 0.0;
            var x1 = 0.0;
            var x2 = 0.0;
            var x3 = 0.0;
            var x4 = 0.0;
            if (slides) {
                // The first tap comes in by the loop.
                x1 = pixel(row, u);
                x2 = pixel(row, u + 1u);
                x3 = pixel(row, u + 2u);
                x4 = pixel(row, u + 3u);
            }
            for (var ox = 0u; ox < p.out_w; ox++) {
                if (slides) {
                    x0 = x1;
                    x1 = x2;
                    x2 = x3;
                    x3 = x4;
                    x4 = pixel(row, u + 4u);
                } else {
                    x0 = pixel(row, u);
                    x1 = pixel(row, u + p.dilation_w);
                    x2 = pixel(row, u + 2u * p.dilation_w);
                    x3 = pixel(row, u + 3u * p.dilation_w);
                    x4 = pixel(row, u + 4u * p.dilation_w);
                }
                let at = slopes + ox;
                let g = vec4<f32>(conv_in[at], conv_in[at + next1], conv_in[at + next2], conv_in[at + next3]);
                r0 += g * x0;
                r1 += g * x1;
                r2 += g * x2;
                r3 += g * x3;
                r4 += g * x4;
                u += p.stride_w;
            }
            t0 += r0;
            t1 += r1;
            t2 += r2;
            t3 += r3;
            t4 += r4;
        }
    }
    let size = read * p.kernel_h * p.kernel_w;
    let to = off(2u) + (part * p.filters + filter0) * size + (c * p.kernel_h + ky) * p.kernel_w + kx;
    let taps = min(TAPS, p.kernel_w - kx);
    for (var f = 0u; f < count; f++) {
        let sums = array<f32, 5>(t0[f], t1[f], t2[f], t3[f], t4[f]);
        for (var t = 0u; t < taps; t++) {
            conv_filter_slope[to + f * size + t] = sums[t];
        }
    }
}

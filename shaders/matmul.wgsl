// Matrix products, batched, of operands with any strides: out[z, i, j] = sum over k of a[z, i, k] * b[z, k, j] + bias_in[j],
// below zero stored as zero if p.relu says so: what a linear layer and its ReLU need, without launches of their own.
//
// Forms of one kernel; the device's tuning run chooses between registers and tiles, the shape decides for the rest.
//   register  one invocation makes 4 x 4 results in registers and reads both operands from memory (or its caches). No
//             barrier: best on processors that only play a GPU.
//   register8 the same with 8 x 8 results, for larger products: half as many reads a result.
//   vectors   register8 by vectors of four, where both operands have neighbours along one of their dimensions and everything
//             begins and ends at a multiple of four: an access of four costs little more than one of a single element.
//             The letters say along what a runs (k or m) and b (k or n).
//   tile      one workgroup makes a (WG / 4) x 64 tile of results, each invocation 4 x 4 of them. It copies 16 columns
//             of a and 16 rows of b at a time to workgroup memory, so that each element is fetched once a workgroup
//             instead of once an invocation.
//   small     one invocation makes one result: for products too small to fill the device otherwise.
// Cost: 2 m n k operations a product. register reads each element of a n/4 times and of b m/4 times through the caches,
// register8 half as often, tile n/64 and 4 m/WG times.

@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> bias_in: array<f32>;
@group(0) @binding(3) var<storage, read_write> product: array<f32>;

struct MatmulParams {
    m: u32,
    n: u32,
    k: u32,
    batch: u32,
    a_row: i32,
    a_col: i32,
    b_row: i32,
    b_col: i32,
    batch_shape: vec4<u32>,
    a_batch: vec4<i32>,
    b_batch: vec4<i32>,
    bias: u32,
    relu: u32,
    pad0: u32,
    pad1: u32,
}
@group(1) @binding(1) var<uniform> p: MatmulParams;

// Where the matrices of product z begin. Strides wrap modulo 2^32, so that they may be negative.
fn batch_start(z: u32, strides: vec4<i32>) -> u32 {
    let s = bitcast<vec4<u32>>(strides);
    let i3 = z % p.batch_shape.w;
    var rest = z / p.batch_shape.w;
    let i2 = rest % p.batch_shape.z;
    rest = rest / p.batch_shape.z;
    let i1 = rest % p.batch_shape.y;
    let i0 = rest / p.batch_shape.y;
    return i0 * s.x + i1 * s.y + i2 * s.z + i3 * s.w;
}

@compute @workgroup_size(WG)
fn matmul_small(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let col = i % p.n;
    let row = (i / p.n) % p.m;
    let z = i / (p.n * p.m);
    var at_a = off(0u) + batch_start(z, p.a_batch) + row * u32(p.a_row);
    var at_b = off(1u) + batch_start(z, p.b_batch) + col * u32(p.b_col);
    // Four partial sums: a longer chain of additions would wait for each one.
    var sum = vec4<f32>();
    let step_a = u32(p.a_col);
    let step_b = u32(p.b_row);
    var k = 0u;
    for (; k + 4u <= p.k; k += 4u) {
        sum += vec4<f32>(a[at_a], a[at_a + step_a], a[at_a + 2u * step_a], a[at_a + 3u * step_a])
            * vec4<f32>(b[at_b], b[at_b + step_b], b[at_b + 2u * step_b], b[at_b + 3u * step_b]);
        at_a += 4u * step_a;
        at_b += 4u * step_b;
    }
    for (; k < p.k; k += 1u) {
        sum.x += a[at_a] * b[at_b];
        at_a += step_a;
        at_b += step_b;
    }
    var value = (sum.x + sum.y) + (sum.z + sum.w);
    if (p.bias != 0u) { value += bias_in[off(2u) + col]; }
    if (p.relu != 0u && value < 0.0) { value = 0.0; }
    product[off(3u) + i] = value;
}

@compute @workgroup_size(WG)
fn matmul_register(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let tile_cols = (p.n + 3u) / 4u;
    let tile_rows = (p.m + 3u) / 4u;
    let col = (i % tile_cols) * 4u;
    let row = ((i / tile_cols) % tile_rows) * 4u;
    let z = i / (tile_cols * tile_rows);

    // Rows and columns past the edge repeat the last one; their results are not stored.
    let rows = min(vec4<u32>(row) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(p.m - 1u));
    let cols = min(vec4<u32>(col) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(p.n - 1u));
    var at_a = vec4<u32>(off(0u) + batch_start(z, p.a_batch)) + rows * u32(p.a_row);
    var at_b = vec4<u32>(off(1u) + batch_start(z, p.b_batch)) + cols * u32(p.b_col);
    let step_a = u32(p.a_col);
    let step_b = u32(p.b_row);
    var r0 = vec4<f32>();
    var r1 = vec4<f32>();
    var r2 = vec4<f32>();
    var r3 = vec4<f32>();
    var k = 0u;
    for (; k + 4u <= p.k; k += 4u) {
        let b0 = vec4<f32>(b[at_b.x], b[at_b.y], b[at_b.z], b[at_b.w]);
        at_b += step_b;
        let b1 = vec4<f32>(b[at_b.x], b[at_b.y], b[at_b.z], b[at_b.w]);
        at_b += step_b;
        let b2 = vec4<f32>(b[at_b.x], b[at_b.y], b[at_b.z], b[at_b.w]);
        at_b += step_b;
        let b3 = vec4<f32>(b[at_b.x], b[at_b.y], b[at_b.z], b[at_b.w]);
        at_b += step_b;
        let a0 = vec4<f32>(a[at_a.x], a[at_a.x + step_a], a[at_a.x + 2u * step_a], a[at_a.x + 3u * step_a]);
        let a1 = vec4<f32>(a[at_a.y], a[at_a.y + step_a], a[at_a.y + 2u * step_a], a[at_a.y + 3u * step_a]);
        let a2 = vec4<f32>(a[at_a.z], a[at_a.z + step_a], a[at_a.z + 2u * step_a], a[at_a.z + 3u * step_a]);
        let a3 = vec4<f32>(a[at_a.w], a[at_a.w + step_a], a[at_a.w + 2u * step_a], a[at_a.w + 3u * step_a]);
        at_a += 4u * step_a;
        r0 += a0.x * b0 + a0.y * b1 + a0.z * b2 + a0.w * b3;
        r1 += a1.x * b0 + a1.y * b1 + a1.z * b2 + a1.w * b3;
        r2 += a2.x * b0 + a2.y * b1 + a2.z * b2 + a2.w * b3;
        r3 += a3.x * b0 + a3.y * b1 + a3.z * b2 + a3.w * b3;
    }
    for (; k < p.k; k += 1u) {
        let b0 = vec4<f32>(b[at_b.x], b[at_b.y], b[at_b.z], b[at_b.w]);
        r0 += a[at_a.x] * b0;
        r1 += a[at_a.y] * b0;
        r2 += a[at_a.z] * b0;
        r3 += a[at_a.w] * b0;
        at_a += step_a;
        at_b += step_b;
    }
    let out = off(3u) + z * p.m * p.n;
    store_row(out, row, col, r0);
    store_row(out, row + 1u, col, r1);
    store_row(out, row + 2u, col, r2);
    store_row(out, row + 3u, col, r3);
}

@compute @workgroup_size(WG)
fn matmul_register8(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let tile_cols = (p.n + 7u) / 8u;
    let tile_rows = (p.m + 7u) / 8u;
    let col = (i % tile_cols) * 8u;
    let row = ((i / tile_cols) % tile_rows) * 8u;
    let z = i / (tile_cols * tile_rows);

    // Rows and columns past the edge repeat the last one; their results are not stored.
    let next = vec4<u32>(0u, 1u, 2u, 3u);
    let rows_low = min(next + row, vec4<u32>(p.m - 1u));
    let rows_high = min(next + row + 4u, vec4<u32>(p.m - 1u));
    let cols_low = min(next + col, vec4<u32>(p.n - 1u));
    let cols_high = min(next + col + 4u, vec4<u32>(p.n - 1u));
    let start_a = off(0u) + batch_start(z, p.a_batch);
    let start_b = off(1u) + batch_start(z, p.b_batch);
    var at_a_low = start_a + rows_low * u32(p.a_row);
    var at_a_high = start_a + rows_high * u32(p.a_row);
    var at_b_low = start_b + cols_low * u32(p.b_col);
    var at_b_high = start_b + cols_high * u32(p.b_col);
    var r0 = vec4<f32>();
    var s0 = vec4<f32>();
    var r1 = vec4<f32>();
    var s1 = vec4<f32>();
    var r2 = vec4<f32>();
    var s2 = vec4<f32>();
    var r3 = vec4<f32>();
    var s3 = vec4<f32>();
    var r4 = vec4<f32>();
    var s4 = vec4<f32>();
    var r5 = vec4<f32>();
    var s5 = vec4<f32>();
    var r6 = vec4<f32>();
    var s6 = vec4<f32>();
    var r7 = vec4<f32>();
    var s7 = vec4<f32>();
    for (var k = 0u; k < p.k; k += 1u) {
        let b_low = vec4<f32>(b[at_b_low.x], b[at_b_low.y], b[at_b_low.z], b[at_b_low.w]);
        let b_high = vec4<f32>(b[at_b_high.x], b[at_b_high.y], b[at_b_high.z], b[at_b_high.w]);
        let a0 = a[at_a_low.x];
        r0 += a0 * b_low;
        s0 += a0 * b_high;
        let a1 = a[at_a_low.y];
        r1 += a1 * b_low;
        s1 += a1 * b_high;
        let a2 = a[at_a_low.z];
        r2 += a2 * b_low;
        s2 += a2 * b_high;
        let a3 = a[at_a_low.w];
        r3 += a3 * b_low;
        s3 += a3 * b_high;
        let a4 = a[at_a_high.x];
        r4 += a4 * b_low;
        s4 += a4 * b_high;
        let a5 = a[at_a_high.y];
        r5 += a5 * b_low;
        s5 += a5 * b_high;
        let a6 = a[at_a_high.z];
        r6 += a6 * b_low;
        s6 += a6 * b_high;
        let a7 = a[at_a_high.w];
        r7 += a7 * b_low;
        s7 += a7 * b_high;
        at_a_low += vec4<u32>(u32(p.a_col));
        at_a_high += vec4<u32>(u32(p.a_col));
        at_b_low += vec4<u32>(u32(p.b_row));
        at_b_high += vec4<u32>(u32(p.b_row));
    }
    let out = off(3u) + z * p.m * p.n;
    store_row(out, row, col, r0);
    store_row(out, row, col + 4u, s0);
    store_row(out, row + 1u, col, r1);
    store_row(out, row + 1u, col + 4u, s1);
    store_row(out, row + 2u, col, r2);
    store_row(out, row + 2u, col + 4u, s2);
    store_row(out, row + 3u, col, r3);
    store_row(out, row + 3u, col + 4u, s3);
    store_row(out, row + 4u, col, r4);
    store_row(out, row + 4u, col + 4u, s4);
    store_row(out, row + 5u, col, r5);
    store_row(out, row + 5u, col + 4u, s5);
    store_row(out, row + 6u, col, r6);
    store_row(out, row + 6u, col + 4u, s6);
    store_row(out, row + 7u, col, r7);
    store_row(out, row + 7u, col + 4u, s7);
}

@group(0) @binding(0) var<storage, read_write> a_fours: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b_fours: array<vec4<f32>>;

// Four columns of eight rows of a.
struct Rows {
    r0: vec4<f32>,
    r1: vec4<f32>,
    r2: vec4<f32>,
    r3: vec4<f32>,
    r4: vec4<f32>,
    r5: vec4<f32>,
    r6: vec4<f32>,
    r7: vec4<f32>,
}

// Eight columns of four rows of b: low and high half of each row.
struct Columns {
    low0: vec4<f32>,
    high0: vec4<f32>,
    low1: vec4<f32>,
    high1: vec4<f32>,
    low2: vec4<f32>,
    high2: vec4<f32>,
    low3: vec4<f32>,
    high3: vec4<f32>,
}

// 8 x 8 results: low and high half of each row.
struct Results {
    low: Rows,
    high: Rows,
}

// Which results an invocation makes.
struct Tile8 {
    row: u32,
    col: u32,
    z: u32,
}

fn tile8(i: u32) -> Tile8 {
    let tile_cols = (p.n + 7u) / 8u;
    let tile_rows = (p.m + 7u) / 8u;
    return Tile8(((i / tile_cols) % tile_rows) * 8u, (i % tile_cols) * 8u, i / (tile_cols * tile_rows));
}

// Where each of eight lines begins, in fours; lines past the last repeat it.
struct Starts {
    low: vec4<u32>,
    high: vec4<u32>,
}

fn starts(origin: u32, first: u32, count: u32, step: u32) -> Starts {
    let next = vec4<u32>(0u, 1u, 2u, 3u);
    return Starts(
        (origin + min(next + first, vec4<u32>(count - 1u)) * step) / 4u,
        (origin + min(next + first + 4u, vec4<u32>(count - 1u)) * step) / 4u);
}

// Where eight neighbours begin, in fours, and how far the second four is: past the edge the first is taken twice.
fn halves(origin: u32, first: u32, count: u32) -> vec2<u32> {
    return vec2<u32>((origin + first) / 4u, select(0u, 1u, first + 4u < count));
}

fn rows_along_k(at: Starts, k: u32) -> Rows {
    return Rows(
        a_fours[at.low.x + k], a_fours[at.low.y + k], a_fours[at.low.z + k], a_fours[at.low.w + k],
        a_fours[at.high.x + k], a_fours[at.high.y + k], a_fours[at.high.z + k], a_fours[at.high.w + k]);
}

fn rows_along_m(at: vec2<u32>, step: u32) -> Rows {
    let l0 = a_fours[at.x];
    let h0 = a_fours[at.x + at.y];
    let l1 = a_fours[at.x + step];
    let h1 = a_fours[at.x + step + at.y];
    let l2 = a_fours[at.x + 2u * step];
    let h2 = a_fours[at.x + 2u * step + at.y];
    let l3 = a_fours[at.x + 3u * step];
    let h3 = a_fours[at.x + 3u * step + at.y];
    return Rows(
        vec4<f32>(l0.x, l1.x, l2.x, l3.x), vec4<f32>(l0.y, l1.y, l2.y, l3.y),
        vec4<f32>(l0.z, l1.z, l2.z, l3.z), vec4<f32>(l0.w, l1.w, l2.w, l3.w),
        vec4<f32>(h0.x, h1.x, h2.x, h3.x), vec4<f32>(h0.y, h1.y, h2.y, h3.y),
        vec4<f32>(h0.z, h1.z, h2.z, h3.z), vec4<f32>(h0.w, h1.w, h2.w, h3.w));
}

fn columns_along_n(at: vec2<u32>, step: u32) -> Columns {
    return Columns(
        b_fours[at.x], b_fours[at.x + at.y], b_fours[at.x + step], b_fours[at.x + step + at.y],
        b_fours[at.x + 2u * step], b_fours[at.x + 2u * step + at.y],
        b_fours[at.x + 3u * step], b_fours[at.x + 3u * step + at.y]);
}

fn columns_along_k(at: Starts, k: u32) -> Columns {
    let c0 = b_fours[at.low.x + k];
    let c1 = b_fours[at.low.y + k];
    let c2 = b_fours[at.low.z + k];
    let c3 = b_fours[at.low.w + k];
    let c4 = b_fours[at.high.x + k];
    let c5 = b_fours[at.high.y + k];
    let c6 = b_fours[at.high.z + k];
    let c7 = b_fours[at.high.w + k];
    return Columns(
        vec4<f32>(c0.x, c1.x, c2.x, c3.x), vec4<f32>(c4.x, c5.x, c6.x, c7.x),
        vec4<f32>(c0.y, c1.y, c2.y, c3.y), vec4<f32>(c4.y, c5.y, c6.y, c7.y),
        vec4<f32>(c0.z, c1.z, c2.z, c3.z), vec4<f32>(c4.z, c5.z, c6.z, c7.z),
        vec4<f32>(c0.w, c1.w, c2.w, c3.w), vec4<f32>(c4.w, c5.w, c6.w, c7.w));
}

fn row_by(x: vec4<f32>, b0: vec4<f32>, b1: vec4<f32>, b2: vec4<f32>, b3: vec4<f32>) -> vec4<f32> {
    return x.x * b0 + x.y * b1 + x.z * b2 + x.w * b3;
}

fn more(r: Results, x: Rows, y: Columns) -> Results {
    return Results(
        Rows(
            r.low.r0 + row_by(x.r0, y.low0, y.low1, y.low2, y.low3),
            r.low.r1 + row_by(x.r1, y.low0, y.low1, y.low2, y.low3),
            r.low.r2 + row_by(x.r2, y.low0, y.low1, y.low2, y.low3),
            r.low.r3 + row_by(x.r3, y.low0, y.low1, y.low2, y.low3),
            r.low.r4 + row_by(x.r4, y.low0, y.low1, y.low2, y.low3),
            r.low.r5 + row_by(x.r5, y.low0, y.low1, y.low2, y.low3),
            r.low.r6 + row_by(x.r6, y.low0, y.low1, y.low2, y.low3),
            r.low.r7 + row_by(x.r7, y.low0, y.low1, y.low2, y.low3)),
        Rows(
            r.high.r0 + row_by(x.r0, y.high0, y.high1, y.high2, y.high3),
            r.high.r1 + row_by(x.r1, y.high0, y.high1, y.high2, y.high3),
            r.high.r2 + row_by(x.r2, y.high0, y.high1, y.high2, y.high3),
            r.high.r3 + row_by(x.r3, y.high0, y.high1, y.high2, y.high3),
            r.high.r4 + row_by(x.r4, y.high0, y.high1, y.high2, y.high3),
            r.high.r5 + row_by(x.r5, y.high0, y.high1, y.high2, y.high3),
            r.high.r6 + row_by(x.r6, y.high0, y.high1, y.high2, y.high3),
            r.high.r7 + row_by(x.r7, y.high0, y.high1, y.high2, y.high3)));
}

@group(0) @binding(2) var<storage, read_write> bias_by_fours: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> product_fours: array<vec4<f32>>;

fn store8(t: Tile8, r: Results) {
    let at = (off(3u) + (t.z * p.m + t.row) * p.n + t.col) / 4u;
    let step = p.n / 4u;
    let two = t.col + 4u < p.n;
    var add_low = vec4<f32>();
    var add_high = vec4<f32>();
    if (p.bias != 0u) {
        let from_bias = halves(off(2u), t.col, p.n);
        add_low = bias_by_fours[from_bias.x];
        add_high = bias_by_fours[from_bias.x + from_bias.y];
    }
    store_fours(at, t.row, finish(r.low.r0 + add_low), finish(r.high.r0 + add_high), two);
    store_fours(at + step, t.row + 1u, finish(r.low.r1 + add_low), finish(r.high.r1 + add_high), two);
    store_fours(at + 2u * step, t.row + 2u, finish(r.low.r2 + add_low), finish(r.high.r2 + add_high), two);
    store_fours(at + 3u * step, t.row + 3u, finish(r.low.r3 + add_low), finish(r.high.r3 + add_high), two);
    store_fours(at + 4u * step, t.row + 4u, finish(r.low.r4 + add_low), finish(r.high.r4 + add_high), two);
    store_fours(at + 5u * step, t.row + 5u, finish(r.low.r5 + add_low), finish(r.high.r5 + add_high), two);
    store_fours(at + 6u * step, t.row + 6u, finish(r.low.r6 + add_low), finish(r.high.r6 + add_high), two);
    store_fours(at + 7u * step, t.row + 7u, finish(r.low.r7 + add_low), finish(r.high.r7 + add_high), two);
}

// A NaN is not below zero, and stays one.
fn finish(values: vec4<f32>) -> vec4<f32> {
    return select(values, vec4<f32>(), (values < vec4<f32>()) & vec4<bool>(p.relu != 0u));
}

fn store_fours(at: u32, row: u32, low: vec4<f32>, high: vec4<f32>, two: bool) {
    if (row >= p.m) { return; }
    product_fours[at] = low;
    if (two) { product_fours[at + 1u] = high; }
}

@compute @workgroup_size(WG)
fn matmul_vectors_kn(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let t = tile8(i);
    let at_a = starts(off(0u) + batch_start(t.z, p.a_batch), t.row, p.m, u32(p.a_row));
    var at_b = halves(off(1u) + batch_start(t.z, p.b_batch), t.col, p.n);
    let step = u32(p.b_row) / 4u;
    var r = Results();
    for (var k = 0u; k < p.k / 4u; k += 1u) {
        r = more(r, rows_along_k(at_a, k), columns_along_n(at_b, step));
        at_b.x += 4u * step;
    }
    store8(t, r);
}

@compute @workgroup_size(WG)
fn matmul_vectors_kk(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let t = tile8(i);
    let at_a = starts(off(0u) + batch_start(t.z, p.a_batch), t.row, p.m, u32(p.a_row));
    let at_b = starts(off(1u) + batch_start(t.z, p.b_batch), t.col, p.n, u32(p.b_col));
    var r = Results();
    for (var k = 0u; k < p.k / 4u; k += 1u) {
        r = more(r, rows_along_k(at_a, k), columns_along_k(at_b, k));
    }
    store8(t, r);
}

@compute @workgroup_size(WG)
fn matmul_vectors_mn(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let t = tile8(i);
    var at_a = halves(off(0u) + batch_start(t.z, p.a_batch), t.row, p.m);
    var at_b = halves(off(1u) + batch_start(t.z, p.b_batch), t.col, p.n);
    let step_a = u32(p.a_col) / 4u;
    let step_b = u32(p.b_row) / 4u;
    var r = Results();
    for (var k = 0u; k < p.k / 4u; k += 1u) {
        r = more(r, rows_along_m(at_a, step_a), columns_along_n(at_b, step_b));
        at_a.x += 4u * step_a;
        at_b.x += 4u * step_b;
    }
    store8(t, r);
}

@compute @workgroup_size(WG)
fn matmul_vectors_mk(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    let t = tile8(i);
    var at_a = halves(off(0u) + batch_start(t.z, p.a_batch), t.row, p.m);
    let at_b = starts(off(1u) + batch_start(t.z, p.b_batch), t.col, p.n, u32(p.b_col));
    let step_a = u32(p.a_col) / 4u;
    var r = Results();
    for (var k = 0u; k < p.k / 4u; k += 1u) {
        r = more(r, rows_along_m(at_a, step_a), columns_along_k(at_b, k));
        at_a.x += 4u * step_a;
    }
    store8(t, r);
}

// Four results of one row, as far as they exist.
fn store_row(out: u32, row: u32, col: u32, sums: vec4<f32>) {
    if (row >= p.m || col >= p.n) { return; }
    let at = out + row * p.n + col;
    var added = vec4<f32>();
    if (p.bias != 0u) {
        // Columns past the edge repeat the last one; they are not stored.
        let from_bias = off(2u) + min(vec4<u32>(col) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(p.n - 1u));
        added = vec4<f32>(bias_in[from_bias.x], bias_in[from_bias.y], bias_in[from_bias.z], bias_in[from_bias.w]);
    }
    let values = finish(sums + added);
    product[at] = values.x;
    if (col + 1u < p.n) { product[at + 1u] = values.y; }
    if (col + 2u < p.n) { product[at + 2u] = values.z; }
    if (col + 3u < p.n) { product[at + 3u] = values.w; }
}

// A tile in units of four rows and four columns: each of the WG / 16 rows of invocations makes four rows.
const TILE_ROWS: u32 = WG / 16u;
const TILE_COLS: u32 = 16u;
const DEPTH: u32 = 16u;
var<workgroup> part_a: array<vec4<f32>, DEPTH * TILE_ROWS>;
var<workgroup> part_b: array<vec4<f32>, DEPTH * TILE_COLS>;

// Four elements of a line of a matrix, step apart; zero where the line has ended or is none of the matrix.
fn four_of_a(at: u32, step: u32, left: u32) -> vec4<f32> {
    if (left >= 4u) { return vec4<f32>(a[at], a[at + step], a[at + 2u * step], a[at + 3u * step]); }
    var out = vec4<f32>();
    if (left > 0u) { out.x = a[at]; }
    if (left > 1u) { out.y = a[at + step]; }
    if (left > 2u) { out.z = a[at + 2u * step]; }
    return out;
}

fn four_of_b(at: u32, step: u32, left: u32) -> vec4<f32> {
    if (left >= 4u) { return vec4<f32>(b[at], b[at + step], b[at + 2u * step], b[at + 3u * step]); }
    var out = vec4<f32>();
    if (left > 0u) { out.x = b[at]; }
    if (left > 1u) { out.y = b[at + step]; }
    if (left > 2u) { out.z = b[at + 2u * step]; }
    return out;
}

// How many of `size` elements are left from `first` on.
fn remaining(size: u32, first: u32) -> u32 {
    return size - min(size, first);
}

@compute @workgroup_size(WG)
fn matmul_tile(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let g = group_index(wid);
    if (g >= launch.count) { return; }
    let across = (p.n + 4u * TILE_COLS - 1u) / (4u * TILE_COLS);
    let down = (p.m + 4u * TILE_ROWS - 1u) / (4u * TILE_ROWS);
    let first_col = (g % across) * TILE_COLS * 4u;
    let first_row = ((g / across) % down) * TILE_ROWS * 4u;
    let z = g / (across * down);
    let start_a = off(0u) + batch_start(z, p.a_batch);
    let start_b = off(1u) + batch_start(z, p.b_batch);
    let a_row = u32(p.a_row);
    let a_col = u32(p.a_col);
    let b_row = u32(p.b_row);
    let b_col = u32(p.b_col);
    let my_col = lid % TILE_COLS;
    let my_row = lid / TILE_COLS;
    var r0 = vec4<f32>();
    var r1 = vec4<f32>();
    var r2 = vec4<f32>();
    var r3 = vec4<f32>();
    for (var base = 0u; base < p.k; base += DEPTH) {
        // Neighbouring invocations fetch neighbouring elements, whichever way the operand runs.
        let a_down = p.a_row == 1;
        for (var e = lid; e < DEPTH * TILE_ROWS; e += WG) {
            let k = select(e % DEPTH, e / TILE_ROWS, a_down);
            let r = select(e / DEPTH, e % TILE_ROWS, a_down);
            let row = first_row + 4u * r;
            let left = select(0u, remaining(p.m, row), base + k < p.k);
            part_a[k * TILE_ROWS + r] = four_of_a(start_a + row * a_row + (base + k) * a_col, a_row, left);
        }
        let b_down = p.b_row == 1;
        for (var e = lid; e < DEPTH * TILE_COLS; e += WG) {
            let k = select(e / TILE_COLS, e % DEPTH, b_down);
            let c = select(e % TILE_COLS, e / DEPTH, b_down);
            let col = first_col + 4u * c;
            let left = select(0u, remaining(p.n, col), base + k < p.k);
            part_b[k * TILE_COLS + c] = four_of_b(start_b + (base + k) * b_row + col * b_col, b_col, left);
        }
        workgroupBarrier();
        for (var k = 0u; k < DEPTH; k += 1u) {
            let col_a = part_a[k * TILE_ROWS + my_row];
            let row_b = part_b[k * TILE_COLS + my_col];
            r0 += col_a.x * row_b;
            r1 += col_a.y * row_b;
            r2 += col_a.z * row_b;
            r3 += col_a.w * row_b;
        }
        workgroupBarrier();
    }
    let out = off(3u) + z * p.m * p.n;
    let row = first_row + 4u * my_row;
    let col = first_col + 4u * my_col;
    if (col >= p.n) { return; }
    store_row(out, row, col, r0);
    store_row(out, row + 1u, col, r1);
    store_row(out, row + 2u, col, r2);
    store_row(out, row + 3u, col, r3);
}

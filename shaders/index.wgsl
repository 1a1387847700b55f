// Reading and adding at positions that a tensor of int64 indices names. Data is [outer, size, inner], what is gathered
// [outer, n, inner]; element (o, j, i) takes the index at o * index_outer + j * index_n + i * index_inner.
//
// gather       one invocation an element: one index and one element read, one written.
// scatter_add  one invocation a result, which looks through all n indices of its line for those that name it. That is
//              n reads of indices a result, but no atomics (WGSL has none for floats), and the sums are the same every
//              time.
// check_index  one invocation an index.

@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@group(0) @binding(1) var<storage, read_write> picks: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> gathered: array<f32>;
@group(0) @binding(0) var<storage, read_write> data_i64: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> gathered_i64: array<vec2<u32>>;

@group(0) @binding(0) var<storage, read_write> places: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> source: array<f32>;
@group(0) @binding(2) var<storage, read_write> totals: array<f32>;

struct IndexParams {
    outer: u32,
    size: u32,
    inner: u32,
    n: u32,
    index_outer: u32,
    index_n: u32,
    index_inner: u32,
    pad: u32,
}
@group(1) @binding(1) var<uniform> p: IndexParams;

const NOWHERE = 0xffffffffu;

// Which element of the data result `at` takes; NOWHERE, and the check raised, if its index is out of range.
fn picked(at: u32) -> u32 {
    let i = at % p.inner;
    let j = (at / p.inner) % p.n;
    let o = at / (p.inner * p.n);
    let v = picks[off(1u) + o * p.index_outer + j * p.index_n + i * p.index_inner];
    if (!index_in(v, p.size)) {
        raise(v);
        return NOWHERE;
    }
    return (o * p.size + v.x) * p.inner + i;
}

@compute @workgroup_size(WG)
fn gather(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let at = linear_index(wid, lid);
    if (at >= launch.count) { return; }
    let element = picked(at);
    if (element == NOWHERE) {
        gathered[off(2u) + at] = 0.0;
    } else {
        gathered[off(2u) + at] = data[off(0u) + element];
    }
}

@compute @workgroup_size(WG)
fn gather_i64(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let at = linear_index(wid, lid);
    if (at >= launch.count) { return; }
    let element = picked(at);
    if (element == NOWHERE) {
        gathered_i64[off(2u) + at] = vec2<u32>();
    } else {
        gathered_i64[off(2u) + at] = data_i64[off(0u) + element];
    }
}

@compute @workgroup_size(WG)
fn scatter_add(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let at = linear_index(wid, lid);
    if (at >= launch.count) { return; }
    let i = at % p.inner;
    let to = (at / p.inner) % p.size;
    let o = at / (p.inner * p.size);
    let first = off(0u) + o * p.index_outer + i * p.index_inner;
    var sum = 0.0;
    for (var j = 0u; j < p.n; j++) {
        let v = places[first + j * p.index_n];
        if (v.x == to && v.y == 0u) {
            sum += source[off(1u) + (o * p.n + j) * p.inner + i];
        }
    }
    totals[off(2u) + at] = sum;
}

@compute @workgroup_size(WG)
fn check_index(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let at = linear_index(wid, lid);
    if (at >= launch.count) { return; }
    let v = places[off(0u) + at];
    if (!index_in(v, p.size)) { raise(v); }
}

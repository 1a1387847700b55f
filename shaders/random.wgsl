// Uniform numbers in [0, 1) from Philox4x32-10, bit for bit those of the host: element i is lane i % 4 of the block at
// counter + i / 4, and a word becomes a number by its upper 24 bits.
//
// Grid: one invocation a number. Each computes its whole block and keeps one lane: four times the arithmetic, but the
// ten rounds cost less than a pass over memory does.
// Cost: about 120 integer operations and 4 bytes written a number.

@group(0) @binding(0) var<storage, read_write> numbers: array<f32>;

struct RandomParams {
    counter: vec4<u32>,
    key: vec2<u32>,
    count: u32,
    pad: u32,
}
@group(1) @binding(1) var<uniform> p: RandomParams;

fn philox(start: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
    var c = start;
    var k = key;
    for (var turn = 0u; turn < 10u; turn++) {
        let a = wide_mul(0xD2511F53u, c.x);
        let b = wide_mul(0xCD9E8D57u, c.z);
        c = vec4<u32>(b.y ^ c.y ^ k.x, b.x, a.y ^ c.w ^ k.y, a.x);
        k += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}

@compute @workgroup_size(WG)
fn uniform_random(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    // A 64-bit addition in the first two words.
    let low = p.counter.x + i / 4u;
    let carry = select(0u, 1u, low < p.counter.x);
    let words = philox(vec4<u32>(low, p.counter.y + carry, p.counter.z, p.counter.w), p.key);
    numbers[off(0u) + i] = f32(words[i % 4u] >> 8u) * (1.0 / 16777216.0);
}

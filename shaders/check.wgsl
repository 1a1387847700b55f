// Searches for bad values. Grid: one invocation an element, one read each; only the first find is noted.

@group(0) @binding(0) var<storage, read_write> searched: array<f32>;

struct CheckParams { count: u32, pad0: u32, pad1: u32, pad2: u32 }
@group(1) @binding(1) var<uniform> p: CheckParams;

@compute @workgroup_size(WG)
fn check_nan(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let i = linear_index(wid, lid);
    if (i >= launch.count) { return; }
    if (is_nan(searched[off(0u) + i])) { raise(vec2<u32>(0u, 0u)); }
}

// The negative log likelihood of class indices: log-probabilities are [batch, classes, inner], targets [batch, inner].
//
// nll           one invocation a target: one log-probability read, the loss and its weight written.
// nll_backward  one invocation a log-probability: -weight * gradient at the target's class, 0 elsewhere, so that nothing
//               need be cleared first.

@group(0) @binding(0) var<storage, read_write> logp: array<f32>;
@group(0) @binding(1) var<storage, read_write> labels: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> class_weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> losses: array<f32>;
@group(0) @binding(4) var<storage, read_write> shares: array<f32>;

@group(0) @binding(0) var<storage, read_write> labels_back: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> weights_back: array<f32>;
@group(0) @binding(2) var<storage, read_write> grads: array<f32>;
@group(0) @binding(3) var<storage, read_write> slopes: array<f32>;

struct NllParams {
    batch: u32,
    classes: u32,
    inner: u32,
    ignored: i32,
    weighted: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}
@group(1) @binding(1) var<uniform> p: NllParams;

// Whether a target counts for nothing: both words of the int64 must agree.
fn is_ignored(v: vec2<u32>) -> bool {
    let w = i64_of(p.ignored);
    return v.x == w.x && v.y == w.y;
}

@compute @workgroup_size(WG)
fn nll(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let at = linear_index(wid, lid);
    if (at >= launch.count) { return; }
    let v = labels[off(1u) + at];
    var value = 0.0;
    var w = 0.0;
    if (!is_ignored(v)) {
        if (index_in(v, p.classes)) {
            w = 1.0;
            if (p.weighted != 0u) { w = class_weights[off(2u) + v.x]; }
            let b = at / p.inner;
            value = -logp[off(0u) + (b * p.classes + v.x) * p.inner + at % p.inner] * w;
        } else {
            raise(v);
        }
    }
    losses[off(3u) + at] = value;
    shares[off(4u) + at] = w;
}

@compute @workgroup_size(WG)
fn nll_backward(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let at = linear_index(wid, lid);
    if (at >= launch.count) { return; }
    let i = at % p.inner;
    let own_class = (at / p.inner) % p.classes;
    let label_at = (at / (p.inner * p.classes)) * p.inner + i;
    let v = labels_back[off(0u) + label_at];
    var value = 0.0;
    if (!is_ignored(v) && v.x == own_class && v.y == 0u) {
        value = -grads[off(2u) + label_at];
        if (p.weighted != 0u) { value *= weights_back[off(1u) + own_class]; }
    }
    slopes[off(3u) + at] = value;
}

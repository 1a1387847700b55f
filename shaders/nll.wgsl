// The negative log likelihood of class indices: log-probabilities are [batch, classes, inner], targets [batch, inner].
//
// nll           one invocation a target: one log-probability read, the loss and its weight written.
// nll_backward  one invocation a log-probability: -weight * gradient at the target's class, 0 elsewhere, so that nothing
//               need be cleared first.
// cross_entropy one workgroup for all: softmax, loss and mean of logits, which as operations of their own are five launches.
//               Each invocation takes every WG-th target; their sums meet in workgroup memory, halved at each turn.
// cross_entropy_backward  one invocation a logit: (probability - 1 at the target's class) * weight * gradient.

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
    mean: u32,
    pad0: u32,
    pad1: u32,
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

@group(0) @binding(0) var<storage, read_write> logits: array<f32>;
@group(0) @binding(3) var<storage, read_write> made_probabilities: array<f32>;
@group(0) @binding(4) var<storage, read_write> loss_out: array<f32>;
@group(0) @binding(5) var<storage, read_write> total_out: array<f32>;

var<workgroup> part_loss: array<f32, WG>;
var<workgroup> part_total: array<f32, WG>;

@compute @workgroup_size(WG)
fn cross_entropy(@builtin(local_invocation_index) lid: u32) {
    var loss = 0.0;
    var total = 0.0;
    for (var at = lid; at < p.batch * p.inner; at += WG) {
        let start = (at / p.inner) * p.classes * p.inner + at % p.inner;
        let from_logits = off(0u) + start;
        let to = off(3u) + start;
        var top = logits[from_logits];
        for (var c = 1u; c < p.classes; c += 1u) {
            top = max_nan(top, logits[from_logits + c * p.inner]);
        }
        var sum = 0.0;
        for (var c = 0u; c < p.classes; c += 1u) {
            let e = exp_(logits[from_logits + c * p.inner] - top);
            made_probabilities[to + c * p.inner] = e;
            sum += e;
        }
        for (var c = 0u; c < p.classes; c += 1u) {
            made_probabilities[to + c * p.inner] /= sum;
        }
        let v = labels[off(1u) + at];
        if (is_ignored(v)) { continue; }
        if (!index_in(v, p.classes)) {
            raise(v);
            continue;
        }
        var w = 1.0;
        if (p.weighted != 0u) { w = class_weights[off(2u) + v.x]; }
        loss += (log_(sum) - (logits[from_logits + v.x * p.inner] - top)) * w;
        total += w;
    }
    part_loss[lid] = loss;
    part_total[lid] = total;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lid < half) {
            part_loss[lid] += part_loss[lid + half];
            part_total[lid] += part_total[lid + half];
        }
    }
    if (lid > 0u) { return; }
    loss = part_loss[0];
    if (p.mean != 0u) { loss /= part_total[0]; }
    loss_out[off(4u)] = loss;
    total_out[off(5u)] = part_total[0];
}

@group(0) @binding(0) var<storage, read_write> probabilities: array<f32>;
@group(0) @binding(1) var<storage, read_write> targets: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> target_weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> total_in: array<f32>;
@group(0) @binding(4) var<storage, read_write> loss_grad: array<f32>;
@group(0) @binding(5) var<storage, read_write> logit_grads: array<f32>;

@compute @workgroup_size(WG)
fn cross_entropy_backward(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let at = linear_index(wid, lid);
    if (at >= launch.count) { return; }
    let own_class = (at / p.inner) % p.classes;
    let v = targets[off(1u) + (at / (p.inner * p.classes)) * p.inner + at % p.inner];
    var value = 0.0;
    if (!is_ignored(v)) {
        value = probabilities[off(0u) + at];
        if (v.x == own_class && v.y == 0u) { value -= 1.0; }
        value *= loss_grad[off(4u)];
        if (p.mean != 0u) { value /= total_in[off(3u)]; }
        if (p.weighted != 0u) { value *= target_weights[off(2u) + v.x]; }
    }
    logit_grads[off(5u) + at] = value;
}

//! float16 and bfloat16: what float64 gives for the same rounded inputs, to the format's own rounding.

use super::on_all_devices;
use conformance::golden::{self, Value64};
use conformance::layouts::Arrangement;
use conformance::problem::Problem;
use tensor::DType;

#[test]
fn half_width_floats_round_once() {
    let data = golden::tensors("ops.safetensors");
    on_all_devices(&golden::cases(), |case, device| {
        let recorded = Problem::recorded(case, &data);
        let mut results = Vec::new();
        for dtype in [DType::F16, DType::BF16] {
            let narrow = |all: &[Value64]| all.iter().map(|v| v.rounded(dtype)).collect();
            let problem =
                Problem::computed(case, narrow(&recorded.inputs), narrow(&recorded.flows))
                    .unwrap_or_else(|e| panic!("{}: {e}", case.id));
            // Odd offsets and steps put two elements of one 32-bit word into different hands.
            for how in [
                Arrangement::Dense,
                Arrangement::Offset,
                Arrangement::Stepped,
            ] {
                let label = format!("{} {} {dtype} {how:?}", case.id, device.id());
                let place = |v: &Value64, kind| how.apply(&v.tensor(kind, device));
                results.push(problem.check(case, &label, dtype, place));
            }
        }
        results
    });
}

//! PyTorch's own results, in every arrangement of the inputs.

use super::on_all_devices;
use conformance::golden::{self, Case, Value64};
use conformance::layouts::{Arrangement, repeated};
use conformance::problem::Problem;
use tensor::{DType, Device};

fn arranged(
    problem: &Problem,
    case: &Case,
    device: &Device,
    dtype: DType,
    how: Arrangement,
) -> Result<(), String> {
    let label = format!("{} {} {dtype} {how:?}", case.id, device.id());
    let place = |v: &Value64, kind| how.apply(&v.tensor(kind, device));
    problem.check(case, &label, dtype, place)
}

fn wide(device: &Device) -> impl Iterator<Item = DType> {
    [DType::F64, DType::F32]
        .into_iter()
        .filter(|&d| device.backend().supports(d))
}

#[test]
fn operations_and_gradients_are_pytorchs() {
    let data = golden::tensors("ops.safetensors");
    on_all_devices(&golden::cases(), |case, device| {
        let problem = Problem::recorded(case, &data);
        wide(device)
            .flat_map(|dtype| Arrangement::ALL.map(|how| (dtype, how)))
            .map(|(dtype, how)| arranged(&problem, case, device, dtype, how))
            .collect()
    });
}

/// Inputs that repeat one slice by a stride of 0 give what the same values give when they are stored out.
#[test]
fn repeated_inputs_count_as_often_as_they_are_shown() {
    let data = golden::tensors("ops.safetensors");
    on_all_devices(&golden::cases(), |case, device| {
        let mut problem = Problem::recorded(case, &data);
        // Running statistics are written to, which PyTorch and this engine refuse where elements are shared.
        let fixed = if case.op == "batch_norm" {
            3
        } else {
            usize::MAX
        };
        for input in problem.inputs.iter_mut().take(fixed) {
            *input = repeated(input);
        }
        let (inputs, flows) = (problem.inputs, problem.flows);
        let problem = match Problem::computed(case, inputs, flows) {
            Ok(problem) => problem,
            Err(e) => return vec![Err(format!("{}: {e}", case.id))],
        };
        let moved = problem.inputs.len().min(fixed);
        wide(device)
            .map(|dtype| {
                let label = format!("{} {} {dtype} repeated", case.id, device.id());
                let at = std::cell::Cell::new(0);
                let place = |v: &Value64, kind| {
                    let how = if at.replace(at.get() + 1) < moved {
                        Arrangement::Broadcast
                    } else {
                        Arrangement::Dense
                    };
                    how.apply(&v.tensor(kind, device))
                };
                problem.check(case, &label, dtype, place)
            })
            .collect()
    });
}

//! The comparison itself: an error of 1e-3 in any one operation or gradient does not pass.

use conformance::compare::{Part, differs, tolerance};
use conformance::golden;
use conformance::problem::{Problem, magnitude};
use tensor::DType;

#[test]
fn an_error_of_a_thousandth_is_seen_in_every_operation() {
    let data = golden::tensors("ops.safetensors");
    let mut planted = 0;
    for case in golden::cases() {
        let problem = Problem::recorded(&case, &data);
        let outputs = problem.outputs.iter().map(|v| (Part::Value, v));
        let grads = problem.grads.iter().flatten().map(|v| (Part::Gradient, v));
        for (part, want) in outputs.chain(grads).filter(|(_, v)| !v.values.is_empty()) {
            let dtypes: &[DType] = if want.dtype.is_float() {
                &[DType::F64, DType::F32]
            } else {
                &[want.dtype]
            };
            for &dtype in dtypes {
                let tol = tolerance(&case.op, dtype, part);
                let passes =
                    |got: &[f64]| differs(got, &want.values, tol, magnitude(want)).is_none();
                assert!(passes(&want.values), "{}: not like itself", case.id);
                // In all elements, relatively; in the largest one alone; a NaN at the ends and inside.
                let wrong = |v: f64| if v == 0.0 { 1e-3 } else { v * (1.0 + 1e-3) };
                let all: Vec<f64> = want.values.iter().map(|&v| wrong(v)).collect();
                assert!(!passes(&all), "{} {dtype}: all wrong by 1e-3", case.id);
                let largest = (0..want.values.len())
                    .max_by(|&a, &b| want.values[a].abs().total_cmp(&want.values[b].abs()))
                    .unwrap();
                let mut one = want.values.clone();
                one[largest] = wrong(one[largest]);
                assert!(
                    !passes(&one),
                    "{} {dtype}: element {largest} wrong by 1e-3",
                    case.id
                );
                for i in [0, want.values.len() / 2, want.values.len() - 1] {
                    let mut nan = want.values.clone();
                    nan[i] = f64::NAN;
                    assert!(!passes(&nan), "{} {dtype}: NaN at {i}", case.id);
                }
                planted += 1;
            }
        }
    }
    assert!(planted > 400, "only {planted} results were tried");
}

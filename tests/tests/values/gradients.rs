//! Every gradient against central differences, in float64 on the CPU, which all devices are compared with.

use conformance::golden::{self, Value64};
use conformance::ops;
use conformance::problem::wanted;
use tensor::random::Generator;
use tensor::{DType, Device, Reduction, Result, Tensor};

/// Elements of one input that are tried.
const TRIED: usize = 16;

/// Numbers without a pattern that a sum could hide, from -1 to 1.
fn uneven(n: usize, seed: f64) -> Vec<f64> {
    (0..n)
        .map(|i| (1.0 + seed + 0.7 * i as f64).sin())
        .collect()
}

type Function<'a> = dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + 'a;

/// The results summed, each element with a weight of its own; the same of absolute values, which bounds the rounding.
struct Weighted {
    total: f64,
    size: f64,
    flows: Vec<(Tensor, Tensor)>,
}

fn weighted(f: &Function, inputs: &[Tensor]) -> Result<Weighted> {
    let (mut total, mut size) = (0.0, 0.0);
    let mut flows = Vec::new();
    for (n, out) in f(inputs)?.into_iter().enumerate() {
        if out.dtype() != DType::F64 {
            continue;
        }
        let weights = uneven(out.numel(), n as f64);
        let values = out.to_f64s_now()?;
        for (value, weight) in values.iter().zip(&weights) {
            total += value * weight;
            size += (value * weight).abs();
        }
        let flow = Tensor::from_f64s(weights.into_iter(), out.shape(), DType::F64, out.device())?;
        flows.push((out, flow));
    }
    Ok(Weighted { total, size, flows })
}

fn tensors(inputs: &[Value64]) -> Vec<Tensor> {
    let cpu = Device::cpu();
    inputs
        .iter()
        .map(|v| {
            let float = v.dtype.is_float();
            v.tensor(if float { DType::F64 } else { v.dtype }, &cpu)
        })
        .collect()
}

fn check(
    label: &str,
    f: &Function,
    inputs: &[Value64],
    wanted: &[bool],
) -> std::result::Result<(), String> {
    let fail = |e: tensor::Error| format!("{label}: {e}");
    let leaves = tensors(inputs);
    for (x, _) in leaves.iter().zip(wanted).filter(|(_, w)| **w) {
        x.requires_grad_(true).map_err(fail)?;
    }
    let here = weighted(f, &leaves).map_err(fail)?;
    for (out, flow) in here.flows.iter().filter(|(out, _)| out.requires_grad()) {
        out.backward_with(flow, true).map_err(fail)?;
    }
    for (n, _) in wanted.iter().enumerate().filter(|(_, w)| **w) {
        let grad = match leaves[n].grad() {
            Some(grad) => grad.to_f64s_now().map_err(fail)?,
            None => return Err(format!("{label}: input {n} has no gradient")),
        };
        let count = grad.len();
        for k in 0..count.min(TRIED) {
            let i = k * count / count.min(TRIED);
            let x = inputs[n].values[i];
            let step = 1e-6 * x.abs().max(1.0);
            let at = |x: f64| {
                let mut moved = inputs.to_vec();
                moved[n].values[i] = x;
                weighted(f, &tensors(&moved)).map(|w| w.total)
            };
            let (up, down) = (at(x + step).map_err(fail)?, at(x - step).map_err(fail)?);
            let slope = (up - down) / ((x + step) - (x - step));
            // The differences' own error: of third order in the step, and the sum's rounding over the step.
            let allowed = 1e-6 * (1.0 + slope.abs()) + 4e-16 * here.size.max(1.0) / step;
            // Where two candidates of a maximum are equal there is a slope to each side, and any between them will do.
            let sides = [(up - here.total) / step, (here.total - down) / step];
            let kink = (sides[0] - sides[1]).abs() > 1e-3 * (1.0 + slope.abs());
            let right = if kink {
                grad[i] >= sides[0].min(sides[1]) - 1e-3 && grad[i] <= sides[0].max(sides[1]) + 1e-3
            } else {
                (grad[i] - slope).abs() <= allowed
            };
            if !right {
                let got = grad[i];
                return Err(format!(
                    "{label}: gradient {n} at {i}: {got:e}, differences give {slope:e}"
                ));
            }
        }
    }
    Ok(())
}

fn report(failures: &[String], count: usize) {
    println!("{count} gradients");
    assert!(
        failures.is_empty(),
        "{} of {count} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn recorded_operations_have_the_slope_of_their_values() {
    let data = golden::tensors("ops.safetensors");
    let mut failures = Vec::new();
    let mut count = 0;
    for case in golden::cases() {
        let wanted = wanted(&case);
        if !wanted.contains(&true) {
            continue;
        }
        let inputs: Vec<Value64> = case.inputs.iter().map(|k| data[k].clone()).collect();
        count += wanted.iter().filter(|w| **w).count();
        // Running statistics depend on the input, but no gradient flows through them.
        let results = if case.op == "batch_norm" {
            1
        } else {
            usize::MAX
        };
        let f = |x: &[Tensor]| {
            let mut out = ops::apply(&case, x).unwrap()?;
            out.truncate(results);
            Ok(out)
        };
        failures.extend(check(&case.id, &f, &inputs, &wanted).err());
    }
    assert!(count > 150, "only {count} gradients are recorded");
    report(&failures, count);
}

/// What PyTorch's recorded cases leave out: numbers as operands, views, in-place changes, other options.
#[test]
#[allow(clippy::too_many_lines)] // a table
fn the_other_operations_have_the_slope_of_their_values() {
    fn one(t: Result<Tensor>) -> Result<Vec<Tensor>> {
        t.map(|t| vec![t])
    }
    type Row = (
        &'static str,
        &'static [&'static [usize]],
        fn(&[Tensor]) -> Result<Vec<Tensor>>,
    );
    let rows: &[Row] = &[
        ("log1p", &[&[5]], |x| one(x[0].log1p())),
        ("sign", &[&[5]], |x| one(x[0].sign())),
        ("floor", &[&[5]], |x| one(x[0].floor())),
        ("ceil", &[&[5]], |x| one(x[0].ceil())),
        ("round", &[&[5]], |x| one(x[0].round())),
        ("add_scalar", &[&[5]], |x| one(x[0].add_scalar(0.3))),
        ("sub_scalar", &[&[5]], |x| one(x[0].sub_scalar(0.3))),
        ("rsub_scalar", &[&[5]], |x| one(x[0].rsub_scalar(0.3))),
        ("mul_scalar", &[&[5]], |x| one(x[0].mul_scalar(-1.7))),
        ("div_scalar", &[&[5]], |x| one(x[0].div_scalar(-1.7))),
        ("add_scaled", &[&[3, 4], &[4]], |x| {
            one(x[0].add_scaled(&x[1], -0.6))
        }),
        ("pow_scalar 0", &[&[5]], |x| one(x[0].pow_scalar(0.0))),
        ("pow_scalar 3", &[&[5]], |x| one(x[0].pow_scalar(3.0))),
        ("gelu_tanh", &[&[5]], |x| one(x[0].gelu_tanh())),
        ("the same twice", &[&[5]], |x| one(x[0].mul(&x[0]))),
        ("broadcast both ways", &[&[3, 1], &[1, 4]], |x| {
            one(x[0].div(&x[1].add_scalar(3.0)?))
        }),
        ("triu", &[&[4, 5]], |x| one(x[0].triu(1))),
        ("tril", &[&[4, 5]], |x| one(x[0].tril(-1))),
        ("split", &[&[7, 2]], |x| x[0].split(3, 0)),
        ("squeeze", &[&[3, 1, 2]], |x| one(x[0].squeeze(1))),
        ("unsqueeze", &[&[3, 2]], |x| one(x[0].unsqueeze(1))),
        ("view", &[&[3, 4]], |x| one(x[0].view(&[2, 6]))),
        ("reshape that copies", &[&[3, 4]], |x| {
            one(x[0].t()?.reshape(&[2, 6]))
        }),
        ("flatten", &[&[2, 3, 4]], |x| one(x[0].flatten(1, -1))),
        ("contiguous", &[&[3, 4]], |x| one(x[0].t()?.contiguous())),
        ("clone", &[&[3, 4]], |x| one(x[0].clone())),
        ("step back and forth", &[&[6, 3]], |x| {
            one(x[0].slice(0, 1, 6, 2)?.flip(&[0])?.t())
        }),
        ("diagonal below", &[&[4, 5]], |x| {
            one(x[0].diagonal(-1, 0, 1))
        }),
        ("sum_all", &[&[3, 4]], |x| one(x[0].sum_all())),
        ("mean_all", &[&[3, 4]], |x| one(x[0].mean_all())),
        ("var of all, n", &[&[3, 4]], |x| {
            one(x[0].var(&[], false, false))
        }),
        ("logsumexp of all", &[&[3, 4]], |x| {
            one(x[0].logsumexp(&[], false))
        }),
        ("amax of two", &[&[3, 4, 2]], |x| {
            one(x[0].amax(&[0, 2], true))
        }),
        ("prod with a zero", &[&[3, 4]], |x| {
            let mask = Tensor::from_f64s(
                (0..12).map(|i| f64::from(u8::from(i != 5))),
                &[3, 4],
                DType::F64,
                x[0].device(),
            )?;
            one(x[0].mul(&mask)?.prod(1, false))
        }),
        ("topk, smallest", &[&[3, 6]], |x| {
            one(x[0].topk(2, 1, false).map(|(v, _)| v))
        }),
        ("cumsum back", &[&[3, 4]], |x| {
            one(x[0].flip(&[1])?.cumsum(1))
        }),
        ("layer_norm alone", &[&[3, 4]], |x| {
            one(x[0].layer_norm(&[4], None, None, 1e-5))
        }),
        ("layer_norm of two", &[&[3, 4, 2], &[4, 2], &[4, 2]], |x| {
            one(x[0].layer_norm(&[4, 2], Some(&x[1]), Some(&x[2]), 1e-5))
        }),
        ("batch_norm alone", &[&[5, 3]], |x| {
            one(x[0].batch_norm(None, None, None, None, true, 0.1, 1e-5))
        }),
        ("batch_norm of images", &[&[4, 3, 2, 2], &[3], &[3]], |x| {
            one(x[0].batch_norm(Some(&x[1]), Some(&x[2]), None, None, true, 0.1, 1e-5))
        }),
        ("dropout", &[&[20]], |x| {
            one(x[0].dropout(0.4, &Generator::new(7)))
        }),
        ("mse_loss, each", &[&[6], &[6]], |x| {
            one(x[0].mse_loss(&x[1], Reduction::None))
        }),
        ("mse_loss, sum", &[&[6], &[6]], |x| {
            one(x[0].mse_loss(&x[1], Reduction::Sum))
        }),
        ("l1_loss, each", &[&[6], &[6]], |x| {
            one(x[0].l1_loss(&x[1].mul_scalar(2.0)?, Reduction::None))
        }),
        ("smooth_l1_loss, sum", &[&[6], &[6]], |x| {
            one(x[0].mul_scalar(3.0)?.smooth_l1_loss(&x[1], Reduction::Sum))
        }),
        ("bce, each", &[&[6], &[6]], |x| {
            one(x[0].binary_cross_entropy_with_logits(&x[1].sigmoid()?, Reduction::None))
        }),
        ("add_ and mul_ in place", &[&[3, 4], &[4]], |x| {
            let y = x[0].mul_scalar(2.0)?;
            y.add_(&x[1])?;
            y.mul_scalar_(-3.0)?;
            y.add_scalar_(0.5)?;
            y.sub_(&x[1].square()?)?;
            one(y.exp())
        }),
        ("add_scaled_ in place", &[&[3, 4], &[3, 4]], |x| {
            let y = x[0].square()?;
            y.add_scaled_(&x[1], 0.25)?;
            one(y.square())
        }),
        ("copy_ in place", &[&[3, 4], &[4]], |x| {
            let y = x[0].square()?;
            y.copy_(&x[1])?;
            one(y.square())
        }),
        ("zero_ in place", &[&[3, 4], &[3, 4]], |x| {
            let y = x[0].square()?;
            y.zero_()?;
            one(y.add(&x[1]))
        }),
        ("two uses of one result", &[&[3, 4]], |x| {
            let y = x[0].exp()?;
            Ok(vec![y.sum(&[0], false)?, y.mul(&x[0])?])
        }),
    ];
    let mut failures = Vec::new();
    for (name, shapes, f) in rows {
        let inputs: Vec<Value64> = shapes
            .iter()
            .enumerate()
            .map(|(n, shape)| Value64 {
                dtype: DType::F64,
                shape: shape.to_vec(),
                values: uneven(shape.iter().product(), 0.3 + 2.0 * n as f64),
            })
            .collect();
        let wanted = vec![true; inputs.len()];
        failures.extend(check(name, f, &inputs, &wanted).err());
    }
    report(&failures, rows.len());
}

/// A gradient that is wrong by a thousandth does not pass, nor does one that is missing.
#[test]
fn a_wrong_gradient_is_seen() {
    let input = Value64 {
        dtype: DType::F64,
        shape: vec![4],
        values: uneven(4, 0.0),
    };
    let inputs = [input];
    let wrong = |x: &[Tensor]| {
        let hidden = x[0].detach().mul_scalar(1e-3)?;
        Ok(vec![x[0].add(&hidden)?])
    };
    assert!(check("wrong", &wrong, &inputs, &[true]).is_err());
    let missing = |x: &[Tensor]| Ok(vec![x[0].detach().exp()?]);
    assert!(check("missing", &missing, &inputs, &[true]).is_err());
    let right = |x: &[Tensor]| Ok(vec![x[0].exp()?]);
    assert_eq!(check("right", &right, &inputs, &[true]), Ok(()));
}

//! What is merged into one launch gives what its parts give.

use super::on_all_devices;
use conformance::compare::{Tolerance, differs};
use conformance::devices;
use conformance::golden::{self, Value64};
use conformance::layouts::Arrangement;
use conformance::problem::Problem;
use nn::optim::{AdamConfig, RmsPropConfig, SgdConfig};
use nn::{Adam, AdamW, Optimizer, Parameter, RmsProp, Sgd};
use tensor::fused::unfused;
use tensor::random::Generator;
use tensor::{ClassLoss, Conv2dOptions, DType, Device, Reduction, Tensor};

/// The recorded operations that are merged, once more without.
#[test]
fn parts_alone_are_pytorchs_too() {
    let data = golden::tensors("ops.safetensors");
    let merged = ["cross_entropy", "linear", "conv2d"];
    let mut cases = golden::cases();
    cases.retain(|c| merged.contains(&c.op.as_str()));
    assert!(cases.len() > 10, "{} cases", cases.len());
    on_all_devices(&cases, |case, device| {
        let problem = Problem::recorded(case, &data);
        let types = [DType::F64, DType::F32].into_iter();
        types
            .filter(|&d| device.backend().supports(d))
            .map(|dtype| {
                let label = format!("{} {} {dtype} unfused", case.id, device.id());
                let place = |v: &Value64, kind| Arrangement::Dense.apply(&v.tensor(kind, device));
                unfused(|| problem.check(case, &label, dtype, place))
            })
            .collect()
    });
}

fn values(t: &Tensor) -> Vec<f64> {
    pollster::block_on(t.to_f64s()).unwrap()
}

/// Result and gradients of `f` at `inputs`.
fn run(inputs: &[Tensor], f: &dyn Fn(&[Tensor]) -> Tensor) -> Vec<Vec<f64>> {
    let leaves: Vec<Tensor> = inputs.iter().map(Tensor::detach).collect();
    for leaf in leaves.iter().filter(|t| t.dtype().is_float()) {
        leaf.requires_grad_(true).unwrap();
    }
    let out = f(&leaves);
    let flow = Tensor::randn(out.shape(), &Generator::new(9), out.device()).unwrap();
    let flow = flow.to_dtype(out.dtype()).unwrap();
    out.backward_with(&flow, false).unwrap();
    let grads = leaves.iter().filter_map(Tensor::grad);
    let mut all = vec![values(&out)];
    all.extend(grads.map(|g| values(&g)));
    all
}

/// `f` merged and apart, of these inputs, in every float type of the device.
fn alike(label: &str, inputs: &[Tensor], f: &dyn Fn(&[Tensor]) -> Tensor) {
    let device = inputs[0].device();
    for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
        if !device.backend().supports(dtype) {
            continue;
        }
        let typed = |t: &Tensor| match t.dtype().is_float() {
            true => t.to_dtype(dtype).unwrap(),
            false => t.alias(),
        };
        let inputs: Vec<Tensor> = inputs.iter().map(typed).collect();
        let (merged, apart) = (run(&inputs, f), unfused(|| run(&inputs, f)));
        assert_eq!(merged.len(), apart.len());
        let tolerance = match dtype {
            DType::F64 => Tolerance::near(1e-12, 1e-13),
            DType::F32 => Tolerance::near(1e-5, 1e-5),
            DType::F16 => Tolerance::near(4e-3, 4e-3),
            _ => Tolerance::near(3e-2, 3e-2),
        };
        // Apart, a half is rounded once more before the bias is added: a result near zero may then fall on zero's other side,
        // where it has another gradient.
        let compared = if dtype.size() < 4 { 1 } else { merged.len() };
        for (n, (got, want)) in merged.iter().zip(&apart).enumerate().take(compared) {
            let magnitude = want.iter().fold(1f64, |m, x| m.max(x.abs()));
            let difference = differs(got, want, tolerance, magnitude);
            let name = ["result", "gradient 0", "gradient 1", "gradient 2"][n];
            assert!(
                difference.is_none(),
                "{label} {dtype} {}: {name}: {}",
                device.id(),
                difference.unwrap()
            );
        }
    }
}

fn random(shape: &[usize], seed: u64, device: &Device) -> Tensor {
    Tensor::randn(shape, &Generator::new(seed), device).unwrap()
}

#[test]
fn a_layer_takes_over_its_bias_and_its_relu() {
    for device in devices::under_test() {
        for (m, n, k) in [
            (1, 1, 1),
            (3, 2, 5),
            (7, 10, 9),
            (64, 128, 96),
            (66, 70, 33),
            (130, 64, 64),
            (2, 3, 0),
        ] {
            let (x, w) = (random(&[m, k], 1, &device), random(&[n, k], 2, &device));
            let b = random(&[n], 3, &device);
            let label = format!("linear {m} {n} {k}");
            let columns = x.t().unwrap().contiguous().unwrap().t().unwrap();
            alike(&label, &[x, w.alias(), b.alias()], &|t| {
                t[0].linear_relu(&t[1], Some(&t[2])).unwrap()
            });
            alike(&label, &[columns, w, b], &|t| {
                let y = t[0].linear(&t[1], Some(&t[2])).unwrap();
                y.mul(&t[0].linear_relu(&t[1], None).unwrap()).unwrap()
            });
        }
        // Batches of batches.
        let inputs = [[2, 3, 8].as_slice(), &[5, 8], &[5]];
        let inputs = [0, 1, 2].map(|i| random(inputs[i], i as u64, &device));
        alike("linear of three dimensions", &inputs, &|t| {
            t[0].linear_relu(&t[1], Some(&t[2])).unwrap()
        });
        for (stride, side) in [(1, 9), (2, 11), (1, 32)] {
            let options = Conv2dOptions {
                stride: [stride; 2],
                padding: [2; 2],
                ..Conv2dOptions::default()
            };
            let shapes = [vec![3, 3, side, side], vec![6, 3, 5, 5], vec![6]];
            let inputs = [0, 1, 2].map(|i| random(&shapes[i], i as u64, &device));
            alike("conv2d", &inputs, &|t| {
                t[0].conv2d_relu(&t[1], Some(&t[2]), options).unwrap()
            });
            let one = inputs[0].select(0, 0).unwrap();
            alike("conv2d of one image", &[one, inputs[1].alias()], &|t| {
                t[0].conv2d_relu(&t[1], None, options).unwrap()
            });
        }
    }
}

/// A NaN is not below zero: it comes through, and so does its gradient, as PyTorch's do.
#[test]
fn a_relu_within_a_layer_lets_nan_through() {
    for device in devices::under_test() {
        for side in [3usize, 64] {
            let mut x = vec![1f32; side * side];
            x[0] = f32::NAN;
            let x = Tensor::from_slice(&x, &[side, side], &device).unwrap();
            let zeros = x.zeros_like().unwrap();
            let down = zeros.sub_scalar(1.0).unwrap();
            let got = values(&x.linear_relu(&down, None).unwrap());
            let (first, rest) = got.split_at(side);
            assert!(first.iter().all(|v| v.is_nan()), "{}", device.id());
            assert!(rest.iter().all(|v| *v == 0.0), "{}", device.id());
            let bias = Tensor::zeros(&[side], DType::F32, &device).unwrap();
            bias.requires_grad_(true).unwrap();
            let y = x.linear_relu(&down, Some(&bias)).unwrap();
            y.backward_with(&x.ones_like().unwrap(), false).unwrap();
            assert_eq!(values(&bias.grad().unwrap()), vec![1.0; side]);
            let image = x.reshape(&[1, 1, side as isize, side as isize]).unwrap();
            let filter = down.narrow(0, 0, 1).unwrap().narrow(1, 0, 1).unwrap();
            let filter = filter.reshape(&[1, 1, 1, 1]).unwrap();
            let got = image.conv2d_relu(&filter, None, Conv2dOptions::default());
            let got = values(&got.unwrap());
            assert!(got[0].is_nan() && got[1..].iter().all(|v| *v == 0.0));
        }
    }
}

#[test]
fn cross_entropy_at_once_is_its_parts() {
    for device in devices::under_test() {
        for (shape, targets) in [
            (vec![10], vec![]),
            (vec![1, 1], vec![1]),
            (vec![64, 10], vec![64]),
            (vec![300, 7], vec![300]),
            (vec![2, 5, 3, 4], vec![2, 3, 4]),
        ] {
            let classes = if shape.len() == 1 { shape[0] } else { shape[1] };
            let logits = random(&shape, 5, &device).mul_scalar(3.0).unwrap();
            let count: usize = targets.iter().product();
            let picked: Vec<i64> = (0..count as i64).map(|i| i * 7 % classes as i64).collect();
            let target = Tensor::from_slice(&picked, &targets, &device).unwrap();
            let weight = random(&[classes], 6, &device).abs().unwrap();
            for reduction in [Reduction::Mean, Reduction::Sum] {
                for (weighted, ignore_index) in [(false, -100), (true, -100), (true, 0), (false, 0)]
                {
                    // Where all there is is ignored, the mean is 0 / 0 on either way.
                    let label = format!("{shape:?} {reduction:?} {weighted} {ignore_index}");
                    alike(&label, &[logits.alias(), target.alias()], &|t| {
                        let options = ClassLoss {
                            weight: weighted.then_some(&weight),
                            ignore_index,
                            reduction,
                            ..ClassLoss::default()
                        };
                        t[0].cross_entropy(&t[1], options).unwrap()
                    });
                }
            }
        }
    }
}

type Make = fn(Vec<Parameter>) -> Box<dyn Optimizer>;

const OPTIMIZERS: [(&str, Make); 5] = [
    ("sgd", |p| {
        Box::new(Sgd::new(p, SgdConfig::default()).unwrap())
    }),
    ("momentum", |p| {
        let config = SgdConfig {
            momentum: 0.9,
            dampening: 0.5,
            weight_decay: 0.1,
            ..SgdConfig::default()
        };
        Box::new(Sgd::new(p, config).unwrap())
    }),
    ("adam", |p| {
        Box::new(Adam::new(p, AdamConfig::default()).unwrap())
    }),
    ("adamw", |p| {
        Box::new(AdamW::new(p, AdamConfig::default()).unwrap())
    }),
    ("rmsprop", |p| {
        Box::new(RmsProp::new(p, RmsPropConfig::default()).unwrap())
    }),
];

/// Three steps over parameters of these shapes; the second step leaves every third one out.
fn trained(shapes: &[Vec<usize>], dtype: DType, device: &Device, make: Make) -> Vec<Vec<f64>> {
    let seeded =
        |seed: usize, shape: &[usize]| random(shape, seed as u64, device).to_dtype(dtype).unwrap();
    let parameters: Vec<Parameter> = shapes
        .iter()
        .enumerate()
        .map(|(i, s)| Parameter::new(seeded(i, s)).unwrap())
        .collect();
    let mut optimizer = make(parameters.clone());
    for step in 0..3 {
        for (i, p) in parameters.iter().enumerate() {
            let left_out = step == 1 && i % 3 == 2;
            // Every fifth gradient is stored column by column.
            let shape = p.tensor().shape().to_vec();
            let grad = match shape[..] {
                [m, n] if i % 5 == 4 => seeded(i + 100 * step, &[n, m]).t().unwrap(),
                _ => seeded(i + 100 * step, &shape),
            };
            p.tensor().set_grad((!left_out).then_some(grad));
        }
        optimizer.step().unwrap();
    }
    parameters.iter().map(|p| values(&p.tensor())).collect()
}

#[test]
fn an_optimiser_steps_all_parameters_as_it_steps_each() {
    // Of every length modulo four, empty, more than one launch describes, and more than one segment holds.
    let mut shapes: Vec<Vec<usize>> = (0..70).map(|i| vec![i]).collect();
    shapes.extend([vec![3, 5], vec![120, 576], vec![1 << 19], vec![700_001]]);
    shapes.rotate_left(30);
    for device in devices::under_test() {
        for dtype in [DType::F32, DType::F64, DType::BF16] {
            if !device.backend().supports(dtype) {
                continue;
            }
            for (name, make) in OPTIMIZERS {
                let merged = trained(&shapes, dtype, &device, make);
                let apart = unfused(|| trained(&shapes, dtype, &device, make));
                let tolerance = match dtype {
                    DType::F64 => Tolerance::EXACT,
                    _ => Tolerance::near(1e-6, 1e-6),
                };
                for (i, (got, want)) in merged.iter().zip(&apart).enumerate() {
                    let difference = differs(got, want, tolerance, 1.0);
                    assert!(
                        difference.is_none(),
                        "{name} {dtype} {}: {:?}: {}",
                        device.id(),
                        shapes[i],
                        difference.unwrap()
                    );
                }
            }
        }
    }
}

/// Parameters that share a gradient or their memory are still changed one after the other.
#[test]
fn parameters_that_share_memory_are_stepped_in_turn() {
    for device in devices::under_test() {
        let step = || {
            let whole = random(&[64], 1, &device);
            let halves = [0, 32].map(|at| whole.narrow(0, at, 32).unwrap());
            let parameters: Vec<Parameter> = [&halves[0], &halves[1], &halves[0]]
                .map(|t| Parameter::new(t.alias()).unwrap())
                .into();
            let grad = random(&[32], 2, &device);
            for p in &parameters {
                p.tensor().set_grad(Some(grad.alias()));
            }
            let mut sgd = Sgd::new(parameters, SgdConfig::default()).unwrap();
            sgd.step().unwrap();
            values(&whole)
        };
        assert_eq!(step(), unfused(step), "{}", device.id());
    }
}

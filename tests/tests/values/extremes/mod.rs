//! Arguments that make no sense: whatever they are, the answer is a tensor or a typed error, never a panic.

mod networks;

use conformance::devices;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tensor::random::Generator;
use tensor::{ClassLoss, Conv2dOptions, DType, Device, Reduction, Result, Tensor};

/// Whole numbers; 2^40 is beyond 32 bits and, in elements, beyond any memory.
const WHOLE: [isize; 9] = [isize::MIN, -(1 << 40), -2, -1, 0, 1, 3, 1 << 40, isize::MAX];
const SIZES: [usize; 6] = [0, 1, 2, 5, 1 << 40, usize::MAX];
const NUMBERS: [f64; 7] = [
    f64::NAN,
    f64::NEG_INFINITY,
    -1.0,
    0.0,
    0.5,
    1e300,
    f64::INFINITY,
];

fn shapes() -> Vec<Vec<usize>> {
    vec![
        vec![],
        vec![0],
        vec![3],
        vec![2, 3],
        vec![0, 3],
        vec![2, 0, 3],
        vec![1, 2, 4, 4],
        vec![0, 2, 4, 4],
    ]
}

/// Calls counted, and what panicked.
#[derive(Default)]
struct Tried {
    calls: usize,
    answers: usize,
    panics: Vec<String>,
}

impl Tried {
    /// Try one call, and, where it gives a tensor that gradients can reach, the way back.
    fn call(&mut self, label: impl Fn() -> String, f: impl FnOnce() -> Result<Tensor>) {
        self.calls += 1;
        let result = catch_unwind(AssertUnwindSafe(|| {
            let y = f()?;
            // What was reached must be readable; a huge view is not read.
            if y.numel() < 1 << 20 {
                if y.requires_grad() {
                    y.sum_all()?.backward()?;
                }
                pollster::block_on(y.to_f64s())?;
            }
            Result::Ok(())
        }));
        match result {
            Ok(Ok(())) => self.answers += 1,
            Ok(Err(e)) => {
                // The words and the help must not panic either.
                let _ = (e.to_string(), e.help());
            }
            Err(_) => self.panics.push(label()),
        }
    }
}

fn leaf(shape: &[usize], device: &Device) -> Tensor {
    let x = Tensor::ones(shape, DType::F32, device).unwrap();
    x.requires_grad_(true).unwrap();
    x
}

/// Views and reductions: every combination of whole numbers.
fn whole_numbers(tried: &mut Tried, device: &Device) {
    type One = fn(&Tensor, isize) -> Result<Tensor>;
    type Two = fn(&Tensor, isize, isize) -> Result<Tensor>;
    let ones: &[(&str, One)] = &[
        ("squeeze", |x, a| x.squeeze(a)),
        ("unsqueeze", |x, a| x.unsqueeze(a)),
        ("view", |x, a| x.view(&[a])),
        ("reshape", |x, a| x.reshape(&[a])),
        ("expand", |x, a| x.expand(&[a])),
        ("permute", |x, a| x.permute(&[a])),
        ("flip", |x, a| x.flip(&[a])),
        ("sum", |x, a| x.sum(&[a], false)),
        ("mean", |x, a| x.mean(&[a], true)),
        ("amax", |x, a| x.amax(&[a], false)),
        ("prod", |x, a| x.prod(a, false)),
        ("var", |x, a| x.var(&[a], true, false)),
        ("logsumexp", |x, a| x.logsumexp(&[a], true)),
        ("softmax", |x, a| x.softmax(a)),
        ("log_softmax", |x, a| x.log_softmax(a)),
        ("cumsum", |x, a| x.cumsum(a)),
        ("argmax", |x, a| x.argmax(Some(a), false)),
        ("argmin", |x, a| x.argmin(Some(a), true)),
        ("tril", |x, a| x.tril(a)),
        ("triu", |x, a| x.triu(a)),
        ("size", |x, a| x.size(a).map(|_| x.alias())),
        ("cat", |x, a| Tensor::cat(&[x, x], a)),
        ("stack", |x, a| Tensor::stack(&[x, x], a)),
        ("add_scalar", |x, a| x.add_scalar(a as f64)),
    ];
    let twos: &[(&str, Two)] = &[
        ("transpose", |x, a, b| x.transpose(a, b)),
        ("select", |x, a, b| x.select(a, b)),
        ("view", |x, a, b| x.view(&[a, b])),
        ("reshape", |x, a, b| x.reshape(&[a, b])),
        ("expand", |x, a, b| x.expand(&[a, b])),
        ("permute", |x, a, b| x.permute(&[a, b])),
        ("flip", |x, a, b| x.flip(&[a, b])),
        ("flatten", |x, a, b| x.flatten(a, b)),
        ("sum", |x, a, b| x.sum(&[a, b], false)),
        ("amin", |x, a, b| x.amin(&[a, b], true)),
        ("pad", |x, a, b| x.pad(&[a, b], 1.0)),
        ("pad inside", |x, a, b| x.pad(&[0, 0, a, b], 1.0)),
    ];
    for shape in shapes() {
        for a in WHOLE {
            for (name, f) in ones {
                let label = || format!("{name}({a}) of {shape:?} on {}", device.id());
                tried.call(label, || f(&leaf(&shape, device), a));
            }
            for b in WHOLE {
                for (name, f) in twos {
                    let label = || format!("{name}({a}, {b}) of {shape:?} on {}", device.id());
                    tried.call(label, || f(&leaf(&shape, device), a, b));
                }
                for c in WHOLE {
                    let label =
                        |name| format!("{name}({a}, {b}, {c}) of {shape:?} on {}", device.id());
                    let x = leaf(&shape, device);
                    tried.call(|| label("slice by 1"), || x.slice(a, b, c, 1));
                    tried.call(|| label("slice of 0"), || x.slice(0, a, b, c));
                    tried.call(|| label("diagonal"), || x.diagonal(a, b, c));
                    if let Ok(length) = usize::try_from(c) {
                        tried.call(|| label("narrow"), || x.narrow(a, b, length));
                    }
                }
            }
        }
    }
}

/// Sizes, and the numbers of layers.
fn sizes(tried: &mut Tried, device: &Device) {
    let generator = Generator::new(0);
    for a in SIZES {
        let label = |name: &str| format!("{name}({a}) on {}", device.id());
        for (name, shape) in [
            ("[a]", vec![a]),
            ("[a, a]", vec![a, a]),
            ("[0, a, a]", vec![0, a, a]),
        ] {
            tried.call(
                || label(&format!("zeros {name}")),
                || Tensor::zeros(&shape, DType::F32, device),
            );
            tried.call(
                || label(&format!("full {name}")),
                || Tensor::full(&shape, 2.0, DType::U8, device),
            );
            tried.call(
                || label(&format!("rand {name}")),
                || Tensor::rand(&shape, &generator, device),
            );
            tried.call(
                || label(&format!("randn {name}")),
                || Tensor::randn(&shape, &generator, device),
            );
        }
        tried.call(|| label("eye"), || Tensor::eye(a, DType::F32, device));
        tried.call(
            || label("randperm"),
            || Tensor::randperm(a, &generator, device),
        );
        for shape in shapes() {
            let label = |name: &str| format!("{name}({a}) of {shape:?} on {}", device.id());
            let x = leaf(&shape, device);
            tried.call(|| label("topk"), || x.topk(a, 0, true).map(|(v, _)| v));
            tried.call(
                || label("topk last"),
                || x.topk(a, -1, false).map(|(v, _)| v),
            );
            tried.call(
                || label("split"),
                || {
                    let parts = x.split(a, 0)?;
                    parts.first().map_or_else(|| x.clone(), |p| p.clone())
                },
            );
            tried.call(
                || label("layer_norm"),
                || x.layer_norm(&[a], None, None, 1e-5),
            );
            tried.call(
                || label("one_hot"),
                || x.detach().to_dtype(DType::I64)?.mul_scalar(0.0)?.one_hot(a),
            );
            for b in SIZES {
                let label =
                    |name: &str| format!("{name}({a}, {b}) of {shape:?} on {}", device.id());
                tried.call(
                    || label("max_pool2d"),
                    || x.max_pool2d([a, b], None, [0, 0]),
                );
                tried.call(
                    || label("max_pool2d stride"),
                    || x.max_pool2d([2, 2], Some([a, b]), [0, 0]),
                );
                tried.call(
                    || label("max_pool2d padding"),
                    || x.max_pool2d([2, 2], None, [a, b]),
                );
                tried.call(
                    || label("avg_pool2d"),
                    || x.avg_pool2d([a, 1], Some([1, b]), [0, 0]),
                );
                tried.call(
                    || label("avg_pool2d padding"),
                    || x.avg_pool2d([2, 2], None, [a, b]),
                );
                tried.call(
                    || label("adaptive_avg_pool2d"),
                    || x.adaptive_avg_pool2d([a, b]),
                );
                let filters = leaf(&[2, 2, 3, 3], device);
                let options = |o: fn(usize, usize) -> Conv2dOptions| o(a, b);
                let kinds: [(&str, Conv2dOptions); 4] = [
                    (
                        "stride",
                        options(|a, b| Conv2dOptions {
                            stride: [a, b],
                            padding: [1, 1],
                            ..Default::default()
                        }),
                    ),
                    (
                        "padding",
                        options(|a, b| Conv2dOptions {
                            padding: [a, b],
                            ..Default::default()
                        }),
                    ),
                    (
                        "dilation",
                        options(|a, b| Conv2dOptions {
                            dilation: [a, b],
                            padding: [1, 1],
                            ..Default::default()
                        }),
                    ),
                    (
                        "groups",
                        options(|a, _| Conv2dOptions {
                            groups: a,
                            padding: [1, 1],
                            ..Default::default()
                        }),
                    ),
                ];
                for (kind, options) in kinds {
                    tried.call(
                        || label(&format!("conv2d {kind}")),
                        || x.conv2d(&filters, None, options),
                    );
                }
            }
        }
    }
}

/// Numbers of every kind where a number is asked for.
fn numbers(tried: &mut Tried, device: &Device) {
    let generator = Generator::new(0);
    for a in NUMBERS {
        for dtype in [
            DType::F32,
            DType::F16,
            DType::I64,
            DType::I32,
            DType::U8,
            DType::Bool,
        ] {
            let label = |name: &str| format!("{name}({a:e}) of {dtype} on {}", device.id());
            let x = || Tensor::ones(&[3], dtype, device);
            type Call = fn(&Tensor, f64) -> Result<Tensor>;
            let calls: &[(&str, Call)] = &[
                ("add_scalar", |x, a| x.add_scalar(a)),
                ("mul_scalar", |x, a| x.mul_scalar(a)),
                ("div_scalar", |x, a| x.div_scalar(a)),
                ("rsub_scalar", |x, a| x.rsub_scalar(a)),
                ("pow_scalar", |x, a| x.pow_scalar(a)),
                ("clamp", |x, a| x.clamp(a, -a)),
                ("leaky_relu", |x, a| x.leaky_relu(a)),
                ("masked_fill", |x, a| x.masked_fill(&x.eq(x)?, a)),
                ("fill_", |x, a| x.fill_(a).map(Tensor::alias)),
                ("add_scalar_", |x, a| x.add_scalar_(a).map(Tensor::alias)),
                ("mul_scalar_", |x, a| x.mul_scalar_(a).map(Tensor::alias)),
                ("add_scaled_", |x, a| {
                    x.add_scaled_(&x.clone()?, a).map(Tensor::alias)
                }),
                ("pad", |x, a| x.pad(&[1, 1], a)),
                ("full", |x, a| Tensor::full(&[3], a, x.dtype(), x.device())),
                ("neg", |x, _| x.neg()),
                ("sqrt", |x, _| x.sqrt()),
                ("sum", |x, _| x.sum_all()),
                ("softmax", |x, _| x.softmax(0)),
                ("matmul", |x, _| x.matmul(x)),
                ("linear", |x, _| x.linear(x, None)),
                ("gather", |x, _| x.gather(0, x)),
                ("embedding", |x, _| x.embedding(x)),
                ("where", |x, _| x.where_(x, x)),
                ("mse_loss", |x, _| x.mse_loss(x, Reduction::Mean)),
                ("cross_entropy", |x, _| {
                    x.cross_entropy(x, ClassLoss::default())
                }),
                ("item", |x, _| {
                    pollster::block_on(x.item())?;
                    x.clone()
                }),
            ];
            for (name, f) in calls {
                tried.call(|| label(name), || f(&x()?, a));
            }
        }
        for b in NUMBERS {
            let label = |name: &str| format!("{name}({a:e}, {b:e}) on {}", device.id());
            tried.call(
                || label("arange"),
                || Tensor::arange(a, b, 1.0, DType::F32, device),
            );
            tried.call(
                || label("arange by"),
                || Tensor::arange(0.0, a, b, DType::I64, device),
            );
            tried.call(
                || label("arange of bools"),
                || Tensor::arange(0.0, a, b, DType::Bool, device),
            );
            tried.call(
                || label("dropout"),
                || leaf(&[3], device).dropout(a, &generator),
            );
            tried.call(
                || label("batch_norm"),
                || leaf(&[3, 2], device).batch_norm(None, None, None, None, true, a, b),
            );
            tried.call(
                || label("layer_norm"),
                || leaf(&[3, 2], device).layer_norm(&[2], None, None, b),
            );
            tried.call(
                || label("label smoothing"),
                || {
                    let target = Tensor::zeros(&[2], DType::I64, device)?;
                    let options = ClassLoss {
                        label_smoothing: a,
                        ..ClassLoss::default()
                    };
                    leaf(&[2, 3], device).cross_entropy(&target, options)
                },
            );
        }
    }
}

/// Every pair of shapes for what takes two tensors.
fn pairs(tried: &mut Tried, device: &Device) {
    type Call = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let calls: &[(&str, Call)] = &[
        ("add", |x, y| x.add(y)),
        ("matmul", |x, y| x.matmul(y)),
        ("linear", |x, y| x.linear(y, None)),
        ("linear with bias", |x, y| x.linear(y, Some(y))),
        ("conv2d", |x, y| x.conv2d(y, None, Conv2dOptions::default())),
        ("conv2d with bias", |x, y| {
            x.conv2d(y, Some(y), Conv2dOptions::default())
        }),
        ("cat", |x, y| Tensor::cat(&[x, y], 0)),
        ("stack", |x, y| Tensor::stack(&[x, y], 0)),
        ("copy_", |x, y| x.detach().copy_(y).map(Tensor::alias)),
        ("add_", |x, y| x.detach().add_(y).map(Tensor::alias)),
        ("mse_loss", |x, y| x.mse_loss(y, Reduction::Sum)),
        ("layer_norm", |x, y| {
            x.layer_norm(y.shape(), Some(y), Some(y), 1e-5)
        }),
        ("batch_norm", |x, y| {
            x.batch_norm(Some(y), Some(y), None, None, true, 0.1, 1e-5)
        }),
        ("backward", |x, y| {
            x.mul_scalar(2.0)?
                .backward_with(y, false)
                .map(|()| x.detach())
        }),
        ("gather", |x, y| {
            x.gather(0, &y.detach().to_dtype(DType::I64)?.mul_scalar(0.0)?)
        }),
        ("index_select", |x, y| {
            x.index_select(0, &y.detach().to_dtype(DType::I64)?.mul_scalar(0.0)?)
        }),
        ("embedding", |x, y| {
            y.detach()
                .to_dtype(DType::I64)?
                .mul_scalar(0.0)?
                .embedding(x)
        }),
        ("nll_loss", |x, y| {
            x.nll_loss(
                &y.detach().to_dtype(DType::I64)?.mul_scalar(0.0)?,
                ClassLoss::default(),
            )
        }),
        ("cross_entropy, weighted", |x, y| {
            let options = ClassLoss {
                weight: Some(y),
                ..ClassLoss::default()
            };
            x.cross_entropy(&y.detach().to_dtype(DType::I64)?.mul_scalar(0.0)?, options)
        }),
    ];
    for a in shapes() {
        for b in shapes() {
            for (name, f) in calls {
                let label = || format!("{name} of {a:?} and {b:?} on {}", device.id());
                tried.call(label, || f(&leaf(&a, device), &leaf(&b, device)));
            }
        }
    }
}

#[test]
fn no_argument_makes_the_engine_panic() {
    for device in devices::to_spoil() {
        let mut tried = Tried::default();
        whole_numbers(&mut tried, &device);
        sizes(&mut tried, &device);
        numbers(&mut tried, &device);
        pairs(&mut tried, &device);
        networks::try_all(&mut tried, &device);
        println!(
            "{}: {} calls, {} answers",
            device.id(),
            tried.calls,
            tried.answers
        );
        assert!(
            tried.panics.is_empty(),
            "{} panics:\n{}",
            tried.panics.len(),
            tried.panics.join("\n")
        );
        assert!(tried.answers > 1000 && tried.answers < tried.calls);
        let x = Tensor::ones(&[5], DType::F32, &device).unwrap();
        assert_eq!(
            pollster::block_on(x.sum_all().unwrap().item()).unwrap(),
            5.0
        );
    }
}

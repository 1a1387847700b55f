//! Tensors without elements: PyTorch's results and errors, and the same from every device.

use super::on_all_devices;
use conformance::devices;
use conformance::golden::{self, Value64};
use conformance::layouts::emptied;
use conformance::problem::Problem;
use tensor::random::Generator;
use tensor::{ClassLoss, Conv2dOptions, DType, Device, Error, Reduction, Result, Tensor};

/// Every recorded operation with nothing along its first or its last dimension gives, or refuses, the same everywhere.
#[test]
fn every_operation_takes_nothing_as_the_reference_does() {
    let data = golden::tensors("ops.safetensors");
    on_all_devices(&golden::cases(), |case, device| {
        let recorded = Problem::recorded(case, &data);
        let shape = recorded.inputs[0].shape.clone();
        let mut results = Vec::new();
        for (name, dim) in [("first", 0), ("last", shape.len().saturating_sub(1))] {
            let Some(&size) = shape.get(dim) else {
                continue;
            };
            let inputs: Vec<Value64> = recorded
                .inputs
                .iter()
                .map(|v| emptied(v, dim, size))
                .collect();
            let label = format!("{} {} without its {name} dimension", case.id, device.id());
            let place = |v: &Value64, kind| v.tensor(kind, device);
            let check = |problem: &Problem| problem.check(case, &label, DType::F32, place);
            results.push(match Problem::computed(case, inputs.clone(), Vec::new()) {
                Ok(problem) => check(&problem),
                // A value that a device finds out of range surfaces at whatever is awaited next, by whoever.
                Err(Error::TargetOutOfBounds { .. } | Error::IndexValue { .. })
                    if !device.is_cpu() =>
                {
                    continue;
                }
                Err(want) => {
                    let want = want.to_string().replace("Double", "Float");
                    let nothing = Problem {
                        inputs,
                        flows: Vec::new(),
                        outputs: Vec::new(),
                        grads: Vec::new(),
                    };
                    match check(&nothing) {
                        Err(got) if got == format!("{label}: {want}") => Ok(()),
                        got => Err(format!("{label}: {got:?}, the reference says {want}")),
                    }
                }
            });
        }
        results
    });
}

/// What PyTorch gives: a shape and values, or an error.
type Want = std::result::Result<(&'static [usize], &'static [f64]), &'static str>;

const NAN: f64 = f64::NAN;
const LOWEST: f64 = f64::NEG_INFINITY;

type Row = (&'static str, fn(&Device) -> Result<Tensor>, Want);

fn nothing(shape: &[usize], device: &Device) -> Tensor {
    Tensor::zeros(shape, DType::F32, device).unwrap()
}

fn ones(shape: &[usize], device: &Device) -> Tensor {
    Tensor::ones(shape, DType::F32, device).unwrap()
}

fn index(device: &Device) -> Tensor {
    Tensor::zeros(&[0], DType::I64, device).unwrap()
}

fn loss(reduction: Reduction) -> ClassLoss<'static> {
    ClassLoss {
        reduction,
        ..ClassLoss::default()
    }
}

/// The gradient that reaches an empty leaf.
fn slope(shape: &[usize], device: &Device, f: fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let x = nothing(shape, device);
    x.requires_grad_(true)?;
    f(&x)?.backward()?;
    Ok(x.grad().expect("a gradient reaches the leaf"))
}

const ROWS: &[Row] = &[
    (
        "[0] + [1]",
        |d| nothing(&[0], d).add(&ones(&[1], d)),
        Ok((&[0], &[])),
    ),
    (
        "[2,0] + [2,1]",
        |d| nothing(&[2, 0], d).add(&ones(&[2, 1], d)),
        Ok((&[2, 0], &[])),
    ),
    (
        "[0] + [3]",
        |d| nothing(&[0], d).add(&ones(&[3], d)),
        Err(
            "The size of tensor a (0) must match the size of tensor b (3) at non-singleton dimension 0",
        ),
    ),
    ("exp", |d| nothing(&[0, 3], d).exp(), Ok((&[0, 3], &[]))),
    (
        "sum of all",
        |d| nothing(&[0], d).sum_all(),
        Ok((&[], &[0.0])),
    ),
    (
        "sum of no columns",
        |d| nothing(&[2, 0], d).sum(&[1], false),
        Ok((&[2], &[0.0, 0.0])),
    ),
    (
        "sum of columns, no rows",
        |d| nothing(&[0, 3], d).sum(&[1], false),
        Ok((&[0], &[])),
    ),
    (
        "sum of no rows, kept",
        |d| nothing(&[0, 2], d).sum(&[0], true),
        Ok((&[1, 2], &[0.0, 0.0])),
    ),
    (
        "mean of all",
        |d| nothing(&[0], d).mean_all(),
        Ok((&[], &[NAN])),
    ),
    (
        "mean of no columns",
        |d| nothing(&[2, 0], d).mean(&[1], false),
        Ok((&[2], &[NAN, NAN])),
    ),
    (
        "product",
        |d| nothing(&[0], d).prod(0, false),
        Ok((&[], &[1.0])),
    ),
    (
        "variance of all",
        |d| nothing(&[0], d).var(&[], true, false),
        Ok((&[], &[NAN])),
    ),
    (
        "variance of one",
        |d| ones(&[1], d).var(&[], true, false),
        Ok((&[], &[NAN])),
    ),
    (
        "logsumexp",
        |d| nothing(&[2, 0], d).logsumexp(&[1], false),
        Ok((&[2], &[LOWEST, LOWEST])),
    ),
    (
        "amax of all",
        |d| nothing(&[0], d).amax(&[], false),
        Err(
            "amax(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
        ),
    ),
    (
        "amin of no columns",
        |d| nothing(&[2, 0], d).amin(&[1], false),
        Err("amin(): Expected reduction dim 1 to have non-zero size."),
    ),
    (
        "amax of rows, no columns",
        |d| nothing(&[2, 0], d).amax(&[0], false),
        Ok((&[0], &[])),
    ),
    (
        "argmax of all",
        |d| nothing(&[0], d).argmax(None, false),
        Err(
            "argmax(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
        ),
    ),
    (
        "argmin of no columns",
        |d| nothing(&[2, 0], d).argmin(Some(1), false),
        Err("argmin(): Expected reduction dim 1 to have non-zero size."),
    ),
    (
        "argmax of columns, no rows",
        |d| nothing(&[0, 3], d).argmax(Some(1), false),
        Ok((&[0], &[])),
    ),
    (
        "softmax of none",
        |d| nothing(&[2, 0], d).softmax(1),
        Ok((&[2, 0], &[])),
    ),
    (
        "log_softmax, no rows",
        |d| nothing(&[0, 3], d).log_softmax(1),
        Ok((&[0, 3], &[])),
    ),
    ("cumsum", |d| nothing(&[0], d).cumsum(0), Ok((&[0], &[]))),
    (
        "topk of none",
        |d| nothing(&[3, 0], d).topk(0, 1, true).map(|(v, _)| v),
        Ok((&[3, 0], &[])),
    ),
    (
        "topk 0 of three",
        |d| ones(&[3], d).topk(0, 0, true).map(|(_, i)| i),
        Ok((&[0], &[])),
    ),
    (
        "matmul over nothing",
        |d| nothing(&[2, 0], d).matmul(&nothing(&[0, 3], d)),
        Ok((&[2, 3], &[0.0; 6])),
    ),
    (
        "matmul of no rows",
        |d| nothing(&[0, 4], d).matmul(&ones(&[4, 3], d)),
        Ok((&[0, 3], &[])),
    ),
    (
        "batched matmul of none",
        |d| nothing(&[0, 2, 4], d).matmul(&ones(&[4, 3], d)),
        Ok((&[0, 2, 3], &[])),
    ),
    (
        "dot of nothing",
        |d| nothing(&[0], d).matmul(&nothing(&[0], d)),
        Ok((&[], &[0.0])),
    ),
    (
        "matrix times no vector",
        |d| nothing(&[2, 0], d).matmul(&nothing(&[0], d)),
        Ok((&[2], &[0.0, 0.0])),
    ),
    (
        "linear from nothing is its bias",
        |d| nothing(&[2, 0], d).linear(&nothing(&[3, 0], d), Some(&ones(&[3], d))),
        Ok((&[2, 3], &[1.0; 6])),
    ),
    (
        "linear of no rows",
        |d| nothing(&[0, 4], d).linear(&ones(&[3, 4], d), Some(&ones(&[3], d))),
        Ok((&[0, 3], &[])),
    ),
    (
        "convolution of no images",
        |d| {
            nothing(&[0, 3, 8, 8], d).conv2d(
                &ones(&[6, 3, 5, 5], d),
                None,
                Conv2dOptions::default(),
            )
        },
        Ok((&[0, 6, 4, 4], &[])),
    ),
    (
        "max_pool2d of no images",
        |d| nothing(&[0, 3, 8, 8], d).max_pool2d([2, 2], None, [0, 0]),
        Ok((&[0, 3, 4, 4], &[])),
    ),
    (
        "avg_pool2d of no images",
        |d| nothing(&[0, 3, 8, 8], d).avg_pool2d([2, 2], None, [0, 0]),
        Ok((&[0, 3, 4, 4], &[])),
    ),
    (
        "cat with nothing",
        |d| Tensor::cat(&[&nothing(&[0, 2], d), &ones(&[1, 2], d)], 0),
        Ok((&[1, 2], &[1.0, 1.0])),
    ),
    (
        "cat skips a bare nothing",
        |d| Tensor::cat(&[&nothing(&[0], d), &ones(&[1, 2], d)], 0),
        Ok((&[1, 2], &[1.0, 1.0])),
    ),
    (
        "cat of nothings",
        |d| Tensor::cat(&[&nothing(&[0, 2], d), &nothing(&[0, 2], d)], 0),
        Ok((&[0, 2], &[])),
    ),
    (
        "stack",
        |d| Tensor::stack(&[&nothing(&[0], d), &nothing(&[0], d)], 0),
        Ok((&[2, 0], &[])),
    ),
    (
        "gather nothing",
        |d| ones(&[3], d).gather(0, &index(d)),
        Ok((&[0], &[])),
    ),
    (
        "select no rows",
        |d| ones(&[4, 3], d).index_select(0, &index(d)),
        Ok((&[0, 3], &[])),
    ),
    (
        "embed nothing",
        |d| index(d).embedding(&ones(&[4, 3], d)),
        Ok((&[0, 3], &[])),
    ),
    (
        "one-hot of nothing",
        |d| index(d).one_hot(5),
        Ok((&[0, 5], &[])),
    ),
    (
        "pad nothing",
        |d| nothing(&[0], d).pad(&[1, 2], 7.0),
        Ok((&[3], &[7.0, 7.0, 7.0])),
    ),
    (
        "mse mean",
        |d| nothing(&[0], d).mse_loss(&nothing(&[0], d), Reduction::Mean),
        Ok((&[], &[NAN])),
    ),
    (
        "mse sum",
        |d| nothing(&[0], d).mse_loss(&nothing(&[0], d), Reduction::Sum),
        Ok((&[], &[0.0])),
    ),
    (
        "cross entropy, mean",
        |d| nothing(&[0, 4], d).cross_entropy(&index(d), loss(Reduction::Mean)),
        Ok((&[], &[NAN])),
    ),
    (
        "cross entropy, sum",
        |d| nothing(&[0, 4], d).cross_entropy(&index(d), loss(Reduction::Sum)),
        Ok((&[], &[0.0])),
    ),
    (
        "cross entropy, each",
        |d| nothing(&[0, 4], d).cross_entropy(&index(d), loss(Reduction::None)),
        Ok((&[0], &[])),
    ),
    (
        "reshape with a free size",
        |d| nothing(&[0, 3], d).reshape(&[0, -1]),
        Err(
            "cannot reshape tensor of 0 elements into shape [0, -1] because the unspecified dimension size -1 can be any value and is ambiguous",
        ),
    ),
    (
        "reshape",
        |d| nothing(&[0, 3], d).reshape(&[3, 0, 5]),
        Ok((&[3, 0, 5], &[])),
    ),
    (
        "expand",
        |d| nothing(&[0], d).expand(&[3, 0]),
        Ok((&[3, 0], &[])),
    ),
    (
        "flip",
        |d| nothing(&[0, 3], d).flip(&[0, 1]),
        Ok((&[0, 3], &[])),
    ),
    ("tril", |d| nothing(&[0, 3], d).tril(0), Ok((&[0, 3], &[]))),
    (
        "diagonal beyond the corner",
        |d| ones(&[2, 3], d).diagonal(5, 0, 1),
        Ok((&[0], &[])),
    ),
    ("eye", |d| Tensor::eye(0, DType::F32, d), Ok((&[0, 0], &[]))),
    (
        "arange",
        |d| Tensor::arange(3.0, 3.0, 1.0, DType::I64, d),
        Ok((&[0], &[])),
    ),
    (
        "randn",
        |d| Tensor::randn(&[0, 3], &Generator::new(0), d),
        Ok((&[0, 3], &[])),
    ),
    (
        "randperm",
        |d| Tensor::randperm(0, &Generator::new(0), d),
        Ok((&[0], &[])),
    ),
    (
        "dropout",
        |d| nothing(&[0], d).dropout(0.5, &Generator::new(0)),
        Ok((&[0], &[])),
    ),
    (
        "fill in place",
        |d| nothing(&[0, 2], d).fill_(3.0).map(Tensor::alias),
        Ok((&[0, 2], &[])),
    ),
    (
        "add in place",
        |d| nothing(&[0, 2], d).add_(&ones(&[2], d)).map(Tensor::alias),
        Ok((&[0, 2], &[])),
    ),
    (
        "to float16 and back",
        |d| nothing(&[0], d).to_dtype(DType::F16)?.to_dtype(DType::F32),
        Ok((&[0], &[])),
    ),
    (
        "slope of a sum",
        |d| slope(&[0, 3], d, Tensor::sum_all),
        Ok((&[0, 3], &[])),
    ),
    (
        "slope of a product over nothing",
        |d| {
            slope(&[2, 0], d, |x| {
                x.matmul(&nothing(&[0, 3], x.device()))?.sum_all()
            })
        },
        Ok((&[2, 0], &[])),
    ),
    (
        "slope of the padding",
        |d| slope(&[0], d, |x| x.pad(&[1, 1], 0.0)?.sum_all()),
        Ok((&[0], &[])),
    ),
    (
        "slope of a softmax",
        |d| slope(&[0, 3], d, |x| x.softmax(1)?.sum_all()),
        Ok((&[0, 3], &[])),
    ),
    (
        "slope of a convolution",
        |d| {
            slope(&[0, 1, 4, 4], d, |x| {
                let filters = ones(&[2, 1, 3, 3], x.device());
                x.conv2d(&filters, None, Conv2dOptions::default())?
                    .sum_all()
            })
        },
        Ok((&[0, 1, 4, 4], &[])),
    ),
    (
        "slope of filters that saw no image",
        |d| {
            slope(&[2, 1, 0, 3], d, |w| {
                nothing(&[0, 1, 4, 4], w.device())
                    .conv2d(w, None, Conv2dOptions::default())?
                    .sum_all()
            })
        },
        Err("kernel"),
    ),
];

#[test]
fn nothing_gives_what_pytorch_gives() {
    let mut failures = Vec::new();
    for device in devices::under_test() {
        for (name, make, want) in ROWS {
            let label = format!("{name} on {}", device.id());
            let got = make(&device).and_then(|t| {
                let values = pollster::block_on(t.to_f64s())?;
                Ok((t.shape().to_vec(), values))
            });
            let right = match (&got, want) {
                (Ok((shape, values)), Ok((want_shape, want_values))) => {
                    shape == want_shape
                        && values.len() == want_values.len()
                        && values
                            .iter()
                            .zip(*want_values)
                            .all(|(g, w)| g == w || (g.is_nan() && w.is_nan()))
                }
                (Err(e), Err(text)) => e.to_string().contains(text),
                _ => false,
            };
            if !right {
                failures.push(format!("{label}: {got:?}, want {want:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

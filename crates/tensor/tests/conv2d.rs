//! Convolution against plain loops, and its gradients against finite differences.

#![allow(clippy::unwrap_used)]

use tensor::{Conv2dOptions, DType, Device, Error, Tensor};

/// Numbers that look random and are the same every time.
fn values(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f64 / (1u64 << 23) as f64 - 1.0
        })
        .collect()
}

fn tensor(shape: &[usize], seed: u64, dtype: DType) -> Tensor {
    let n = shape.iter().product();
    Tensor::from_f64s(values(n, seed).into_iter(), shape, dtype, &Device::cpu()).unwrap()
}

#[derive(Clone, Copy, Debug)]
struct Case {
    input: [usize; 4],
    /// Filters, rows, columns.
    filters: [usize; 3],
    options: Conv2dOptions,
    bias: bool,
}

impl Case {
    fn tensors(&self, dtype: DType) -> (Tensor, Tensor, Option<Tensor>) {
        let [o, kh, kw] = self.filters;
        let weight = [o, self.input[1] / self.options.groups, kh, kw];
        (
            tensor(&self.input, 1, dtype),
            tensor(&weight, 2, dtype),
            self.bias.then(|| tensor(&[o], 3, dtype)),
        )
    }

    /// The result's shape, and for every product that it sums: places in the result, the input, the weight.
    fn terms(&self) -> (Vec<usize>, Vec<(usize, usize, usize)>) {
        let ([n, c, h, w], [o, kh, kw]) = (self.input, self.filters);
        let Conv2dOptions {
            stride: s,
            padding: p,
            dilation: d,
            groups,
        } = self.options;
        let oh = (h + 2 * p[0] - d[0] * (kh - 1) - 1) / s[0] + 1;
        let ow = (w + 2 * p[1] - d[1] * (kw - 1) - 1) / s[1] + 1;
        let (cg, og) = (c / groups, o / groups);
        let mut terms = Vec::new();
        for result in 0..n * o * oh * ow {
            let (ox, oy) = (result % ow, result / ow % oh);
            let (f, b) = (result / (ow * oh) % o, result / (ow * oh * o));
            for tap in 0..cg * kh * kw {
                let (kx, ky, ci) = (tap % kw, tap / kw % kh, tap / (kw * kh));
                let y = (oy * s[0] + ky * d[0]).wrapping_sub(p[0]);
                let x = (ox * s[1] + kx * d[1]).wrapping_sub(p[1]);
                if y < h && x < w {
                    let input = ((b * c + f / og * cg + ci) * h + y) * w + x;
                    terms.push((result, input, f * cg * kh * kw + tap));
                }
            }
        }
        (vec![n, o, oh, ow], terms)
    }
}

fn cases() -> Vec<Case> {
    let plain = Conv2dOptions::default();
    let padded = |n| Conv2dOptions {
        padding: [n, n],
        ..plain
    };
    let case = |input, filters, options, bias| Case {
        input,
        filters,
        options,
        bias,
    };
    vec![
        case([2, 3, 32, 32], [6, 5, 5], padded(2), true),
        case([3, 6, 16, 16], [16, 5, 5], plain, true),
        case([2, 4, 7, 9], [5, 1, 1], plain, false),
        case(
            [2, 4, 7, 9],
            [5, 1, 1],
            Conv2dOptions {
                stride: [2, 3],
                ..padded(1)
            },
            true,
        ),
        case(
            [1, 2, 9, 21],
            [9, 3, 2],
            Conv2dOptions {
                stride: [2, 3],
                padding: [3, 4],
                dilation: [2, 3],
                groups: 1,
            },
            true,
        ),
        case(
            [2, 6, 11, 8],
            [12, 3, 3],
            Conv2dOptions {
                stride: [1, 2],
                padding: [1, 0],
                groups: 3,
                ..plain
            },
            true,
        ),
        case(
            [2, 4, 6, 5],
            [4, 3, 3],
            Conv2dOptions {
                groups: 4,
                ..padded(1)
            },
            false,
        ),
        case([1, 1, 1, 1], [1, 1, 1], plain, true),
        case([17, 2, 5, 4], [3, 5, 4], plain, true),
        // Padding beyond the filter's reach: some results see nothing but zeros.
        case(
            [2, 2, 3, 3],
            [2, 2, 2],
            Conv2dOptions {
                padding: [4, 5],
                ..plain
            },
            true,
        ),
        // Rows and columns that no filter reads.
        case(
            [1, 2, 10, 10],
            [3, 2, 2],
            Conv2dOptions {
                stride: [4, 5],
                ..plain
            },
            false,
        ),
        case([1, 19, 4, 40], [19, 3, 3], padded(1), true),
    ]
}

fn close(got: &Tensor, want: &[f64], tolerance: f64, label: &str) {
    let got = got.to_f64s_now().unwrap();
    assert_eq!(got.len(), want.len(), "{label}");
    let scale = want.iter().fold(1.0f64, |m, v| m.max(v.abs()));
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!(
            (g - w).abs() <= tolerance * scale,
            "{label}: element {i} is {g}, not {w}"
        );
    }
}

#[test]
fn results_and_gradients_are_those_of_plain_loops() {
    for case in cases() {
        for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 2e-6)] {
            let label = format!("{case:?} {dtype}");
            let (input, weight, bias) = case.tensors(dtype);
            for t in [Some(&input), Some(&weight), bias.as_ref()]
                .into_iter()
                .flatten()
            {
                t.requires_grad_(true).unwrap();
            }
            let y = input.conv2d(&weight, bias.as_ref(), case.options).unwrap();
            let (shape, terms) = case.terms();
            assert_eq!(y.shape(), shape, "{label}");
            let grad = tensor(&shape, 4, dtype);
            y.backward_with(&grad, false).unwrap();

            let [x, w, g] = [&input, &weight, &grad].map(|t| t.detach().to_f64s_now().unwrap());
            let channel = |i: usize| i / (shape[2] * shape[3]) % shape[1];
            let mut out = vec![0.0; y.numel()];
            if let Some(b) = &bias {
                let b = b.detach().to_f64s_now().unwrap();
                for (i, out) in out.iter_mut().enumerate() {
                    *out = b[channel(i)];
                }
            }
            let (mut dx, mut dw) = (vec![0.0; x.len()], vec![0.0; w.len()]);
            for (o, i, j) in terms {
                out[o] += x[i] * w[j];
                dx[i] += g[o] * w[j];
                dw[j] += g[o] * x[i];
            }
            close(&y, &out, tolerance, &format!("{label}: result"));
            close(
                &input.grad().unwrap(),
                &dx,
                tolerance,
                &format!("{label}: input"),
            );
            close(
                &weight.grad().unwrap(),
                &dw,
                tolerance,
                &format!("{label}: weight"),
            );
            if let Some(bias) = bias {
                let mut db = vec![0.0; shape[1]];
                for (i, g) in g.iter().enumerate() {
                    db[channel(i)] += g;
                }
                close(
                    &bias.grad().unwrap(),
                    &db,
                    tolerance,
                    &format!("{label}: bias"),
                );
            }
        }
    }
}

#[test]
fn gradients_are_slopes() {
    let case = cases()[4];
    let (input, weight, bias) = case.tensors(DType::F64);
    let operands = [input, weight, bias.unwrap()];
    for t in &operands {
        t.requires_grad_(true).unwrap();
    }
    let loss = |t: &[Tensor; 3]| {
        let y = t[0].conv2d(&t[1], Some(&t[2]), case.options).unwrap();
        y.square().unwrap().sum_all().unwrap()
    };
    loss(&operands).backward().unwrap();
    let h = 1e-5;
    for (n, t) in operands.iter().enumerate() {
        let base = t.detach().to_f64s_now().unwrap();
        let grad = t.grad().unwrap().to_f64s_now().unwrap();
        for i in (0..base.len()).step_by(base.len().div_ceil(40)) {
            let at = |step: f64| {
                let mut moved = base.clone();
                moved[i] += step;
                let mut all = [0, 1, 2].map(|k| operands[k].detach());
                all[n] = Tensor::from_slice(&moved, t.shape(), &Device::cpu()).unwrap();
                loss(&all).item_now().unwrap()
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            let allowed = 1e-6 * slope.abs().max(1.0);
            assert!(
                (slope - grad[i]).abs() < allowed,
                "operand {n}, element {i}"
            );
        }
    }
}

#[test]
fn values_outside_a_window_do_not_leak_in() {
    // A NaN in the last column of row 1 is read by the last result of that row alone, though vectors span it.
    let mut x = values(6 * 6, 5);
    x[11] = f64::NAN;
    let input = Tensor::from_slice(&x, &[1, 1, 6, 6], &Device::cpu()).unwrap();
    let weight = tensor(&[1, 1, 1, 2], 6, DType::F64);
    weight.requires_grad_(true).unwrap();
    let y = input
        .conv2d(&weight, None, Conv2dOptions::default())
        .unwrap();
    let got = y.detach().to_f64s_now().unwrap();
    let bad: Vec<usize> = (0..got.len()).filter(|&i| got[i].is_nan()).collect();
    assert_eq!(bad, [9]);
    y.sum_all().unwrap().backward().unwrap();
    let grad = weight.grad().unwrap().to_f64s_now().unwrap();
    assert!(!grad[0].is_nan() && grad[1].is_nan(), "{grad:?}");
}

#[test]
fn one_image_without_a_batch() {
    let (x, w) = (
        tensor(&[3, 8, 8], 1, DType::F32),
        tensor(&[4, 3, 3, 3], 2, DType::F32),
    );
    let plain = Conv2dOptions::default();
    let one = x.conv2d(&w, None, plain).unwrap();
    assert_eq!(one.shape(), [4, 6, 6]);
    let batch = x.unsqueeze(0).unwrap().conv2d(&w, None, plain).unwrap();
    assert_eq!(one.to_f64s_now().unwrap(), batch.to_f64s_now().unwrap());
}

#[test]
fn half_floats_round_once() {
    let plain = Conv2dOptions::default();
    for dtype in [DType::F16, DType::BF16] {
        let (x, w) = (
            tensor(&[2, 3, 8, 8], 1, dtype),
            tensor(&[4, 3, 3, 3], 2, dtype),
        );
        w.requires_grad_(true).unwrap();
        let y = x.conv2d(&w, None, plain).unwrap();
        assert_eq!(y.dtype(), dtype);
        let wide = |t: &Tensor| t.detach().to_dtype(DType::F32).unwrap();
        let want = wide(&x)
            .conv2d(&wide(&w), None, plain)
            .unwrap()
            .to_dtype(dtype)
            .unwrap();
        assert_eq!(
            y.detach().to_f64s_now().unwrap(),
            want.to_f64s_now().unwrap()
        );
        y.sum_all().unwrap().backward().unwrap();
        assert_eq!(w.grad().unwrap().dtype(), dtype);
    }
}

#[test]
fn an_empty_batch_has_an_empty_result_and_zero_gradients() {
    let x = tensor(&[0, 3, 8, 8], 1, DType::F32);
    let (w, b) = (
        tensor(&[4, 3, 3, 3], 2, DType::F32),
        tensor(&[4], 3, DType::F32),
    );
    for t in [&x, &w, &b] {
        t.requires_grad_(true).unwrap();
    }
    let y = x.conv2d(&w, Some(&b), Conv2dOptions::default()).unwrap();
    assert_eq!(y.shape(), [0, 4, 6, 6]);
    y.sum_all().unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().shape(), [0, 3, 8, 8]);
    assert_eq!(w.grad().unwrap().to_f64s_now().unwrap(), vec![0.0; 108]);
    assert_eq!(b.grad().unwrap().to_f64s_now().unwrap(), vec![0.0; 4]);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let case = cases()[1];
    let gradient = || {
        let (input, weight, _) = case.tensors(DType::F32);
        weight.requires_grad_(true).unwrap();
        let y = input.conv2d(&weight, None, case.options).unwrap();
        y.square().unwrap().sum_all().unwrap().backward().unwrap();
        weight.grad().unwrap().to_f64s_now().unwrap()
    };
    let first = gradient();
    for _ in 0..5 {
        assert_eq!(gradient(), first);
    }
    // On a thread of the caller's own pool a launch computes alone.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    assert_eq!(pool.install(gradient), first);
}

#[test]
fn mistakes_are_pytorchs_errors() {
    let plain = Conv2dOptions::default();
    let w = tensor(&[6, 3, 5, 5], 2, DType::F32);
    let message = |x: &[usize]| {
        let error = tensor(x, 1, DType::F32)
            .conv2d(&w, None, plain)
            .unwrap_err();
        error.to_string()
    };
    assert_eq!(
        message(&[1, 1, 32, 32]),
        "Given groups=1, weight of size [6, 3, 5, 5], expected input[1, 1, 32, 32] to have 3 channels, but got 1 channels instead"
    );
    assert_eq!(
        message(&[32, 32]),
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [32, 32]"
    );
    assert_eq!(
        message(&[1, 3, 4, 4]),
        "Calculated padded input size per channel: (4 x 4). Kernel size: (5 x 5). Kernel size can't be greater than actual input size"
    );
    let wrong = [
        Conv2dOptions {
            stride: [1, 0],
            ..plain
        },
        Conv2dOptions {
            dilation: [0, 1],
            ..plain
        },
        Conv2dOptions { groups: 0, ..plain },
        Conv2dOptions { groups: 7, ..plain },
        Conv2dOptions { groups: 4, ..plain },
        Conv2dOptions {
            dilation: [usize::MAX, 1],
            ..plain
        },
        Conv2dOptions {
            groups: usize::MAX,
            ..plain
        },
        // So much padding that the padded size alone is beyond counting.
        Conv2dOptions {
            padding: [usize::MAX, 0],
            ..plain
        },
        Conv2dOptions {
            padding: [1 << 40, 1 << 40],
            ..plain
        },
    ];
    let x = tensor(&[1, 3, 8, 8], 1, DType::F32);
    for options in wrong {
        let error = x.conv2d(&w, None, options).unwrap_err();
        assert!(!error.help().is_empty(), "{options:?}: {error}");
    }
    assert!(
        x.conv2d(&w, Some(&tensor(&[5], 3, DType::F32)), plain)
            .is_err()
    );
    let wide = tensor(&[1, 3, 8, 8], 1, DType::F64);
    assert!(matches!(
        wide.conv2d(&w, None, plain),
        Err(Error::ConvDType { .. })
    ));
}

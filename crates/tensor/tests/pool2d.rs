//! Pooling against plain loops.

#![allow(clippy::unwrap_used)]

use tensor::{DType, Device, Tensor};

fn values(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Few different values, so that maxima tie.
            ((state >> 40) % 9) as f64 - 4.0
        })
        .collect()
}

fn tensor(values: &[f64], shape: &[usize], dtype: DType) -> Tensor {
    Tensor::from_f64s(values.iter().copied(), shape, dtype, &Device::cpu()).unwrap()
}

type Windows = Vec<(usize, Vec<usize>)>;

/// For every result its plane and the elements of that plane that its window has, in order.
fn windows(
    [n, c, h, w]: [usize; 4],
    out: [usize; 2],
    range: impl Fn(usize, usize, usize) -> std::ops::Range<isize>,
) -> Windows {
    let mut all = Vec::new();
    for plane in 0..n * c {
        for oy in 0..out[0] {
            for ox in 0..out[1] {
                let mut places = Vec::new();
                for y in range(0, oy, h) {
                    for x in range(1, ox, w) {
                        if (0..h as isize).contains(&y) && (0..w as isize).contains(&x) {
                            places.push(plane * h * w + y as usize * w + x as usize);
                        }
                    }
                }
                all.push((plane, places));
            }
        }
    }
    all
}

#[test]
fn windows_are_those_of_plain_loops() {
    let cases = [
        ([2, 3, 8, 8], [2, 2], [2, 2], [0, 0]),
        ([64, 2, 9, 7], [3, 2], [2, 3], [1, 1]),
        ([1, 1, 5, 40], [3, 3], [1, 1], [1, 1]),
        ([2, 2, 6, 5], [6, 5], [1, 1], [3, 2]),
        ([1, 2, 7, 7], [1, 1], [3, 2], [0, 0]),
    ];
    for (shape, kernel, stride, padding) in cases {
        for dtype in [DType::F64, DType::F32] {
            let label = format!("{shape:?} {kernel:?} {stride:?} {padding:?} {dtype}");
            let x = values(shape.iter().product(), 7);
            let out = [0, 1].map(|d| (shape[2 + d] + 2 * padding[d] - kernel[d]) / stride[d] + 1);
            let all = windows(shape, out, |d, i, _| {
                let start = (i * stride[d]) as isize - padding[d] as isize;
                start..start + kernel[d] as isize
            });
            let g: Vec<f64> = values(all.len(), 8);
            let grad = tensor(&g, &[shape[0], shape[1], out[0], out[1]], dtype);

            let input = tensor(&x, &shape, dtype);
            input.requires_grad_(true).unwrap();
            let y = input.max_pool2d(kernel, Some(stride), padding).unwrap();
            y.backward_with(&grad, false).unwrap();
            let mut dx = vec![0.0; x.len()];
            let mut want = Vec::new();
            for ((_, places), g) in all.iter().zip(&g) {
                // The first of several.
                let best = places
                    .iter()
                    .copied()
                    .reduce(|a, b| if x[b] > x[a] { b } else { a })
                    .unwrap();
                want.push(x[best]);
                dx[best] += g;
            }
            assert_eq!(y.detach().to_f64s_now().unwrap(), want, "max {label}");
            assert_eq!(
                input.grad().unwrap().to_f64s_now().unwrap(),
                dx,
                "max gradient {label}"
            );

            input.set_grad(None);
            let y = input.avg_pool2d(kernel, Some(stride), padding).unwrap();
            y.backward_with(&grad, false).unwrap();
            let size = (kernel[0] * kernel[1]) as f64;
            let mut dx = vec![0.0; x.len()];
            for ((got, (_, places)), g) in
                y.detach().to_f64s_now().unwrap().iter().zip(&all).zip(&g)
            {
                let want = places.iter().map(|&i| x[i]).sum::<f64>() / size;
                assert!((got - want).abs() < 1e-5, "mean {label}");
                places.iter().for_each(|&i| dx[i] += g / size);
            }
            for (got, want) in input.grad().unwrap().to_f64s_now().unwrap().iter().zip(&dx) {
                assert!((got - want).abs() < 1e-5, "mean gradient {label}");
            }
        }
    }
}

#[test]
fn adaptive_windows_cover_everything() {
    let shape = [2, 3, 7, 10];
    for out in [[1, 1], [3, 4], [7, 10], [9, 20]] {
        let x = values(shape.iter().product(), 7);
        let all = windows(shape, out, |d, i, size| {
            let end = ((i + 1) * size).div_ceil(out[d]);
            (i * size / out[d]) as isize..end as isize
        });
        let g = values(all.len(), 8);
        let input = tensor(&x, &shape, DType::F64);
        input.requires_grad_(true).unwrap();
        let y = input.adaptive_avg_pool2d(out).unwrap();
        y.backward_with(&tensor(&g, y.shape(), DType::F64), false)
            .unwrap();
        let mut dx = vec![0.0; x.len()];
        for ((got, (_, places)), g) in y.detach().to_f64s_now().unwrap().iter().zip(&all).zip(&g) {
            let want = places.iter().map(|&i| x[i]).sum::<f64>() / places.len() as f64;
            assert!((got - want).abs() < 1e-12, "{out:?}");
            places
                .iter()
                .for_each(|&i| dx[i] += g / places.len() as f64);
        }
        for (got, want) in input.grad().unwrap().to_f64s_now().unwrap().iter().zip(&dx) {
            assert!((got - want).abs() < 1e-12, "gradient {out:?}");
        }
    }
}

#[test]
fn nan_is_the_largest_and_minus_infinity_can_win() {
    let (nan, low) = (f64::NAN, f64::NEG_INFINITY);
    let x = tensor(
        &[1.0, nan, 5.0, 2.0, low, low, low, low],
        &[1, 2, 4],
        DType::F32,
    );
    x.requires_grad_(true).unwrap();
    let y = x.max_pool2d([1, 4], None, [0, 0]).unwrap();
    let got = y.detach().to_f64s_now().unwrap();
    assert!(got[0].is_nan() && got[1] == low, "{got:?}");
    y.backward_with(&tensor(&[1.0, 2.0], &[1, 2, 1], DType::F32), false)
        .unwrap();
    let grad = x.grad().unwrap().to_f64s_now().unwrap();
    assert_eq!(grad, [0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0]);
}

#[test]
fn empty_batches_and_other_types() {
    let x = tensor(&[], &[0, 3, 8, 8], DType::F32);
    x.requires_grad_(true).unwrap();
    let results = [
        x.max_pool2d([2, 2], None, [0, 0]).unwrap(),
        x.avg_pool2d([2, 2], None, [0, 0]).unwrap(),
        x.adaptive_avg_pool2d([4, 4]).unwrap(),
    ];
    for y in results {
        assert_eq!(y.shape(), [0, 3, 4, 4]);
        y.sum_all().unwrap().backward().unwrap();
        assert_eq!(x.grad().unwrap().shape(), x.shape());
    }
    let none = tensor(&values(12, 1), &[3, 2, 2], DType::F32);
    none.requires_grad_(true).unwrap();
    let y = none.adaptive_avg_pool2d([0, 1]).unwrap();
    assert_eq!(y.shape(), [3, 0, 1]);
    y.sum_all().unwrap().backward().unwrap();
    assert_eq!(none.grad().unwrap().to_f64s_now().unwrap(), [0.0; 12]);

    let half = tensor(&values(16, 1), &[1, 4, 4], DType::BF16);
    half.requires_grad_(true).unwrap();
    let y = half.max_pool2d([2, 2], None, [0, 0]).unwrap();
    assert_eq!((y.dtype(), y.shape()), (DType::BF16, &[1, 2, 2][..]));
    y.sum_all().unwrap().backward().unwrap();
    assert_eq!(half.grad().unwrap().dtype(), DType::BF16);
    assert!(
        tensor(&values(16, 1), &[1, 4, 4], DType::I64)
            .max_pool2d([2, 2], None, [0, 0])
            .is_err()
    );
}

#[test]
fn mistakes_are_errors() {
    let x = tensor(&values(48, 1), &[3, 4, 4], DType::F32);
    let message = |kernel, stride, padding| {
        let error = x.max_pool2d(kernel, stride, padding).unwrap_err();
        assert!(!error.help().is_empty());
        error.to_string()
    };
    assert_eq!(
        message([2, 2], None, [2, 2]),
        "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and dilation=1"
    );
    assert_eq!(
        message([5, 5], None, [0, 0]),
        "Given input size: (3x4x4). Calculated output size: (0x0). Output size is too small"
    );
    assert!(message([0, 2], None, [0, 0]).contains("kernel size should be greater than zero"));
    assert!(message([2, 2], Some([0, 1]), [0, 0]).contains("stride should be greater than zero"));
    assert!(x.avg_pool2d([usize::MAX, 1], None, [0, 0]).is_err());
    assert!(x.avg_pool2d([1, 1], Some([usize::MAX, 1]), [0, 0]).is_err());
    assert!(x.adaptive_avg_pool2d([usize::MAX, 1]).is_err());
    assert!(
        x.reshape(&[48])
            .unwrap()
            .max_pool2d([2, 2], None, [0, 0])
            .is_err()
    );
    assert!(
        tensor(&[], &[2, 3, 0, 4], DType::F32)
            .adaptive_avg_pool2d([1, 1])
            .is_err()
    );
}

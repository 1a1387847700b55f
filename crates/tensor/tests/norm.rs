//! Normalisation: definitions, slopes, running statistics.

#![allow(clippy::unwrap_used)]

use tensor::{DType, Device, Error, Result, Tensor};

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

fn numbers(t: &Tensor) -> Vec<f64> {
    t.detach().to_f64s_now().unwrap()
}

/// Compare the gradients of `sum(f(operands) * c)` with finite differences.
fn check_slopes(operands: &[Tensor], f: impl Fn(&[Tensor]) -> Result<Tensor>, label: &str) {
    for t in operands {
        t.requires_grad_(true).unwrap();
        t.set_grad(None);
    }
    let loss = |t: &[Tensor]| {
        let y = f(t).unwrap();
        let c = tensor(y.shape(), 99, DType::F64);
        y.mul(&c).unwrap().sum_all().unwrap()
    };
    loss(operands).backward().unwrap();
    let h = 1e-5;
    for (n, t) in operands.iter().enumerate() {
        let (base, grad) = (numbers(t), numbers(&t.grad().unwrap()));
        for i in (0..base.len()).step_by(base.len().div_ceil(30)) {
            let at = |step: f64| {
                let mut moved = base.clone();
                moved[i] += step;
                let mut all: Vec<Tensor> = operands.iter().map(Tensor::detach).collect();
                all[n] = Tensor::from_slice(&moved, t.shape(), &Device::cpu()).unwrap();
                loss(&all).item_now().unwrap()
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            let allowed = 1e-6 * slope.abs().max(1.0);
            assert!(
                (slope - grad[i]).abs() < allowed,
                "{label}: operand {n}, element {i}: {} is not {slope}",
                grad[i]
            );
        }
    }
}

#[test]
fn batch_norm_gradients_are_slopes() {
    for shape in [&[5, 3][..], &[4, 3, 6], &[2, 3, 4, 5]] {
        for training in [true, false] {
            let running = [
                tensor(&[3], 7, DType::F64),
                tensor(&[3], 8, DType::F64).abs().unwrap(),
            ];
            let operands = [
                tensor(shape, 1, DType::F64),
                tensor(&[3], 2, DType::F64),
                tensor(&[3], 3, DType::F64),
            ];
            let norm = |x: &Tensor, w: Option<&Tensor>, b: Option<&Tensor>| {
                // Copies, since training moves them.
                let [m, v] = running.each_ref().map(|t| Tensor::clone(t).unwrap());
                x.batch_norm(w, b, Some(&m), Some(&v), training, 0.1, 1e-5)
            };
            let label = format!("{shape:?} training {training}");
            check_slopes(&operands, |t| norm(&t[0], Some(&t[1]), Some(&t[2])), &label);
            check_slopes(
                &operands[..1],
                |t| norm(&t[0], None, None),
                &format!("{label} plain"),
            );
            check_slopes(
                &operands[..2],
                |t| norm(&t[0], Some(&t[1]), None),
                &format!("{label} weight"),
            );
        }
    }
}

#[test]
fn layer_norm_gradients_are_slopes() {
    for (shape, normalized) in [(&[4, 6][..], &[6][..]), (&[2, 3, 4], &[3, 4]), (&[5], &[5])] {
        let operands = [
            tensor(shape, 1, DType::F64),
            tensor(normalized, 2, DType::F64),
            tensor(normalized, 3, DType::F64),
        ];
        let label = format!("{shape:?}");
        let norm = |x: &Tensor, w: Option<&Tensor>, b: Option<&Tensor>| {
            x.layer_norm(normalized, w, b, 1e-5)
        };
        check_slopes(&operands, |t| norm(&t[0], Some(&t[1]), Some(&t[2])), &label);
        check_slopes(
            &operands[..1],
            |t| norm(&t[0], None, None),
            &format!("{label} plain"),
        );
    }
}

#[test]
fn running_statistics_follow_the_batch() {
    let x = tensor(&[8, 2, 3], 1, DType::F64);
    let (mean, var) = (tensor(&[2], 2, DType::F64), tensor(&[2], 3, DType::F64));
    let before = [numbers(&mean), numbers(&var)];
    x.batch_norm(None, None, Some(&mean), Some(&var), true, 0.25, 1e-5)
        .unwrap();
    assert_eq!((mean.version(), var.version()), (1, 1));
    let all = numbers(&x);
    for (c, (before_mean, before_var)) in before[0].iter().zip(&before[1]).enumerate() {
        let own: Vec<f64> = (0..48).filter(|i| i / 3 % 2 == c).map(|i| all[i]).collect();
        let m = own.iter().sum::<f64>() / 24.0;
        let v = own.iter().map(|x| (x - m).powi(2)).sum::<f64>() / 23.0;
        assert!((numbers(&mean)[c] - (0.75 * before_mean + 0.25 * m)).abs() < 1e-12);
        assert!((numbers(&var)[c] - (0.75 * before_var + 0.25 * v)).abs() < 1e-12);
    }
    x.batch_norm(None, None, Some(&mean), Some(&var), false, 0.25, 1e-5)
        .unwrap();
    assert_eq!(mean.version(), 1);
}

#[test]
fn far_from_zero_the_variance_keeps_its_digits() {
    let noise = values(4096, 1);
    let x: Vec<f32> = noise.iter().map(|v| 10_000.0 + *v as f32).collect();
    let x = Tensor::from_slice(&x, &[4096, 1], &Device::cpu()).unwrap();
    let y = numbers(
        &x.batch_norm(None, None, None, None, true, 0.1, 1e-5)
            .unwrap(),
    );
    let spread = (y.iter().map(|v| v * v).sum::<f64>() / 4096.0).sqrt();
    assert!((spread - 1.0).abs() < 1e-3, "{spread}");
}

#[test]
fn half_floats_keep_their_type_with_float32_statistics() {
    let x = tensor(&[6, 4], 1, DType::F16);
    let (w, mean, var) = (
        tensor(&[4], 2, DType::F16),
        tensor(&[4], 3, DType::F32),
        Tensor::ones(&[4], DType::F32, &Device::cpu()).unwrap(),
    );
    w.requires_grad_(true).unwrap();
    let y = x
        .batch_norm(Some(&w), None, Some(&mean), Some(&var), true, 0.1, 1e-5)
        .unwrap();
    assert_eq!(y.dtype(), DType::F16);
    y.square().unwrap().sum_all().unwrap().backward().unwrap();
    assert_eq!(w.grad().unwrap().dtype(), DType::F16);
}

#[test]
fn empty_batches() {
    let x = tensor(&[0, 3, 2], 1, DType::F32);
    let (w, b) = (tensor(&[3], 2, DType::F32), tensor(&[3], 3, DType::F32));
    let mean = Tensor::zeros(&[3], DType::F32, &Device::cpu()).unwrap();
    for t in [&x, &w, &b] {
        t.requires_grad_(true).unwrap();
    }
    let y = x
        .batch_norm(
            Some(&w),
            Some(&b),
            Some(&mean),
            Some(&mean.ones_like().unwrap()),
            true,
            0.1,
            1e-5,
        )
        .unwrap();
    y.sum_all().unwrap().backward().unwrap();
    assert_eq!((y.shape(), numbers(&mean)), (&[0, 3, 2][..], vec![0.0; 3]));
    assert_eq!(numbers(&w.grad().unwrap()), [0.0; 3]);
    let w = tensor(&[3, 2], 2, DType::F32);
    w.requires_grad_(true).unwrap();
    let y = x.layer_norm(&[3, 2], Some(&w), None, 1e-5).unwrap();
    y.sum_all().unwrap().backward().unwrap();
    assert_eq!(numbers(&w.grad().unwrap()), [0.0; 6]);
}

#[test]
fn mistakes_are_pytorchs_errors() {
    let x = tensor(&[1, 4], 1, DType::F32);
    let one = x
        .batch_norm(None, None, None, None, true, 0.1, 1e-5)
        .unwrap_err();
    assert_eq!(
        (one.class(), one.to_string().as_str()),
        (
            "ValueError",
            "Expected more than 1 value per channel when training, got input size torch.Size([1, 4])"
        )
    );
    let w = tensor(&[3], 1, DType::F32);
    let batch = |w, m, v| {
        x.batch_norm(w, None, m, v, false, 0.1, 1e-5)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        batch(Some(&w), None, None),
        "batch_norm: weight should contain 4 elements not 3"
    );
    assert_eq!(
        batch(None, Some(&w), Some(&w)),
        "batch_norm: running_mean should contain 4 elements not 3"
    );
    assert!(batch(None, None, None).contains("must be defined in evaluation mode"));
    let wide = tensor(&[4], 1, DType::F64);
    let error = x
        .batch_norm(Some(&wide), None, None, None, true, 0.1, 1e-5)
        .unwrap_err();
    assert!(matches!(error, Error::ExpectedDType { .. }));
    assert!(matches!(
        x.layer_norm(&[3], None, None, 1e-5),
        Err(Error::NormShape { .. })
    ));
    assert!(x.layer_norm(&[2, 1, 4], None, None, 1e-5).is_err());
    assert!(x.layer_norm(&[], None, None, 1e-5).is_err());
    assert!(x.layer_norm(&[4], Some(&w), None, 1e-5).is_err());
    let whole = tensor(&[4, 4], 1, DType::F32).to_dtype(DType::I64).unwrap();
    assert!(
        whole
            .batch_norm(None, None, None, None, true, 0.1, 1e-5)
            .is_err()
    );
}

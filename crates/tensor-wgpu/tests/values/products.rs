//! Products in every form of the kernel.

use super::device;
use tensor::{DType, Device, Tensor};

fn numbers(shape: &[usize], seed: usize, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n)
        .map(|i| (((i + seed) * 37) % 101) as f32 / 50.0 - 1.0)
        .collect();
    Tensor::from_slice(&values, shape, device).unwrap()
}

/// A matrix `[rows, columns]` (in a batch of three), stored row by row or column by column.
fn matrix(rows: usize, columns: usize, by_rows: bool, seed: usize, device: &Device) -> Tensor {
    if by_rows {
        numbers(&[3, rows, columns], seed, device)
    } else {
        let stored = numbers(&[3, columns, rows], seed, device);
        stored.transpose(1, 2).unwrap()
    }
}

/// Multiples of four, edges that are none, and both ways round for both operands: neighbours along k, m and n.
#[test]
fn products_of_all_orientations_agree_with_the_cpu() {
    let Some(gpu) = device() else { return };
    let cpu = Device::cpu();
    for [m, n, k] in [
        [72, 72, 40],
        [66, 68, 64],
        [68, 100, 4],
        [64, 70, 32],
        [65, 67, 33],
        [5, 300, 12],
        [4, 4, 4],
    ] {
        for (a_rows, b_rows) in [(true, true), (true, false), (false, true), (false, false)] {
            let product = |d: &Device| {
                let (a, b) = (matrix(m, k, a_rows, 1, d), matrix(k, n, b_rows, 7, d));
                let whole = a.matmul(&b).unwrap();
                // Turned round: steps that go back.
                let back = a
                    .flip(&[1])
                    .unwrap()
                    .matmul(&b.flip(&[2]).unwrap())
                    .unwrap();
                // From the second row on: other starts.
                let rest = a.narrow(1, 1, m - 1).unwrap().matmul(&b).unwrap();
                let all = [&whole, &back, &rest].map(|t| t.reshape(&[-1]).unwrap());
                let one = Tensor::cat(&[&all[0], &all[1], &all[2]], 0).unwrap();
                pollster::block_on(one.to_dtype(DType::F32).unwrap().to_vec::<f32>()).unwrap()
            };
            for (i, (got, want)) in product(&gpu).iter().zip(product(&cpu)).enumerate() {
                assert!(
                    (got - want).abs() <= 1e-5 * k as f32,
                    "{m}x{k} (by rows: {a_rows}) times {k}x{n} (by rows: {b_rows}), element {i}: {got}, not {want}"
                );
            }
        }
    }
}

//! Reductions: digits kept over long sums, every type and combination.

use crate::device;
use crate::raw::{Raw, run};
use crate::samples::{STORED, close, samples, value};
use std::sync::Arc;
use tensor::expr::Expr;
use tensor::kernel::{Combine, Reduce, Work};
use tensor::{DType, Device};

fn sum(dtype: DType, acc: DType) -> Arc<Reduce> {
    Arc::new(Reduce {
        name: "sum",
        inputs: vec![dtype],
        out: acc,
        pre: Expr::arg(0).cast(acc),
        combine: Combine::Sum,
        acc,
        post: Expr::arg(0),
    })
}

#[test]
fn long_sums_keep_their_digits() {
    let Some(device) = device() else { return };
    for (rows, columns) in [
        (1usize, 1usize << 24),
        (1, 100_000),
        (3, 1_000_003),
        (1000, 1500),
        (70_000, 33),
        (2, 0),
    ] {
        let n = rows * columns;
        let mut state = 1u32;
        let values: Vec<f32> = (0..n)
            .map(|_| {
                state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                (state >> 8) as f32 / (1 << 24) as f32
            })
            .collect();
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let reduce = sum(DType::F32, DType::F32);
        for transposed in [false, true] {
            let (kept, gone) = if transposed {
                (1, rows as isize)
            } else {
                (columns as isize, 1)
            };
            let shape = [rows, columns];
            let operands = [
                Raw {
                    dtype: DType::F32,
                    bytes: if n == 0 { vec![0; 4] } else { bytes.clone() },
                    offset: 0,
                    strides: vec![kept, gone],
                },
                Raw {
                    dtype: DType::F32,
                    bytes: vec![0xff; rows * 4],
                    offset: 0,
                    strides: vec![1],
                },
            ];
            let work = || Work::Reduce {
                reduce: &reduce,
                shape: &shape,
                kept: 1,
                scalars: &[],
            };
            let got = run(&device, &operands, &shape, work).unwrap();
            for (r, g) in got[1].chunks(4).enumerate() {
                let got = f64::from(f32::from_le_bytes(g.try_into().unwrap()));
                let at = |c: usize| {
                    values[if transposed {
                        r + c * rows
                    } else {
                        r * columns + c
                    }]
                };
                let want: f64 = (0..columns).map(|c| f64::from(at(c))).sum();
                assert!(
                    (got - want).abs() <= 2e-6 * want.abs(),
                    "{rows} x {columns}, row {r}: {got} for {want}"
                );
            }
        }
    }
}

#[test]
fn reductions_of_every_type_agree_with_the_cpu() {
    let Some(device) = device() else { return };
    for dtype in STORED {
        for combine in [Combine::Sum, Combine::Prod, Combine::Max, Combine::Min] {
            for (shape, kept) in [
                (vec![3usize, 40], 1),
                (vec![2, 3000], 1),
                (vec![5, 2, 7], 2),
                (vec![4, 5], 2),
                (vec![2, 2, 2, 2, 5], 3),
            ] {
                let n: usize = shape.iter().product();
                let outputs: usize = shape[..kept].iter().product();
                let source = samples(dtype);
                // No infinities and huge values in sums and products: their order would matter.
                let tame = |c: &&[u8]| !dtype.is_float() || value(dtype, c).abs() < 1.02;
                let keep_all = matches!(combine, Combine::Max | Combine::Min);
                let data: Vec<u8> = source
                    .chunks(dtype.size())
                    .filter(|c| keep_all || tame(c))
                    .cycle()
                    .take(n)
                    .flatten()
                    .copied()
                    .collect();
                let reduce = Arc::new(Reduce {
                    name: "reduce",
                    inputs: vec![dtype],
                    out: dtype,
                    pre: Expr::arg(0),
                    combine,
                    acc: dtype.compute(),
                    post: Expr::arg(0),
                });
                let strides = tensor::layout::contiguous_strides(&shape);
                let out_strides = tensor::layout::contiguous_strides(&shape[..kept]);
                let operands = [
                    Raw {
                        dtype,
                        bytes: data,
                        offset: 0,
                        strides,
                    },
                    Raw {
                        dtype,
                        bytes: vec![0; outputs * dtype.size()],
                        offset: 0,
                        strides: out_strides,
                    },
                ];
                let work = || Work::Reduce {
                    reduce: &reduce,
                    shape: &shape,
                    kept,
                    scalars: &[],
                };
                let want = run(&Device::cpu(), &operands, &shape, work).unwrap();
                let got = run(&device, &operands, &shape, work).unwrap();
                for (g, w) in got[1]
                    .chunks(dtype.size())
                    .zip(want[1].chunks(dtype.size()))
                {
                    assert!(
                        close(dtype, g, w, 2e-5),
                        "{combine:?} of {dtype} over {shape:?} keeping {kept}: got {g:?}, the CPU gives {w:?}"
                    );
                }
            }
        }
    }
}

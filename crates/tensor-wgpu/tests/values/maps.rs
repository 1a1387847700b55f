//! Elementwise programs: functions, casts, walks over strides, rounding to half width.

use crate::device;
use crate::raw::{Raw, run};
use crate::samples::{STORED, close, pairs, samples, value, without_subnormals};
use std::sync::Arc;
use tensor::expr::{Binary, Expr, Unary};
use tensor::kernel::{Map, Work};
use tensor::{DType, Device};

fn compare(device: &Device, map: Map, inputs: &[Vec<u8>], tolerance: f64) -> usize {
    let map = Arc::new(map);
    let n = inputs[0].len() / map.operands[0].size();
    let (last, inputs_only) = map.operands.split_last().unwrap();
    let mut operands: Vec<Raw> = inputs_only
        .iter()
        .zip(inputs)
        .map(|(d, b)| Raw::dense(*d, b.clone()))
        .collect();
    operands.push(Raw::dense(*last, vec![0xff; n * last.size()]));
    let shape = [n];
    let work = || Work::Map {
        map: &map,
        shape: &shape,
        scalars: &[],
    };
    // Operations that a type has not (a bool's logarithm) are refused by the CPU.
    let want = match run(&Device::cpu(), &operands, &shape, work) {
        Ok(want) => want,
        Err(tensor::Error::UnsupportedDType { .. }) => return 0,
        Err(error) => panic!("{map:?}: {error}"),
    };
    let got = match run(device, &operands, &shape, work) {
        Ok(got) => got,
        Err(tensor::Error::UnsupportedDType { .. }) => return 0,
        Err(error) => panic!("{:?}: {error}", map),
    };
    // WGSL lets a device take subnormal operands for zero.
    let mut flushed = operands;
    for (operand, (dtype, bytes)) in flushed.iter_mut().zip(inputs_only.iter().zip(inputs)) {
        *operand = Raw::dense(*dtype, without_subnormals(*dtype, bytes));
    }
    let also = run(&Device::cpu(), &flushed, &shape, work).unwrap();
    let size = last.size();
    let all = [&got, &want, &also].map(|buffers| buffers.last().unwrap().chunks(size));
    let [got, want, also] = all;
    for (i, ((g, w), f)) in got.zip(want).zip(also).enumerate() {
        if !close(*last, g, w, tolerance) && !close(*last, g, f, tolerance) {
            let at: Vec<String> = inputs_only
                .iter()
                .zip(inputs)
                .map(|(d, b)| {
                    let e = &b[i * d.size()..(i + 1) * d.size()];
                    if d.is_float() {
                        format!("{:e}", value(*d, e))
                    } else {
                        format!("{e:?}")
                    }
                })
                .collect();
            let show = |b: &[u8]| {
                if last.is_float() {
                    format!("{:e}", value(*last, b))
                } else {
                    format!("{b:?}")
                }
            };
            panic!(
                "{} of {:?} {:?} at {at:?}: got {}, the CPU gives {}",
                map.name,
                map.operands,
                map.outputs[0].1,
                show(g),
                show(w)
            );
        }
    }
    n
}

#[test]
fn unary_functions_agree_with_the_cpu() {
    let Some(device) = device() else { return };
    use Unary::*;
    let all = [
        Neg, Abs, Exp, Log, Log1p, Sqrt, Rsqrt, Sin, Cos, Tanh, Erf, Floor, Ceil, Round, Sign, Not,
        IsNan, IsFinite,
    ];
    let mut count = 0;
    for dtype in STORED {
        for f in all {
            let expr = Expr::arg(0).un(f);
            let out = if expr.dtype(&[dtype]) == DType::Bool {
                DType::Bool
            } else {
                dtype
            };
            let mut bytes = samples(dtype);
            if matches!(f, Sin | Cos) && dtype.is_float() {
                // Past a thousand turns an f32 angle no longer names a point on the circle worth comparing.
                bytes = bytes
                    .chunks(dtype.size())
                    .filter(|c| value(dtype, c).is_nan() || value(dtype, c).abs() <= 2000.0)
                    .flatten()
                    .copied()
                    .collect();
            }
            count += compare(
                &device,
                Map::new("unary", &[dtype], out, expr),
                &[bytes],
                4e-7,
            );
        }
    }
    assert!(count > 2000, "{count}");
}

#[test]
fn binary_functions_agree_with_the_cpu() {
    let Some(device) = device() else { return };
    use Binary::*;
    let all = [
        Add, Sub, Mul, Div, Pow, Max, Min, Lt, Le, Gt, Ge, Eq, Ne, And, Or,
    ];
    for dtype in STORED {
        let (a, b) = pairs(dtype);
        for f in all {
            // A power's relative error is that of the logarithm times the exponent, which reaches 88.
            let out = if f.compares() { DType::Bool } else { dtype };
            let map = Map::new(
                "binary",
                &[dtype, dtype],
                out,
                Expr::arg(0).bin(f, Expr::arg(1)),
            );
            compare(
                &device,
                map,
                &[a.clone(), b.clone()],
                if f == Pow { 8e-6 } else { 3e-7 },
            );
        }
    }
}

#[test]
fn casts_agree_with_the_cpu() {
    let Some(device) = device() else { return };
    for from in STORED {
        for to in STORED {
            let map = Map::new("cast", &[from], to, Expr::arg(0).cast(to));
            // Exact, but for subnormal floats and rounding to half width, which `close` allows one unit: look again below.
            compare(&device, map, &[samples(from)], 0.0);
        }
    }
}

#[test]
fn strided_walks_agree_with_the_cpu() {
    let Some(device) = device() else { return };
    for dtype in STORED {
        let size = dtype.size();
        let data: Vec<u8> = samples(dtype)
            .iter()
            .cycle()
            .take(400 * size)
            .copied()
            .collect();
        // Transposed, backwards from an odd start, repeated, into every third element of an output at an odd place.
        let shape = [5usize, 3, 4];
        let operands = [
            Raw {
                dtype,
                bytes: data.clone(),
                offset: 1,
                strides: vec![1, 20, 5],
            },
            Raw {
                dtype,
                bytes: data.clone(),
                offset: 99,
                strides: vec![-12, -4, -1],
            },
            Raw {
                dtype,
                bytes: data.clone(),
                offset: 3,
                strides: vec![0, 0, 1],
            },
            Raw {
                dtype,
                bytes: data.clone(),
                offset: 7,
                strides: vec![36, 12, 3],
            },
        ];
        let first = Expr::arg(0)
            .bin(Binary::Max, Expr::arg(1))
            .bin(Binary::Min, Expr::arg(2));
        let map = Arc::new(Map::new("walk", &[dtype; 3], dtype, first));
        let work = || Work::Map {
            map: &map,
            shape: &shape,
            scalars: &[],
        };
        let want = run(&Device::cpu(), &operands, &shape, work).unwrap();
        let got = run(&device, &operands, &shape, work).unwrap();
        assert_eq!(got[0], want[0], "inputs stay as they are");
        let differ = got[3]
            .chunks(size)
            .zip(want[3].chunks(size))
            .position(|(g, w)| !close(dtype, g, w, 0.0));
        assert_eq!(differ, None, "{dtype}: first differing element");
    }
}

#[test]
fn odd_lengths_and_places_leave_neighbours_alone() {
    let Some(device) = device() else { return };
    for dtype in STORED {
        let size = dtype.size();
        for (from, offset, n) in [
            (2, 0, 1),
            (2, 0, 3),
            (2, 0, 5),
            (2, 1, 6),
            (2, 2, 2),
            (2, 3, 9),
            (2, 4, 7),
            (2, 5, 64),
            // By fours.
            (4, 0, 4),
            (8, 4, 8),
            (0, 12, 64),
        ] {
            let data: Vec<u8> = samples(dtype)
                .iter()
                .cycle()
                .take(100 * size)
                .copied()
                .collect();
            let operands = [
                Raw {
                    dtype,
                    bytes: data.clone(),
                    offset: from,
                    strides: vec![1],
                },
                Raw {
                    dtype,
                    bytes: vec![1; 100 * size],
                    offset,
                    strides: vec![1],
                },
            ];
            let shape = [n];
            let map = Arc::new(Map::new("copy", &[dtype], dtype, Expr::arg(0)));
            let work = || Work::Map {
                map: &map,
                shape: &shape,
                scalars: &[],
            };
            let want = run(&Device::cpu(), &operands, &shape, work).unwrap();
            let got = run(&device, &operands, &shape, work).unwrap();
            if dtype.is_float() {
                let differ = got[1]
                    .chunks(size)
                    .zip(want[1].chunks(size))
                    .position(|(g, w)| !close(dtype, g, w, 0.0));
                assert_eq!(differ, None, "{dtype} offset {offset} length {n}");
            } else {
                assert_eq!(got[1], want[1], "{dtype} offset {offset} length {n}");
            }
        }
    }
}

#[test]
fn half_width_floats_round_as_recorded_everywhere() {
    let Some(device) = device() else { return };
    // Every float16 and bfloat16 there is, widened and narrowed again, and what lies between them.
    let mut patterns: Vec<u32> = Vec::new();
    for high in 0..=0xffffu32 {
        patterns.extend([0u32, 1, 0x7fff, 0x8000, 0x8001, 0xffff].map(|low| high << 16 | low));
        let low = f32::from(tensor::f16::from_bits(high as u16)).to_bits();
        patterns.extend([
            low,
            low.wrapping_add(0x1000),
            low.wrapping_add(0xfff),
            low.wrapping_add(0x1001),
        ]);
    }
    let bytes: Vec<u8> = patterns.iter().flat_map(|p| p.to_le_bytes()).collect();
    for to in [DType::F16, DType::BF16] {
        let operands = [
            Raw::dense(DType::F32, bytes.clone()),
            Raw::dense(to, vec![0; patterns.len() * 2]),
        ];
        let map = Arc::new(Map::new("narrow", &[DType::F32], to, Expr::arg(0)));
        let shape = [patterns.len()];
        let work = || Work::Map {
            map: &map,
            shape: &shape,
            scalars: &[],
        };
        let got = run(&device, &operands, &shape, work).unwrap();
        for (p, g) in patterns.iter().zip(got[1].chunks(2)) {
            let x = f32::from_bits(*p);
            let got = u16::from_le_bytes([g[0], g[1]]);
            let want = if to == DType::F16 {
                tensor::f16::from_f32(x).to_bits()
            } else {
                tensor::bf16::from_f32(x).to_bits()
            };
            let nan = if to == DType::F16 {
                got & 0x7fff > 0x7c00
            } else {
                got & 0x7fff > 0x7f80
            };
            assert!(
                got == want || (x.is_nan() && nan),
                "{p:#010x} to {to}: {got:#06x}, not {want:#06x}"
            );
        }
        // And back: exact.
        let all: Vec<u8> = (0..=0xffffu16).flat_map(|v| v.to_le_bytes()).collect();
        let operands = [
            Raw::dense(to, all),
            Raw::dense(DType::F32, vec![0; 4 << 16]),
        ];
        let map = Arc::new(Map::new("widen", &[to], DType::F32, Expr::arg(0)));
        let shape = [1usize << 16];
        let work = || Work::Map {
            map: &map,
            shape: &shape,
            scalars: &[],
        };
        let got = run(&device, &operands, &shape, work).unwrap();
        for (h, g) in (0..=0xffffu16).zip(got[1].chunks(4)) {
            let got = f32::from_le_bytes(g.try_into().unwrap());
            let want = if to == DType::F16 {
                tensor::f16::from_bits(h).to_f32()
            } else {
                tensor::bf16::from_bits(h).to_f32()
            };
            assert!(
                got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
                "{h:#06x} from {to}"
            );
        }
    }
}

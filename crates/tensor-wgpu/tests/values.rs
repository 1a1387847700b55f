//! What generated kernels compute, element by element, against the CPU device.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that unwraps what it did not get has failed

use std::sync::Arc;
use tensor::device::Buffer;
use tensor::expr::{Binary, Expr, Unary};
use tensor::kernel::{Binding, Combine, Launch, Map, Reduce, Work};
use tensor::{DType, Device};

fn device() -> Option<Device> {
    match pollster::block_on(tensor_wgpu::open(0)) {
        Ok(device) => Some(device),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// A tensor in the raw: type, bytes, first element, strides.
#[derive(Clone)]
struct Raw {
    dtype: DType,
    bytes: Vec<u8>,
    offset: usize,
    strides: Vec<isize>,
}

impl Raw {
    fn dense(dtype: DType, bytes: Vec<u8>) -> Raw {
        Raw {
            dtype,
            bytes,
            offset: 0,
            strides: vec![1],
        }
    }

    fn span(&self, shape: &[usize]) -> (usize, usize) {
        let (mut low, mut high) = (self.offset as isize, self.offset as isize);
        for (&n, &s) in shape.iter().zip(&self.strides) {
            let reach = (n as isize - 1) * s;
            if reach < 0 {
                low += reach
            } else {
                high += reach
            }
        }
        (low as usize, high as usize + 1)
    }
}

/// Upload, run, read everything back.
fn run<'w>(
    device: &Device,
    operands: &[Raw],
    shape: &[usize],
    work: impl Fn() -> Work<'w>,
) -> tensor::Result<Vec<Vec<u8>>> {
    let backend = device.backend();
    let buffers: Vec<Buffer> = operands
        .iter()
        .map(|o| {
            let buffer = backend.alloc(o.bytes.len())?;
            backend.upload(&buffer, 0, &o.bytes)?;
            Ok(buffer)
        })
        .collect::<tensor::Result<_>>()?;
    let bindings: Vec<Binding<'_>> = operands
        .iter()
        .zip(&buffers)
        .map(|(o, buffer)| Binding {
            buffer,
            dtype: o.dtype,
            offset: o.offset,
            span: o.span(&shape[..o.strides.len().min(shape.len())]),
            strides: &o.strides,
        })
        .collect();
    backend.launch(&Launch {
        work: work(),
        bindings: &bindings,
        bytes: 0,
        flops: 0,
    })?;
    let out = buffers
        .iter()
        .zip(operands)
        .map(|(b, o)| pollster::block_on(backend.download(b, 0, o.bytes.len())))
        .collect();
    buffers.iter().for_each(|b| backend.free(b));
    out
}

/// Values worth trying, as bytes of `dtype`.
fn samples(dtype: DType) -> Vec<u8> {
    let floats: Vec<f32> = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        1e-3,
        -1e-3,
        1e-7,
        -1e-7,
        0.3,
        0.7,
        0.9,
        0.99,
        1.01,
        1.0001,
        3.0,
        -3.0,
        3.25,
        -7.75,
        10.0,
        -10.0,
        20.0,
        80.0,
        -80.0,
        88.5,
        89.5,
        -87.0,
        100.0,
        255.0,
        256.0,
        1000.5,
        -1000.5,
        65504.0,
        65520.0,
        1e5,
        2147483648.0,
        -2147483648.0,
        4e9,
        -4e9,
        1e15,
        -1e15,
        1e20,
        1e38,
        -1e38,
        1e-38,
        6e-5,
        5.9e-8,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        std::f32::consts::PI,
        -100.25,
        7.0,
        0.25,
        1e-20,
        12.0,
        -12.0,
    ]
    .into();
    match dtype {
        DType::F32 => floats.iter().flat_map(|v| v.to_le_bytes()).collect(),
        DType::F16 => floats
            .iter()
            .flat_map(|v| tensor::f16::from_f32(*v).to_le_bytes())
            .collect(),
        DType::BF16 => floats
            .iter()
            .flat_map(|v| tensor::bf16::from_f32(*v).to_le_bytes())
            .collect(),
        DType::I32 => [
            0,
            1,
            -1,
            2,
            3,
            -7,
            100,
            255,
            256,
            -128,
            65536,
            i32::MAX,
            i32::MIN,
            16777217,
            -16777219,
            5,
        ]
        .iter()
        .flat_map(|v: &i32| v.to_le_bytes())
        .collect(),
        DType::I64 => [
            0,
            1,
            -1,
            2,
            3,
            -7,
            255,
            256,
            1 << 31,
            1 << 32,
            -(1 << 32),
            (1 << 53) + 1,
            i64::MAX,
            i64::MIN,
            0xffff_ffff,
            0x1234_5678_9abc_def0,
            -0x1234_5678_9abc_def0,
            (1 << 40) - 1,
            0x00ff_ffff_8000_0000,
            0x0100_0000_8000_0001,
        ]
        .iter()
        .flat_map(|v: &i64| v.to_le_bytes())
        .collect(),
        DType::U8 => (0..=255)
            .step_by(5)
            .chain([1, 2, 3])
            .map(|v: i32| v as u8)
            .collect(),
        _ => vec![0, 1, 1, 0, 1],
    }
}

/// Every sample against every sample: two operands of equal length.
fn pairs(dtype: DType) -> (Vec<u8>, Vec<u8>) {
    let (all, size) = (samples(dtype), dtype.size());
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for x in all.chunks(size) {
        for y in all.chunks(size) {
            a.extend_from_slice(x);
            b.extend_from_slice(y);
        }
    }
    (a, b)
}

fn value(dtype: DType, bytes: &[u8]) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
        DType::F16 => tensor::f16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
        DType::BF16 => tensor::bf16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
        _ => unreachable!("only floats are compared by value"),
    }
}

/// Floats may differ by this, relative to the CPU's; whatever is subnormal may be flushed to zero.
fn close(dtype: DType, got: &[u8], want: &[u8], tolerance: f64) -> bool {
    if got == want {
        return true;
    }
    if !dtype.is_float() {
        return false;
    }
    let (g, w) = (value(dtype, got), value(dtype, want));
    let ulp = match dtype {
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        _ => 0.0,
    };
    let smallest = if dtype == DType::F16 { 6e-8 } else { 1.2e-38 };
    (g.is_nan() && w.is_nan()) || g == w || (g - w).abs() <= (tolerance + ulp) * w.abs() + smallest
}

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
    let size = last.size();
    let (got, want) = (got.last().unwrap(), want.last().unwrap());
    for (i, (g, w)) in got.chunks(size).zip(want.chunks(size)).enumerate() {
        if !close(*last, g, w, tolerance) {
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

const STORED: [DType; 7] = [
    DType::Bool,
    DType::U8,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::BF16,
    DType::F32,
];

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
        for (offset, n) in [
            (0, 1),
            (0, 3),
            (0, 5),
            (1, 6),
            (2, 2),
            (3, 9),
            (4, 7),
            (5, 64),
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
                    offset: 2,
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

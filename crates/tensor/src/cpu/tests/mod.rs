//! Every launch against plain loops over the scalar evaluator.

mod layouts;
mod maps;
mod reductions;

use super::CpuDevice;
use super::scalar::{Value, binary, evaluate};
use crate::device::{Backend, Buffer};
use crate::dtype::DType;
use crate::expr::{Binary, Expr, Unary};
use crate::kernel::{Binding, Combine, Launch, Map, Reduce, Work};
use std::sync::Arc;

/// An operand: its type, offset and strides, and all elements of its buffer.
#[derive(Clone, Debug)]
struct Tensor {
    dtype: DType,
    offset: usize,
    strides: Vec<isize>,
    bytes: Vec<u8>,
}

impl Tensor {
    /// A buffer that holds every index of `shape` under these strides, with elements from `value(n)`.
    fn new(
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
        value: impl Fn(usize) -> f64,
    ) -> Tensor {
        let (mut low, mut high) = (0isize, 0isize);
        for (&n, &s) in shape.iter().zip(strides) {
            let reach = (n.max(1) as isize - 1) * s;
            if reach < 0 {
                low += reach
            } else {
                high += reach
            }
        }
        let offset = 3 + (-low) as usize;
        let len = offset + high as usize + 1 + 2;
        let mut bytes = vec![0; len * dtype.size()];
        for n in 0..len {
            // SAFETY: element `n` of the vector.
            unsafe {
                Value::of(value(n), dtype.compute())
                    .store(bytes.as_mut_ptr().add(n * dtype.size()), dtype)
            };
        }
        Tensor {
            dtype,
            offset,
            strides: strides.to_vec(),
            bytes,
        }
    }

    fn at(&self, index: &[usize]) -> usize {
        let step: isize = index
            .iter()
            .zip(&self.strides)
            .map(|(i, s)| *i as isize * s)
            .sum();
        (self.offset as isize + step) as usize * self.dtype.size()
    }

    fn get(&self, index: &[usize]) -> Value {
        // SAFETY: the constructor made room for every index.
        unsafe { Value::load(self.bytes.as_ptr().add(self.at(index)), self.dtype) }
    }

    fn set(&mut self, index: &[usize], value: Value) {
        let at = self.at(index);
        // SAFETY: as above.
        unsafe { value.store(self.bytes.as_mut_ptr().add(at), self.dtype) }
    }

    fn elements(&self) -> Vec<Value> {
        let size = self.dtype.size();
        // SAFETY: whole elements of the vector.
        (0..self.bytes.len() / size)
            .map(|n| unsafe { Value::load(self.bytes.as_ptr().add(n * size), self.dtype) })
            .collect()
    }
}

fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..shape.iter().product()).map(|mut linear: usize| {
        let mut index = vec![0; shape.len()];
        for d in (0..shape.len()).rev() {
            index[d] = linear % shape[d];
            linear /= shape[d];
        }
        index
    })
}

/// Run a launch over copies of the operands; the operands afterwards.
fn launch(work: Work<'_>, operands: &[Tensor]) -> Vec<Tensor> {
    let device = CpuDevice::new();
    let buffers: Vec<Buffer> = operands
        .iter()
        .map(|t| {
            let buffer = device.alloc(t.bytes.len()).unwrap();
            device.upload(&buffer, 0, &t.bytes).unwrap();
            buffer
        })
        .collect();
    let bindings: Vec<Binding<'_>> = operands
        .iter()
        .zip(&buffers)
        .map(|(t, buffer)| Binding {
            buffer,
            dtype: t.dtype,
            offset: t.offset,
            span: (t.offset, t.bytes.len() / t.dtype.size()),
            strides: &t.strides,
        })
        .collect();
    device
        .launch(&Launch {
            work,
            bindings: &bindings,
            bytes: 0,
            flops: 0,
        })
        .unwrap();
    operands
        .iter()
        .zip(&buffers)
        .map(|(t, buffer)| {
            let mut bytes = vec![0; t.bytes.len()];
            pollster::block_on(device.download(buffer, 0, &mut bytes)).unwrap();
            Tensor { bytes, ..t.clone() }
        })
        .collect()
}

fn run_map(map: Map, shape: &[usize], scalars: &[f64], operands: &[Tensor]) -> Vec<Tensor> {
    launch(
        Work::Map {
            map: &Arc::new(map),
            shape,
            scalars,
        },
        operands,
    )
}

fn naive_map(map: &Map, shape: &[usize], scalars: &[f64], operands: &[Tensor]) -> Vec<Tensor> {
    let mut out = operands.to_vec();
    for index in indices(shape) {
        let args: Vec<Value> = operands.iter().map(|t| t.get(&index)).collect();
        for (o, expr) in &map.outputs {
            out[*o as usize].set(&index, evaluate(expr, &args, scalars));
        }
    }
    out
}

fn number(v: Value) -> f64 {
    match v.cast(DType::F64) {
        Value::F64(x) => x,
        other => panic!("{other:?}"),
    }
}

/// Equal elements, or floats within `tolerance` of one another, relatively.
fn assert_same(got: &Tensor, want: &Tensor, tolerance: f64, what: &str) {
    for (n, (g, w)) in got.elements().into_iter().zip(want.elements()).enumerate() {
        let (a, b) = (number(g), number(w));
        let same = g == w || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * b.abs();
        assert!(same, "{what}: element {n} is {g:?}, not {w:?}");
    }
}

fn check_map(map: Map, shape: &[usize], scalars: &[f64], operands: &[Tensor], tolerance: f64) {
    let want = naive_map(&map, shape, scalars, operands);
    let what = format!("{map:?} over {shape:?}");
    for (g, w) in run_map(map, shape, scalars, operands).iter().zip(&want) {
        assert_same(g, w, tolerance, &what);
    }
}

fn dense(shape: &[usize]) -> Vec<isize> {
    crate::layout::contiguous_strides(shape)
}

/// Values of either sign, fractions, and for floats the special ones.
fn mixed(dtype: DType) -> impl Fn(usize) -> f64 {
    move |n| {
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0];
        match (n % 23, dtype) {
            (k, d) if k < 5 && d.is_float() => special[k],
            (k, DType::Bool) => (k % 3 == 0) as u8 as f64,
            (_, DType::U8) => ((n * 37) % 256) as f64,
            _ => ((n * 7919) % 201) as f64 / 8.0 - 12.0,
        }
    }
}

const UNARY: [Unary; 18] = {
    use Unary::*;
    [
        Neg, Abs, Exp, Log, Log1p, Sqrt, Rsqrt, Sin, Cos, Tanh, Erf, Floor, Ceil, Round, Sign, Not,
        IsNan, IsFinite,
    ]
};

const BINARY: [Binary; 15] = {
    use Binary::*;
    [
        Add, Sub, Mul, Div, Pow, Max, Min, Lt, Le, Gt, Ge, Eq, Ne, And, Or,
    ]
};

/// How far f32 may be from the standard library's functions: two units in the last place.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 2.4e-7,
        DType::F16 => 1e-3,
        DType::BF16 => 8e-3,
        _ => 0.0,
    }
}

#[test]
fn a_launch_outside_its_buffer_is_refused() {
    let device = CpuDevice::new();
    let buffer = device.alloc(64).unwrap();
    let binding = |offset, strides| Binding {
        buffer: &buffer,
        dtype: DType::F32,
        offset,
        span: (0, 16),
        strides,
    };
    let map = Arc::new(Map::new("neg", &[DType::F32], DType::F32, -Expr::arg(0)));
    let far = [1isize << 40];
    for bindings in [
        [binding(0, &far[..]), binding(0, &[1])],
        [binding(0, &[1]), binding(200, &[1])],
        [binding(0, &[-1]), binding(0, &[1])],
    ] {
        let work = Work::Map {
            map: &map,
            shape: &[8],
            scalars: &[],
        };
        let refused = device.launch(&Launch {
            work,
            bindings: &bindings,
            bytes: 0,
            flops: 0,
        });
        assert!(
            matches!(refused, Err(crate::Error::DeviceFailure { .. })),
            "{refused:?}"
        );
    }
    assert!(device.upload(&buffer, 500, &[0; 64]).is_err());
}

//! Every launch against plain loops over the scalar evaluator.

use super::CpuDevice;
use super::scalar::{Value, binary, evaluate};
use crate::device::{Backend, Buffer};
use crate::dtype::DType;
use crate::expr::{Binary, Expr, Unary};
use crate::kernel::{Binding, Combine, Launch, Map, Reduce, Work};
use proptest::prelude::*;
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
fn every_function_of_one_value_in_every_type() {
    for dtype in DType::ALL {
        for f in UNARY {
            let logical = matches!(f, Unary::Not | Unary::IsNan | Unary::IsFinite);
            let whole = matches!(
                f,
                Unary::Neg | Unary::Abs | Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round
            );
            let defined = match dtype {
                DType::Bool => f == Unary::Not,
                d if d.is_float() => f != Unary::Not,
                DType::U8 | DType::I32 | DType::I64 => logical || whole,
                _ => false,
            };
            if !defined {
                continue;
            }
            let out = if logical { DType::Bool } else { dtype };
            let map = Map::new("unary", &[dtype], out, Expr::arg(0).un(f));
            let shape = [301];
            let operands = [
                Tensor::new(dtype, &shape, &[1], mixed(dtype)),
                Tensor::new(out, &shape, &[1], |_| 1.0),
            ];
            check_map(map, &shape, &[], &operands, tolerance(dtype));
        }
    }
}

#[test]
fn every_function_of_two_values_in_every_type() {
    for dtype in DType::ALL {
        for f in BINARY {
            let defined = match f {
                Binary::And | Binary::Or => dtype == DType::Bool,
                Binary::Div | Binary::Pow => dtype != DType::Bool,
                _ => true,
            };
            if !defined {
                continue;
            }
            let out = if f.compares() { DType::Bool } else { dtype };
            let map = Map::new(
                "binary",
                &[dtype, dtype],
                out,
                Expr::arg(0).bin(f, Expr::arg(1)),
            );
            let shape = [707];
            let value = mixed(dtype);
            let operands = [
                Tensor::new(dtype, &shape, &[1], &value),
                Tensor::new(dtype, &shape, &[1], |n| value(n / 23 + 5 * n)),
                Tensor::new(out, &shape, &[1], |_| 1.0),
            ];
            check_map(map, &shape, &[], &operands, 0.0);
        }
    }
}

#[test]
fn every_conversion() {
    for from in DType::ALL {
        for to in DType::ALL {
            let shape = [640];
            let operands = [
                Tensor::new(from, &shape, &[1], mixed(from)),
                Tensor::new(to, &shape, &[1], |_| 1.0),
            ];
            check_map(
                Map::new("copy", &[from], to, Expr::arg(0)),
                &shape,
                &[],
                &operands,
                0.0,
            );
            let cast = Expr::arg(0).cast(to);
            check_map(
                Map::new("cast", &[from], to, cast),
                &shape,
                &[],
                &operands,
                0.0,
            );
        }
    }
}

#[test]
fn select_ignores_the_other_side() {
    let expr = Expr::arg(0)
        .gt(Expr::lit(0.0, DType::F32))
        .select(Expr::arg(0).un(Unary::Log), Expr::lit(-1.0, DType::F32));
    let shape = [400];
    let operands = [
        Tensor::new(DType::F32, &shape, &[1], mixed(DType::F32)),
        Tensor::new(DType::F32, &shape, &[1], |_| 0.0),
    ];
    check_map(
        Map::new("select", &[DType::F32], DType::F32, expr),
        &shape,
        &[],
        &operands,
        2.4e-7,
    );
}

/// Two outputs, both changed in place and each made from the other's old value, with run-time numbers.
#[test]
fn outputs_are_written_from_the_values_before() {
    let (m, p) = (Expr::arg(0), Expr::arg(1));
    let rate = Expr::scalar(0, DType::F32);
    let new_m = m.clone() * Expr::scalar(1, DType::F32) + p.clone();
    let new_p = p - rate * m;
    let map = Map {
        name: "step",
        operands: vec![DType::F32; 2],
        outputs: vec![(0, new_m), (1, new_p)],
    };
    for shape in [vec![5], vec![5000], vec![70_000]] {
        let operands = [
            Tensor::new(DType::F32, &shape, &[1], |n| n as f64 / 16.0),
            Tensor::new(DType::F32, &shape, &[1], |n| 3.0 - n as f64 / 8.0),
        ];
        check_map(map.clone(), &shape, &[0.5, 0.9], &operands, 0.0);
    }
}

/// One value stored twice, an operand stored as it is, and a number stored everywhere.
#[test]
fn several_outputs_share_values() {
    let sum = Expr::arg(0) + Expr::lit(1.5, DType::F32);
    let map = Map {
        name: "shared",
        operands: vec![DType::F32, DType::F32, DType::BF16, DType::F32, DType::I64],
        outputs: vec![
            (1, sum.clone()),
            (2, sum),
            (3, Expr::arg(0)),
            (4, Expr::scalar(0, DType::I64)),
        ],
    };
    let shape = [3000];
    let operands: Vec<Tensor> = map
        .operands
        .iter()
        .map(|d| Tensor::new(*d, &shape, &[1], |n| n as f64 / 4.0 - 99.0))
        .collect();
    check_map(map, &shape, &[-7.0], &operands, 0.0);
}

#[test]
fn empty_shapes_and_single_elements() {
    for shape in [vec![0], vec![3, 0, 2], vec![], vec![1, 1]] {
        let strides = dense(&shape);
        let operands = [
            Tensor::new(DType::F64, &shape, &strides, |n| n as f64),
            Tensor::new(DType::F64, &shape, &strides, |_| 0.5),
        ];
        check_map(
            Map::new("neg", &[DType::F64], DType::F64, -Expr::arg(0)),
            &shape,
            &[],
            &operands,
            0.0,
        );
    }
}

/// Large enough for threads and for boxes cut at every border.
#[test]
fn transposed_copies_of_every_width() {
    for (dtype, rows, cols) in [
        (DType::U8, 301, 517),
        (DType::BF16, 517, 301),
        (DType::F32, 300, 700),
        (DType::F64, 64, 2050),
    ] {
        let shape = [rows, cols];
        let operands = [
            Tensor::new(dtype, &shape, &[1, rows as isize], |n| (n % 119) as f64),
            Tensor::new(dtype, &shape, &[cols as isize, 1], |_| 0.0),
        ];
        let map = Map::new("copy", &[dtype], dtype, Expr::arg(0));
        let [_, got] = &run_map(map, &shape, &[], &operands)[..] else {
            panic!()
        };
        for index in indices(&shape) {
            assert_eq!(
                got.get(&index),
                operands[0].get(&index),
                "{dtype} at {index:?}"
            );
        }
    }
}

/// A dimension's place in memory, for random layouts: permuted, stepped, reversed or repeated.
#[derive(Clone, Debug)]
struct Arrangement {
    order: Vec<usize>,
    step: Vec<isize>,
}

impl Arrangement {
    fn strides(&self, shape: &[usize], repeat: bool) -> Vec<isize> {
        let mut strides = vec![0; shape.len()];
        let mut next = 1isize;
        for &d in &self.order {
            let step = if self.step[d] == 0 && !repeat {
                1
            } else {
                self.step[d]
            };
            strides[d] = next * step;
            next *= shape[d].max(1) as isize * step.abs().max(1);
        }
        strides
    }
}

fn arrangement(rank: usize) -> impl Strategy<Value = Arrangement> {
    let order = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
    let step = prop::collection::vec(
        prop_oneof![4 => Just(1isize), 1 => Just(2), 1 => Just(-1), 1 => Just(0)],
        rank,
    );
    (order, step).prop_map(|(order, step)| Arrangement { order, step })
}

fn space() -> impl Strategy<Value = (Vec<usize>, Vec<Arrangement>)> {
    prop::collection::vec(
        prop_oneof![8 => 1usize..12, 2 => 30usize..70, 1 => Just(0)],
        0..5,
    )
    .prop_filter("small enough to check", |s| {
        s.iter().product::<usize>() < 60_000
    })
    .prop_flat_map(|shape| {
        let rank = shape.len();
        (Just(shape), prop::collection::vec(arrangement(rank), 3))
    })
}

fn some_dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(DType::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn maps_over_any_strides((shape, by) in space(), a in some_dtype(), b in some_dtype(), out in some_dtype()) {
        let operands = [
            Tensor::new(a, &shape, &by[0].strides(&shape, true), |n| (n % 13) as f64 - 4.0),
            Tensor::new(b, &shape, &by[1].strides(&shape, true), |n| (n % 7) as f64 * 0.75),
            Tensor::new(out, &shape, &by[2].strides(&shape, false), |_| 1.0),
        ];
        let wide = a.promote(b).promote(DType::I32);
        let (x, y) = (Expr::arg(0).cast(wide), Expr::arg(1).cast(wide));
        let expr = x.clone().lt(y.clone()).select(x.clone() * y.clone(), x + y);
        check_map(Map::new("mix", &[a, b], out, expr), &shape, &[], &operands, 0.0);
    }

    #[test]
    fn reductions_over_any_strides((shape, by) in space(), kept in 0usize..5, dtype in some_dtype(), combine in combine()) {
        let kept = kept.min(shape.len());
        let input = Tensor::new(dtype, &shape, &by[0].strides(&shape, true), |n| (n % 5) as f64 - 1.5);
        let order = Arrangement { order: by[1].order.iter().copied().filter(|d| *d < kept).collect(), ..by[1].clone() };
        check_reduce(Expr::arg(0), combine, &shape, kept, &[input], &order.strides(&shape[..kept], false));
    }
}

fn combine() -> impl Strategy<Value = Combine> {
    prop::sample::select(vec![
        Combine::Sum,
        Combine::Prod,
        Combine::Max,
        Combine::Min,
    ])
}

fn identity(combine: Combine, acc: DType) -> Value {
    match (combine, acc) {
        (Combine::Sum, _) => Value::of(0.0, acc),
        (Combine::Prod, _) => Value::of(1.0, acc),
        (Combine::Max, DType::Bool | DType::U8) => Value::of(0.0, acc),
        (Combine::Max, DType::I32) => Value::I32(i32::MIN),
        (Combine::Max, DType::I64) => Value::I64(i64::MIN),
        (Combine::Max, _) => Value::of(f64::NEG_INFINITY, acc),
        (Combine::Min, DType::Bool) => Value::Bool(true),
        (Combine::Min, DType::U8) => Value::U8(255),
        (Combine::Min, DType::I32) => Value::I32(i32::MAX),
        (Combine::Min, DType::I64) => Value::I64(i64::MAX),
        (Combine::Min, _) => Value::of(f64::INFINITY, acc),
    }
}

/// Store the reduction and one more, and compare with plain loops.
fn check_reduce(
    pre: Expr,
    combine: Combine,
    shape: &[usize],
    kept: usize,
    inputs: &[Tensor],
    out: &[isize],
) {
    let dtypes: Vec<DType> = inputs.iter().map(|t| t.dtype).collect();
    let acc = pre.dtype(&dtypes);
    let post = match acc {
        DType::Bool => Expr::arg(0).un(Unary::Not),
        _ => Expr::arg(0) + Expr::lit(1.0, acc),
    };
    let mut operands = inputs.to_vec();
    operands.push(Tensor::new(acc, &shape[..kept], out, |_| 42.0));
    let reduce = Reduce {
        name: "reduce",
        inputs: dtypes,
        out: acc,
        pre,
        combine,
        acc,
        post,
    };

    let wide = if acc == DType::F32 { DType::F64 } else { acc };
    let f = match combine {
        Combine::Sum => Binary::Add,
        Combine::Prod => Binary::Mul,
        Combine::Max => Binary::Max,
        Combine::Min => Binary::Min,
    };
    let mut want = operands[inputs.len()].clone();
    for outer in indices(&shape[..kept]) {
        let mut value = identity(combine, wide);
        for inner in indices(&shape[kept..]) {
            let index = [outer.clone(), inner].concat();
            let args: Vec<Value> = inputs.iter().map(|t| t.get(&index)).collect();
            value = binary(f, value, evaluate(&reduce.pre, &args, &[]).cast(wide));
        }
        want.set(&outer, evaluate(&reduce.post, &[value.cast(acc)], &[]));
    }
    let what = format!(
        "{reduce:?} over {shape:?}, {kept} kept, strides {:?}",
        inputs[0].strides
    );
    let work = Work::Reduce {
        reduce: &Arc::new(reduce),
        shape,
        kept,
        scalars: &[],
    };
    let got = launch(work, &operands);
    // Sums in another order differ in the last digits of what was added up.
    let tolerance = if matches!(combine, Combine::Sum | Combine::Prod) {
        1e-6
    } else {
        0.0
    };
    assert_same(&got[inputs.len()], &want, tolerance, &what);
}

#[test]
fn reductions_along_rows_and_columns() {
    for (shape, kept) in [
        (vec![3, 70_000], 1),
        (vec![70_000, 3], 1),
        (vec![900, 300], 1),
        (vec![0, 5], 1),
        (vec![5, 0], 1),
        (vec![0], 0),
        (vec![], 0),
        (vec![200_000], 0),
    ] {
        let strides = dense(&shape);
        for combine in [Combine::Sum, Combine::Max, Combine::Min] {
            for dtype in [DType::F32, DType::BF16, DType::I64] {
                let input = Tensor::new(dtype, &shape, &strides, |n| ((n * 31) % 17) as f64 - 8.0);
                check_reduce(
                    Expr::arg(0),
                    combine,
                    &shape,
                    kept,
                    &[input],
                    &dense(&shape[..kept]),
                );
            }
        }
        // Columns: the kept dimension is the inner one in memory.
        if shape.len() == 2 {
            let input = Tensor::new(DType::F32, &shape, &[1, shape[0] as isize], |n| {
                (n % 9) as f64 - 4.0
            });
            check_reduce(
                Expr::arg(0),
                Combine::Sum,
                &shape,
                kept,
                &[input],
                &dense(&shape[..kept]),
            );
        }
    }
}

/// Batch normalisation's sums: kept in the middle of memory, from two inputs.
#[test]
fn a_reduction_of_two_inputs_around_a_kept_dimension() {
    let (n, c, hw) = (7usize, 5, 130);
    let shape = [c, n, hw];
    let strides = [hw as isize, (c * hw) as isize, 1];
    let x = Tensor::new(DType::F32, &shape, &strides, |n| (n % 11) as f64 - 5.0);
    let g = Tensor::new(DType::F32, &shape, &strides, |n| (n % 6) as f64 / 2.0);
    check_reduce(
        Expr::arg(0) * Expr::arg(1),
        Combine::Sum,
        &shape,
        1,
        &[x, g],
        &[1],
    );
}

#[test]
fn a_nan_is_the_largest_and_the_smallest() {
    let shape = [3, 100];
    let input = Tensor::new(DType::F32, &shape, &[100, 1], |n| {
        if n == 60 { f64::NAN } else { n as f64 }
    });
    for combine in [Combine::Max, Combine::Min] {
        check_reduce(
            Expr::arg(0),
            combine,
            &shape,
            1,
            std::slice::from_ref(&input),
            &[1],
        );
    }
}

/// A running f32 sum of these would be off in the third digit.
#[test]
fn a_long_sum_keeps_its_digits() {
    let n = 5_000_000;
    let shape = [n];
    let input = Tensor::new(DType::F32, &shape, &[1], |n| 0.1 + (n % 3) as f64);
    let exact: f64 = input
        .elements()
        .iter()
        .map(|v| number(*v))
        .skip(input.offset)
        .take(n)
        .sum();
    let out = Tensor::new(DType::F32, &[], &[], |_| 0.0);
    let reduce = Reduce {
        name: "sum",
        inputs: vec![DType::F32],
        out: DType::F32,
        pre: Expr::arg(0),
        combine: Combine::Sum,
        acc: DType::F32,
        post: Expr::arg(0),
    };
    let work = Work::Reduce {
        reduce: &Arc::new(reduce),
        shape: &shape,
        kept: 0,
        scalars: &[],
    };
    let got = number(launch(work, &[input, out])[1].get(&[]));
    assert!((got - exact).abs() <= 1e-7 * exact, "{got} for {exact}");
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

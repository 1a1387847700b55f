//! Reductions.

use super::*;
use proptest::prelude::*;

pub(super) fn combine() -> impl Strategy<Value = Combine> {
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
pub(super) fn check_reduce(
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

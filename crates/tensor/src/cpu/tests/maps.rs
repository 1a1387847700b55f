//! Elementwise launches: every function, conversion and way to store.

use super::*;

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

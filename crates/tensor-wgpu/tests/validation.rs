//! Every kernel, generated and hand-written, is legal WGSL: naga parses and validates it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that unwraps what it did not get has failed

use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::sync::Arc;
use tensor::DType;
use tensor::expr::{Binary, Expr, Unary};
use tensor::kernel::{Combine, Map, Reduce};
use tensor::print::vectors::has_vectors;
use tensor::print::{MapForm, MapVariant, ReduceVariant, Way, print_map, print_reduce};

/// The module is valid for what every WebGPU device offers.
fn validate(what: &str, source: &str) {
    let module = match naga::front::wgsl::parse_str(source) {
        Ok(module) => module,
        Err(error) => panic!("{what}: {}\n{source}", error.emit_to_string(source)),
    };
    if let Err(error) =
        Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module)
    {
        panic!("{what}: {}\n{source}", error.emit_to_string(source));
    }
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

const UNARY: [Unary; 18] = [
    Unary::Neg,
    Unary::Abs,
    Unary::Exp,
    Unary::Log,
    Unary::Log1p,
    Unary::Sqrt,
    Unary::Rsqrt,
    Unary::Sin,
    Unary::Cos,
    Unary::Tanh,
    Unary::Erf,
    Unary::Floor,
    Unary::Ceil,
    Unary::Round,
    Unary::Sign,
    Unary::Not,
    Unary::IsNan,
    Unary::IsFinite,
];

const BINARY: [Binary; 15] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::Div,
    Binary::Pow,
    Binary::Max,
    Binary::Min,
    Binary::Lt,
    Binary::Le,
    Binary::Gt,
    Binary::Ge,
    Binary::Eq,
    Binary::Ne,
    Binary::And,
    Binary::Or,
];

/// The forms of a kernel: line, strided, and vectors where there are any, of full operands and of a single first element.
fn forms(map: &Map) -> Vec<MapForm> {
    let mut forms = vec![MapForm::Line, MapForm::Strided];
    if has_vectors(map) {
        let count = map.operands.len();
        forms.push(MapForm::Vectors(vec![false; count]));
        if !map.writes(0) {
            forms.push(MapForm::Vectors((0..count).map(|k| k == 0).collect()));
            forms.push(MapForm::Rows((0..count).map(|k| k == 0).collect()));
        }
    }
    if map.operands.iter().all(|d| *d == DType::F32) {
        forms.push(MapForm::Sets);
    }
    forms
}

/// All forms of a kernel; how many of those that go by elements the language has.
fn both(map: &Map) -> usize {
    let mut printed = 0;
    for form in forms(map) {
        let vectors = !matches!(form, MapForm::Line | MapForm::Strided);
        if let Ok(p) = print_map(map, &MapVariant::plain(map, form.clone(), 256)) {
            validate(
                &format!("{} {:?} {form:?}", map.name, map.operands),
                &p.source,
            );
            if vectors {
                continue;
            }
            printed += 1;
        }
    }
    printed
}

#[test]
fn unary_functions_of_every_type() {
    let mut count = 0;
    for dtype in STORED {
        for f in UNARY {
            let expr = Expr::arg(0).un(f);
            let out = if expr.dtype(&[dtype]) == DType::Bool {
                DType::Bool
            } else {
                dtype
            };
            count += both(&Map::new("unary", &[dtype], out, expr));
        }
    }
    assert!(
        count >= 2 * (3 * 18 + 4 * 8),
        "only {count} kernels were printed"
    );
}

#[test]
fn binary_functions_of_every_type() {
    let mut count = 0;
    for dtype in STORED {
        for f in BINARY {
            let expr = Expr::arg(0).bin(f, Expr::arg(1));
            let out = if f.compares() { DType::Bool } else { dtype };
            count += both(&Map::new("binary", &[dtype, dtype], out, expr));
        }
    }
    assert!(
        count >= 2 * (6 * 15 + 12),
        "only {count} kernels were printed"
    );
}

#[test]
fn casts_between_all_types() {
    for from in STORED {
        for to in STORED {
            assert_eq!(
                both(&Map::new("cast", &[from], to, Expr::arg(0).cast(to))),
                2,
                "{from} to {to}"
            );
            let picked = Expr::arg(0)
                .cast(DType::Bool)
                .select(Expr::arg(1), Expr::lit(1.0, to));
            assert_eq!(both(&Map::new("where", &[from, to], to, picked)), 2);
        }
    }
}

#[test]
fn constants_at_the_ends_of_their_types() {
    let lit = |v: f64, d| Expr::lit(v, d);
    for v in [
        0.0,
        -0.0,
        1e-45,
        -3.4e38,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        0.1,
        16777216.0,
    ] {
        let sum = Expr::arg(0) - lit(v, DType::F32);
        assert_eq!(
            both(&Map::new(
                "constant",
                &[DType::F32],
                DType::F32,
                sum * lit(-2.0, DType::F32)
            )),
            2
        );
    }
    for dtype in [DType::I32, DType::I64] {
        for v in [f64::from(i32::MIN), f64::from(i32::MAX), -1.0, 9.3e18] {
            assert_eq!(
                both(&Map::new(
                    "constant",
                    &[dtype],
                    dtype,
                    -(Expr::arg(0) - lit(v, dtype))
                )),
                2
            );
        }
    }
}

#[test]
fn a_float64_anywhere_is_refused_by_type() {
    let map = Map::new(
        "cast",
        &[DType::F32],
        DType::F64,
        Expr::arg(0).cast(DType::F64),
    );
    let error = print_map(&map, &MapVariant::plain(&map, MapForm::Line, 256)).unwrap_err();
    assert_eq!(error.dtype, DType::F64);
}

#[test]
fn several_outputs_scalars_and_shared_bindings() {
    let f = DType::F32;
    let momentum = Expr::arg(1) * Expr::scalar(0, f) + Expr::arg(2);
    let step =
        Expr::arg(0) - momentum.clone() * Expr::scalar(1, f) * Expr::scalar(2, DType::I64).cast(f);
    for outs in [[f, f], [DType::F16, DType::U8]] {
        let map = Map {
            name: "sgd",
            operands: vec![outs[0], outs[1], f],
            outputs: vec![(0, step.clone()), (1, momentum.clone())],
        };
        assert_eq!(both(&map), 2);
    }
    for dtype in STORED {
        let map = Map::new(
            "square",
            &[dtype, dtype],
            dtype,
            Expr::arg(0).bin(Binary::Max, Expr::arg(1)),
        );
        for form in forms(&map) {
            for bindings in [vec![0, 0, 1], vec![0, 1, 0], vec![0, 0, 0]] {
                if matches!(&form, MapForm::Vectors(single) | MapForm::Rows(single) if single[0]) {
                    continue;
                }
                let variant = MapVariant {
                    form: form.clone(),
                    bindings,
                    group: 128,
                };
                validate("shared", &print_map(&map, &variant).unwrap().source);
            }
        }
    }
}

#[test]
fn reductions_of_every_type_in_every_way() {
    let combines = [Combine::Sum, Combine::Prod, Combine::Max, Combine::Min];
    for dtype in STORED {
        for combine in combines {
            for (way, partial) in [
                (Way::Each, false),
                (Way::Each, true),
                (Way::Group, false),
                (Way::Group, true),
            ] {
                let acc = dtype.compute();
                let reduce = Reduce {
                    name: "reduce",
                    inputs: vec![dtype, dtype],
                    out: dtype,
                    pre: Expr::arg(0).bin(Binary::Max, Expr::arg(1)),
                    combine,
                    acc,
                    post: Expr::arg(0).bin(Binary::Max, Expr::scalar(0, dtype)),
                };
                for vectors in [false, true] {
                    if vectors && dtype.size() > 4 {
                        continue;
                    }
                    let variant = ReduceVariant {
                        way,
                        vectors,
                        partial,
                        bindings: vec![0, 1, 2],
                        group: 256,
                    };
                    validate("reduce", &print_reduce(&reduce, &variant).unwrap().source);
                }
            }
        }
    }
}

#[test]
fn hand_written_kernels_at_every_group_size_and_aliased() {
    let mut seen = 0;
    for kernel in tensor::kernels::ALL {
        let n = kernel.operands.len() as u8;
        let plain: Vec<u8> = (0..n).collect();
        let mut patterns = vec![plain];
        // Operands that are only read may be the same memory.
        for (i, a) in kernel.operands.iter().enumerate() {
            for (j, b) in kernel.operands.iter().enumerate().skip(i + 1) {
                if a == b && !a.writes() {
                    let mut bindings = Vec::new();
                    let mut next = 0;
                    for k in 0..n as usize {
                        if k == j {
                            bindings.push(bindings[i]);
                        } else {
                            bindings.push(next);
                            next += 1;
                        }
                    }
                    patterns.push(bindings);
                }
            }
        }
        for group in [16, 32, 64, 128, 256] {
            for bindings in &patterns {
                for choice in tensor_wgpu::shader::choices(kernel) {
                    let Some((source, entry)) =
                        tensor_wgpu::shader::assemble(kernel, bindings, choice, group)
                    else {
                        continue;
                    };
                    validate(
                        &format!("{} {choice} {bindings:?} {group}", kernel.name),
                        &source,
                    );
                    let module = naga::front::wgsl::parse_str(&source).unwrap();
                    assert!(
                        module.entry_points.iter().any(|e| e.name == entry),
                        "{entry} is an entry point"
                    );
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 0);
}

#[test]
fn generated_source_reads_well() {
    let f = DType::F32;
    let relu = Map::new("relu", &[f], f, Expr::arg(0).max(Expr::lit(0.0, f)));
    for (name, form) in [
        ("relu", MapForm::Line),
        ("relu_vectors", MapForm::Vectors(vec![false; 2])),
    ] {
        insta::assert_snapshot!(
            name,
            print_map(&relu, &MapVariant::plain(&relu, form, 256))
                .unwrap()
                .source
        );
    }
    let momentum = Map {
        name: "momentum",
        operands: vec![f; 3],
        outputs: vec![
            (0, Expr::arg(0) - Expr::scalar(0, f) * Expr::arg(2)),
            (2, Expr::arg(1) + Expr::arg(2)),
        ],
    };
    insta::assert_snapshot!(
        "momentum_sets",
        print_map(&momentum, &MapVariant::plain(&momentum, MapForm::Sets, 256))
            .unwrap()
            .source
    );
    let add = Map::new(
        "add",
        &[f, f],
        f,
        Expr::arg(0) + Expr::scalar(0, f) * Expr::arg(1),
    );
    insta::assert_snapshot!(
        "add_strided",
        print_map(&add, &MapVariant::plain(&add, MapForm::Strided, 256))
            .unwrap()
            .source
    );
    let mask = Map::new(
        "gt",
        &[DType::F16, f],
        DType::Bool,
        Expr::arg(0).gt(Expr::arg(1)),
    );
    insta::assert_snapshot!(
        "gt_packed",
        print_map(&mask, &MapVariant::plain(&mask, MapForm::Line, 256))
            .unwrap()
            .source
    );
    let mean = Arc::new(Reduce {
        name: "mean",
        inputs: vec![f],
        out: f,
        pre: Expr::arg(0),
        combine: Combine::Sum,
        acc: f,
        post: Expr::arg(0) / Expr::scalar(0, f),
    });
    for (name, way, vectors) in [
        ("mean_Each", Way::Each, false),
        ("mean_Group", Way::Group, false),
        ("mean_vectors", Way::Each, true),
    ] {
        let variant = ReduceVariant {
            way,
            vectors,
            partial: false,
            bindings: vec![0, 1],
            group: 256,
        };
        insta::assert_snapshot!(name, print_reduce(&mean, &variant).unwrap().source);
    }
}

//! Maps and reductions over random layouts.

use super::reductions::{check_reduce, combine};
use super::*;
use proptest::prelude::*;

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

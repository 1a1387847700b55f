//! Views against an oracle that knows no strides: a list that says, for each element of the view, which element of the
//! original it is. Every operation is written a second time on that list, by indices.

mod chains;
mod oracle;

use chains::{ALL, Op, Seed, VIEWS, on_layout, on_tensor, reshaped, seeds, shapes, signed};
use oracle::Oracle;
use proptest::prelude::*;
use std::collections::BTreeSet;
use tensor::layout::{broadcast, collapse};
use tensor::{DType, Device, Layout, Tensor};

/// What a layout says about itself must follow from where its elements lie.
fn agrees(layout: &Layout, oracle: &Oracle) -> Result<(), TestCaseError> {
    prop_assert_eq!(layout.shape(), &oracle.shape);
    prop_assert_eq!(layout.numel(), oracle.cells.len());
    let positions: Vec<usize> = (0..layout.numel()).map(|i| layout.position(i)).collect();
    prop_assert_eq!(&positions, &oracle.cells);
    let span = oracle.cells.iter().min().zip(oracle.cells.iter().max());
    prop_assert_eq!(layout.span(), span.map(|(&low, &high)| (low, high + 1)));
    prop_assert_eq!(
        layout.is_contiguous(),
        oracle.cells.windows(2).all(|pair| pair[1] == pair[0] + 1)
    );
    if let Some(&first) = oracle.cells.first() {
        prop_assert_eq!(layout.offset(), first);
        for (d, (&n, &stride)) in layout.shape().iter().zip(layout.stride()).enumerate() {
            prop_assert!(
                n == 1 || Some(stride) == oracle.strides(&oracle.shape).map(|strides| strides[d])
            );
        }
        let distinct: BTreeSet<_> = oracle.cells.iter().collect();
        prop_assert!(distinct.len() == oracle.cells.len() || layout.overlaps_itself());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn layout_chains_agree_with_the_oracle(shape in shapes(), chain in seeds(0..VIEWS)) {
        let (mut layout, mut oracle) = (Layout::contiguous(&shape), Oracle::new(&shape));
        let mut repeats = false;
        agrees(&layout, &oracle)?;
        for seed in &chain {
            let Some(op) = seed.op(layout.shape()) else { continue };
            repeats |= matches!(op, Op::Expand(_) | Op::Diagonal { .. });
            layout = on_layout(&layout, &op, seed).unwrap();
            oracle = oracle.apply(&op);
            agrees(&layout, &oracle)?;
        }
        prop_assert!(repeats || oracle.cells.is_empty() || !layout.overlaps_itself(), "each element is there once");
    }

    /// A view exists exactly where strides exist that lead through the same elements in the same order.
    #[test]
    fn layout_view_works_exactly_where_strides_exist(shape in shapes(), chain in seeds(0..VIEWS), last in seeds(9..10)) {
        let (mut layout, mut oracle) = (Layout::contiguous(&shape), Oracle::new(&shape));
        for seed in &chain {
            let Some(op) = seed.op(layout.shape()) else { continue };
            layout = on_layout(&layout, &op, seed).unwrap();
            oracle = oracle.apply(&op);
        }
        for seed in &last {
            let target = reshaped(layout.shape(), seed);
            prop_assert_eq!(target.iter().product::<usize>(), layout.numel());
            let seen = layout.view(&target);
            prop_assert_eq!(seen.is_some(), oracle.cells.is_empty() || oracle.strides(&target).is_some(), "{:?}", target);
            if let Some(seen) = seen {
                agrees(&seen, &Oracle { shape: target, cells: oracle.cells.clone() })?;
            }
        }
        prop_assert_eq!(layout.view(&[layout.numel() + 1]), None);
    }

    /// Merged dimensions walk through every operand as the original ones did.
    #[test]
    fn layout_collapse_keeps_every_walk(shape in shapes(), first in seeds(0..2), second in seeds(0..2)) {
        let permuted = |chain: &[Seed]| {
            let mut layout = Layout::contiguous(&shape);
            for seed in chain {
                let Some(op) = seed.op(layout.shape()) else { continue };
                layout = on_layout(&layout, &op, seed).unwrap();
            }
            layout
        };
        let (a, b) = (permuted(&first), permuted(&second));
        prop_assume!(a.shape() == b.shape());
        let (merged, strides) = collapse(a.shape(), &[a.stride(), b.stride()]);
        prop_assert!(merged.len() <= a.rank());
        for (layout, stride) in [a, b].iter().zip(strides) {
            let walked = Layout::new(merged.clone(), stride, layout.offset());
            prop_assert_eq!(walked.numel(), layout.numel());
            prop_assert!((0..layout.numel()).all(|i| walked.position(i) == layout.position(i)));
        }
    }

    #[test]
    fn layout_broadcast_is_the_common_expansion(a in shapes(), b in shapes()) {
        let rank = a.len().max(b.len());
        let padded = |s: &[usize]| [vec![1; rank - s.len()], s.to_vec()].concat();
        let pairs: Vec<(usize, usize)> = padded(&a).into_iter().zip(padded(&b)).collect();
        let fits = pairs.iter().all(|&(x, y)| x == y || x == 1 || y == 1);
        match broadcast(&a, &b) {
            Ok(shape) => {
                prop_assert!(fits);
                prop_assert_eq!(&shape, &pairs.iter().map(|&(x, y)| if x == 1 { y } else { x }).collect::<Vec<_>>());
                for operand in [&a, &b] {
                    let expanded = Layout::contiguous(operand).expand(&signed(&shape)).unwrap();
                    prop_assert_eq!(expanded.shape(), &shape);
                }
                prop_assert_eq!(broadcast(&b, &a).unwrap(), shape);
            }
            Err(_) => prop_assert!(!fits),
        }
    }

    /// Whatever the arguments, an answer or an error comes back; an answer stays inside the storage.
    #[test]
    fn layout_takes_any_argument(
        shape in shapes(),
        kind in 0..8,
        a in extremes(),
        b in extremes(),
        c in extremes(),
        list in prop::collection::vec(extremes(), 0..5),
    ) {
        let layout = Layout::contiguous(&shape);
        let made = match kind {
            0 => layout.transpose(a, b),
            1 => layout.permute(&list),
            2 => layout.narrow(a, b, c.unsigned_abs()),
            3 => layout.select(a, b),
            4 => layout.slice(a, b, c, list.first().copied().unwrap_or(1)),
            5 => layout.expand(&list),
            6 => layout.squeeze(a).and_then(|squeezed| squeezed.unsqueeze(b)),
            _ => layout.diagonal(a, b, c),
        };
        match made {
            Ok(made) => {
                let storage: usize = shape.iter().product();
                prop_assert!(made.span().is_none_or(|(_, end)| end <= storage), "{made:?}");
            }
            Err(error) => prop_assert!(!error.to_string().is_empty() && !error.help().is_empty()),
        }
        if let Ok(target) = layout.resolve_shape(&list) {
            prop_assert_eq!(target.iter().product::<usize>(), layout.numel());
            prop_assert!(layout.view(&target).is_some(), "dense: any shape will do");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Values, sharing and gradients of a chain on the CPU. The gradient of an element of the original is the sum of
    /// what flows into the places where it appears; small integers keep every sum exact.
    #[test]
    fn layout_chains_on_tensors_carry_values_and_gradients(shape in shapes(), chain in seeds(0..ALL)) {
        let device = Device::cpu();
        let mut oracle = Oracle::new(&shape);
        let count = oracle.cells.len();
        let base = Tensor::from_f64s((0..count).map(|i| i as f64), &shape, DType::F64, &device).unwrap();
        base.requires_grad_(true).unwrap();
        let mut x = base.alias();
        for seed in &chain {
            let Some(op) = seed.op(x.shape()) else { continue };
            let copies = match &op {
                Op::Reshape(target) => x.layout().view(target).is_none(),
                Op::Flip(_) => true,
                Op::Contiguous => !x.is_contiguous(),
                _ => false,
            };
            let next = on_tensor(&x, &op, seed).unwrap();
            prop_assert_eq!(next.shares_storage(&x), !copies, "{:?}", op);
            x = next;
            oracle = oracle.apply(&op);
            prop_assert_eq!(x.shape(), &oracle.shape);
            prop_assert_eq!(x.to_f64s_now().unwrap(), oracle.cells.iter().map(|&c| c as f64).collect::<Vec<_>>());
        }
        let flow: Vec<f64> = (0..oracle.cells.len()).map(|i| (i % 7) as f64 - 2.0).collect();
        let mut want = vec![0.0; count];
        oracle.cells.iter().zip(&flow).for_each(|(&cell, g)| want[cell] += g);
        let flow = Tensor::from_f64s(flow.into_iter(), x.shape(), DType::F64, &device).unwrap();
        x.backward_with(&flow, false).unwrap();
        prop_assert_eq!(base.grad().unwrap().to_f64s_now().unwrap(), want);
    }
}

/// Small numbers most of the time, and those at which sums overflow.
fn extremes() -> impl Strategy<Value = isize> {
    prop_oneof![
        8 => -6..7_isize,
        1 => Just(isize::MAX),
        1 => Just(isize::MIN),
        1 => Just(1 << 40),
    ]
}

#[test]
fn layout_of_one_number_has_no_dimension_to_walk() {
    let x = Tensor::from_slice(&[7.0_f32], &[], &Device::cpu()).unwrap();
    for (name, outcome) in [
        ("narrow", x.narrow(0, 0, 1)),
        ("select", x.select(0, 0)),
        ("slice", x.slice(-1, 0, 1, 1)),
    ] {
        let message = outcome.err().unwrap().to_string();
        assert_eq!(
            message,
            format!("{name}() cannot be applied to a 0-dim tensor.")
        );
    }
    assert!(x.diagonal(0, 0, -1).is_err());
    for same in [
        x.transpose(0, -1),
        x.permute(&[]),
        x.squeeze(0),
        x.flip(&[0]),
        x.expand(&[]),
    ] {
        let same = same.unwrap();
        assert_eq!((same.shape(), same.item_now().unwrap()), (&[][..], 7.0));
    }
}

#[test]
fn layout_refuses_more_elements_than_can_be_counted() {
    let huge = [1_usize << 40, 1 << 40];
    let expanded = Layout::contiguous(&[1, 1]).expand(&signed(&huge));
    assert_eq!(
        expanded.unwrap_err().to_string(),
        "numel: integer multiplication overflow"
    );
    // 2^80 elements wrap around to none at all: the length must not look right.
    assert!(Tensor::from_bytes(&[], &huge, DType::F32, &Device::cpu()).is_err());
    assert!(Tensor::from_slice::<f32>(&[], &huge, &Device::cpu()).is_err());
}

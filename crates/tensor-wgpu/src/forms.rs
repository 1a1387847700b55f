//! Which form of a kernel a launch takes: decided here, by shapes, strides and places, so that no kernel has to branch.

use crate::binding::Bound;
use crate::launch::Size;
use crate::matmul::Plan;
use tensor::kernel::{Binding, Map};
use tensor::kernels::conv2d::Conv2dParams;
use tensor::kernels::pool2d::Pool2dParams;
use tensor::print::MapForm;
use tensor::print::map::lanes;
use tensor::print::vectors::{WIDTH, has_vectors};

/// For each operand whether one element serves all.
pub(crate) fn singles(bindings: &[Binding<'_>]) -> Vec<bool> {
    bindings
        .iter()
        .map(|b| b.strides.first() == Some(&0))
        .collect()
}

/// How to go over `n` elements that are dense in every operand: by fours where everything begins and ends at one, else one
/// by one. A line makes whole words, so what it writes must begin with one.
pub(crate) fn line_form(map: &Map, n: usize, bindings: &[Binding<'_>], bound: &Bound) -> MapForm {
    let single = singles(bindings);
    let starts_at = |k: usize, step: usize| (bound.offsets[k] as usize).is_multiple_of(step);
    let alike =
        |k: usize| (0..k).all(|j| bound.bindings[j] != bound.bindings[k] || single[j] == single[k]);
    let all = 0..bindings.len();
    if has_vectors(map)
        && n.is_multiple_of(WIDTH)
        && all
            .clone()
            .all(|k| alike(k) && (single[k] || starts_at(k, WIDTH)))
    {
        return MapForm::Vectors(single);
    }
    if all
        .clone()
        .all(|k| !map.writes(k) || starts_at(k, lanes(map.operands[k])))
    {
        return MapForm::Line;
    }
    MapForm::Strided
}

/// How to walk operands of other strides: by fours, if in every one the elements of a row are neighbours, or one and the same.
pub(crate) fn rows_form(
    map: &Map,
    shape: &[usize],
    bindings: &[Binding<'_>],
    bound: &Bound,
) -> MapForm {
    let Some(last) = shape.len().checked_sub(1) else {
        return MapForm::Strided;
    };
    let whole = |s: &isize| s.rem_euclid(WIDTH as isize) == 0;
    let mut single = Vec::with_capacity(bindings.len());
    for (k, b) in bindings.iter().enumerate() {
        single.push(match b.strides.get(last) {
            Some(0) if !map.writes(k) => true,
            Some(1)
                if (bound.offsets[k] as usize).is_multiple_of(WIDTH)
                    && b.strides[..last].iter().all(whole) =>
            {
                false
            }
            _ => return MapForm::Strided,
        });
    }
    let alike = (0..bindings.len())
        .all(|k| (0..k).all(|j| bound.bindings[j] != bound.bindings[k] || single[j] == single[k]));
    if has_vectors(map) && alike && shape[last].is_multiple_of(WIDTH) {
        MapForm::Rows(single)
    } else {
        MapForm::Strided
    }
}

/// Which form of the convolution kernels: results, and the taps of a row, must be neighbours for those that slide.
pub(crate) fn conv2d_form(block: &[u8]) -> &'static str {
    let p: Conv2dParams = bytemuck::pod_read_unaligned(block);
    if [p.stride_h, p.stride_w, p.dilation_w] == [1; 3] {
        "sliding"
    } else {
        "stepping"
    }
}

/// Whether the gradient of a maximum goes by windows, which then may not overlap, or by the `n` elements of the input.
pub(crate) fn pool_plan(block: &[u8], n: usize, group: u32) -> Plan {
    let p: Pool2dParams = bytemuck::pod_read_unaligned(block);
    let apart =
        p.stride_h >= p.kernel_h && p.stride_w >= p.kernel_w && p.pad_h == 0 && p.pad_w == 0;
    let windows = p.planes as usize * p.out_h as usize * p.out_w as usize;
    let (form, invocations) = if apart {
        ("apart", windows)
    } else {
        ("overlapping", n)
    };
    Plan {
        form,
        size: Size::Invocations(invocations),
        group,
    }
}

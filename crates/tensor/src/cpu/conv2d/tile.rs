//! Register tiles: the innermost loops of a convolution.

use super::plan::Spot;
use crate::cpu::lanes::{Real, lanes, load, store};
use pulp::Simd;

/// Most result channels of a tile.
pub(super) const TALL: usize = 8;

/// Most result channels of a tile that leave room for the operands in this processor's registers.
pub(super) const fn tall<S: Simd>() -> usize {
    // wasm's 32 registers are often only 16 in the processor that runs it.
    if S::REGISTER_COUNT >= 32 && !cfg!(target_arch = "wasm32") {
        TALL
    } else {
        6
    }
}

/// `out[j * plane + spot] = bias[j] + sum over t of weights[t * N + j] * scratch[spot + taps[t]]` for `N` channels at all
/// spots, two at a time.
///
/// # Safety
/// `scratch` holds a vector at every spot's base plus every tap; `out` has room for every spot in `N` planes, which
/// nobody else touches.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // one call site, in registers; a struct would be taken apart again at once
pub(super) unsafe fn correlate<T: Real, S: Simd, const N: usize>(
    simd: S,
    taps: &[u32],
    weights: &[T],
    bias: &[T; TALL],
    scratch: *const T,
    spots: &[Spot],
    out: *mut T,
    plane: usize,
) {
    for pair in spots.chunks(2) {
        // An odd one out is computed twice.
        let (a, b) = (pair[0], pair[pair.len() - 1]);
        let (first, last) = (a.taps.0.min(b.taps.0), a.taps.1.max(b.taps.1));
        let mut acc: [[T::Vector<S>; 2]; N] = [[T::splat(simd, T::ZERO); 2]; N];
        for j in 0..N {
            acc[j] = [T::splat(simd, bias[j]); 2];
        }
        let live = taps[first..last]
            .iter()
            .zip(weights[first * N..].chunks_exact(N));
        for (&tap, w) in live {
            // SAFETY: the caller's.
            let (x, y) = unsafe {
                let at = scratch.add(tap as usize);
                (load::<T, S>(at.add(a.base)), load::<T, S>(at.add(b.base)))
            };
            for j in 0..N {
                let w = T::splat(simd, w[j]);
                acc[j][0] = T::mul_add(simd, w, x, acc[j][0]);
                acc[j][1] = T::mul_add(simd, w, y, acc[j][1]);
            }
        }
        for (j, [x, y]) in acc.into_iter().enumerate() {
            // SAFETY: the caller's.
            unsafe {
                store::<T, S>(out.add(j * plane + a.out), a.count, x);
                store::<T, S>(out.add(j * plane + b.out), b.count, y);
            }
        }
    }
}

/// Taps of a tile of the weight's gradient.
pub(super) const WIDE: usize = 4;

/// Most result channels of a tile of the weight's gradient.
pub(super) const fn thick<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 && !cfg!(target_arch = "wasm32") {
        4
    } else {
        3
    }
}

/// `sum over images and spots of grad[image, j, spot] * scratch[image, spot + taps[t]]` for `N` channels and [`WIDE`] taps.
///
/// # Safety
/// For each of `images`, `scratch` (advancing by `scratch_step`) holds a vector at every spot's base plus every tap, and
/// `grad` (advancing by `grad_step`) holds `N` planes of `plane` elements that cover the spots.
#[inline(always)]
pub(super) unsafe fn outer<T: Real, S: Simd, const N: usize>(
    simd: S,
    taps: [u32; WIDE],
    (scratch, scratch_step): (*const T, usize),
    (grad, grad_step): (*const T, usize),
    plane: usize,
    images: usize,
    spots: &[Spot],
) -> [[T; WIDE]; N] {
    let mut acc: [[T::Vector<S>; WIDE]; N] = [[T::splat(simd, T::ZERO); WIDE]; N];
    for i in 0..images {
        for spot in spots {
            // SAFETY: the caller's. Lanes that do not count are not loaded: a NaN there must not meet a zero.
            unsafe {
                let (x, g) = (
                    scratch.add(i * scratch_step + spot.base),
                    grad.add(i * grad_step + spot.out),
                );
                if spot.count == lanes::<T, S>() {
                    let mut gs = [T::splat(simd, T::ZERO); N];
                    for (j, value) in gs.iter_mut().enumerate() {
                        *value = load::<T, S>(g.add(j * plane));
                    }
                    for t in 0..WIDE {
                        let x = load::<T, S>(x.add(taps[t] as usize));
                        for j in 0..N {
                            acc[j][t] = T::mul_add(simd, gs[j], x, acc[j][t]);
                        }
                    }
                } else {
                    let mask = T::first(simd, spot.count);
                    let mut gs = [T::splat(simd, T::ZERO); N];
                    for (j, value) in gs.iter_mut().enumerate() {
                        *value = T::load_some(simd, mask, g.add(j * plane));
                    }
                    for t in 0..WIDE {
                        let x = T::load_some(simd, mask, x.add(taps[t] as usize));
                        for j in 0..N {
                            acc[j][t] = T::mul_add(simd, gs[j], x, acc[j][t]);
                        }
                    }
                }
            }
        }
    }
    let mut sums = [[T::ZERO; WIDE]; N];
    for j in 0..N {
        for t in 0..WIDE {
            sums[j][t] = T::sum(simd, acc[j][t]);
        }
    }
    sums
}

//! Vectors of floats as wide as the processor's registers, for loops that hold a tile of results in registers.

use crate::dtype::Element;
use pulp::{MemMask, Simd};
use std::ops::{Add, Div};

/// A float that has vectors.
pub(crate) trait Real:
    Element + PartialOrd + Add<Output = Self> + Div<Output = Self>
{
    const ZERO: Self;
    /// Minus infinity.
    const LOWEST: Self;
    /// One register full.
    type Vector<S: Simd>: Copy;
    /// Which lanes of a register take part.
    type Mask<S: Simd>: Copy;
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// `a * b + c`, in one rounding or two, whichever is faster.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    fn sum<S: Simd>(simd: S, v: Self::Vector<S>) -> Self;
    /// The first `n` lanes.
    fn first<S: Simd>(simd: S, n: usize) -> Self::Mask<S>;
    /// Load the lanes of the mask; the others are 0.
    ///
    /// # Safety
    /// Those lanes lie inside one allocation.
    unsafe fn load_some<S: Simd>(
        simd: S,
        mask: Self::Mask<S>,
        from: *const Self,
    ) -> Self::Vector<S>;
}

/// Lanes of a vector.
pub(crate) const fn lanes<T: Real, S: Simd>() -> usize {
    size_of::<T::Vector<S>>() / size_of::<T>()
}

/// Load a whole vector from any address.
///
/// # Safety
/// All its lanes lie inside one allocation.
#[inline(always)]
pub(crate) unsafe fn load<T: Real, S: Simd>(from: *const T) -> T::Vector<S> {
    // SAFETY: the caller's.
    unsafe { from.cast::<T::Vector<S>>().read_unaligned() }
}

/// Store the first `n` lanes of a vector to any address.
///
/// # Safety
/// Those lanes lie inside one allocation, and nobody else touches them.
#[inline(always)]
pub(crate) unsafe fn store<T: Real, S: Simd>(to: *mut T, n: usize, v: T::Vector<S>) {
    // SAFETY: the caller's; a vector is its lanes in order.
    unsafe {
        if n >= lanes::<T, S>() {
            to.cast::<T::Vector<S>>().write_unaligned(v);
        } else {
            std::ptr::copy_nonoverlapping((&raw const v).cast::<T>(), to, n);
        }
    }
}

macro_rules! real {
    ($type:ty, $vector:ident, $mask:ident, $splat:ident, $mul_add:ident, $sum:ident, $between:ident, $load:ident, $count:ty) => {
        impl Real for $type {
            const ZERO: $type = 0.0;
            const LOWEST: $type = <$type>::NEG_INFINITY;
            type Vector<S: Simd> = S::$vector;
            type Mask<S: Simd> = MemMask<S::$mask>;
            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: $type) -> S::$vector {
                simd.$splat(x)
            }
            #[inline(always)]
            fn mul_add<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$mul_add(a, b, c)
            }
            #[inline(always)]
            fn sum<S: Simd>(simd: S, v: S::$vector) -> $type {
                simd.$sum(v)
            }
            #[inline(always)]
            fn first<S: Simd>(simd: S, n: usize) -> Self::Mask<S> {
                // The mask alone: a load by it is then one instruction, where the mask's own function would be called.
                MemMask::new(simd.$between(0, n as $count).mask())
            }
            #[inline(always)]
            unsafe fn load_some<S: Simd>(
                simd: S,
                mask: Self::Mask<S>,
                from: *const $type,
            ) -> S::$vector {
                // SAFETY: the caller's.
                unsafe { simd.$load(mask, from) }
            }
        }
    };
}

real!(
    f32,
    f32s,
    m32s,
    splat_f32s,
    mul_add_e_f32s,
    reduce_sum_f32s,
    mask_between_m32s,
    mask_load_ptr_f32s,
    u32
);
real!(
    f64,
    f64s,
    m64s,
    splat_f64s,
    mul_add_e_f64s,
    reduce_sum_f64s,
    mask_between_m64s,
    mask_load_ptr_f64s,
    u64
);

/// An address that may travel to another thread.
#[derive(Clone, Copy)]
pub(crate) struct Place<T>(pub *mut T);
// SAFETY: an address alone does nothing; whoever writes through it gives each thread its own part.
unsafe impl<T> Send for Place<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Place<T> {}

impl<T> Place<T> {
    /// `elements` further on.
    pub(crate) fn at(self, elements: usize) -> *mut T {
        self.0.wrapping_add(elements)
    }
}

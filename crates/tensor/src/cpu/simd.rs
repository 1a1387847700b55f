//! One binary, several processors: inner loops compiled for each SIMD level and chosen at run time.

use std::sync::OnceLock;

/// What the processor can do, as far as inner loops care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// What every processor of the target has: SSE2, NEON, or wasm's 128 bits where the build turns them on.
    Baseline,
    /// 256-bit vectors, fused multiply-add, conversion of half floats.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit registers and masks.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The level of this processor.
    pub(crate) fn here() -> Level {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(Level::detect)
    }

    fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("bmi2");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq");
            if avx2 && avx512 {
                return Level::Avx512;
            }
            if avx2 {
                return Level::Avx2;
            }
        }
        Level::Baseline
    }

    /// Its name, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Baseline if cfg!(target_arch = "x86_64") => "SSE2",
            Level::Baseline if cfg!(target_arch = "aarch64") => "NEON",
            Level::Baseline if cfg!(target_feature = "simd128") => "wasm simd128",
            Level::Baseline => "scalar",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "AVX-512",
        }
    }
}

/// Define a function whose body is compiled for every level, and called through the one that fits the processor.
///
/// Everything that the body calls must be `#[inline(always)]`, or it stays at the baseline.
macro_rules! for_each_level {
    ($(#[$meta:meta])* unsafe fn $name:ident < $($g:ident : $bound:path),* > ( $($arg:ident : $ty:ty),* ) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        fn $name<$($g: $bound),*>(level: $crate::cpu::simd::Level) -> unsafe fn($($ty),*) $(-> $ret)? {
            unsafe fn baseline<$($g: $bound),*>($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn avx2<$($g: $bound),*>($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn avx512<$($g: $bound),*>($($arg: $ty),*) $(-> $ret)? $body
            match level {
                $crate::cpu::simd::Level::Baseline => baseline::<$($g),*>,
                #[cfg(target_arch = "x86_64")]
                $crate::cpu::simd::Level::Avx2 => avx2::<$($g),*>,
                #[cfg(target_arch = "x86_64")]
                $crate::cpu::simd::Level::Avx512 => avx512::<$($g),*>,
            }
        }
    };
}
pub(crate) use for_each_level;

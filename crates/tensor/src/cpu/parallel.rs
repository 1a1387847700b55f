//! Splitting work over threads, where that pays and where it is safe.

/// Elements below which starting threads costs more than it saves.
pub(crate) const WORTH_THREADS: usize = 32 * 1024;

/// How many threads a launch of this many elements may use.
///
/// One on a thread of somebody's own rayon pool: while a launch waits for its parts there, rayon may hand the thread
/// another launch, which would wait for the device's lock that this one holds.
pub(crate) fn threads(elements: usize) -> usize {
    #[cfg(feature = "parallel")]
    if elements >= WORTH_THREADS && rayon::current_thread_index().is_none() {
        return rayon::current_num_threads();
    }
    let _ = elements;
    1
}

/// Call `work` with every part of `0..count`, cut into pieces of at most `piece`, on up to `threads` threads.
pub(crate) fn split(
    count: usize,
    piece: usize,
    threads: usize,
    work: impl Fn(std::ops::Range<usize>) + Sync,
) {
    let piece = piece.max(1);
    let part = |i: usize| i * piece..((i + 1) * piece).min(count);
    let pieces = count.div_ceil(piece);
    #[cfg(feature = "parallel")]
    if threads > 1 && pieces > 1 {
        use rayon::prelude::*;
        (0..pieces)
            .into_par_iter()
            .with_max_len(1)
            .for_each(|i| work(part(i)));
        return;
    }
    let _ = threads;
    (0..pieces).for_each(|i| work(part(i)));
}

/// Call `work(i, chunk)` with every `len` elements of `out`, on up to `threads` threads.
pub(crate) fn chunks_mut<T: Send>(
    out: &mut [T],
    len: usize,
    threads: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    let len = len.max(1);
    #[cfg(feature = "parallel")]
    if threads > 1 && out.len() > len {
        use rayon::prelude::*;
        let several = (out.len() / len).div_ceil(threads * 4);
        out.par_chunks_mut(len)
            .enumerate()
            .with_min_len(several)
            .for_each(|(i, chunk)| work(i, chunk));
        return;
    }
    let _ = threads;
    for (i, chunk) in out.chunks_mut(len).enumerate() {
        work(i, chunk);
    }
}

//! Splitting work over threads, where that pays and where it is safe.
//!
//! The caller's thread works too, and takes piece after piece until none is left; rayon's threads help as soon as they are
//! awake. So a thread that wakes late costs nothing, where waiting for it would cost more than a small launch takes: a
//! caller that only waits for rayon was measured to lose 150 microseconds in every launch after a pause of as long.

use std::ops::Range;

/// Elements below which starting threads costs more than it saves.
pub(crate) const WORTH_THREADS: usize = 32 * 1024;

/// How many threads a launch of this many elements may use.
///
/// One on a thread of somebody's own rayon pool, whose size is that program's decision.
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
    work: impl Fn(Range<usize>) + Sync,
) {
    let piece = piece.max(1);
    let part = |i: usize| i * piece..((i + 1) * piece).min(count);
    let pieces = count.div_ceil(piece);
    #[cfg(feature = "parallel")]
    if threads > 1 && pieces > 1 {
        shared::run(pieces, threads, &|i| work(part(i)));
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
    struct Start<T>(*mut T);
    // SAFETY: each thread makes slices of its own chunks alone.
    unsafe impl<T: Send> Sync for Start<T> {}
    impl<T> Start<T> {
        fn at(&self, n: usize) -> *mut T {
            self.0.wrapping_add(n)
        }
    }
    let (len, whole) = (len.max(1), out.len());
    let count = whole.div_ceil(len);
    let several = count.div_ceil(threads * 4);
    let start = Start(out.as_mut_ptr());
    split(count, several, threads, |range| {
        for i in range {
            let n = len.min(whole - i * len);
            // SAFETY: inside `out`, which is borrowed for as long as this runs; chunks are disjoint and each is visited
            // once.
            work(i, unsafe {
                std::slice::from_raw_parts_mut(start.at(i * len), n)
            });
        }
    });
}

#[cfg(feature = "parallel")]
mod shared {
    use std::any::Any;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};
    use std::thread::Thread;

    /// Looks at the counter before the caller goes to sleep: some ten microseconds.
    const SPINS: usize = 4000;

    /// Pieces of work that several threads take from.
    struct Job {
        work: Work,
        pieces: usize,
        /// The piece that is taken next.
        next: AtomicUsize,
        done: AtomicUsize,
        /// Whether the caller sleeps until all are done.
        asleep: AtomicBool,
        caller: Thread,
        panicked: Mutex<Option<Box<dyn Any + Send>>>,
    }

    /// The caller's function, without the lifetime of what it borrows.
    struct Work(*const (dyn Fn(usize) + Sync));
    // SAFETY: what it points to is Sync.
    unsafe impl Send for Work {}
    // SAFETY: as above.
    unsafe impl Sync for Work {}

    impl Job {
        /// Take pieces until none is left.
        fn help(&self) {
            loop {
                let i = self.next.fetch_add(1, Ordering::Relaxed);
                if i >= self.pieces {
                    return;
                }
                // SAFETY: `run` does not return before every piece that was taken is done, and this one is not yet.
                let work = unsafe { &*self.work.0 };
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(i))) {
                    self.panicked
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .get_or_insert(panic);
                }
                let done = self.done.fetch_add(1, Ordering::SeqCst) + 1;
                if done == self.pieces && self.asleep.load(Ordering::SeqCst) {
                    self.caller.unpark();
                }
            }
        }

        fn is_done(&self) -> bool {
            self.done.load(Ordering::SeqCst) == self.pieces
        }
    }

    /// Call `work` with every number below `pieces`, on this thread and up to `threads` - 1 others.
    pub(super) fn run<'a>(pieces: usize, threads: usize, work: &'a (dyn Fn(usize) + Sync + 'a)) {
        // SAFETY: only the lifetime changes; `Job::help` says why it is long enough.
        let work: *const (dyn Fn(usize) + Sync + 'static) =
            unsafe { std::mem::transmute(std::ptr::from_ref(work)) };
        let job = Arc::new(Job {
            work: Work(work),
            pieces,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            caller: std::thread::current(),
            panicked: Mutex::new(None),
        });
        for _ in 1..threads.min(pieces) {
            let job = job.clone();
            rayon::spawn(move || job.help());
        }
        job.help();
        // What others have taken is half done on average.
        for _ in 0..SPINS {
            if job.is_done() {
                break;
            }
            std::hint::spin_loop();
        }
        if !job.is_done() {
            job.asleep.store(true, Ordering::SeqCst);
            while !job.is_done() {
                std::thread::park();
            }
        }
        let panicked = job
            .panicked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
    }
}

#[cfg(all(test, feature = "parallel"))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_piece_is_done_once() {
        for count in [0, 1, 2, 7, 1000] {
            for piece in [1, 3, 64] {
                for threads in [1, 2, 5] {
                    let seen: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                    split(count, piece, threads, |range| {
                        for i in range {
                            seen[i].fetch_add(1, Ordering::Relaxed);
                        }
                    });
                    assert!(seen.iter().all(|n| n.load(Ordering::Relaxed) == 1));
                    let mut out = vec![0; count];
                    chunks_mut(&mut out, piece, threads, |n, chunk| {
                        for (i, x) in chunk.iter_mut().enumerate() {
                            *x += n * piece + i;
                        }
                    });
                    assert!(out.iter().enumerate().all(|(i, x)| i == *x));
                }
            }
        }
    }

    /// From many threads at once, for long enough that helpers arrive late and callers go to sleep.
    #[test]
    fn callers_do_not_disturb_one_another() {
        std::thread::scope(|scope| {
            for seed in 0..8usize {
                scope.spawn(move || {
                    for turn in 0..300 {
                        let sum = AtomicUsize::new(0);
                        split(16, 1, 4, |range| {
                            let spins = (seed * 31 + turn * 7 + range.start * 13) % 2000;
                            (0..spins).for_each(|_| std::hint::spin_loop());
                            sum.fetch_add(range.start, Ordering::Relaxed);
                        });
                        assert_eq!(sum.into_inner(), 120);
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_reaches_the_caller_after_the_rest_is_done() {
        let done = AtomicUsize::new(0);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            split(64, 1, 4, |range| {
                assert!(range.start != 5, "piece five");
                done.fetch_add(1, Ordering::Relaxed);
            });
        }));
        assert!(caught.is_err());
        assert_eq!(done.into_inner(), 63);
    }
}

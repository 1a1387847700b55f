//! Batches in a repeatable order, made ahead by threads where there are threads.

use std::sync::Arc;

use crate::error::DataError;
use crate::sampler::{batch_count, epoch_order};
use crate::set::ImageSet;
use crate::transform::{Prepared, Transform};

/// How a [`Loader`] makes batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoaderOptions {
    /// Images per batch.
    pub batch_size: usize,
    /// A new order every epoch.
    pub shuffle: bool,
    /// The seed of the orders.
    pub seed: u64,
    /// Leave out a last batch that is not full.
    pub drop_last: bool,
    /// Threads that make batches ahead; 0 makes each when it is asked for. Changes no value and no order. In the
    /// browser there are no threads and this is ignored.
    pub workers: usize,
}

impl Default for LoaderOptions {
    fn default() -> LoaderOptions {
        LoaderOptions {
            batch_size: 64,
            shuffle: false,
            seed: 0,
            drop_last: false,
            workers: 0,
        }
    }
}

/// Some images and their labels, ready to become tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The numbers, row-major in `shape`.
    pub images: Vec<f32>,
    /// `[count, channels, height, width]`, or `[count, features]` after [`Transform::flatten`].
    pub shape: Vec<usize>,
    /// The class of each image.
    pub labels: Vec<i64>,
    /// Where each image stands in the set.
    pub indices: Vec<usize>,
}

impl Batch {
    /// How many images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

/// Makes the batches of any epoch of a set.
#[derive(Clone, Debug)]
pub struct Loader {
    source: Source,
    options: LoaderOptions,
}

/// All that a thread needs to make a batch.
#[derive(Clone, Debug)]
struct Source {
    set: ImageSet,
    transform: Transform,
    prepared: Arc<Prepared>,
}

impl Source {
    fn batch(&self, indices: &[usize]) -> Batch {
        let mut images = Vec::with_capacity(indices.len() * self.prepared.output_len());
        let mut labels = Vec::with_capacity(indices.len());
        let mut taken = Vec::with_capacity(indices.len());
        for &index in indices {
            if let Some(image) = self.set.image(index) {
                self.prepared.append(image, &mut images);
                labels.push(self.set.labels()[index]);
                taken.push(index);
            }
        }
        let shape = self.transform.batch_shape(taken.len(), self.set.shape());
        Batch {
            images,
            shape,
            labels,
            indices: taken,
        }
    }
}

impl Loader {
    /// A loader over `set`.
    ///
    /// # Errors
    /// When the batch size is 0 or the transform does not fit the set's images.
    pub fn new(
        set: &ImageSet,
        transform: Transform,
        options: LoaderOptions,
    ) -> Result<Loader, DataError> {
        if options.batch_size == 0 {
            return Err(DataError::InvalidSetting {
                name: "batch_size",
                value: "0".to_owned(),
                expected: "1 or more".to_owned(),
            });
        }
        let prepared = Arc::new(transform.prepare(set.shape())?);
        Ok(Loader {
            source: Source {
                set: set.clone(),
                transform,
                prepared,
            },
            options,
        })
    }

    /// The set.
    pub fn set(&self) -> &ImageSet {
        &self.source.set
    }

    /// The options.
    pub fn options(&self) -> &LoaderOptions {
        &self.options
    }

    /// Batches in one epoch.
    pub fn batches_per_epoch(&self) -> usize {
        batch_count(
            self.set().len(),
            self.options.batch_size,
            self.options.drop_last,
        )
    }

    /// The batches of one epoch. The same set, options and epoch give the same batches.
    pub fn epoch(&self, epoch: u64) -> Epoch {
        let order = epoch_order(
            self.set().len(),
            self.options.shuffle,
            self.options.seed,
            epoch,
        );
        let plan = Arc::new(Plan {
            order,
            batch_size: self.options.batch_size,
            batches: self.batches_per_epoch(),
        });
        #[cfg(not(target_arch = "wasm32"))]
        let ahead = threads::start(&self.source, &plan, self.options.workers);
        Epoch {
            source: self.source.clone(),
            plan,
            next: 0,
            #[cfg(not(target_arch = "wasm32"))]
            ahead,
        }
    }
}

struct Plan {
    order: Vec<usize>,
    batch_size: usize,
    batches: usize,
}

impl Plan {
    fn indices(&self, batch: usize) -> &[usize] {
        let start = (batch * self.batch_size).min(self.order.len());
        let end = (start + self.batch_size).min(self.order.len());
        &self.order[start..end]
    }
}

/// The batches of one epoch, in order. Dropping it early stops the threads.
pub struct Epoch {
    source: Source,
    plan: Arc<Plan>,
    next: usize,
    #[cfg(not(target_arch = "wasm32"))]
    ahead: threads::Ahead,
}

impl Iterator for Epoch {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        if self.next == self.plan.batches {
            return None;
        }
        let batch = self.next;
        self.next += 1;
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(made) = self.ahead.take(batch) {
            return Some(made);
        }
        Some(self.source.batch(self.plan.indices(batch)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.plan.batches - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Epoch {}

#[cfg(not(target_arch = "wasm32"))]
mod threads {
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, sync_channel};
    use std::thread::{Builder, JoinHandle};

    use super::{Batch, Plan, Source};

    /// Batches that a thread may be ahead by: enough to hide one slow batch, few enough to keep memory small.
    const PREFETCH: usize = 2;

    /// Worker `w` of `n` makes batches `w`, `w + n`, `w + 2n`... into a channel of its own, so taking from the
    /// channels in turn gives the batches in order however the threads are scheduled.
    pub(super) struct Ahead {
        channels: Vec<Receiver<Batch>>,
        threads: Vec<JoinHandle<()>>,
    }

    pub(super) fn start(source: &Source, plan: &Arc<Plan>, workers: usize) -> Ahead {
        let workers = workers.min(plan.batches);
        let mut ahead = Ahead {
            channels: Vec::new(),
            threads: Vec::new(),
        };
        for worker in 0..workers {
            let (sender, receiver) = sync_channel(PREFETCH);
            let (source, plan) = (source.clone(), Arc::clone(plan));
            let thread = Builder::new()
                .name(format!("loader-{worker}"))
                .spawn(move || {
                    for batch in (worker..plan.batches).step_by(workers) {
                        // The other end is gone when the epoch was dropped early.
                        if sender.send(source.batch(plan.indices(batch))).is_err() {
                            return;
                        }
                    }
                });
            ahead.channels.push(receiver);
            // Where the system grants no thread its channel is closed, and `take` leaves those batches to the caller.
            ahead.threads.extend(thread);
        }
        ahead
    }

    impl Ahead {
        /// The batch from the thread that makes it; `None` where no thread does.
        pub(super) fn take(&mut self, batch: usize) -> Option<Batch> {
            let channel = batch.checked_rem(self.channels.len())?;
            self.channels[channel].recv().ok()
        }
    }

    impl Drop for Ahead {
        fn drop(&mut self) {
            self.channels.clear();
            for thread in self.threads.drain(..) {
                // A worker that panicked has nothing more to tell: its batches were made by the caller.
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests;

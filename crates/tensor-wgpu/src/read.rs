//! Reading back and waiting: the only two things that take the caller's time.

use crate::device::WgpuDevice;
use crate::fault::RECORD_BYTES;
use crate::memory::Block;
use crate::signal::Signal;
use tensor::Result;
use tensor::device::Buffer;
use tensor::trace::{EventKind, Timing};

/// How long a callback may take once the device has nothing left to do.
#[cfg(not(target_arch = "wasm32"))]
const CALL_BACK_WITHIN: std::time::Duration = std::time::Duration::from_secs(2);

impl WgpuDevice {
    /// Copy bytes out after everything launched before.
    pub(crate) async fn read(&self, src: &Buffer, offset: usize, into: &mut [u8]) -> Result<()> {
        let start_ns = self.trace.now_ns();
        let bytes = into.len();
        let (staging, lead, checked) = {
            let mut state = self.lock();
            self.check("download", &state)?;
            let block = Block::of(src, &self.trouble)?;
            block.check(&self.trouble, "download", offset, bytes)?;
            if bytes == 0 {
                return Ok(());
            }
            // Copies go by whole words.
            let from = (block.offset + offset) / 4 * 4;
            let to = (block.offset + offset + bytes).next_multiple_of(4);
            let checked = std::mem::take(&mut state.faults.armed);
            let staging = self.staging((to - from) as u64 + RECORD_BYTES);
            let mut encoder = state.batch.encode();
            encoder.copy_buffer_to_buffer(
                &block.segment.buffer,
                from as u64,
                &staging,
                RECORD_BYTES,
                (to - from) as u64,
            );
            if checked {
                encoder.copy_buffer_to_buffer(state.faults.buffer(), 0, &staging, 0, RECORD_BYTES);
                encoder.clear_buffer(state.faults.buffer(), 0, None);
            }
            self.queue.submit([encoder.finish()]);
            state.batch.submissions += 1;
            (staging, block.offset + offset - from, checked)
        };
        let mapped = self.map(&staging).await;
        let state = self.lock();
        self.check("download", &state)?;
        mapped?;
        let result = match staging.get_mapped_range(..) {
            Ok(view) => {
                let record = checked.then(|| view[..RECORD_BYTES as usize].to_vec());
                let first = RECORD_BYTES as usize + lead;
                record
                    .map_or(Ok(()), |r| state.faults.raise(&r))
                    .map(|()| into.copy_from_slice(&view[first..first + bytes]))
            }
            Err(error) => Err(self.trouble.failure("download", error.to_string())),
        };
        staging.unmap();
        staging.destroy();
        drop(state);
        self.record(
            EventKind::Download,
            "download",
            bytes,
            start_ns,
            Timing::wall(),
        );
        result
    }

    /// Wait until everything launched has run.
    pub(crate) async fn settle(&self) -> Result<()> {
        let start_ns = self.trace.now_ns();
        let (done, staging) = {
            let mut state = self.lock();
            self.check("synchronize", &state)?;
            if std::mem::take(&mut state.faults.armed) {
                let staging = self.staging(RECORD_BYTES);
                let mut encoder = state.batch.encode();
                encoder.copy_buffer_to_buffer(state.faults.buffer(), 0, &staging, 0, RECORD_BYTES);
                encoder.clear_buffer(state.faults.buffer(), 0, None);
                self.queue.submit([encoder.finish()]);
                state.batch.submissions += 1;
                (None, Some(staging))
            } else {
                state.batch.submit();
                let done = Signal::new();
                let finished = done.clone();
                self.queue
                    .on_submitted_work_done(move || finished.set(Ok(())));
                (Some(done), None)
            }
        };
        let outcome = match (&staging, done) {
            (Some(staging), _) => self.map(staging).await,
            (None, Some(done)) => self.arrive(done).await,
            (None, None) => Ok(()),
        };
        let state = self.lock();
        self.check("synchronize", &state)?;
        outcome?;
        if let Some(staging) = staging {
            let record = staging.get_mapped_range(..).map(|view| view.to_vec());
            staging.unmap();
            staging.destroy();
            match record {
                Ok(record) => state.faults.raise(&record)?,
                Err(error) => return Err(self.trouble.failure("synchronize", error.to_string())),
            }
        }
        drop(state);
        self.record(EventKind::Wait, "synchronize", 0, start_ns, Timing::wall());
        Ok(())
    }

    fn staging(&self, bytes: u64) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("read back"),
            size: bytes,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        })
    }

    async fn map(&self, staging: &wgpu::Buffer) -> Result<()> {
        let mapped = Signal::new();
        let done = mapped.clone();
        staging.map_async(wgpu::MapMode::Read, .., move |result| {
            done.set(result.map_err(|_| ()))
        });
        self.arrive(mapped).await
    }

    /// Await a callback. Natively nobody else drives the device, so it is polled here; a browser drives itself.
    async fn arrive(&self, signal: Signal<std::result::Result<(), ()>>) -> Result<()> {
        #[cfg(not(target_arch = "wasm32"))]
        {
            let mut idle_since = None;
            while !signal.is_set() {
                let device = &self.device;
                let poll = std::panic::AssertUnwindSafe(|| {
                    device.poll(wgpu::PollType::wait_indefinitely())
                });
                // wgpu panics when the driver loses the device during the wait; here that is an error like any other.
                match std::panic::catch_unwind(poll) {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => return Err(self.trouble.failure("wait", error.to_string())),
                    Err(_) => {
                        self.trouble.lose("the driver gave it up during a wait");
                        return Err(self.trouble.refused("wait"));
                    }
                }
                if signal.is_set() {
                    break;
                }
                // Nothing is left to wait for, so another thread, which polls or submits, is about to call back.
                let since = *idle_since.get_or_insert_with(std::time::Instant::now);
                if since.elapsed() > CALL_BACK_WITHIN {
                    return Err(self.trouble.refused("wait"));
                }
                std::thread::sleep(std::time::Duration::from_micros(20));
            }
        }
        let outcome = signal.await;
        // A browser refuses to map the buffers of a lost device before it says that the device is lost.
        #[cfg(target_arch = "wasm32")]
        if outcome.is_err() {
            crate::web::turn().await;
        }
        outcome.map_err(|()| self.trouble.refused("download"))
    }
}

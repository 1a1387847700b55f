//! The tuning run: which matrix kernel suits this adapter, and roughly how fast the adapter is.
//!
//! The best kernel for a GPU is many times too slow on a processor that plays one, and an adapter's name does not tell.
//! So each form runs once on a small product when the device is opened. The answer is kept for the process, and
//! natively on disk.

use crate::device::{Rates, WgpuDevice};
use crate::matmul::Tuned;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tensor::Result;
use tensor::device::{Backend, Buffer};
use tensor::dtype::DType;
use tensor::expr::Expr;
use tensor::kernel::{Binding, Grid, Launch, Map, Work};
use tensor::kernels::matmul::{MATMUL, MatmulParams};
use web_time::Instant;

/// No device is reckoned slower than this.
const SLOWEST_FLOPS_PER_MS: f64 = 3e5;
const SLOWEST_BYTES_PER_MS: f64 = 2e5;

/// What a tuning run found.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Findings {
    /// Operations in a millisecond, of each of [`Tuned::ALL`].
    flops_per_ms: [f64; 2],
    /// Bytes in a millisecond.
    bytes_per_ms: f64,
}

impl Findings {
    fn best(&self) -> (Tuned, f64) {
        let [register, tile] = self.flops_per_ms;
        if tile > register {
            (Tuned::Tile, tile)
        } else {
            (Tuned::Register, register)
        }
    }
}

static KNOWN: Mutex<Option<HashMap<String, Findings>>> = Mutex::new(None);

/// Choose the matrix kernel, from memory or by a run.
pub(crate) async fn tune(device: &mut WgpuDevice) -> Result<()> {
    let facts = device.facts();
    let key = format!(
        "{}|{}|{}|{}",
        facts.name, facts.driver, facts.interface, device.limits.group
    );
    let known = KNOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .and_then(|k| k.get(&key).copied());
    let findings = match known.or_else(|| disk::load(&key)) {
        Some(findings) => findings,
        None => {
            let findings = measure(device).await?;
            device.forget_history();
            disk::store(&key, &findings);
            findings
        }
    };
    KNOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert_default()
        .insert(key, findings);
    let (best, rate) = findings.best();
    {
        let mut state = device.lock();
        state.matmul = best;
        // The probes are small: larger work runs no slower, unless something else had the processor just then.
        state.rates = Rates {
            flops_per_ms: rate.max(SLOWEST_FLOPS_PER_MS),
            bytes_per_ms: findings.bytes_per_ms.max(SLOWEST_BYTES_PER_MS),
        };
    }
    let mut facts = device.facts.lock().unwrap_or_else(PoisonError::into_inner);
    facts.choices.insert("matmul".into(), best.name().into());
    for (form, rate) in Tuned::ALL.iter().zip(findings.flops_per_ms) {
        facts.choices.insert(
            format!("matmul {}", form.name()),
            format!("{:.1} GFLOP/s", rate / 1e6),
        );
    }
    facts.choices.insert(
        "copy".into(),
        format!("{:.1} GB/s", findings.bytes_per_ms / 1e6),
    );
    facts
        .choices
        .insert("workgroup".into(), device.limits.group.to_string());
    Ok(())
}

async fn measure(device: &WgpuDevice) -> Result<Findings> {
    // Small enough that the slower form takes some 10 ms on a software adapter.
    let n = if device.software { 96 } else { 512 };
    let mut flops_per_ms = [0.0; 2];
    device.lock().tuning = true;
    for (form, rate) in Tuned::ALL.iter().zip(&mut flops_per_ms) {
        device.lock().matmul = *form;
        *rate = 2.0 * (n as f64).powi(3) / product(device, n).await?;
    }
    device.lock().tuning = false;
    let bytes = if device.software { 1 << 20 } else { 64 << 20 };
    let ms = copy(device, bytes).await?;
    Ok(Findings {
        flops_per_ms,
        bytes_per_ms: 2.0 * bytes as f64 / ms,
    })
}

/// The faster of two timed launches after one that compiles.
async fn time(device: &WgpuDevice, launch: &Launch<'_>) -> Result<f64> {
    device.launch(launch)?;
    device.settle().await?;
    let mut best = f64::INFINITY;
    for _ in 0..2 {
        let start = Instant::now();
        device.launch(launch)?;
        device.settle().await?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    // A coarse clock may say zero.
    Ok(best.max(0.01))
}

fn dense(buffer: &Buffer, n: usize) -> Binding<'_> {
    Binding {
        buffer,
        dtype: DType::F32,
        offset: 0,
        span: (0, n),
        strides: &[1],
    }
}

async fn product(device: &WgpuDevice, n: usize) -> Result<f64> {
    let side = n as u32;
    let params = MatmulParams::dense(side, side, side);
    let buffers = [
        device.alloc(4 * n * n)?,
        device.alloc(4 * n * n)?,
        device.alloc(4 * n * n)?,
    ];
    let [a, b, out] = buffers.each_ref().map(|b| dense(b, n * n));
    let bindings = [a, b, b, out];
    let work = Work::Kernel {
        kernel: &MATMUL,
        params: bytemuck::bytes_of(&params),
        grid: Grid::Invocations(n * n),
        check: None,
    };
    let ms = time(
        device,
        &Launch {
            work,
            bindings: &bindings,
            bytes: 0,
            flops: 0,
        },
    )
    .await;
    buffers.iter().for_each(|b| device.free(b));
    ms
}

async fn copy(device: &WgpuDevice, bytes: usize) -> Result<f64> {
    let n = bytes / 4;
    let map = std::sync::Arc::new(Map::new("copy", &[DType::F32], DType::F32, Expr::arg(0)));
    let buffers = [device.alloc(bytes)?, device.alloc(bytes)?];
    let bindings = buffers.each_ref().map(|b| dense(b, n));
    let work = Work::Map {
        map: &map,
        shape: &[n],
        scalars: &[],
    };
    let ms = time(
        device,
        &Launch {
            work,
            bindings: &bindings,
            bytes: 0,
            flops: 0,
        },
    )
    .await;
    buffers.iter().for_each(|b| device.free(b));
    ms
}

/// Findings on disk, a line an adapter: its key and three numbers, separated by tabs.
#[cfg(not(target_arch = "wasm32"))]
mod disk {
    use super::Findings;
    use std::path::PathBuf;

    fn file() -> Option<PathBuf> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
        let local = || std::env::var_os("LOCALAPPDATA").map(PathBuf::from);
        let version = env!("CARGO_PKG_VERSION");
        Some(
            cache
                .or_else(local)
                .or_else(home)?
                .join("tensorscope")
                .join(format!("adapters-{version}.tsv")),
        )
    }

    pub(super) fn load(key: &str) -> Option<Findings> {
        let text = std::fs::read_to_string(file()?).ok()?;
        let line = text
            .lines()
            .rev()
            .find_map(|l| l.strip_prefix(key)?.strip_prefix('\t'))?;
        let numbers: Vec<f64> = line.split('\t').map_while(|n| n.parse().ok()).collect();
        let sane = numbers.len() == 3 && numbers.iter().all(|n| n.is_finite() && *n > 0.0);
        sane.then(|| Findings {
            flops_per_ms: [numbers[0], numbers[1]],
            bytes_per_ms: numbers[2],
        })
    }

    /// What cannot be kept is measured again next time.
    pub(super) fn store(key: &str, f: &Findings) {
        let Some(path) = file() else { return };
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        let mut lines: Vec<&str> = old.lines().filter(|l| !l.starts_with(key)).collect();
        let [a, b] = f.flops_per_ms;
        let line = format!("{key}\t{a:.0}\t{b:.0}\t{:.0}", f.bytes_per_ms);
        lines.push(&line);
        let written = path
            .parent()
            .map(std::fs::create_dir_all)
            .is_some_and(|made| made.is_ok());
        if written {
            // Another process may do the same: a whole new file takes the old one's place.
            let fresh = path.with_extension(format!("{}", std::process::id()));
            if std::fs::write(&fresh, lines.join("\n") + "\n").is_ok() {
                let _ = std::fs::rename(&fresh, &path);
            }
        }
    }
}

/// A browser keeps nothing between pages.
#[cfg(target_arch = "wasm32")]
mod disk {
    use super::Findings;

    pub(super) fn load(_: &str) -> Option<Findings> {
        None
    }

    pub(super) fn store(_: &str, _: &Findings) {}
}

//! Random numbers made where they are used.

use super::launch::CpuLaunch;
use super::parallel;
use crate::error::Result;
use crate::kernels::random::RandomParams;
use crate::random::Draw;

/// Elements of one piece, a multiple of the four lanes of a block.
const PIECE: usize = 4096;

pub(crate) fn uniform(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: RandomParams = launch.params()?;
    let draw = Draw {
        key: p.key,
        counter: p.counter,
    };
    let out = launch.write::<f32>(0)?;
    let threads = launch.threads(out.len());
    parallel::chunks_mut(
        &mut out[..p.count as usize],
        PIECE,
        threads,
        |piece, out| {
            for (block, out) in out.chunks_mut(4).enumerate() {
                let words = draw.block((piece * PIECE / 4 + block) as u64);
                for (y, word) in out.iter_mut().zip(words) {
                    *y = (word >> 8) as f32 * (1.0 / 16_777_216.0);
                }
            }
        },
    );
    Ok(())
}

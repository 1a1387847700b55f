//! The workloads: what is done in each, and how much arithmetic and memory traffic it takes at least.

use std::fmt;

use tensor::pointwise::{Pointwise, ResultType};
use tensor::{Device, Tensor};

use super::step::Step;
use crate::ctx::Ctx;
use crate::error::LessonError;
use crate::inputs::uniform;
use crate::measure::{Plan, Timing};

/// Names of the workloads.
pub const WORKLOADS: [&str; 7] = ["W1", "W2", "W2b", "W2c", "W3a", "W3b", "W4"];

/// How large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// The sizes that other libraries are measured at.
    Full,
    /// What a software adapter can do while a person waits.
    Small,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
enum Work {
    /// A product of two square matrices that are there already.
    Matmul { n: usize },
    /// The same with sending the inputs and fetching the result.
    MatmulEndToEnd { n: usize },
    /// `relu(a*b + c)`, in one kernel.
    Elementwise { len: usize },
    /// The sum of all, fetched.
    Sum { len: usize },
    /// A transpose made contiguous.
    Transpose { n: usize },
    /// A training step.
    Train(Step),
}

/// One case of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the workload, shared with other libraries' benchmarks.
    pub workload: &'static str,
    /// Name of the case, likewise.
    pub name: String,
    /// Arithmetic of one call; 0 where memory is what counts.
    pub flops: f64,
    /// Memory traffic that one call needs at least; 0 where arithmetic is what counts.
    pub bytes: f64,
    work: Work,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.workload, self.name)
    }
}

/// All cases.
pub fn all(scale: Scale) -> Vec<Case> {
    let full = scale == Scale::Full;
    let case = |workload, name: String, flops, bytes, work| Case {
        workload,
        name,
        flops,
        bytes,
        work,
    };
    let mut cases = Vec::new();
    for n in [64, 256, 512, 1024, 2048]
        .into_iter()
        .filter(|&n| full || n <= 512)
    {
        let flops = 2.0 * (n as f64).powi(3);
        cases.push(case(
            "W1",
            format!("n={n} compute"),
            flops,
            0.0,
            Work::Matmul { n },
        ));
        cases.push(case(
            "W1",
            format!("n={n} e2e"),
            flops,
            0.0,
            Work::MatmulEndToEnd { n },
        ));
    }
    let exponents: &[u32] = if full { &[22, 24] } else { &[20, 22] };
    for &e in exponents {
        let len = 1usize << e;
        cases.push(case(
            "W2",
            format!("2^{e}"),
            0.0,
            16.0 * len as f64,
            Work::Elementwise { len },
        ));
    }
    let e = exponents[1];
    let len = 1usize << e;
    cases.push(case(
        "W2b",
        format!("2^{e}"),
        0.0,
        4.0 * len as f64,
        Work::Sum { len },
    ));
    for n in if full { [2048, 4096] } else { [512, 1024] } {
        cases.push(case(
            "W2c",
            format!("{n}x{n}"),
            0.0,
            8.0 * (n * n) as f64,
            Work::Transpose { n },
        ));
    }
    let steps = [
        ("W3a", Step::LeNet { size: 32 }),
        ("W3b", Step::LeNet { size: 64 }),
        ("W4", Step::Mlp),
    ];
    for (workload, step) in steps.into_iter().filter(|(w, _)| full || *w != "W3b") {
        cases.push(case(
            workload,
            step.name(),
            step.flops(),
            0.0,
            Work::Train(step),
        ));
    }
    cases
}

/// `relu(x*y + z)` in one kernel, as the workload counts it: three arrays read, one written.
static RELU_MUL_ADD: Pointwise = Pointwise {
    name: "relu_mul_add",
    node: "ReluMulAdd",
    result: ResultType::Number,
    forward: |t| (t.x(0) * t.x(1) + t.x(2)).max(t.lit(0.0)),
    grads: &[],
};

impl Case {
    /// Stable name of its time among the report's figures: `w1_n64_compute`.
    pub fn metric(&self) -> String {
        let name = self
            .name
            .replace('=', "")
            .replace('^', "e")
            .replace([' ', '-'], "_");
        format!("{}_{name}", self.workload.to_lowercase())
    }

    /// Times it.
    pub async fn time(
        &self,
        ctx: &Ctx,
        device: &Device,
        plan: &Plan,
    ) -> Result<Timing, LessonError> {
        let what = self.to_string();
        match self.work {
            Work::Matmul { n } => {
                let (a, b) = (matrix(n, 0, device)?, matrix(n, 1, device)?);
                timed(ctx, &what, plan, device, || Ok(a.matmul(&b)?)).await
            }
            Work::MatmulEndToEnd { n } => {
                let (a, b) = (uniform(n * n, 0, 0), uniform(n * n, 0, 1));
                let send = |values: &[f32]| Tensor::from_slice(values, &[n, n], device);
                ctx.time(&what, plan, async |calls| {
                    for _ in 0..calls {
                        drop(send(&a)?.matmul(&send(&b)?)?.to_vec::<f32>().await?);
                    }
                    Ok(())
                })
                .await
            }
            Work::Elementwise { len } => {
                let (a, b, c) = (
                    vector(len, 0, device)?,
                    vector(len, 1, device)?,
                    vector(len, 2, device)?,
                );
                timed(ctx, &what, plan, device, || {
                    Ok(RELU_MUL_ADD.apply(&[&a, &b, &c], &[])?)
                })
                .await
            }
            Work::Sum { len } => {
                let a = vector(len, 0, device)?;
                ctx.time(&what, plan, async |calls| {
                    for _ in 0..calls {
                        a.sum_all()?.item().await?;
                    }
                    Ok(())
                })
                .await
            }
            Work::Transpose { n } => {
                let a = matrix(n, 0, device)?;
                timed(ctx, &what, plan, device, || Ok(a.t()?.contiguous()?)).await
            }
            Work::Train(step) => {
                let mut trainer = step.prepare(device)?;
                ctx.time(&what, plan, async |calls| {
                    for _ in 0..calls {
                        trainer.step().await?;
                    }
                    Ok(())
                })
                .await
            }
        }
    }
}

/// Times an operation whose result stays on the device.
async fn timed(
    ctx: &Ctx,
    what: &str,
    plan: &Plan,
    device: &Device,
    operation: impl Fn() -> Result<Tensor, LessonError>,
) -> Result<Timing, LessonError> {
    ctx.time(what, plan, async |calls| {
        for _ in 0..calls {
            drop(operation()?);
        }
        Ok(device.synchronize().await?)
    })
    .await
}

fn vector(len: usize, stream: u64, device: &Device) -> Result<Tensor, LessonError> {
    Ok(Tensor::from_slice(
        &uniform(len, 0, stream),
        &[len],
        device,
    )?)
}

fn matrix(n: usize, stream: u64, device: &Device) -> Result<Tensor, LessonError> {
    Ok(Tensor::from_slice(
        &uniform(n * n, 0, stream),
        &[n, n],
        device,
    )?)
}

/// What this machine can do at best, in this engine's own hands.
pub struct Peaks {
    /// FLOP/s of the best product.
    pub flops: f64,
    /// Bytes a second of a plain copy, read and written bytes counted.
    pub bandwidth: f64,
}

/// Measures the peaks: the fastest tenth of runs, since a peak is what the machine can do and not what it usually does.
pub async fn peaks(ctx: &Ctx, device: &Device, scale: Scale) -> Result<Peaks, LessonError> {
    let (n, len) = if scale == Scale::Full {
        (1024, 1usize << 24)
    } else {
        (512, 1usize << 22)
    };
    let (a, b) = (matrix(n, 0, device)?, matrix(n, 1, device)?);
    let product = timed(ctx, "a large product", &Plan::quick(), device, || {
        Ok(a.matmul(&b)?)
    })
    .await?;
    let source = vector(len, 0, device)?;
    let copy = timed(
        ctx,
        "a copy",
        &Plan::quick(),
        device,
        || Ok(source.clone()?),
    )
    .await?;
    Ok(Peaks {
        flops: 2.0 * (n as f64).powi(3) / product.p10,
        bandwidth: 8.0 * len as f64 / copy.p10,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_carry_the_shared_names() {
        let names: Vec<String> = all(Scale::Full).iter().map(Case::to_string).collect();
        let expected = [
            "W1 n=64 compute",
            "W1 n=64 e2e",
            "W1 n=256 compute",
            "W1 n=256 e2e",
            "W1 n=512 compute",
            "W1 n=512 e2e",
            "W1 n=1024 compute",
            "W1 n=1024 e2e",
            "W1 n=2048 compute",
            "W1 n=2048 e2e",
            "W2 2^22",
            "W2 2^24",
            "W2b 2^24",
            "W2c 2048x2048",
            "W2c 4096x4096",
            "W3a 3x32x32",
            "W3b 3x64x64",
            "W4 784-128-10",
        ];
        assert_eq!(names, expected);
        assert!(all(Scale::Small).len() < expected.len());
    }

    #[test]
    fn metrics_have_stable_names() {
        let names: Vec<String> = all(Scale::Full).iter().map(Case::metric).collect();
        assert_eq!(names[0], "w1_n64_compute");
        assert_eq!(names[10], "w2_2e22");
        assert_eq!(names[17], "w4_784_128_10");
        assert!(
            names
                .iter()
                .collect::<std::collections::BTreeSet<_>>()
                .len()
                == names.len()
        );
    }
}

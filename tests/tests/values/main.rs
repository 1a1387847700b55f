//! Every operation, forward and backward, on every device: values, types, strides, and what PyTorch recorded.

mod empty;
mod extremes;
mod formats;
mod fused;
mod gradients;
mod half;
mod integers;
mod planted;
mod recorded;

use conformance::devices;
use tensor::Device;

/// Run every case on every device, and fail with all that went wrong.
fn on_all_devices<C>(cases: &[C], run: impl Fn(&C, &Device) -> Vec<Result<(), String>>) {
    let mut failures = Vec::new();
    let mut count = 0;
    for device in devices::under_test() {
        for case in cases {
            let results = run(case, &device);
            count += results.len();
            failures.extend(results.into_iter().filter_map(Result::err));
        }
    }
    println!("{count} runs");
    assert!(
        failures.is_empty(),
        "{} of {count} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

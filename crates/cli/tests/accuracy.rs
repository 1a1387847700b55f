//! Whole training runs: what is learnt, and that every device learns the same.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use lessons::Report;

/// A run's report, or nothing where the device does not exist.
fn train(args: &[&str]) -> Option<Report> {
    let output = Command::new(env!("CARGO_BIN_EXE_tensorscope"))
        .arg("train")
        .args(args)
        .arg("--json")
        .output()
        .expect("the program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(2) && complaint.contains("no device") {
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{complaint}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    Some(Report::from_json(&text).expect("a report"))
}

/// The devices to test, and whether a missing one is a failure.
fn devices() -> (Vec<String>, bool) {
    match std::env::var("TENSORSCOPE_TEST_DEVICES") {
        Ok(list) => (list.split(',').map(str::to_owned).collect(), true),
        Err(_) => (vec!["cpu".into(), "wgpu:0".into()], false),
    }
}

fn losses(report: &Report) -> Vec<f64> {
    report
        .curve("loss")
        .expect("a curve")
        .points
        .iter()
        .map(|p| p.y)
        .collect()
}

#[test]
fn digits_reach_their_accuracy_along_one_curve_on_every_device() {
    let cpu = train(&["mnist-mlp", "--device", "cpu"]).expect("there is always a CPU");
    let (devices, required) = devices();
    for device in devices {
        let Some(report) = train(&["mnist-mlp", "--device", &device]) else {
            assert!(!required, "{device} is missing");
            println!("skipped: there is no {device} here");
            continue;
        };
        let accuracy = report.metrics["test_accuracy"].value;
        assert!(accuracy >= 0.89, "{device}: {accuracy}");
        let (mine, reference) = (losses(&report), losses(&cpu));
        assert_eq!(mine.len(), reference.len());
        let apart = mine
            .iter()
            .zip(&reference)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(apart < 1e-2, "{device}: the curves part by {apart}");
        println!("{device}: accuracy {accuracy}, at most {apart:.1e} from the CPU's losses");
    }
}

#[test]
fn photographs_reach_their_accuracy_on_the_cpu() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/cifar10-sample");
    let Some(folder) = folder.to_str().filter(|f| Path::new(f).is_dir()) else {
        println!("skipped: there is no CIFAR-10 sample beside the repository");
        return;
    };
    let args = [
        "lenet",
        "--device",
        "cpu",
        "--data-dir",
        folder,
        "--epochs",
        "10",
    ];
    let report = train(&args).expect("there is always a CPU");
    let accuracy = report.metrics["test_accuracy"].value;
    assert!(accuracy >= 0.45, "{accuracy}");
}

#[test]
fn memory_is_flat_after_the_first_steps() {
    let report = train(&[
        "mnist-mlp",
        "--device",
        "cpu",
        "--steps",
        "2000",
        "--epochs",
        "100",
    ])
    .expect("there is always a CPU");
    let held = |curve: &str, step: f64| {
        let points = &report.curve(curve).expect("a curve").points;
        points
            .iter()
            .find(|p| p.x >= step)
            .map(|p| p.y)
            .expect("a point")
    };
    // The first 50 steps, and the first epoch's evaluation, which comes after step 78 and has larger batches.
    assert_eq!(
        held("memory", 2000.0),
        held("memory", 100.0),
        "bytes held for tensors"
    );
    assert!(held("memory", 50.0) <= held("memory", 100.0));
    if cfg!(target_os = "linux") {
        let (early, late) = (
            held("process_memory", 100.0),
            held("process_memory", 2000.0),
        );
        println!("process memory after 100 steps {early} bytes, after 2,000 {late}");
        // The report itself grows by its losses.
        assert!(
            late < early + 4e6,
            "{early} bytes after 100 steps, {late} after 2,000"
        );
    }
}

//! The terminal's face: human and JSON output, exit codes, errors.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

use lessons::{Report, Status};

fn tensorscope(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tensorscope"))
        .args(args)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn report(args: &[&str]) -> Report {
    let output = tensorscope(args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    Report::from_json(&stdout(&output)).expect("a report")
}

/// Figures, spreads and units out of a text, so that what is left is the same on every machine.
fn redact(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let words: Vec<String> = line
            .split_whitespace()
            .map(|word| {
                let figure = word
                    .trim_matches(|c: char| "(±".contains(c))
                    .starts_with(|c: char| c.is_ascii_digit());
                if figure {
                    "#".to_string()
                } else {
                    word.to_string()
                }
            })
            .filter(|word| {
                ![
                    "ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB", "B/s", "MB/s", "GB/s",
                ]
                .contains(&word.as_str())
            })
            .filter(|word| !["MFLOP/s", "GFLOP/s", "TFLOP/s", "%", "±#"].contains(&word.as_str()))
            .map(|word| {
                if word.chars().all(|c| c == '─') {
                    "─".to_string()
                } else {
                    word
                }
            })
            .collect();
        out.push_str(words.join(" ").trim_end());
        out.push('\n');
    }
    out
}

fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
}

#[test]
fn list_names_the_lessons_and_their_parameters() {
    let output = tensorscope(&["list"]);
    assert_eq!(output.status.code(), Some(0));
    fits(&stdout(&output));
    insta::assert_snapshot!(stdout(&output));
}

#[test]
fn list_as_json_is_the_catalogue() {
    let infos: Vec<lessons::LessonInfo> =
        serde_json::from_str(&stdout(&tensorscope(&["list", "--json"]))).unwrap();
    assert_eq!(infos, lessons::catalogue());
}

#[test]
fn doctor_reports_the_machine() {
    let report = report(&["doctor", "--json"]);
    assert_eq!(
        (report.schema, report.lesson.as_str(), &report.status),
        (1, "doctor", &Status::Done)
    );
    assert!(report.metrics["devices"].value >= 1.0);
    let devices = report.table("devices").unwrap();
    assert_eq!(devices.rows.len() as f64, report.metrics["devices"].value);
    assert!(report.table("checks").unwrap().rows.len() >= 4);
    let human = stdout(&tensorscope(&["doctor"]));
    fits(&human);
    assert!(
        human.contains("Checks, in the order in which to make them"),
        "{human}"
    );
}

#[test]
fn transfer_on_the_cpu_says_what_it_cannot_measure() {
    let args = ["run", "transfer", "--sizes", "8,16", "--device", "cpu"];
    let output = tensorscope(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    fits(&stdout(&output));
    insta::assert_snapshot!(redact(&transfer_without_machine(&stdout(&output))));

    let report = report(&[&args[..], &["--json"]].concat());
    assert_eq!(report.table("times").unwrap().rows.len(), 2);
    assert!(!report.metrics.contains_key("speedup_end_to_end"));
    assert!(report.timing.unwrap().empty_queue.contains_key("cpu"));
}

/// Without the lines that name this machine or its build.
fn transfer_without_machine(text: &str) -> String {
    text.lines()
        .filter(|l| !l.starts_with("on cpu") && !l.starts_with("chosen for it"))
        .filter(|l| !l.contains("unoptimised"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn training_learns_a_line_and_repeats_itself() {
    let args = [
        "train", "linreg", "--device", "cpu", "--seed", "3", "--json",
    ];
    let (first, second) = (report(&args), report(&args));
    assert!(
        first.metrics["weight_error"].value < 0.02,
        "{:?}",
        first.metrics
    );
    assert!(
        first.metrics["final_loss"].value < 1e-3,
        "{:?}",
        first.metrics
    );
    assert_eq!(
        first.curve("loss"),
        second.curve("loss"),
        "the same seed gives the same losses"
    );
    assert_eq!(first.seed, 3);
    let other = report(&[
        "train", "linreg", "--device", "cpu", "--seed", "4", "--json",
    ]);
    assert_ne!(first.curve("loss"), other.curve("loss"));
}

#[test]
fn training_digits_begins_at_guessing_and_improves() {
    let report = report(&[
        "train",
        "mnist-mlp",
        "--device",
        "cpu",
        "--steps",
        "60",
        "--json",
    ]);
    let metric = |name: &str| report.metrics[name].value;
    assert!((metric("first_loss") - metric("guessing_loss")).abs() < 0.35);
    assert!(
        metric("final_loss") < 1.0 && metric("test_accuracy") > 0.7,
        "{:?}",
        report.metrics
    );
    assert_eq!(
        (metric("steps"), report.curve("loss").unwrap().points.len()),
        (60.0, 60)
    );
    assert!(metric("images_per_second") > 0.0 && metric("memory_peak_bytes") > 0.0);
    assert!(report.memory["cpu"].allocated_peak > 0);
}

#[test]
fn a_loss_that_leaves_the_numbers_fails_and_keeps_what_came_before() {
    let output = tensorscope(&[
        "train",
        "linreg",
        "--optimizer",
        "sgd",
        "--lr",
        "10",
        "--device",
        "cpu",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let report = Report::from_json(&stdout(&output)).unwrap();
    assert!(
        report.partial && matches!(report.status, Status::Failed { .. }),
        "{:?}",
        report.status
    );
    assert!(!report.curve("loss").unwrap().points.is_empty());
    assert!(
        stderr(&output).contains("lower the learning rate"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn wrong_usage_is_2_and_names_the_nearest() {
    let cases: &[(&[&str], &str)] = &[
        (&["run", "tranfser"], "transfer"),
        (&["run", "transfer", "--size", "4"], "--sizes"),
        (&["run", "transfer", "--sizes", "0"], "sizes of 1 to 8192"),
        (
            &["run", "transfer", "--device", "wgpu:99"],
            "no device `wgpu:99`",
        ),
        (
            &["run", "transfer", "--device", "cpuu"],
            "did you mean `cpu`?",
        ),
        (&["train", "mnist-mpl"], "did you mean `mnist-mlp`?"),
        (
            &["train", "lenet", "--batch", "0"],
            "`batch` = 0 is out of range (1 to 4096)",
        ),
        (
            &["train", "lenet", "--lr", "-1"],
            "`lr` = -1 is out of range",
        ),
        (&["data", "get", "minst"], "mnist"),
        (&["data", "get", "cifar10"], "only mnist can be fetched"),
        (&[], "Usage"),
    ];
    for (args, expected) in cases {
        let output = tensorscope(args);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{args:?}: {}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains(expected),
            "{args:?}: {}",
            stderr(&output)
        );
        assert!(stdout(&output).is_empty(), "{args:?}");
    }
}

#[test]
fn a_missing_data_folder_says_what_was_looked_for() {
    let output = tensorscope(&[
        "train",
        "lenet",
        "--data",
        "cifar10",
        "--data-dir",
        "no/such/folder",
        "--device",
        "cpu",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(
        text.contains("no/such/folder") && text.contains("test_batch.bin"),
        "{text}"
    );
    let output = tensorscope(&["data", "info", "--data-dir", "no/such/folder"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("no/such/folder"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_trace_is_written_as_chrome_reads_it() {
    let file = std::env::temp_dir().join(format!("tensorscope-trace-{}.json", std::process::id()));
    let path = file.to_str().unwrap();
    let output = tensorscope(&[
        "run", "transfer", "--sizes", "8", "--device", "cpu", "--trace", path,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let trace: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    let names: Vec<&str> = trace["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|e| e["name"].as_str())
        .collect();
    assert!(
        names.iter().any(|name| name.contains("matmul")),
        "{names:?}"
    );
}

#[test]
fn data_info_tells_what_comes_with_the_program() {
    let human = stdout(&tensorscope(&["data", "info"]));
    fits(&human);
    insta::assert_snapshot!(human);
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&tensorscope(&["data", "info", "--json"]))).unwrap();
    assert_eq!(
        (json[0]["train"].as_u64(), json[0]["test"].as_u64()),
        (Some(5000), Some(1000))
    );
}

#[test]
fn peer_lines_are_json_lines() {
    let output = tensorscope(&[
        "bench",
        "--device",
        "cpu",
        "--scale",
        "small",
        "--workloads",
        "W4",
        "--peer-lines",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines: Vec<serde_json::Value> = stdout(&output)
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert!(lines[0]["version"].as_str().unwrap().contains("cpu"));
    assert_eq!(
        (lines.len(), &lines[1]["workload"], &lines[1]["case"]),
        (2, &"W4".into(), &"784-128-10".into())
    );
    assert!(lines[1]["median_ms"].as_f64().unwrap() > 0.0);
}

/// Ctrl-C, as a terminal sends it: the run stops, its report is whole JSON and says that it was stopped.
#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_measured() {
    use std::process::Stdio;
    let mut child = Command::new(env!("CARGO_BIN_EXE_tensorscope"))
        .args([
            "train", "linreg", "--device", "cpu", "--epochs", "1000", "--json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let report = Report::from_json(&text).unwrap();
    assert!(report.partial && report.status == Status::Cancelled);
    assert!(!report.curve("loss").unwrap().points.is_empty());
}

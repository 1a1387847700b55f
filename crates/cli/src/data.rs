//! `tensorscope data`: fetch data sets, and look at what is there.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use data::{DataError, ImageSet, Source, get};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{self, Ink, WIDTH};
use crate::table::TextTable;
use crate::terminal::{Bar, Interrupts};

/// `tensorscope data get | info`.
pub fn data(matches: &ArgMatches) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("get", m)) => fetch(m),
        Some(("info", m)) => info(m),
        _ => Ok(()),
    }
}

fn folder(matches: &ArgMatches) -> Option<PathBuf> {
    matches.get_one::<PathBuf>("data-dir").cloned()
}

fn fetch(matches: &ArgMatches) -> Result<(), Failure> {
    let name = matches.get_one::<String>("set").map_or("", String::as_str);
    if Source::parse(name)? != Source::Mnist {
        let help = "fetch CIFAR-10's cifar-10-binary.tar.gz yourself and give its folder with --data-dir; \
                    the synthetic set is made, not fetched";
        return Err(Failure::usage(
            format!("only mnist can be fetched, not `{name}`"),
            help,
        ));
    }
    let dir = folder(matches)
        .or_else(get::default_mnist_dir)
        .ok_or_else(|| {
            Failure::usage(
                "this system has no usual place for data",
                "give a folder with --data-dir",
            )
        })?;
    let interrupts = Interrupts::hear()?;
    let mut bar = Bar::default();
    let fetched = get::mnist(&dir, &mut |progress| {
        let total = progress.total.unwrap_or(0);
        bar.show(
            &lessons::Progress::new(progress.file, progress.done, total).message(progress.from),
        );
        if interrupts.any() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    bar.clear();
    let mut ink = Ink::stdout();
    for file in fetched? {
        let from = file.from.map_or_else(
            || "was there already, checked".to_string(),
            |from| format!("from {from}"),
        );
        ink.line(&format!("{}  {from}", file.path.display()))?;
    }
    ink.line(&format!("Use it with `--data-dir {}`.", dir.display()))?;
    Ok(())
}

/// What is known of a data set.
#[derive(Serialize)]
struct Known {
    set: &'static str,
    name: String,
    train: usize,
    test: usize,
    shape: [usize; 3],
    classes: Vec<String>,
    train_counts: Vec<usize>,
}

fn info(matches: &ArgMatches) -> Result<(), Failure> {
    let known = match folder(matches) {
        Some(dir) => vec![known(Source::detect(&dir)?, Some(&dir))?],
        None => vec![known(Source::Mnist, None)?, known(Source::Synthetic, None)?],
    };
    if matches.get_flag("json") {
        return output::json(&known);
    }
    let text = TextTable {
        head: ["set", "training", "test", "image", "classes"]
            .map(String::from)
            .to_vec(),
        numeric: vec![false, true, true, false, false],
        rows: known.iter().map(row).collect(),
    };
    let mut ink = Ink::stdout();
    for line in text.lines(WIDTH) {
        ink.line(&line)?;
    }
    Ok(())
}

fn row(known: &Known) -> Vec<String> {
    let [channels, height, width] = known.shape;
    let per_class = (
        known.train_counts.iter().min(),
        known.train_counts.iter().max(),
    );
    let balance = match per_class {
        (Some(least), Some(most)) if least == most => format!("{least} of each"),
        (Some(least), Some(most)) => format!("{least} to {most} of each"),
        _ => String::new(),
    };
    vec![
        known.name.clone(),
        known.train.to_string(),
        known.test.to_string(),
        format!("{channels}x{height}x{width}"),
        format!("{} ({balance})", known.classes.join(" ")),
    ]
}

fn known(source: Source, dir: Option<&Path>) -> Result<Known, DataError> {
    let splits = source.load(dir, 0)?;
    let train: &ImageSet = &splits.train;
    let shape = train.shape();
    Ok(Known {
        set: source.name(),
        name: train.name().to_string(),
        train: train.len(),
        test: splits.test.len(),
        shape: [shape.channels, shape.height, shape.width],
        classes: train.classes().to_vec(),
        train_counts: train.class_counts(),
    })
}

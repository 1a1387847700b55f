//! Every word of the page's own, in one place and ready for translation. What lessons say of themselves comes with them.

use lessons::{CheckStep, DeviceKind, Outcome};

pub const APP: &str = "Tensorscope";
pub const TAGLINE: &str = "What tensors on a GPU really cost, measured on your own machine.";
pub const SKIP: &str = "Skip to the page";
pub const NAVIGATION: &str = "Pages";
pub const LESSONS: &str = "Lessons";
pub const BENCH: &str = "Bench";
pub const TO_LIGHT: &str = "Light colours";
pub const TO_DARK: &str = "Dark colours";
pub const RELOAD: &str = "Load the page anew";
pub const PAGE_ENDED: &str = "The page stopped. What you see stays, but nothing reacts any more:";

// The engine.
pub const LOOKING: &str = "Looking at this machine";
pub const ENGINE_DOWN: &str = "The engine stopped.";
pub const ENGINE_STOPPED: &str = "the engine stopped:";
pub const ENGINE_SAID: &str = "It said:";
pub const ENGINE_KEPT: &str =
    "What was measured is kept. The engine runs apart from this page, so you can start it anew.";
pub const START_ANEW: &str = "Start the engine anew";
pub const START_ANEW_HELP: &str =
    "start the engine anew, then run with smaller sizes or on another device";
pub const NOT_LOADED: &str = "its program could not be loaded";
pub const SILENT_START: &str = "it did not answer within a minute of being started";
pub const GARBLED: &str = "a message could not be read:";
pub const NEVER_BEGAN: &str = "the run was stopped before it began";
pub const STOPPED_HARD: &str = "The engine did not answer within a second of being asked to stop, so it was ended and started anew. What \
     came before is kept.";
pub const CHOSEN_FILES: &str = "chosen files";
pub const FILE_HELP: &str = "choose the file again: it may have been moved or changed";

// The device card.
pub const THIS_MACHINE: &str = "This machine";
pub const WOULD_USE: &str = "lessons use it unless you choose another";
pub const SOFTWARE: &str = "software";
pub const SOFTWARE_MEANS: &str =
    "A software adapter: the processor plays the GPU. Results are right; timings mean little.";
pub const NO_WEBGPU: &str = "No GPU through WebGPU here";
pub const RUNS_ON_CPU: &str = "Every lesson runs on the CPU meanwhile.";
pub const WHAT_TO_DO: &str = "What to do:";
pub const LOOK_AGAIN: &str = "Look again";
pub const PAGE_HAS_GPU: &str =
    "The page can see a GPU, but this browser does not show it to workers, where the engine runs";
pub const PAGE_HAS_GPU_HELP: &str = "use a current Chrome, Edge, Safari or Firefox";
pub const MORE_FACTS: &str = "Limits and features";
pub const FEATURES: &str = "features";
pub const CLOCK: &str = "clock";
pub const CLOCK_STEPS: &str = "steps of";

// Home.
pub const FIRST_LESSON: &str = "Begin with the first lesson";
pub const LESSON_LIST_WAITS: &str = "The lessons appear as soon as the engine has started.";
pub const INSTRUMENTS: &str = "Instruments";
pub const RAN: &str = "ran in this visit";

// A lesson.
pub const SET_UP: &str = "Set up";
pub const NO_PARAMETERS: &str = "There is nothing to set.";
pub const RUN: &str = "Run";
pub const RUN_AGAIN: &str = "Run again";
pub const CANCEL: &str = "Cancel";
pub const DEFAULTS: &str = "Back to defaults";
pub const SEED: &str = "seed";
pub const SEED_HELP: &str = "the same seed gives the same weights, batches and inputs";
pub const ANOTHER_RUNS: &str = "Another run is going:";
pub const NOT_BEFORE_FIXED: &str = "Correct the marked field first.";
pub const WHAT_HAPPENED: &str = "What happened";
pub const BEFORE: &str = "Nothing yet. Press Run: the figures appear here as they are measured.";
pub const BEGINNING: &str = "Beginning";
pub const STOPPING: &str = "Stopping";
pub const SILENT: &str = "Nothing heard for";
pub const SILENT_HELP: &str = "A large step may take this long. Cancel keeps what came.";
pub const DONE: &str = "Done";
pub const CANCELLED: &str = "Cancelled. What was measured until then is kept.";
pub const FAILED: &str = "The run failed.";
pub const FAILED_KEPT: &str = "What was measured before is kept.";
pub const REFUSED: &str = "The run was not begun.";
pub const DOWNLOAD: &str = "Download report (JSON)";
pub const MEASURED_ON: &str = "Measured on";
pub const AND_SOFTWARE: &str = "software adapter: timings mean little";
pub const NOT_OPTIMIZED: &str = "unoptimised build: timings mean little";
pub const METHOD: &str = "Method";
pub const CLOCK_RESOLUTION: &str = "clock resolution";
pub const EMPTY_WAIT: &str = "an empty wait costs";
pub const MEMORY: &str = "Memory";
pub const ALLOCATED_PEAK: &str = "peak in tensors";
pub const RESERVED_PEAK: &str = "peak held by the allocator";
pub const QUARTILES: &str = "quartiles";
pub const RUNS: &str = "runs";
pub const ONCE: &str = "one value";
pub const BELOW_RESOLUTION: &str = "below the clock's resolution";
pub const NO_SUCH_LESSON: &str = "There is no such lesson";
pub const NO_SUCH_PAGE: &str = "There is no such page";
pub const TO_HOME: &str = "To the lessons";
pub const DEVICE_AUTO: &str = "auto";
pub const FILES_NONE: &str = "none chosen";
pub const ON: &str = "yes";
pub const NOTHING_MEASURED: &str = "not measured";

// Figures.
pub const LINEAR: &str = "linear";
pub const LOG: &str = "log";
pub const LOG_SCALE: &str = "log scale";
pub const SCALE_OF: &str = "scale of";
pub const AS_TABLE: &str = "The figure as a table";
pub const POINT_AT_IT: &str =
    "Point at the figure, or focus it and use the arrow keys, for exact values.";
pub const CLOCK_BAND: &str = "below the clock's resolution";
pub const SHARES: &str = "Shares of the parts, in percent";

/// A figure's title.
pub fn figure(vertical: &str, horizontal: &str) -> String {
    format!("{vertical} by {horizontal}")
}

/// A lesson's number and title.
pub fn numbered(number: usize, title: &str) -> String {
    format!("{number} \u{b7} {title}")
}

/// How a run's time is told.
pub fn took(seconds: f64) -> String {
    format!("took {}", span(seconds))
}

/// How much time is left.
pub fn left(seconds: f64) -> String {
    format!("about {} left", span(seconds))
}

/// A span of time for people who wait.
pub fn span(seconds: f64) -> String {
    match seconds {
        s if s < 0.095 => "under 0.1 s".into(),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

/// Done of total.
pub fn of(done: u64, total: u64) -> String {
    format!("{done} of {total}")
}

/// How many files were chosen.
pub fn files(count: usize, bytes: f64) -> String {
    let size = lessons::quantity::format(bytes, "B");
    if count == 1 {
        format!("1 file, {size}")
    } else {
        format!("{count} files, {size}")
    }
}

/// A kind of device.
pub fn kind(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Cpu => "CPU",
        DeviceKind::Wgpu => "GPU (WebGPU)",
        DeviceKind::Cuda => "GPU (CUDA)",
    }
}

/// What a check looks at.
pub fn step(step: CheckStep) -> &'static str {
    match step {
        CheckStep::Driver => "driver",
        CheckStep::Build => "browser",
        CheckStep::Version => "version",
        CheckStep::Visibility => "visibility",
        CheckStep::Memory => "memory",
    }
}

/// What came of a check, with a shape that says the same.
pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "\u{2713} in order",
        Outcome::Warning => "\u{25b3} take care",
        Outcome::Missing => "\u{2715} missing",
        Outcome::Unknown => "? unknown",
    }
}

/// Headline figures in the order in which they are shown, by name.
const METRICS: &[(&str, &str)] = &[
    ("test_accuracy", "test accuracy"),
    ("test_loss", "test loss"),
    ("final_loss", "final loss"),
    ("first_loss", "first loss"),
    ("guessing_loss", "loss of guessing, ln(classes)"),
    ("weight_error", "error of the weights"),
    ("images_per_second", "images per second"),
    ("steps", "steps"),
    ("memory_peak_bytes", "memory, peak"),
    ("process_memory_peak_bytes", "memory of the process, peak"),
    ("crossover", "break-even size"),
    ("speedup_end_to_end", "speed-up, end to end"),
    ("speedup_compute", "speed-up, compute only"),
    ("upload_bandwidth", "sending"),
    ("readback_bandwidth", "fetching"),
    ("cpu_flops", "arithmetic, CPU"),
    ("device_flops", "arithmetic, device"),
    ("largest_size", "largest size"),
    ("devices", "devices"),
    ("gpus", "GPUs"),
    ("software_adapters", "software adapters"),
    ("cores", "cores"),
    ("clock_resolution", "clock resolution"),
    ("peak_flops", "arithmetic, this device's peak"),
    ("peak_bandwidth", "memory, this device's peak"),
];

/// A headline figure's place among the others, and its name. Figures without one are cells of a table too, and stay there.
pub fn metric(name: &str) -> Option<(usize, &'static str)> {
    let place = METRICS.iter().position(|(known, _)| *known == name)?;
    Some((place, METRICS[place].1))
}

/// What a learner reads before a lesson.
pub fn prose(lesson: &str) -> &'static [&'static str] {
    match lesson {
        "doctor" => &[
            "A tensor lives on one device. Before you measure anything, see which devices this machine has, and through which \
             interface the browser reaches them.",
            "If a GPU is missing, look in this order: the driver, the browser, its version, whether the GPU is visible from \
             here, free memory.",
        ],
        "transfer" => &[
            "A GPU multiplies matrices fast. But its inputs begin in the computer's main memory and its result has to come back \
             there, and copying takes time too.",
            "This lesson times one square matrix product three ways: on the CPU; on the device with everything already there; \
             and end to end, with sending the inputs and fetching the result.",
            "The work grows with n\u{b3}, the bytes with n\u{b2}. So there is a size below which the copies eat the gain. Where \
             does it lie on your machine?",
        ],
        "train" => &[
            "Training is one step repeated: take a batch, compute the loss, compute its gradient, move the weights a little.",
            "Before the first step a network knows nothing and gives every class the same chance, so the first loss should be \
             close to ln(classes). If it is not, something is wrong before training begins.",
            "Watch the loss fall, and compare devices with the same seed: the batches and the first weights are the same, so \
             the curves should lie on each other. Only the speed differs.",
        ],
        "bench" => &[
            "The same work for every machine: products, elementwise work, sums, copies, and whole training steps. Each line \
             says what share of this machine's own measured peak it reaches.",
        ],
        _ => &[],
    }
}

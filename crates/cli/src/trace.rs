//! `--trace FILE`.

use std::path::Path;

use crate::failure::Failure;

/// Writes what the devices did, as Chrome trace events.
pub fn write(path: &Path, devices: &[lessons::Device]) -> Result<(), Failure> {
    let trace = lessons::snapshot(devices);
    std::fs::write(path, trace.to_chrome_json()).map_err(|e| {
        Failure::failed(
            format!(
                "the trace could not be written to `{}`: {e}",
                path.display()
            ),
            "give a file in a folder that you may write to",
        )
    })?;
    let dropped = if trace.dropped > 0 {
        format!(" ({} older ones dropped)", trace.dropped)
    } else {
        String::new()
    };
    anstream::eprintln!(
        "trace: {} events{dropped} in {}",
        trace.events.len(),
        path.display()
    );
    Ok(())
}

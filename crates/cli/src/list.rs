//! `tensorscope list`.

use clap::ArgMatches;
use lessons::LessonInfo;

use crate::failure::Failure;
use crate::output::{self, Ink};
use crate::table::wrap;

/// Lists the lessons and what they ask.
pub fn list(matches: &ArgMatches) -> Result<(), Failure> {
    let catalogue = lessons::catalogue();
    if matches.get_flag("json") {
        return output::json(&catalogue);
    }
    let mut ink = Ink::stdout();
    for info in catalogue.iter().filter(|info| !info.instrument) {
        lesson(&mut ink, info)?;
    }
    ink.line("`tensorscope run LESSON` runs one; --help shows what its parameters take.")?;
    Ok(())
}

fn lesson(ink: &mut Ink, info: &LessonInfo) -> std::io::Result<()> {
    ink.heading(&info.id, &info.title)?;
    for line in wrap(&info.question, output::WIDTH - 2) {
        ink.line(&format!("  {line}"))?;
    }
    for p in &info.params {
        let default = p.default.to_string();
        let shown = if default.is_empty() {
            "none".into()
        } else {
            default
        };
        for (i, line) in wrap(&format!("{} [{shown}]", p.help), output::WIDTH - 18)
            .iter()
            .enumerate()
        {
            let name = if i == 0 {
                format!("--{}", p.name)
            } else {
                String::new()
            };
            ink.line(&format!("    {name:<14}{line}"))?;
        }
    }
    ink.line("")
}

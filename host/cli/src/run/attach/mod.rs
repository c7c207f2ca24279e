//! `lockwright check --pid`: looks at a process that runs, and that nobody started under the tool.

mod deleted;
mod look;
mod memory;
mod sharers;
mod tasks;

pub use deleted::maps_of;
pub use look::{look, root_of, threads};
pub use memory::ProcessMemory;
pub use tasks::{numbers, waits_now};

use super::ending::Ending;
use super::output::sinks::Sinks;
use crate::args::{OutputArgs, VerdictArgs};
use lockwright_analysis::finding::Grade;
use lockwright_console::error::Result;

/// Runs the command.
///
/// # Errors
/// If there is no such process, or it may not be looked into.
pub fn run(pid: u32, output: &OutputArgs, verdict: &VerdictArgs) -> Result<Ending> {
    let mut output = Sinks::open(output)?;
    let attached = look::look(pid)?;
    let files = output.write_files(&attached);
    let shown = output.add(&attached);
    output.all(files.into_iter().chain([shown]))?;
    let grades = attached.verdicts.iter().map(|verdict| match verdict.is_certain() {
        true => Grade::Deadlocked,
        false => Grade::Possible,
    });
    Ok(Ending::Code(0).with_grades(grades, verdict))
}

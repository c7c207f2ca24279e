//! `lockwright doctor`: what can be watched of a program and what cannot, and what to do about it.
//!
//! Each source of findings is a file: the program and its libraries (`program.rs`, with
//! `hidden.rs`), where lockwright would work (`place.rs`), a process that runs (`process.rs`).
//! Nothing of the program is run.

mod diagnosis;
mod hidden;
pub mod modules;
mod nothing;
mod place;
mod process;
mod program;
mod room;
mod show;
mod source_lines;

use super::ending::Ending;
use super::output::sinks::Sinks;
use super::{path_search, target};
use crate::args::DoctorArgs;
use lockwright_console::error::Result;

pub use nothing::{explain, explain_measurement};
pub use process::id as process_id;
pub use room::no_room;

/// Runs the command.
///
/// # Errors
/// If there is no such program or process.
pub fn run(args: &DoctorArgs) -> Result<Ending> {
    let mut output = Sinks::open(&args.output)?;
    let name = args.program.first();
    let pid = args.pid.or_else(|| name.and_then(|name| process::id(name)));
    let mut diagnosis = match (pid, name) {
        (Some(pid), _) => process::diagnose(pid)?,
        (None, name) => {
            let name = name.expect("clap wants a program or a process");
            let path = std::env::var_os("PATH");
            let file = path_search::find(name, path.as_deref())?;
            program::diagnose(name.to_string_lossy().into_owned(), &target::find(&file)?)
        }
    };
    if diagnosis.process.is_none() {
        diagnosis.findings.extend(place::examine(args.ledger_dir.as_deref()));
    }
    diagnosis.findings.sort_by_key(|finding| finding.effect);
    output.write_json_text(&show::json(&diagnosis))?;
    let text = show::text(&diagnosis, output.colours_lists());
    output.list(&text)?;
    Ok(Ending::Code(diagnosis.verdict().code()))
}

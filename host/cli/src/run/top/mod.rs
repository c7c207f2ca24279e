//! `lockwright top`: moments of a program, on a screen or as snapshots.

mod guard;
mod kernel;
mod ledgers;
mod process;
mod program;
mod recording;
mod screen;
mod shown;
mod snapshots;
mod source;
mod system;

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ending::Ending;
use super::{doctor, session};
use crate::args::TopArgs;
use crate::ledger_dir::{EXTENSION, Surroundings};
use kernel::KernelLocks;
use ledgers::Ledgers;
use lockwright_console::error::Result;
use lockwright_console::plain;
use process::LookedAt;
use program::Started;
use recording::Recording;
use shown::Shown;
use source::Source;
use system::AllProcesses;

pub use guard::restore_terminal;

/// Runs the command.
///
/// # Errors
/// If there is nothing to look at, or a file cannot be written.
pub fn run(args: TopArgs) -> Result<Ending> {
    // A screen needs a terminal for its cells and one for its keys.
    let to_stream = args.output.output.is_some() || args.output.json.is_some();
    let has_screen = !to_stream && io::stdout().is_terminal() && io::stdin().is_terminal();
    let record = args.record.as_deref().map(recording::Writer::create).transpose()?;
    let (title, source) = open(&args, has_screen)?;
    let shown = Shown {
        title,
        interval: Duration::from_secs_f64(args.interval),
        count: args.count,
        top: args.top,
        record,
    };
    match has_screen {
        true => screen::run(source, shown, args.output.color),
        false => snapshots::run(source, shown, &args.output),
    }
}

/// What the command line names, and what it is called.
fn open(args: &TopArgs, has_screen: bool) -> Result<(String, Box<dyn Source>)> {
    let interval = Duration::from_secs_f64(args.interval);
    if args.system {
        let processes = AllProcesses::open(interval)?;
        return Ok(("the futexes of all processes".to_owned(), Box::new(processes)));
    }
    if args.kernel {
        let kernel = KernelLocks::open(interval)?;
        return Ok(("the kernel's own locks".to_owned(), Box::new(kernel)));
    }
    if let Some(pid) = args.pid {
        let (title, looked_at) = LookedAt::open(pid, interval)?;
        return Ok((title, Box::new(looked_at)));
    }
    if let [only] = &args.what[..]
        && let Some(pid) = doctor::process_id(only)
    {
        let ledgers = Ledgers::of_process(pid, args.all)?;
        return Ok((format!("process {pid}"), Box::new(ledgers)));
    }
    let is_ledger =
        |path: &PathBuf| path.is_dir() || path.extension() == Some(OsStr::new(EXTENSION));
    let paths: Vec<PathBuf> = args.what.iter().map(PathBuf::from).collect();
    if paths.iter().all(is_ledger) {
        let title = match &paths[..] {
            [only] => plain::line(&only.display().to_string()),
            _ => "several ledgers".to_owned(),
        };
        return Ok((title, Box::new(Ledgers::open(paths, args.all)?)));
    }
    if let [only] = &args.what[..] {
        let path = Path::new(only);
        if let Some(recording) = Recording::open(path, interval)? {
            let title = plain::line(&path.display().to_string());
            return Ok((title, Box::new(recording)));
        }
    }
    let program = session::find(args.what.clone())?;
    let around = Surroundings::current();
    let dir = session::run_dir(args.run.ledger_dir.as_deref(), &around)?;
    let title = plain::line(&program.argv[0].to_string_lossy());
    Ok((title, Box::new(Started::start(&program, args, dir, &around, has_screen)?)))
}

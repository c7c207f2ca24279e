//! `lockwright demo`: a real program with a real fault, shipped inside this binary.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::live::Wishes;
use super::{self as run, Ending, Output, Program};
use crate::args::{DemoArgs, LiveArgs, TimeArgs};
use crate::ledger_dir::{RunDir, Surroundings};
use lockwright_analysis::finding::{Grade, Kind, Report};
use lockwright_console::error::{Error, Result};

/// Compiled from [`SOURCE`] by the build script, with debug information.
static BINARY: &[u8] = include_bytes!(env!("LOCKWRIGHT_DEMO"));

static SOURCE: &[u8] = include_bytes!("../../demo/demo.c");

/// The source's file.
const NAME: &str = "demo.c";

/// The directory that the debug information names as the source's. Only when the demo runs is it
/// known where that is, so this much longer than it has to be.
const PLACEHOLDER: &[u8] = env!("LOCKWRIGHT_DEMO_DIR").as_bytes();

/// Runs the command.
///
/// # Errors
/// If the demo cannot be unpacked, run or watched, or its source not be printed.
pub fn run(args: &DemoArgs) -> Result<Ending> {
    if args.source {
        return print_source();
    }
    let around = Surroundings::current();
    let mut dir = RunDir::create(args.run.ledger_dir.as_deref(), &around)?;
    let mut output = Output::open(&args.output, &args.page)?.of(&args.verdict)?;
    let home = dir.executable_home(&around, fits).ok_or_else(|| {
        Error::new("no place to unpack the demo to")
            .help("name a directory on a file system mounted without noexec: --ledger-dir DIR")
    })?;
    let file = home.join("demo");
    let here = if args.run.keep { None } else { leave_source() };
    unpack(&home, here.as_deref(), &file).map_err(|error| {
        Error::new(format!("cannot unpack the demo to {}: {error}", home.display()))
            .help("free some space there, or choose another place with --ledger-dir DIR")
    })?;
    let program = Program { argv: vec![file.clone().into()], file };
    let (live, time) = (LiveArgs::default(), TimeArgs::default());
    let wishes = Wishes::new(&live, &time, &args.checkers.on_deadlock);
    let checked =
        run::check(&program, &args.run, &args.checkers, wishes, dir, &around, &mut output)?;
    let found = checked.report.as_ref().is_some_and(has_planted);
    if !found {
        output.warn(
            &Error::new("the planted deadlock was not found: this lockwright does not work here")
                .help("please report it, with your distribution, glibc version and processor"),
        );
    }
    // Otherwise the file that the report quotes goes with the run's directory.
    match here {
        Some(_) => {
            output.note(&Error::new("demo.c, which the report quotes, is in this directory"))
        }
        None if args.run.keep => {}
        None => {
            let gone = "demo.c is gone with the run: `lockwright demo --source` prints it";
            output
                .note(&Error::new(gone).help("run the demo in a directory that you can write to"));
        }
    }
    Ok(Ending::Code(u8::from(!found)))
}

/// Writes the source to the current directory, so that the reader can open it by the name that the report prints.
/// Returns the directory, if it has the source now. A file of the same name that is another stays as it is.
fn leave_source() -> Option<PathBuf> {
    let here = std::env::current_dir().ok().filter(|dir| dir != Path::new("/") && fits(dir))?;
    let path = here.join(NAME);
    let is_there = match fs::read(&path) {
        Ok(text) => text == SOURCE,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = OpenOptions::new().write(true).create_new(true).open(&path);
            file.and_then(|mut file| file.write_all(SOURCE)).is_ok()
        }
        Err(_) => false,
    };
    is_there.then_some(here)
}

fn print_source() -> Result<Ending> {
    match io::stdout().write_all(SOURCE) {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Ending::Code(0)),
        Err(error) => Err(Error::new(format!("cannot print the source: {error}"))),
        Ok(()) => Ok(Ending::Code(0)),
    }
}

/// The tellers' order against the auditor's. Should they meet, as one day they must, it is a real
/// one.
fn has_planted(report: &Report) -> bool {
    report
        .findings
        .iter()
        .any(|finding| finding.kind == Kind::CircularDependency && finding.grade <= Grade::Likely)
}

fn fits(dir: &Path) -> bool {
    dir.as_os_str().len() <= PLACEHOLDER.len()
}

/// Writes the program to `file` below `home`. Its debug information names the directory that has the source, which is
/// `home` where it is no other.
fn unpack(home: &Path, source: Option<&Path>, file: &Path) -> io::Result<()> {
    let source = match source {
        Some(dir) => dir,
        None => {
            fs::write(home.join(NAME), SOURCE)?;
            home
        }
    };
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o755).open(file)?;
    out.write_all(&relocate(BINARY, PLACEHOLDER, source.as_os_str().as_bytes()))
}

/// `binary` with each C string that begins with `from` begin with `to`, which is no longer,
/// instead. What follows moves up, so that a string stays a string and everything else stays in
/// place.
fn relocate(binary: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert!(to.len() <= from.len(), "a string in a binary cannot grow");
    let mut out = binary.to_vec();
    let mut at = 0;
    while let Some(found) = out[at..].windows(from.len()).position(|window| window == from) {
        let start = at + found;
        let len = out[start..].iter().position(|&byte| byte == 0).unwrap_or(from.len());
        let text = [to, &binary[start + from.len()..start + len]].concat();
        out[start..start + len].fill(0);
        out[start..start + text.len()].copy_from_slice(&text);
        at = start + len;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_move_and_nothing_else_does() {
        let binary = b"AB\0/long/place\0/long/place/x.c\0end";
        let moved = relocate(binary, b"/long/place", b"/tmp");
        assert_eq!(moved, b"AB\0/tmp\0\0\0\0\0\0\0\0/tmp/x.c\0\0\0\0\0\0\0\0end");
    }

    #[test]
    fn the_debug_information_can_be_moved() {
        let moved = relocate(BINARY, PLACEHOLDER, b"/somewhere");
        assert_eq!(moved.len(), BINARY.len());
        assert_ne!(moved, BINARY, "the placeholder is in there");
    }
}

//! `lockwright swap`: a program with its pthread locks replaced.

mod counts;
pub mod locks;
mod mixed;
mod selection;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::ending::Ending;
use super::output::sinks::Sinks;
use super::session;
use super::watch::child::Child;
use super::watch::library::Library;
use crate::args::SwapArgs;
use crate::ledger_dir::{Carried, SWAP_COUNTS, SWAP_FILE_NAME, Surroundings};
use counts::Counts;
use lockwright_console::error::{Error, Result, exit};
use selection::{Patterns, Questions};

/// Built by the build script.
static LIBRARY: Carried = Carried {
    name: SWAP_FILE_NAME,
    contents: include_bytes!(env!("LOCKWRIGHT_SWAP_SO")),
    id: env!("LOCKWRIGHT_SWAP_SO_ID"),
};

/// The word to give instead of a lock's name.
const LIST: &str = "list";

/// Tells the library that it has to ask which locks are replaced.
const ONLY: &str = "LOCKWRIGHT_SWAP_ONLY";

/// A signal or the program's end wakes us earlier.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Runs the command.
///
/// # Errors
/// If there is no such lock, or the program cannot be run, or its locks not be replaced.
pub fn run(args: SwapArgs) -> Result<Ending> {
    let mut output = Sinks::open(&args.output)?;
    if args.lock == LIST {
        output.list(&locks::list())?;
        return Ok(Ending::Code(0));
    }
    let lock = locks::find(&args.lock)?;
    if args.program.is_empty() {
        return Err(Error::with_code(exit::USAGE, "no program to run")
            .help("name one after `--`: lockwright swap --lock hybrid -- PROGRAM"));
    }
    let patterns = Patterns::new(&args.only, &args.except)?;
    let program = session::find(args.program)?;
    mixed::check(&program.file)?;
    let around = Surroundings::current();
    let mut dir = session::run_dir(args.ledger_dir.as_deref(), &around)?;
    let library = Library::unpack(&LIBRARY, &mut dir, &around)?;
    let file = dir.make_shared(SWAP_COUNTS, counts::BYTES).map_err(|error| {
        Error::new(format!("cannot count in {}: {error}", dir.path().display()))
            .help("free some space there, or choose another place with --ledger-dir DIR")
    })?;
    let questions = patterns.as_ref().map(|_| Questions::open(&dir)).transpose()?;
    let told = patterns.as_ref().zip(questions.as_ref()).map(|(all, asked)| asked.told(all));
    let mut child = Child::spawn(&program, |command| {
        load(command, library.path());
        command.env("LOCKWRIGHT_SWAP", lock.name).env("LOCKWRIGHT_SWAP_COUNTS", &file);
        match &told {
            Some(told) => command.env(ONLY, told),
            // An outer lockwright's.
            None => command.env_remove(ONLY),
        };
    })?;
    let given = patterns.as_ref().map(|all| all.given().to_vec()).unwrap_or_default();
    // The thread comes after the child: until then, signals would end it.
    if let (Some(patterns), Some(questions)) = (patterns, questions) {
        questions.answer(patterns);
    }
    output.program_started();
    let status = loop {
        let ended = child.wait(PATIENCE);
        if let Some(status) =
            ended.map_err(|error| Error::new(format!("cannot wait for the program: {error}")))?
        {
            break status;
        }
    };
    drop(child);
    let counts = Counts::read(&file);
    let ending = Ending::of_program(status);
    if counts.programs() == 0 {
        let error = Error::new("nothing was replaced: the swap library did not come to run")
            .help("if it is a script or launcher: does it clear the environment (LD_PRELOAD), or start a static or setuid program?");
        // A program that failed has said why, and how it ended matters more than this.
        if status.success() {
            return Err(error);
        }
        output.warn(&error);
        return Ok(ending);
    }
    output.write_json_text(&format!("{:#}\n", counts.json(lock.name, &given)))?;
    output.note(&Error::new(counts.sentence(lock.name)));
    counts.warnings(&given).iter().for_each(|warning| output.warn(warning));
    Ok(ending)
}

/// Has `command` run with the library in it, after those that are preloaded already: one that
/// watches locks is to see what the program does, and ours is to be the next for it.
fn load(command: &mut Command, library: &Path) {
    let before = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    command.env("LD_PRELOAD", preload_list(&before, library));
}

/// Without the library of an outer `lockwright swap`.
fn preload_list(before: &OsStr, library: &Path) -> OsString {
    let is_ours = |entry: &&Path| entry.file_name().is_some_and(|name| name == SWAP_FILE_NAME);
    let others = before
        .as_bytes()
        .split(|b| b" :".contains(b))
        .map(|entry| Path::new(OsStr::from_bytes(entry)))
        .filter(|entry| !entry.as_os_str().is_empty() && !is_ours(entry));
    let list: Vec<&OsStr> = others.chain([library]).map(Path::as_os_str).collect();
    list.join(OsStr::new(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_carries_a_shared_library() {
        assert_eq!(&LIBRARY.contents[..4], b"\x7fELF");
    }

    #[test]
    fn what_was_preloaded_stays_before() {
        let list = |before: &str| preload_list(OsStr::new(before), Path::new("/run/x.so"));
        assert_eq!(list(""), "/run/x.so");
        assert_eq!(
            list("/a/liblockwright.so /opt/y.so"),
            "/a/liblockwright.so:/opt/y.so:/run/x.so"
        );
        assert_eq!(list("/a/liblockwright_swap.so"), "/run/x.so");
    }
}

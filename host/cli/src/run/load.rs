//! Opens ledgers, and reports those that cannot be opened.

use std::path::{Path, PathBuf};

use lockwright_ledger::{Ledger, OpenError};

use crate::ledger_dir::{EXTENSION, ledgers_in};
use lockwright_analysis::finding::coverage::{Gap, Missing};
use lockwright_console::error::{Error, Result};

/// Opens each ledger, with those of sandboxed children that are in its file; the errors are of
/// those that could not be.
pub fn open_all(paths: &[PathBuf]) -> (Vec<Ledger>, Vec<Error>) {
    let (mut ledgers, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        match Ledger::open(path) {
            Ok(ledger) => {
                ledgers.push(ledger);
                ledgers.extend(Ledger::annexes(path));
            }
            Err(error) => errors.push(explain(path, &error)),
        }
    }
    ledgers.sort_by_key(|ledger| (ledger.header().start_ns, ledger.header().pid));
    (ledgers, errors)
}

/// As [`open_all`], of a user who is to `hear` of each that could not be opened; and what is missing for that.
///
/// # Errors
/// If none could.
pub fn open_some(paths: &[PathBuf], hear: impl Fn(&Error)) -> Result<(Vec<Ledger>, Vec<Gap>)> {
    let (ledgers, mut errors) = open_all(paths);
    let last = if ledgers.is_empty() { errors.pop() } else { None };
    errors.iter().for_each(hear);
    match last {
        Some(error) => Err(error),
        None => Ok((ledgers, missing(&errors))),
    }
}

/// What is missing because ledgers could not be opened.
pub fn missing(errors: &[Error]) -> Vec<Gap> {
    errors.iter().map(|error| gap(error, "ledger-unreadable")).collect()
}

/// An error as a gap in a report.
pub fn gap(error: &Error, reason: &'static str) -> Gap {
    let join = |texts: &mut dyn Iterator<Item = &str>| texts.collect::<Vec<_>>().join("; ");
    let (why, help) = (join(&mut error.reasons()), join(&mut error.remedies()));
    Gap { pid: 0, missing: Missing::Ledger { reason, why, help } }
}

/// The ledgers that the user's arguments name: files, and directories of a run.
///
/// # Errors
/// If there is none at one of them.
pub fn expand(arguments: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for argument in arguments {
        let shown = argument.display();
        if !argument.is_dir() {
            paths.push(argument.clone());
            continue;
        }
        let found = ledgers_in(argument)
            .map_err(|error| Error::new(format!("cannot read directory {shown}: {error}")))?;
        if found.is_empty() {
            return Err(Error::new(format!("no ledger in {shown}")).help(format!(
                "name a run's directory, which has files `*.{EXTENSION}`; \
                 `lockwright check --keep` tells where it is"
            )));
        }
        paths.extend(found);
    }
    Ok(paths)
}

/// The runs that the user's arguments name: a ledger, a directory of one run, or a directory with
/// those of several, as `--ledger-dir` makes it.
///
/// # Errors
/// If a directory cannot be read.
pub fn runs(arguments: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut runs = Vec::new();
    for argument in arguments {
        let is_one =
            !argument.is_dir() || ledgers_in(argument).is_ok_and(|found| !found.is_empty());
        let below = if is_one { Vec::new() } else { runs_in(argument)? };
        match below.is_empty() {
            true => runs.push(argument.clone()),
            false => runs.extend(below),
        }
    }
    Ok(runs)
}

/// The directories in `dir` that have ledgers, by name, and so by the time of their run.
fn runs_in(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir)
        .map_err(|error| Error::new(format!("cannot read directory {}: {error}", dir.display())))?;
    let below = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let mut runs: Vec<PathBuf> =
        below.filter(|path| ledgers_in(path).is_ok_and(|found| !found.is_empty())).collect();
    runs.sort();
    Ok(runs)
}

fn explain(path: &Path, error: &OpenError) -> Error {
    let shown = path.display();
    let wrapped = Error::new(format!("cannot read ledger {shown}: {error}"));
    match error {
        OpenError::Io(error) if error.kind() == std::io::ErrorKind::NotFound => wrapped.help(
            "ledgers are removed after the report: `lockwright check --keep` keeps them and tells where",
        ),
        OpenError::Io(_) => wrapped,
        OpenError::NotALedger => wrapped.help(format!(
            "ledgers are files `*.{EXTENSION}`; a process killed in its first moments leaves an empty one"
        )),
        OpenError::Version { .. } => wrapped
            .help("use the lockwright that wrote it, or run the program again under this one"),
        OpenError::Truncated { .. } => wrapped
            .help("copy the whole file again; it is sparse: `cp --sparse=always`, `tar -S`, `rsync -S`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_tells_the_remedy() {
        let text = |error: OpenError| explain(Path::new("x.lwl"), &error).to_string();
        assert!(text(OpenError::Version { found: 9 }).contains("ledger format 9"));
        assert!(text(OpenError::Version { found: 9 }).contains("run the program again"));
        assert!(text(OpenError::Truncated { len: 20 }).contains("sparse"));
        assert!(text(OpenError::NotALedger).contains("`*.lwl`"));
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert!(text(OpenError::Io(missing)).contains("--keep"));
    }

    #[test]
    fn a_directory_without_ledgers_is_an_error() {
        let error = expand(&[PathBuf::from("/proc/self/fdinfo")]).unwrap_err();
        assert!(error.to_string().contains("no ledger in"));
    }
}

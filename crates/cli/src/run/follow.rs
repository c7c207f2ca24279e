//! `--follow`: which of the processes that the program starts are watched. The preload library decides, in each;
//! it leaves a record of those that are not.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use crate::args::RunArgs;
use crate::error::{Error, Result};
use crate::finding::Unwatched;

/// The record, in the run's directory: `<pid> <executable>`, NUL terminated, for each process.
const RECORD: &str = "unwatched";

/// Whom to watch.
#[derive(Debug)]
pub struct Follow {
    /// Patterns, or `none`; `None`: everybody.
    names: Option<String>,
}

impl Follow {
    /// What the user wants. Makes the record in `dir`, where somebody may be left out.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn of(args: &RunArgs, dir: &Path) -> Result<Self> {
        if args.follow.iter().any(|name| name == "all") {
            return Ok(Self { names: None });
        }
        make_record(dir)
            .map_err(|error| Error::new(format!("cannot write in {}: {error}", dir.display())))?;
        // `none` beside names adds nobody.
        let names: Vec<&str> =
            args.follow.iter().map(String::as_str).filter(|name| *name != "none").collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(",") };
        Ok(Self { names: Some(names) })
    }

    /// Tells the library in `command`.
    pub fn tell(&self, command: &mut Command) {
        if let Some(names) = &self.names {
            command.env("LOCKWRIGHT_FOLLOW", names);
            command.env("LOCKWRIGHT_STARTER", std::process::id().to_string());
        }
    }
}

fn make_record(dir: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(dir.join(RECORD))?;
    // SAFETY: no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        // Programs may become somebody else.
        file.set_permissions(Permissions::from_mode(0o622))?;
    }
    Ok(())
}

/// The processes of the run in `dir` that are known not to have been watched, by executable.
pub fn unwatched(dir: &Path) -> Vec<Unwatched> {
    let record = fs::read(dir.join(RECORD)).unwrap_or_default();
    let mut processes: Vec<Unwatched> = record
        .split(|&b| b == 0)
        .filter_map(|entry| parse(&String::from_utf8_lossy(entry)))
        .collect();
    // A process may have executed one program after another, each of which left a record.
    processes.sort_by(|a, b| (&a.exe, a.pid).cmp(&(&b.exe, b.pid)));
    processes.dedup();
    processes
}

fn parse(entry: &str) -> Option<Unwatched> {
    let (pid, exe) = entry.split_once(' ')?;
    Some(Unwatched { pid: pid.parse().ok()?, exe: exe.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_far_as_they_make_sense() {
        let dir = std::env::temp_dir().join(format!("lockwright-follow-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        assert_eq!(unwatched(&dir), []);
        fs::write(dir.join(RECORD), "12 /bin/b c\0x /bin/d\0\x0011 /bin/b c\x0012 /bin/b c\09")
            .unwrap();
        let of = |pid| Unwatched { pid, exe: "/bin/b c".into() };
        assert_eq!(unwatched(&dir), [of(11), of(12)]);
        fs::remove_dir_all(dir).unwrap();
    }
}

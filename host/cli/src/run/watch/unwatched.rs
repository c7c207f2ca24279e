//! Processes of a run that were not watched, and why. The preload library keeps two records in the
//! run's directory (`preload/record.rs`): of those that `--follow` leaves out, and of what is
//! executed. Who executed something and left no ledger from then on was not watched; the file says
//! why, as far as it can be known.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lockwright_ledger::Ledger;

use crate::ledger_dir::{self, RunDir};
use crate::run::path_search;
use crate::run::target::{self, Obstacle};
use lockwright_analysis::finding::Unwatched;
use lockwright_analysis::finding::coverage::{Gap, Missing};
use lockwright_console::error::{Error, Result};

/// Those that `--follow` leaves out: `<pid> <executable>`, NUL terminated, for each process.
const LEFT_OUT: &str = "unwatched";

/// What is executed: `<sort> <pid> <CLOCK_MONOTONIC, ns> <path>`, NUL terminated. The sort is `x`,
/// `c` where the environment was such that the library is not loaded, and `f` where the process
/// could not execute what it said last. Programs that were started without the library are `u` if
/// it does not work in them, `h` if it could not be reached there, and `n` if `--follow` is `none`.
/// Records of processes that could not reach this file are in their ledgers.
const EXECUTED: &str = "executed";

/// The reason of those that could not reach the run's directory.
pub const HIDDEN: &str = "hidden";

const HIDDEN_WHY: &str = "lockwright's directory cannot be seen from there";

/// The reason of those whose environment lacks the variables.
pub const ENVIRONMENT: &str = "environment";

/// A ledger's number of records that it had no room for is not to be trusted further.
const MOST_DROPPED: u32 = 1 << 16;

/// Makes the records in a run's directory, for processes of the run to write to.
///
/// # Errors
/// If they cannot be made.
pub fn make_records(dir: &RunDir) -> Result<()> {
    [LEFT_OUT, EXECUTED].into_iter().try_for_each(|name| dir.make_record(name)).map_err(|error| {
        Error::new(format!("cannot write in {}: {error}", dir.path().display()))
            .help("name another directory: --ledger-dir DIR")
    })
}

/// The processes of the run in `dir` that are known not to have been watched, by executable.
/// `ledgers` are the run's.
pub fn processes(dir: &Path, ledgers: &[Ledger]) -> Vec<Unwatched> {
    let starts: Vec<Start> = ledgers.iter().map(Start::of).collect();
    let left_out = entries(dir, LEFT_OUT).filter_map(|entry| left_out(&entry)).collect();
    let kept = ledgers.iter().flat_map(Ledger::kept_records);
    let kept = kept.map(|record| String::from_utf8_lossy(record).into_owned());
    let executed = entries(dir, EXECUTED).chain(kept);
    let executed = executed.filter_map(|entry| Event::parse(&entry)).collect();
    // One look at a file, however often it was executed.
    let mut known = HashMap::new();
    let silent = silent(executed, &starts).into_iter().map(|silent| {
        let Silent { pid, path, how } = silent;
        let file = known.entry(path).or_insert_with_key(|path| File::found(path));
        file.explain(pid, how)
    });
    let mut processes: Vec<Unwatched> = left_out;
    processes.extend(silent);
    let dropped: u32 = ledgers.iter().map(|ledger| ledger.header().kept_dropped).sum();
    processes.extend((0..dropped.min(MOST_DROPPED)).map(|_| Unwatched {
        pid: 0,
        exe: "?".to_owned(),
        reason: HIDDEN,
        why: HIDDEN_WHY.to_owned(),
    }));
    // A process may have executed one program after another, each of which left a record.
    processes
        .sort_by(|a, b| (a.reason, &a.exe, &a.why, a.pid).cmp(&(b.reason, &b.exe, &b.why, b.pid)));
    processes.dedup_by(|a, b| a == b && a.pid != 0);
    processes
}

/// The entries of a record, as far as they make sense; none where there is no record.
fn entries(dir: &Path, name: &str) -> impl Iterator<Item = String> {
    ledger_dir::records(dir, name).into_iter().map(|entry| match String::from_utf8(entry) {
        Ok(entry) => entry,
        Err(other) => String::from_utf8_lossy(other.as_bytes()).into_owned(),
    })
}

fn left_out(entry: &str) -> Option<Unwatched> {
    let (pid, exe) = entry.split_once(' ')?;
    let why = FOLLOW_WHY.to_owned();
    Some(Unwatched { pid: pid.parse().ok()?, exe: exe.to_owned(), reason: FOLLOW, why })
}

/// The reason of those that `--follow` leaves out.
const FOLLOW: &str = "follow";
const FOLLOW_WHY: &str = "by --follow";

/// The time at which a ledger was begun, and its process.
#[derive(Clone, Copy, Debug)]
struct Start {
    pid: u32,
    at_ns: u64,
}

impl Start {
    fn of(ledger: &Ledger) -> Self {
        Self { pid: ledger.header().pid, at_ns: ledger.header().start_ns }
    }
}

/// An entry of the record of what is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Event {
    pid: u32,
    at_ns: u64,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Executes { path: String, how: How },
    Failed,
}

/// How a program was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// With the library.
    Passed,
    /// In an environment without it.
    Cleared,
    /// Without, as it does not work there.
    Unable,
    /// Without, as it cannot be reached there.
    Hidden,
    /// Without, as nobody but the first process is watched.
    LeftOut,
}

impl Event {
    fn parse(entry: &str) -> Option<Self> {
        let mut words = entry.splitn(4, ' ');
        let sort = words.next()?;
        let (pid, at_ns) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let path = words.next()?.to_owned();
        let what = match sort {
            "f" => return Some(Self { pid, at_ns, what: What::Failed }),
            "x" => How::Passed,
            "c" => How::Cleared,
            "u" => How::Unable,
            "h" => How::Hidden,
            "n" => How::LeftOut,
            _ => return None,
        };
        let what = What::Executes { path, how: what };
        Some(Self { pid, at_ns, what })
    }
}

/// A program that was executed without a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Silent {
    pid: u32,
    path: String,
    how: How,
}

/// The programs without a ledger: the process began none after it had executed the program and
/// before it executed another.
fn silent(mut events: Vec<Event>, starts: &[Start]) -> Vec<Silent> {
    // Parents record the children that they spawn, and do so late.
    events.sort_by_key(|event| event.at_ns);
    let mut starts: Vec<(u32, u64)> = starts.iter().map(|start| (start.pid, start.at_ns)).collect();
    starts.sort_unstable();
    // The event that follows in the same process: from the last back, so that each is looked at
    // once.
    let mut nexts: HashMap<u32, &Event> = HashMap::new();
    let mut silent = Vec::new();
    for event in events.iter().rev() {
        let next = if event.pid == 0 { None } else { nexts.insert(event.pid, event) };
        let What::Executes { path, how } = &event.what else { continue };
        if next.is_some_and(|next| next.what == What::Failed) {
            continue;
        }
        let until = next.map_or(u64::MAX, |next| next.at_ns);
        let first = starts.partition_point(|&start| start < (event.pid, event.at_ns));
        let is_begun = |&(pid, at_ns): &(u32, u64)| pid == event.pid && at_ns < until;
        if !starts.get(first).is_some_and(is_begun) {
            silent.push(Silent { pid: event.pid, path: path.clone(), how: *how });
        }
    }
    silent.reverse();
    silent
}

/// What was executed.
struct File {
    exe: String,
    /// What is in the way of watching it, and the interpreter that it is in the way of, if that is
    /// a script's.
    obstacle: Option<(Obstacle, Option<String>)>,
}

impl File {
    /// What is there now at the path that was executed.
    fn found(path: &str) -> Self {
        let search = std::env::var_os("PATH");
        let found = path_search::find(path.as_ref(), search.as_deref()).ok();
        // Only what can be executed is looked into: the record is not to be trusted with more.
        let target = found.as_ref().and_then(|file| target::find(file).ok());
        let file = found.unwrap_or_else(|| PathBuf::from(path));
        let obstacle = target.and_then(|target| {
            let by = (!target.scripts.is_empty()).then(|| target.file.display().to_string());
            target.obstacle.map(|obstacle| (obstacle, by))
        });
        // Without what it has of `.` and doubled slashes.
        let exe: PathBuf = file.components().collect();
        Self { exe: exe.display().to_string(), obstacle }
    }

    /// What is known of the reason.
    fn explain(&self, pid: u32, how: How) -> Unwatched {
        let (reason, why) = match (how, &self.obstacle) {
            (How::LeftOut, _) => (FOLLOW, FOLLOW_WHY.to_owned()),
            (_, Some((obstacle, by))) => {
                let by = by.as_ref().map(|by| format!("of {by}, which runs it: "));
                (obstacle.id(), format!("{}{}", by.unwrap_or_default(), obstacle.what()))
            }
            (How::Hidden, None) => (HIDDEN, HIDDEN_WHY.to_owned()),
            (How::Unable, None) => {
                ("unloadable", "lockwright's library cannot be loaded into it".to_owned())
            }
            (How::Cleared, None) => (
                ENVIRONMENT,
                "its environment was made without LD_PRELOAD and LOCKWRIGHT_DIR".to_owned(),
            ),
            (How::Passed, None) => ("no-ledger", "it left no ledger".to_owned()),
        };
        Unwatched { pid, exe: self.exe.clone(), reason, why }
    }
}

/// What of that makes a run one that was not watched whole: what could have been watched, and that
/// is all that there was (`first` is the process that lockwright started), or somebody hid the
/// directory. Children that cannot be watched are no gap: no option would change that.
pub fn gaps(unwatched: &[Unwatched], first: Option<u32>) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    for process in unwatched {
        let missing = match process.reason {
            HIDDEN => Missing::Hidden { exe: process.exe.clone() },
            ENVIRONMENT if Some(process.pid) == first => {
                Missing::Environment { exe: process.exe.clone() }
            }
            _ => continue,
        };
        if gaps.iter().all(|gap| gap.missing != missing) {
            // It has no ledger whose notes could have it.
            gaps.push(Gap { pid: 0, missing });
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn records_are_read_as_far_as_they_make_sense() {
        let dir = std::env::temp_dir().join(format!("lockwright-follow-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        assert_eq!(processes(&dir, &[]), []);
        let record = "t 12 /bin/b c\0t x /bin/d\0\0 11 /bin/b c\0t 12 /bin/b c\x009";
        fs::write(dir.join(LEFT_OUT), record).unwrap();
        let executed = "t x 7 1 /no/such file\0t x 8\0t y 9 1 /a\0\0t x 7 q /a\0 c 10 5 /no/such";
        fs::write(dir.join(EXECUTED), executed).unwrap();
        let found = processes(&dir, &[]);
        let found: Vec<_> = found.iter().map(|p| (p.pid, p.exe.as_str(), p.reason)).collect();
        let expected = [
            (10, "/no/such", "environment"),
            (11, "/bin/b c", "follow"),
            (12, "/bin/b c", "follow"),
            (7, "/no/such file", "no-ledger"),
        ];
        assert_eq!(found, expected);
        fs::remove_dir_all(dir).unwrap();
    }

    /// What `record` has of which none of the ledgers that were begun at these times tells.
    fn paths(record: &str, starts: &[(u32, u64)]) -> Vec<String> {
        let events = record.split(", ").map(|entry| Event::parse(entry).unwrap()).collect();
        let starts: Vec<Start> = starts.iter().map(|&(pid, at_ns)| Start { pid, at_ns }).collect();
        silent(events, &starts).into_iter().map(|silent| silent.path).collect()
    }

    #[test]
    fn who_left_a_ledger_was_watched() {
        assert_eq!(paths("x 7 100 /a", &[(7, 105)]), [] as [&str; 0]);
        assert_eq!(paths("x 7 100 /a", &[(7, 95), (8, 105)]), ["/a"], "its own, and later");
    }

    #[test]
    fn one_program_after_another() {
        let record = "x 7 100 /a, x 7 200 /b, x 7 300 /c";
        assert_eq!(paths(record, &[(7, 101), (7, 302)]), ["/b"]);
        let late = "x 7 200 /b, x 7 300 /c, x 7 100 /a";
        assert_eq!(paths(late, &[(7, 101), (7, 302)]), ["/b"], "a child that was spawned");
    }

    #[test]
    fn what_could_not_be_executed_is_none() {
        let record = "x 7 100 /a/p, f 7 101 , x 7 102 /b/p, x 8 100 /c, f 8 101 ";
        assert_eq!(paths(record, &[(7, 103)]), [] as [&str; 0]);
        assert_eq!(paths(record, &[]), ["/b/p"]);
    }

    #[test]
    fn shells_of_unknown_number() {
        assert_eq!(paths("c 0 100 /bin/sh, c 0 200 /bin/sh", &[]), ["/bin/sh", "/bin/sh"]);
    }
}

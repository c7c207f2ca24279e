//! How a process ended: by `exit`, `_exit`, `quick_exit`, exec or a signal, or not yet. Its ledger
//! says what the process said itself; only the process's parent knows of a death by a signal.

use std::collections::HashSet;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use lockwright_ledger::Ledger;
use lockwright_ledger::layout::{EXIT_CODE_KNOWN, process_state};
use lockwright_ledger::rows::{Finding, finding_kind};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::signal;

/// How a process ended. The codes are known if the process or who waited for it told them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By `exit`, or by a return from `main`.
    Exit(Option<u8>),
    /// By `_exit`, `_Exit` or the system call: no handlers of exit ran.
    ExitAtOnce(Option<u8>),
    /// By `quick_exit`.
    QuickExit(Option<u8>),
    /// It called exec, and went on as another program.
    Exec,
    /// Killed by this signal.
    Signal(i32),
    /// It has not ended.
    Running,
    /// Nobody told.
    #[default]
    Unknown,
}

impl ProcessEnd {
    /// What the ledger says.
    pub fn of(ledger: &Ledger) -> Self {
        let header = ledger.header();
        let code = (header.exit_code & EXIT_CODE_KNOWN != 0).then_some(header.exit_code as u8);
        match header.state {
            process_state::EXITED => Self::Exit(code),
            process_state::EXITED_AT_ONCE => Self::ExitAtOnce(code),
            process_state::QUICK_EXITED => Self::QuickExit(code),
            process_state::EXECUTED => Self::Exec,
            _ => Self::Unknown,
        }
    }

    /// What is known of it once the process was waited for, with this status.
    #[must_use]
    pub fn with_status(self, status: ExitStatus) -> Self {
        let code = status.code().map(|code| code as u8);
        match (self, status.signal()) {
            // What was executed ended so.
            (Self::Exec, _) => self,
            (_, Some(signal)) => Self::Signal(signal),
            (Self::Exit(_), None) => Self::Exit(code),
            (Self::QuickExit(_), None) => Self::QuickExit(code),
            _ => Self::ExitAtOnce(code),
        }
    }

    /// The process ended itself. Threads that waited at that time are how many programs end.
    pub fn is_exit(self) -> bool {
        matches!(self, Self::Exit(_) | Self::ExitAtOnce(_) | Self::QuickExit(_))
    }

    /// In a word, for machines.
    pub fn id(self) -> &'static str {
        match self {
            Self::Exit(_) => "exit",
            Self::ExitAtOnce(_) => "_exit",
            Self::QuickExit(_) => "quick_exit",
            Self::Exec => "exec",
            Self::Signal(_) => "signal",
            Self::Running => "running",
            Self::Unknown => "unknown",
        }
    }

    fn code(self) -> Option<u8> {
        match self {
            Self::Exit(code) | Self::ExitAtOnce(code) | Self::QuickExit(code) => code,
            _ => None,
        }
    }

    fn signal(self) -> Option<i32> {
        match self {
            Self::Signal(signal) => Some(signal),
            _ => None,
        }
    }

    /// For a column of a table.
    pub fn short(self) -> String {
        match self {
            Self::Signal(signal) => signal::name(signal as u32),
            _ => match self.code() {
                None | Some(0) => self.id().to_owned(),
                Some(code) => format!("{} {code}", self.id()),
            },
        }
    }
}

impl Serialize for ProcessEnd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("how", self.id())?;
        map.serialize_entry("code", &self.code())?;
        map.serialize_entry("signal", &self.signal())?;
        map.end()
    }
}

/// How processes ended by what their parents' ledgers say: of those that signals killed.
#[derive(Debug, Default)]
pub(crate) struct KilledChildren(Vec<KilledChild>);

#[derive(Clone, Copy, Debug)]
struct KilledChild {
    parent: u32,
    pid: u32,
    /// When the parent had waited for it, CLOCK_MONOTONIC.
    at_ns: u64,
    /// As wait(2) has it.
    status: i32,
}

impl KilledChildren {
    /// Those that `ledgers` name.
    pub(crate) fn of(ledgers: &[Ledger]) -> Self {
        let of_one = |ledger: &Ledger| {
            let parent = ledger.header().pid;
            let rows = ledger.rows::<Finding>().map(|(_, row)| row);
            let rows = rows.filter(|row| row.kind == finding_kind::CHILD_KILLED);
            rows.map(move |row| KilledChild {
                parent,
                pid: row.addr as u32,
                at_ns: row.time_ns,
                status: row.detail as i32,
            })
            .collect::<Vec<_>>()
        };
        Self(ledgers.iter().flat_map(of_one).collect())
    }

    /// How the process of `ledger` ended. One that has gone on with another program ended with that.
    pub(crate) fn end(&self, ledger: &Ledger) -> ProcessEnd {
        let (end, header) = (ProcessEnd::of(ledger), ledger.header());
        // Ids are given again. The first wait after the process began was for it.
        let killed = self.0.iter().filter(|child| {
            (child.parent, child.pid) == (header.ppid, header.pid) && child.at_ns >= header.start_ns
        });
        match killed.min_by_key(|child| child.at_ns) {
            Some(child) if end == ProcessEnd::Unknown => {
                end.with_status(ExitStatus::from_raw(child.status))
            }
            _ => end,
        }
    }
}

/// When a process ended, as who waited for it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The process.
    pub pid: u32,
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Its status, as wait(2) has it.
    #[serde(default)]
    pub status: Option<i32>,
}

/// A process of a report.
pub trait Ended {
    /// Its process id, what its ledger is known by, and how it ended as far as that says.
    fn end(&mut self) -> (u32, u64, &mut ProcessEnd);
}

/// What is known of the ends of a run's processes otherwise than by their ledgers.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// The ends of processes that were waited for.
    pub waited_for: Vec<End>,
    /// Tokens of ledgers whose processes still run.
    running: HashSet<u64>,
}

impl Ends {
    /// With those of the ledgers at `running`, whose processes still run.
    pub fn new<'p>(waited_for: Vec<End>, running: impl IntoIterator<Item = &'p Path>) -> Self {
        Self { waited_for, running: running.into_iter().filter_map(token_of).collect() }
    }

    /// Completes the ends of these processes where the ledgers do not have them.
    pub fn settle<P: Ended>(&self, processes: &mut [P]) {
        for process in processes {
            let (pid, token, end) = process.end();
            let status =
                self.waited_for.iter().find(|end| end.pid == pid).and_then(|end| end.status);
            if *end == ProcessEnd::Unknown && self.running.contains(&token) {
                *end = ProcessEnd::Running;
            } else if let Some(status) = status {
                *end = end.with_status(ExitStatus::from_raw(status));
            }
        }
    }
}

/// What the ledger at `path` is known by: its file is named by that.
fn token_of(path: &Path) -> Option<u64> {
    u64::from_str_radix(path.file_stem()?.to_str()?.split_once('-')?.1, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Process(u32, u64, ProcessEnd);

    impl Ended for Process {
        fn end(&mut self) -> (u32, u64, &mut ProcessEnd) {
            (self.0, self.1, &mut self.2)
        }
    }

    #[test]
    fn who_waited_for_a_process_knows_how_it_ended() {
        use ProcessEnd::*;
        let settled = |end, status: i32| {
            let ends = Ends {
                waited_for: vec![End { pid: 7, at_ns: 1, status: Some(status) }],
                running: HashSet::from([9]),
            };
            let mut processes =
                [Process(7, 1, end), Process(8, 9, Unknown), Process(8, 2, Unknown)];
            ends.settle(&mut processes);
            assert_eq!([processes[1].2, processes[2].2], [Running, Unknown]);
            processes[0].2
        };
        assert_eq!(settled(Exit(None), 3 << 8), Exit(Some(3)));
        assert_eq!(settled(Exit(None), libc::SIGSEGV), Signal(libc::SIGSEGV), "after its handlers");
        assert_eq!(settled(QuickExit(Some(1)), 1 << 8), QuickExit(Some(1)));
        assert_eq!(settled(Unknown, 0), ExitAtOnce(Some(0)), "by the system call");
        assert_eq!(settled(Unknown, libc::SIGKILL), Signal(libc::SIGKILL));
        assert_eq!(settled(Exec, 0), Exec);
    }

    #[test]
    fn in_a_column() {
        use ProcessEnd::*;
        let short = [Exit(Some(0)), Exit(Some(3)), ExitAtOnce(None), Exec, Signal(9), Running];
        let short = short.map(ProcessEnd::short);
        assert_eq!(short, ["exit", "exit 3", "_exit", "exec", "SIGKILL", "running"]);
    }

    #[test]
    fn a_ledger_is_named_by_its_token() {
        assert_eq!(token_of(Path::new("/x/12-00000000000000ff.lwl")), Some(255));
        assert_eq!(token_of(Path::new("/x/ledger.lwl")), None);
    }
}

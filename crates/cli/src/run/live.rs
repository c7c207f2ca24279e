//! Looks at the ledgers of running processes for real deadlocks, and ends them if wanted.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockwright_ledger::Ledger;

use super::load;
use super::output::Output;
use crate::analysis;
use crate::args::OnDeadlock;
use crate::error::{Error, Result};
use crate::finding::{Finding, Grade, Report};
use crate::ledger_dir::{ledgers_in, writer_of};
use crate::progress::Silent;

/// How long a program's own handler of SIGABRT may take. As in abort(3), it must not return.
const ABORT_PATIENCE: Duration = Duration::from_secs(2);

/// Deadlocks seen so far.
#[derive(Debug, Default)]
pub struct Deadlocks {
    counted: HashMap<PathBuf, u32>,
    told: Vec<Finding>,
    aborted: Vec<Aborted>,
}

/// A process that was sent SIGABRT.
#[derive(Debug)]
struct Aborted {
    pid: u32,
    ledger: PathBuf,
    when: Instant,
}

impl Deadlocks {
    /// Ledgers in which there are more deadlocks than at the last call. Cheap: reads one word of each.
    pub fn poll(&mut self, dir: &Path) -> Vec<PathBuf> {
        let mut grown = ledgers_in(dir).unwrap_or_default();
        // A ledger that is being born cannot be read yet; the next call will see it.
        grown.retain(|path| match Ledger::peek_deadlocks(path) {
            Ok(0) | Err(_) => false,
            Ok(now) => self.counted.insert(path.clone(), now).unwrap_or(0) < now,
        });
        grown
    }

    /// Reports the deadlocks in a live ledger and does what is to be done about its process.
    /// `program` stands in where the ledger does not tell which process that is.
    ///
    /// # Errors
    /// If the report cannot be written.
    pub fn handle(
        &mut self,
        ledger: &Path,
        program: u32,
        action: OnDeadlock,
        output: &mut Output,
    ) -> Result<()> {
        let (ledgers, _) = load::open_all(&[ledger.to_owned()]);
        let mut report = analysis::analyse(&ledgers, &Silent);
        report.findings.retain(|f| f.grade == Grade::Deadlocked && !self.has_told(f));
        if !report.findings.is_empty() {
            output.show(&report)?;
        }
        self.told.append(&mut report.findings);
        let pid = writer_of(ledger).unwrap_or(program);
        output.note(&act(pid, action));
        if action == OnDeadlock::Abort {
            let ledger = ledger.to_owned();
            self.aborted.push(Aborted { pid, ledger, when: Instant::now() });
        }
        Ok(())
    }

    /// Kills what has outlived its SIGABRT: whoever catches or blocks that and goes on would hang for
    /// ever. A core file in the making is let finish.
    pub fn follow_up(&mut self, output: &Output) {
        self.aborted.retain(|aborted| {
            if aborted.when.elapsed() < ABORT_PATIENCE {
                return true;
            }
            if writer_of(&aborted.ledger) == Some(aborted.pid) && withstands_abort(aborted.pid) {
                output.note(&act(aborted.pid, OnDeadlock::Kill).note("SIGABRT did not end it"));
            }
            false
        });
    }

    /// What is left to tell of a report at the end.
    pub fn untold(&self, report: &Report) -> Report {
        let mut rest = report.clone();
        rest.findings.retain(|finding| !self.has_told(finding));
        rest
    }

    /// Whether anything was told.
    pub fn any_told(&self) -> bool {
        !self.told.is_empty()
    }

    /// A finding is known by what its reader sees of it first.
    fn has_told(&self, finding: &Finding) -> bool {
        self.told.iter().any(|told| {
            (told.pid, told.kind, told.grade, &told.title)
                == (finding.pid, finding.kind, finding.grade, &finding.title)
        })
    }
}

/// Whether the process catches, ignores or blocks SIGABRT, and is not about to leave a core file.
fn withstands_abort(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    withstands(&status, libc::SIGABRT)
}

/// As [`withstands_abort`], from the text of `/proc/<pid>/status`.
fn withstands(status: &str, signal: i32) -> bool {
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let in_set = |name| {
        let set = field(name).and_then(|set| u64::from_str_radix(set, 16).ok()).unwrap_or(0);
        set & (1 << (signal - 1)) != 0
    };
    field("CoreDumping") != Some("1") && ["SigCgt", "SigIgn", "SigBlk"].into_iter().any(in_set)
}

fn act(pid: u32, action: OnDeadlock) -> Error {
    let told = |what: &str| Error::new(format!("process {pid} has deadlocked: {what}"));
    let signal = match action {
        OnDeadlock::Report => {
            return told("left hanging (--on-deadlock=report)")
                .help(format!("look into it with `gdb -p {pid}`; end it with `kill {pid}`"));
        }
        OnDeadlock::Kill => libc::SIGKILL,
        OnDeadlock::Abort => libc::SIGABRT,
    };
    // SAFETY: the process has the ledger mapped, or is our unreaped child.
    if unsafe { libc::kill(pid as libc::pid_t, signal) } != 0 {
        let error = std::io::Error::last_os_error();
        return told(&format!("cannot end it: {error}"))
            .help(format!("end it with `kill -9 {pid}`, as its user"));
    }
    if action == OnDeadlock::Abort {
        told("ended by SIGABRT (--on-deadlock=abort)")
    } else {
        told("killed (--on-deadlock=kill)").help(
            "--on-deadlock=report leaves it hanging, for a debugger; abort leaves a core file",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_withstands_an_abort() {
        let status = |caught: &str, dumping: &str| {
            format!(
                "Name:\tx\nCoreDumping:\t{dumping}\nSigBlk:\t0000000000000000\nSigCgt:\t{caught}\n"
            )
        };
        let abrt = "0000000000000020";
        assert!(withstands(&status(abrt, "0"), libc::SIGABRT));
        assert!(!withstands(&status(abrt, "1"), libc::SIGABRT));
        assert!(!withstands(&status("0000000000000040", "0"), libc::SIGABRT));
        assert!(!withstands("", libc::SIGABRT));
    }
}

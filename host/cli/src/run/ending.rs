//! How lockwright ends. Decided here and nowhere else.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::args::{VerdictArgs, WholeArgs};
use lockwright_analysis::finding::coverage::Completeness;
use lockwright_analysis::finding::{Finding, Grade};
use lockwright_console::error::exit;

/// The end of a lockwright process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By exit with this code.
    Code(u8),
    /// By this signal, as the program did: a shell that waits sees the same.
    Signal(i32),
}

impl Ending {
    /// The end where the program ended by `status`.
    pub fn of_program(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code as u8),
            (None, Some(signal)) => Self::Signal(signal),
            // Stopped or continued; not what wait was asked for.
            (None, None) => Self::Code(exit::OWN_FAILURE),
        }
    }

    /// The end in view of what was found: the code for findings goes before the program's own.
    #[must_use]
    pub fn with_findings<'f>(
        self,
        counted: impl IntoIterator<Item = &'f Finding>,
        args: &VerdictArgs,
    ) -> Self {
        self.with_grades(counted.into_iter().map(|finding| finding.grade), args)
    }

    /// As [`Self::with_findings`], by the grades of what was found.
    #[must_use]
    pub fn with_grades(self, found: impl IntoIterator<Item = Grade>, args: &VerdictArgs) -> Self {
        let failing = found.into_iter().any(|grade| grade <= args.fail_on);
        if failing && args.exit_code != 0 { Self::Code(args.exit_code) } else { self }
    }

    /// The end in view of what was not watched: success is none of a run that was not watched
    /// whole. What was found, and how the program failed, goes before it.
    #[must_use]
    pub fn with_gaps(self, completeness: &Completeness, args: WholeArgs) -> Self {
        match self {
            Self::Code(0) if !completeness.is_whole() && !args.allow_incomplete => {
                Self::Code(exit::OWN_FAILURE)
            }
            other => other,
        }
    }

    /// Ends this process.
    pub fn end(self) -> ! {
        match self {
            Self::Code(code) => std::process::exit(code.into()),
            Self::Signal(signal) => {
                die_by(signal);
                std::process::exit(128 + signal)
            }
        }
    }
}

/// Dies by `signal`, without a core file: that is the program's to leave. Returns if it cannot.
fn die_by(signal: i32) {
    // SAFETY: not being dumpable affects core files and tracing only.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    // SAFETY: the default disposition has no handler.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: zeroed is a valid set, which the calls fill before use.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
    }
    // SAFETY: sends a signal to this thread.
    unsafe { libc::raise(signal) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_analysis::finding::coverage::{Gap, Missing};
    use lockwright_analysis::finding::order::{Fault, OrderFault};
    use lockwright_analysis::finding::{Details, Kind};

    fn findings(grades: &[Grade]) -> Vec<Finding> {
        let finding = |&grade| Finding {
            kind: Kind::CircularDependency,
            grade,
            details: Details::Order(OrderFault {
                fault: Fault::Cycle,
                evidence: Vec::new(),
                remedies: Vec::new(),
            }),
            locks: vec![],
            steps: vec![],
            pid: 1,
            process: None,
            origins: Vec::new(),
            confirmation: None,
            also: 0,
        };
        grades.iter().map(finding).collect()
    }

    fn args(fail_on: Grade, exit_code: u8) -> VerdictArgs {
        VerdictArgs {
            all: false,
            all_instances: false,
            fail_on,
            exit_code,
            stats: false,
            suppressions: vec![],
            no_default_suppressions: false,
            gen_suppressions: None,
            baseline: None,
            write_baseline: None,
            sarif: None,
            junit: None,
            markdown: None,
            github: false,
        }
    }

    #[test]
    fn the_programs_end_is_passed_on() {
        assert_eq!(Ending::of_program(ExitStatus::from_raw(3 << 8)), Ending::Code(3));
        assert_eq!(Ending::of_program(ExitStatus::from_raw(libc::SIGTERM)), Ending::Signal(15));
        // With a core file.
        assert_eq!(
            Ending::of_program(ExitStatus::from_raw(0x80 | libc::SIGSEGV)),
            Ending::Signal(11)
        );
    }

    #[test]
    fn a_run_that_was_not_watched_whole_is_no_success() {
        let gap = Gap { pid: 1, missing: Missing::RecordsLost { lost: 1 } };
        let (whole, part) = (Completeness::default(), Completeness { gaps: vec![gap] });
        let of = |ending: Ending, completeness, allow_incomplete| {
            ending.with_gaps(completeness, WholeArgs { allow_incomplete })
        };
        assert_eq!(of(Ending::Code(0), &whole, false), Ending::Code(0));
        assert_eq!(of(Ending::Code(0), &part, false), Ending::Code(125));
        assert_eq!(of(Ending::Code(0), &part, true), Ending::Code(0));
        assert_eq!(of(Ending::Code(3), &part, false), Ending::Code(3), "the program failed");
        assert_eq!(of(Ending::Code(66), &part, false), Ending::Code(66), "a finding");
        assert_eq!(of(Ending::Signal(11), &part, false), Ending::Signal(11));
    }

    #[test]
    fn a_failing_finding_goes_before_it() {
        let of = |grades: &[Grade], fail_on, code| {
            Ending::Code(3).with_findings(&findings(grades), &args(fail_on, code))
        };
        use Grade::*;
        assert_eq!(of(&[], Likely, 66), Ending::Code(3));
        assert_eq!(of(&[Possible], Likely, 66), Ending::Code(3));
        assert_eq!(of(&[Possible, Likely], Likely, 66), Ending::Code(66));
        assert_eq!(of(&[Deadlocked], Likely, 9), Ending::Code(9));
        assert_eq!(of(&[Possible], Possible, 66), Ending::Code(66));
        assert_eq!(of(&[SingleThread], SingleThread, 66), Ending::Code(66));
        assert_eq!(of(&[Untidy], SingleThread, 66), Ending::Code(3));
        assert_eq!(of(&[Untidy], Untidy, 66), Ending::Code(66));
        assert_eq!(of(&[Likely], Deadlocked, 66), Ending::Code(3));
        assert_eq!(of(&[Deadlocked], Likely, 0), Ending::Code(3), "0 leaves the program's own");
    }
}

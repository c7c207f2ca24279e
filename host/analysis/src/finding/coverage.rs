//! How much of a process was watched: what is missing, and what a reader should know about it.

use serde::Serialize;

use lockwright_glibc::Version;
use lockwright_ledger::layout::{bounded, stopped};
use lockwright_ledger::rows::{Module, inlined_state};

use super::Name;
use super::futex::FutexKind;
use crate::named::named;

/// A part of a process that was not watched, or whose record is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Process id; 0 where it is not known.
    pub pid: u32,
    /// What is missing.
    pub missing: Missing,
}

/// What is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Recording stopped before the program ended.
    RecordingStopped {
        /// Why.
        why: Stopped,
        /// Records that could not be written.
        lost: u64,
    },
    /// Records could not be written.
    RecordsLost {
        /// How many.
        lost: u64,
    },
    /// The ledger is cut short.
    LedgerCut {
        /// By how many bytes.
        bytes: u64,
    },
    /// The process removed rows each time that its ledger was read.
    LedgerChanging,
    /// Objects were no longer tracked from some time on.
    ObjectsStopped {
        /// For want of memory, else as a thread made no progress.
        out_of_memory: bool,
    },
    /// A process could not reach the run's directory, and was started without the library.
    Hidden {
        /// The program.
        exe: String,
    },
    /// The program that was to be watched was executed in an environment without the library.
    Environment {
        /// The program.
        exe: String,
    },
    /// A ledger could not be read, or is gone: the words are the reader's.
    Ledger {
        /// In one word.
        reason: &'static str,
        /// What went wrong.
        why: String,
        /// What to do about it.
        help: String,
    },
}

impl Missing {
    /// In one word (docs/report-schema.md has all of them).
    pub fn reason(&self) -> &'static str {
        match self {
            Self::RecordingStopped { why, .. } => why.name(),
            Self::RecordsLost { .. } => "records-lost",
            Self::LedgerCut { .. } => "ledger-cut",
            Self::LedgerChanging => "ledger-changing",
            Self::ObjectsStopped { .. } => "objects-stopped",
            Self::Hidden { .. } => "hidden",
            Self::Environment { .. } => "environment",
            Self::Ledger { reason, .. } => reason,
        }
    }
}

named! {
/// Why recording stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Stopped {
    /// The ledger's file system is full.
    NoSpace = "no-space",
    /// A thread ended, or jumped out, while it recorded.
    HolderGone = "holder-gone",
    /// A thread that recorded made no progress.
    HolderStalled = "holder-stalled",
    /// The process could map no more memory.
    AddressSpace = "address-space",
    /// The ledger was as long as the process may have files.
    FileSize = "file-size",
    /// The ledger has as many rows as it can have.
    LedgerFull = "ledger-full",
    /// The process forbade itself the system calls that recording needs.
    SystemCalls = "system-calls",
    /// A library built to check itself found its data inconsistent.
    Inconsistent = "inconsistent",
    /// For a reason that only a newer lockwright knows.
    Unknown = "unknown",
}
}

impl Stopped {
    /// What the header of a ledger says; `None` if recording did not stop.
    pub fn of(stopped: u32) -> Option<Self> {
        Some(match stopped {
            stopped::NO => return None,
            stopped::NO_SPACE => Self::NoSpace,
            stopped::HOLDER_GONE => Self::HolderGone,
            stopped::HOLDER_STALLED => Self::HolderStalled,
            stopped::ADDRESS_SPACE => Self::AddressSpace,
            stopped::FILE_SIZE => Self::FileSize,
            stopped::LEDGER_FULL => Self::LedgerFull,
            stopped::SYSTEM_CALLS => Self::SystemCalls,
            stopped::INCONSISTENT => Self::Inconsistent,
            _ => Self::Unknown,
        })
    }
}

/// Whether the processes of a run were watched whole: from their starts to their ends, with nothing
/// lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completeness {
    /// What was not; nothing if all was.
    pub gaps: Vec<Gap>,
}

impl Completeness {
    /// Nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.gaps.is_empty()
    }
}

/// Something that a reader should know of how a process was watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// It was not watched whole.
    Missing(Missing),
    /// Children that it forked had no place for a ledger in their sandbox.
    ChildrenUnwatched(u64),
    /// Rows of its ledger claim what others have claimed before.
    RowsRefused(u64),
    /// Allocations could not be tracked because there was no memory.
    AllocationsLost(u64),
    /// Pairs of locks were recorded as pairs of their classes only.
    PairsFolded(u64),
    /// There were more records of this kind than a ledger keeps.
    Bounded(Bounded),
    /// The process's C library does not lay out objects as known for its version.
    OtherLayouts(OtherLayouts),
    /// Locks that are inlined in one of its modules are not watched, or not all.
    Inlined(Inlined),
    /// A search was cut short.
    SearchCut(Search),
    /// The declared lock orders contradict each other: names of classes, each before the next, the
    /// last before the first.
    DeclarationsContradict(Vec<String>),
    /// Its times are missing.
    Untimed(Untimed),
    /// Its time counts up to the last that is known of it.
    EndUnknown,
    /// Threads were waiting at its end.
    StillWaiting(u64),
    /// Its threads waited at futexes without a time limit, and with locks held. None of it is behind
    /// another lock, as far as names show.
    WaitedWithLocks(Vec<FutexHeld>),
    /// A note from the command that ran the program.
    Told(String),
}

/// A wait at a futex with locks held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FutexHeld {
    /// What it is for.
    pub kind: FutexKind,
    /// Where, in few words.
    pub place: String,
    /// The locks, outermost first.
    pub locks: Vec<Name>,
}

/// A kind of records that has a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounded {
    /// Locks that were held while threads were created, or the like.
    Holds,
    /// Barriers and semaphores.
    Syncs,
    /// Signals of condition variables at one place.
    Signallers,
    /// Uses of a class of locks with a signal.
    Uses,
}

impl Bounded {
    /// Those that the header of a ledger names.
    pub fn of(bits: u32) -> impl Iterator<Item = Self> {
        let all = [
            (bounded::HOLDS, Self::Holds),
            (bounded::SYNCS, Self::Syncs),
            (bounded::SIGNALLERS, Self::Signallers),
            (bounded::USES, Self::Uses),
        ];
        all.into_iter().filter(move |(bit, _)| bits & bit != 0).map(|(_, kind)| kind)
    }
}

/// Types of objects whose bytes were not judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherLayouts {
    /// The C library's version, if it is known.
    pub libc: Option<Version>,
    /// The types, by their numbers in [`lockwright_ledger::rows::object::object_type`]; `mtx_t` and `cnd_t` go by what they are.
    pub types: Vec<u32>,
}

impl OtherLayouts {
    /// What the header of a ledger says; `None` if all are laid out as known.
    pub fn of(libc_version: u32, layouts_differing: u32) -> Option<Self> {
        let types: Vec<u32> =
            (1..u32::BITS).filter(|number| layouts_differing & 1 << number != 0).collect();
        (!types.is_empty()).then(|| Self { libc: Version::of_word(libc_version), types })
    }
}

/// Locks that a compiler has inlined in a module, of which not all acquisitions are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// The module's file.
    pub module: String,
    /// Acquisitions in its code, as far as can be seen.
    pub acquisitions: u32,
    /// Those that are watched.
    pub watched: u32,
    /// Why none is; `None` if some are.
    pub why: Option<InlinedWhy>,
}

/// Why a module's inlined locks are not watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlinedWhy {
    /// Its code was not that of its file.
    OtherCode,
    /// There was no memory near enough.
    NoMemory,
    /// The system does not let code be changed.
    Forbidden,
    /// There are too many, or the processor is of a kind that does not allow it.
    Refused,
    /// Threads may have run it already.
    TooLate,
    /// Not all releases can be seen.
    Incomplete,
    /// Code of its machine is not changed, so nobody has counted them.
    OtherMachine,
}

impl Inlined {
    /// What a module's row says, if not all is watched. Of another machine's module it does not say whether it has any.
    pub fn of(row: &Module, path: &str) -> Option<Self> {
        let why = match row.inlined {
            inlined_state::NONE => return None,
            inlined_state::WATCHED if row.inlined_watched >= row.inlined_acquisitions => {
                return None;
            }
            inlined_state::WATCHED => None,
            inlined_state::OTHER_CODE => Some(InlinedWhy::OtherCode),
            inlined_state::NO_MEMORY => Some(InlinedWhy::NoMemory),
            inlined_state::FORBIDDEN => Some(InlinedWhy::Forbidden),
            inlined_state::TOO_LATE => Some(InlinedWhy::TooLate),
            inlined_state::INCOMPLETE => Some(InlinedWhy::Incomplete),
            inlined_state::OTHER_MACHINE => Some(InlinedWhy::OtherMachine),
            _ => Some(InlinedWhy::Refused),
        };
        let [acquisitions, watched] = [row.inlined_acquisitions, row.inlined_watched];
        Some(Self { module: path.to_owned(), acquisitions, watched, why })
    }
}

/// What was searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Cycles of locks.
    LockCycles,
    /// Cycles of lock classes.
    ClassCycles,
    /// Cycles of several runs.
    RunCycles,
    /// Cycles of locks that processes share.
    SharedLocks,
    /// Orders that handlers take part in.
    Handlers,
    /// Locks nested within their class.
    Nesting,
    /// Orders against declared ones.
    DeclaredOrders,
}

/// Why times are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untimed {
    /// The clock was read less than twice, so its rate is not known.
    RateUnknown,
    /// Nothing was timed.
    NotTimed,
    /// The clock is of a kind that only a newer lockwright knows.
    ClockUnknown(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_of_the_ledger_has_its_own_name() {
        let known = (1..=stopped::SYSTEM_CALLS).map(|stopped| Stopped::of(stopped).unwrap());
        let mut names: Vec<&str> = known.map(Stopped::name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), stopped::SYSTEM_CALLS as usize);
        assert!(!names.contains(&Stopped::Unknown.name()));
        assert_eq!(Stopped::of(stopped::NO), None);
        assert_eq!(Stopped::of(u32::MAX), Some(Stopped::Unknown));
    }
}

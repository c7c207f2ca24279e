//! The parts of a report: the analysis fills these types, every report format reads them.

pub mod action;
pub mod confirmation;
pub mod coverage;
pub mod doing;
mod frame;
pub mod futex;
pub mod lock_kind;
pub mod misuse;
mod name;
pub mod object;
pub mod object_types;
pub mod order;
mod thread_info;

use std::fmt;

use serde::{Deserialize, Serialize};

use self::action::Action;
use self::confirmation::Confirmation;
use self::coverage::{Completeness, Missing, Note};
use self::doing::{Blocked, Busy};
use self::lock_kind::Subject;
use self::misuse::Misuse;
use self::object::ObjectFault;
use self::order::OrderFault;
use crate::named::named;
use crate::process_end::{Ended, ProcessEnd};
use crate::recording::Recording;

pub use self::frame::Frame;
pub use self::name::Name;
pub use self::thread_info::ThreadInfo;

named! {
/// What is wrong. The serialised names are part of the JSON schema (docs/report-schema.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Kind {
    /// Locks are taken in orders that form a cycle.
    CircularDependency = "circular-dependency",
    /// A thread is joined with a lock held that it takes.
    JoinWithLockHeld = "join-with-lock-held",
    /// A lock, or another of its class, is taken while held.
    RecursiveLocking = "recursive-locking",
    /// A lock is used both in a signal handler and with that signal open.
    InconsistentState = "inconsistent-state",
    /// Every thread of the process waits, and nothing is left that could end a wait.
    AllThreadsAsleep = "all-threads-asleep",
    /// Unlock of a lock that is not held, or held by another thread.
    BadUnlockBalance = "bad-unlock-balance",
    /// Memory of a held lock is freed.
    HeldLockFreed = "held-lock-freed",
    /// A held lock is destroyed.
    HeldLockDestroyed = "held-lock-destroyed",
    /// A held lock is initialised again.
    HeldLockInitialised = "held-lock-initialised",
    /// A destroyed lock or other object is used, or destroyed again.
    UseAfterDestroy = "use-after-destroy",
    /// A thread ends with a lock held.
    ExitWithLockHeld = "exit-with-lock-held",
    /// A lock is still held when the function that took it has returned.
    LeakedLock = "leaked-lock",
    /// A child process begins with a lock that another thread of the parent held.
    ForkWithLockHeld = "fork-with-lock-held",
    /// A wait for a signal keeps a lock.
    WaitWithLockHeld = "wait-with-lock-held",
    /// A library calls its user back with a lock held that it takes when that calls it.
    CallbackWithLockHeld = "callback-with-lock-held",
    /// A condition is signalled in a way that a waiter may miss.
    LostWakeup = "lost-wakeup",
    /// One condition variable is used with two mutexes.
    CondvarMutexMismatch = "condvar-mutex-mismatch",
    /// A robust mutex whose owner died is unlocked without having been made consistent.
    UnlockInconsistent = "unlock-inconsistent",
    /// The program asserts that a lock is held which is not.
    LockNotHeld = "lock-not-held",
    /// A pinned lock is unlocked.
    Unpinned = "unpinned",
    /// A lock that may sleep is taken with a spinning lock held.
    InvalidWaitContext = "invalid-wait-context",
    /// A thread does what may sleep with a spinning lock held.
    SleepWithSpinlockHeld = "sleep-with-spinlock-held",
    /// An object is initialised again that was not destroyed.
    ObjectInitialisedTwice = "object-initialised-twice",
    /// An object in use is initialised again.
    ObjectInitialisedActive = "object-initialised-active",
    /// An object is used that was never initialised.
    ObjectUninitialised = "object-uninitialised",
    /// An object in use is destroyed.
    ObjectDestroyedActive = "object-destroyed-active",
    /// The memory of an object in use goes.
    ObjectGoneActive = "object-gone-active",
    /// An object goes with its memory that was never destroyed.
    ObjectNeverDestroyed = "object-never-destroyed",
    /// An object is not in the state in which this can be done to it.
    ObjectWrongState = "object-wrong-state",
}
}

impl Kind {
    /// What was done to one lock or object is wrong by itself; others are about orders and
    /// contexts.
    pub fn is_misuse(self) -> bool {
        use Kind::*;
        !matches!(
            self,
            CircularDependency
                | JoinWithLockHeld
                | RecursiveLocking
                | InconsistentState
                | AllThreadsAsleep
        )
    }
}

named! {
/// How sure a finding is, the most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Grade {
    /// Threads are in it now.
    Deadlocked = "deadlocked",
    /// The same instances, two or more threads, no common guard, not ordered.
    Likely = "likely",
    /// Lock classes only: a schedule or data set that this run did not show.
    Possible = "possible",
    /// Every path holds a common gate lock.
    Guarded = "guarded",
    /// Thread creation, join or another happens-before edge separates the paths.
    Ordered = "ordered",
    /// One thread took both orders.
    SingleThread = "single-thread",
    /// Nothing goes wrong by it here: something that should have been done was not, and nobody is
    /// left to miss it.
    Untidy = "untidy",
}
}

impl Grade {
    /// Findings of this grade are only counted unless all are asked for.
    pub fn is_counted_only(self) -> bool {
        self >= Self::Guarded
    }
}

/// What findings that are the same to a reader become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// One, with the number of the others.
    Folded,
    /// Each its own, as far as they were recorded one by one.
    Apart,
}

/// One finding. Indices into `locks` are used by `steps`.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// How sure it is.
    pub grade: Grade,
    /// What exactly was found.
    pub details: Details,
    /// The locks involved, in cycle order for a cycle.
    pub locks: Vec<LockInfo>,
    /// What each thread did: step `i` acquires `locks[steps[i].lock]` while holding others.
    pub steps: Vec<Step>,
    /// Process it was found in; 0: several.
    pub pid: u32,
    /// The same, as an index into [`Report::processes`]: a process that calls exec keeps its id,
    /// and is another there. `None`: several.
    pub process: Option<usize>,
    /// If there are several processes: for each step, the process that did it.
    pub origins: Vec<Origin>,
    /// Further cycles or occurrences that are the same to a reader and were folded into this one.
    pub also: u64,
    /// What came of making it happen, if that was tried.
    pub confirmation: Option<Box<Confirmation>>,
}

/// What exactly was found, of one sort each: the prose of a report is made from this.
#[derive(Clone, Debug)]
pub enum Details {
    /// A lock was misused.
    Misuse(Misuse),
    /// Something was done to an object that it was not in the state for.
    Object(ObjectFault),
    /// Locks are taken in an order, or where, they should not be.
    Order(OrderFault),
}

/// Who contributed a step of a finding of several processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The run, from 1; 0 if there is but one.
    #[serde(skip_serializing_if = "is_only_run")]
    pub run: usize,
    /// Its process.
    pub pid: u32,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.run {
            0 => write!(f, "process {}", self.pid),
            run => write!(f, "run {run}, process {}", self.pid),
        }
    }
}

fn is_only_run(run: &usize) -> bool {
    *run == 0
}

named! {
/// How a class of locks, or an object, came into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum LockOrigin {
    /// It is a variable.
    Static = "static",
    /// By an init call.
    Init = "init",
    /// Nobody initialised it: it is known by where it was first acquired.
    FirstAcquisition = "first acquisition",
    /// By where its heap block was allocated.
    Allocation = "allocation",
    /// The program names it.
    Annotation = "annotation",
    /// It was there before the process was forked.
    Inherited = "inherited",
    /// Nobody saw it come into being.
    Unknown = "unknown",
}
}

/// A lock, or another object, as a report names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LockInfo {
    /// Short name: variable name of a static lock, else where it was created or first taken.
    pub name: Name,
    /// Name of its class.
    pub class: Name,
    /// How the class is described by the place where its locks are created, if that is not its name:
    /// what suppressions and baselines know it by, as the name depends on sources being there.
    pub class_by_place: Option<String>,
    /// What it is.
    pub kind: Subject,
    /// Address, where one instance is meant and not just its class.
    pub addr: Option<u64>,
    /// Where its class was created (init call, first acquisition or allocation), empty for static
    /// locks.
    pub created: Vec<Frame>,
    /// What `created` is.
    pub origin: LockOrigin,
}

/// One acquisition, or other act, by one thread.
#[derive(Clone, Debug)]
pub struct Step {
    /// Who.
    pub thread: ThreadInfo,
    /// Index into [`Finding::locks`] of the lock acquired or waited for.
    pub lock: usize,
    /// What it did.
    pub action: Action,
    /// What it held then, outermost first.
    pub held: Vec<HeldLock>,
    /// Where it acquired, innermost frame first.
    pub stack: Vec<Frame>,
}

/// A lock held during a step.
#[derive(Clone, Debug, Serialize)]
pub struct HeldLock {
    /// Index into [`Finding::locks`] if it is part of the cycle.
    pub lock: Option<usize>,
    /// Its name (as [`LockInfo::name`]).
    pub name: Name,
    /// Where it was acquired, innermost frame first.
    pub stack: Vec<Frame>,
}

/// How much was watched.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Locks seen; each life of a piece of memory is its own lock.
    pub locks: u64,
    /// Lock classes.
    pub classes: u64,
    /// Distinct chains of lock classes: which a thread held when it acquired another, and each class
    /// that it acquired while it held none. The kernel counts the same.
    pub chains: u64,
    /// Distinct contexts of two locks and more, which differ by lock and by place.
    pub contexts: u64,
    /// Distinct class-to-class dependencies.
    pub dependencies: u64,
    /// Threads.
    pub threads: u64,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Acquisitions that found the lock held.
    pub contended: u64,
    /// Processes.
    pub processes: u64,
    /// Records lost because there was no space.
    pub lost: u64,
    /// Whether that is all there was.
    #[serde(skip)]
    pub completeness: Completeness,
    /// Findings that are the same to a reader stand apart, as far as they were recorded.
    pub all_instances: bool,
    /// Estimated CPU time that the tool took, ns: acquisitions and waits as calibrated, and `recording`.
    pub cost_ns: Option<u64>,
    /// What recording took, as measured in the processes themselves.
    #[serde(skip)]
    pub recording: Recording,
    /// Calibrated cost of one uncontended acquire and release, ns, beyond the native one.
    pub cost_per_acquisition_ns: Option<f64>,
    /// CPU time that the processes took in all, ns, the tool's part included, where it is known.
    pub program_cpu_ns: Option<u64>,
}

/// One watched process.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// What its ledger is known by. A process that calls exec has a ledger for each program that it
    /// was.
    #[serde(skip)]
    pub token: u64,
    /// Executable.
    pub exe: String,
    /// Command line.
    pub command: Vec<String>,
    /// It ended by `exit`; false: killed, crashed or still running.
    pub exited: bool,
    /// How it ended.
    pub end: ProcessEnd,
    /// Threads that used a lock.
    pub threads: u64,
    /// Locks seen; each life of a piece of memory is its own lock.
    pub locks: u64,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Acquisitions that found the lock held.
    pub contended: u64,
    /// When it was killed, or its ledger read, each of its threads that had used a lock waited without a timeout.
    #[serde(skip)]
    pub all_waited: bool,
    /// What the reader should know about coverage, what is missing first.
    #[serde(skip)]
    pub notes: Vec<Note>,
}

impl Process {
    /// Why it was not watched whole, if so.
    pub fn missing(&self) -> impl Iterator<Item = &Missing> {
        self.notes.iter().filter_map(|note| match note {
            Note::Missing(missing) => Some(missing),
            _ => None,
        })
    }
}

impl Ended for Process {
    fn end(&mut self) -> (u32, u64, &mut ProcessEnd) {
        (self.pid, self.token, &mut self.end)
    }
}

/// A process that was not watched: the user did not want it to be (`--follow`), or it could not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unwatched {
    /// Process id; 0 where it is not known.
    pub pid: u32,
    /// Executable, or the script that was executed.
    pub exe: String,
    /// Why, in one word: `follow`, `environment`, `no-ledger`, or what `lockwright doctor` calls
    /// what is in the way.
    pub reason: &'static str,
    /// Why, in words.
    pub why: String,
}

/// A thread whose wait was not over when its process was killed, or when its ledger was read.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Process id.
    pub pid: u32,
    /// The same, as an index into [`Report::processes`].
    pub process: usize,
    /// Who.
    pub thread: ThreadInfo,
    /// For what.
    pub kind: WaitsFor,
    /// How it waits.
    pub action: Action,
    /// The lock; of a wait on a condition variable, its mutex.
    pub lock: Option<LockInfo>,
    /// The thread that it waits for to end.
    pub joined: Option<ThreadInfo>,
    /// The wait may end by itself.
    pub timed: bool,
    /// Where it waits, innermost frame first.
    pub stack: Vec<Frame>,
    /// The live threads that hold the lock.
    pub holders: Vec<Holder>,
    /// For a wait for a signal: live threads that have signalled before, and wait for a lock that
    /// this one keeps.
    pub signallers: Vec<StuckSignaller>,
    /// The futex, of a wait for one.
    pub futex: Option<futex::FutexWait>,
    /// A finding describes it.
    pub is_told: bool,
}

/// A thread that has signalled what another waits for, and now waits for a lock which that keeps, or
/// for one whose holder does, and so on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StuckSignaller {
    /// Who.
    pub thread: ThreadInfo,
    /// What it waits for.
    pub lock: Name,
    /// Where it waits, innermost frame first.
    pub stack: Vec<Frame>,
    /// The holder of that lock, the holder of the lock that this one waits for, and so on; none if
    /// the waiter keeps it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub between: Vec<ThreadInfo>,
    /// All live threads that were seen to signal are stuck so.
    pub are_all: bool,
}

impl Waiting {
    /// All frames of its stacks.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        let woken = self.futex.iter().filter_map(|futex| futex.woken.as_ref());
        let holders = self.holders.iter().flat_map(|holder| &holder.stack);
        self.stack.iter().chain(holders).chain(woken.flat_map(|woken| &woken.stack))
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsFor {
    /// A lock.
    Lock,
    /// A condition variable to be signalled.
    Condition,
    /// A semaphore to be posted.
    Semaphore,
    /// A thread to end.
    Thread,
    /// Something at a futex that the program, or a library of it, waits at itself.
    Futex,
}

/// A thread that holds what another waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// Who.
    pub thread: ThreadInfo,
    /// It waits, too.
    pub waits: bool,
    /// The function that took the lock had returned when the thread came to wait.
    pub has_returned: bool,
    /// It runs and takes no lock that is watched. Known only if the tool looked meanwhile.
    pub busy: Option<Busy>,
    /// The call that it is blocked in, for a descriptor. Known only if the tool looked meanwhile.
    pub blocked: Option<Blocked>,
    /// Where it took the lock, innermost frame first.
    pub stack: Vec<Frame>,
}

/// A whole report: the input of every format.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How much was watched.
    pub summary: Summary,
    /// Processes, in order of start.
    pub processes: Vec<Process>,
    /// Processes that are known not to have been watched.
    pub unwatched: Vec<Unwatched>,
    /// Findings, most serious first.
    pub findings: Vec<Finding>,
    /// Threads that were still waiting, by process.
    pub waiting: Vec<Waiting>,
    /// What is missing of the names of modules in the findings and waits: once for each.
    pub modules: Vec<ModuleNote>,
}

/// What a reader should know about the names that a module gives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleNote {
    /// Its path, as in [`Frame::module`].
    pub module: String,
    /// What is missing.
    pub missing: MissingNames,
}

/// Why a module gives no names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MissingNames {
    /// It has changed since the run.
    Changed,
    /// It cannot be read.
    Unreadable,
    /// It has no symbols.
    Stripped,
}

impl Finding {
    /// The names of its locks, to sort by: the program's own names before descriptions.
    pub fn names(&self) -> impl Iterator<Item = (bool, &str)> {
        self.locks.iter().map(|lock| (!lock.name.is_symbol, lock.name.text.as_str()))
    }

    /// All frames of its stacks.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        let steps = self.steps.iter().flat_map(|step| {
            step.stack.iter().chain(step.held.iter().flat_map(|held| &held.stack))
        });
        steps.chain(self.locks.iter().flat_map(|lock| &lock.created))
    }
}

impl Report {
    /// The process that a finding is of; `None`: several.
    pub fn process_of(&self, finding: &Finding) -> Option<&Process> {
        self.processes.get(finding.process?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_schema() {
        for &grade in Grade::ALL {
            assert_eq!(serde_json::to_value(grade).unwrap(), grade.name());
        }
        for &kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}

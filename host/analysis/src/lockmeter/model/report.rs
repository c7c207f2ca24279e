//! Lockmeter's measurement, as every format of the report reads it: locks, under each the places
//! that take it, and for each place its numbers.
//!
//! All times are in nanoseconds. Indices stand for elements of the vectors that they name, which
//! are in the order of [`MeterReport::locks`]; a report that sorts otherwise sorts references.

use std::rc::Rc;

use super::at::At;
use super::numbers::{Numbers, Times};
use crate::finding::coverage::{Completeness, Note};
use crate::finding::futex::{FutexKind, FutexUse};
use crate::finding::{Frame, LockOrigin, ModuleNote, Unwatched};
use crate::lockmeter::timeline::Timeline;
use crate::lockmeter::what_if::Known;
use crate::process_end::{Ended, ProcessEnd};

/// The whole measurement: one run, of one or more processes.
#[derive(Clone, Debug, Default)]
pub struct MeterReport {
    /// The processes, in order of start.
    pub processes: Vec<Process>,
    /// From the first process' start to the last one's end.
    pub elapsed_ns: u64,
    /// Locks, the one that was waited for longest first; then the longest held, the most taken.
    pub locks: Vec<Lock>,
    /// What was waited for that is no lock, the longest first.
    pub waits: Vec<Wait>,
    /// Threads that were still waiting when the ledgers were read, by process, then by the
    /// beginning of the wait.
    pub waiting: Vec<Waiter>,
    /// Threads that lived when the ledgers were read, by process, then by their ids.
    pub live: Vec<LiveThread>,
    /// Records that were lost because there was no space, in all processes. Numbers are too small
    /// by that.
    pub lost: u64,
    /// Whether the processes were measured whole.
    pub completeness: Completeness,
    /// Instances of a class were kept apart in every process: [`Lock::instances`] is complete.
    pub by_instance: bool,
    /// Processors of the machine that was measured.
    pub processors: u32,
    /// Processes that are known not to have been measured.
    pub unwatched: Vec<Unwatched>,
    /// What is missing of the names of modules that the stacks name: once for each.
    pub modules: Vec<ModuleNote>,
    /// It was said why there are no locks, or hardly any.
    pub explained: bool,
    /// What measuring cost, where that is known.
    pub cost: Option<Cost>,
    /// Waits and holds in time, if a process recorded them.
    pub timeline: Option<Timeline>,
    /// What remedies would bring, as far as that was asked for.
    pub estimates: Known,
}

impl MeterReport {
    /// All frames of the stacks.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        let sites = self.locks.iter().flat_map(|lock| &lock.sites).map(|site| &site.stack);
        let created = self.locks.iter().map(|lock| &lock.created);
        let wakers = self.waits.iter().flat_map(|wait| &wait.wakers).map(|waker| &waker.stack);
        let waits = self.waits.iter().map(|wait| &wait.stack);
        sites.chain(created).chain(waits).chain(wakers).flat_map(|stack| stack.iter())
    }

    /// The sum over all locks.
    pub fn total(&self) -> Numbers {
        let mut total = Numbers::default();
        self.locks.iter().for_each(|lock| total.add(&lock.total));
        total
    }

    /// The part that a wait has in the waits for all locks, 0 to 1.
    pub fn share_of_wait(&self, wait_ns: f64) -> f64 {
        let all: f64 = self.locks.iter().map(|lock| lock.total.wait.total_ns).sum();
        if all > 0.0 { wait_ns / all } else { 0.0 }
    }

    /// How holds were timed, if all processes did it in one way.
    pub fn holds(&self) -> Option<Holds> {
        let first = self.processes.first()?.holds;
        self.processes.iter().all(|process| process.holds == first).then_some(first)
    }

    /// Site `site` of lock `lock`.
    pub fn site(&self, lock: usize, site: usize) -> Option<&Site> {
        self.locks.get(lock)?.sites.get(site)
    }
}

/// One measured process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Executable.
    pub exe: String,
    /// Command line.
    pub command: Vec<String>,
    /// It ended by `exit`; false: killed, crashed or still running.
    pub exited: bool,
    /// How it ended.
    pub end: ProcessEnd,
    /// What its ledger is known by.
    pub token: u64,
    /// From its start to its end; if that is not known, to the last that is known of it.
    pub elapsed_ns: u64,
    /// Threads that used a lock.
    pub threads: u64,
    /// Acquisitions of its locks.
    pub acquisitions: u64,
    /// Locks it had; each life of a piece of memory is its own lock.
    pub locks: u64,
    /// What its times were measured with.
    pub clock: Clock,
    /// Which of its holds were timed.
    pub holds: Holds,
    /// Bounces were counted, and the shortest holds looked for.
    pub bounces: bool,
    /// Records lost because there was no space.
    pub lost: u64,
    /// What the reader should know: lost records, a cut-off ledger, missing symbols.
    pub notes: Vec<Note>,
}

impl Ended for Process {
    fn end(&mut self) -> (u32, u64, &mut ProcessEnd) {
        (self.pid, self.token, &mut self.end)
    }
}

/// What times were measured with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clock {
    /// The processor's time-stamp counter, with the rate found for it.
    Tsc {
        /// Ticks in a microsecond.
        mhz: f64,
    },
    /// CLOCK_MONOTONIC, in nanoseconds.
    Monotonic,
    /// Nothing, or nothing whose rate is known: counts are right, all times are 0.
    Unknown,
}

/// Which holds were timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Every one.
    Exact,
    /// One in so many, by chance. Sums are estimates; mean and percentiles are of those timed.
    Sampled(u32),
    /// None.
    Off,
}

/// A lock: all locks of a class, taken together.
#[derive(Clone, Debug)]
pub struct Lock {
    /// The ledger's token, and the row of the class, that it was first seen by: the same at each reading of a ledger that is
    /// being written.
    pub first_seen: (u64, u32),
    /// What the report of `check` calls the class, too.
    pub name: String,
    /// The name is the program's own (a variable, an annotation), not a description.
    pub is_symbol: bool,
    /// How it is described by the place where its locks are created, if that is not its name.
    pub by_place: Option<String>,
    /// One of [`lockwright_ledger::rows::lock_kind`].
    pub kind: u8,
    /// Where it was created or first taken, innermost frame first; empty for static locks.
    pub created: Rc<[Frame]>,
    /// As [`crate::finding::LockInfo::origin`].
    pub origin: LockOrigin,
    /// Locks in the class, in all processes; at least 1.
    pub locks: u64,
    /// Sum of the times measured in the processes that have it: what its utilisation is a part of.
    pub measured_ns: u64,
    /// The places that take it, the one that waited longest first.
    pub sites: Vec<Site>,
    /// The sum over its sites.
    pub total: Numbers,
    /// How its readers overlapped; `None` if it was never read-locked.
    pub readers: Option<Readers>,
    /// Whose holds its waits were for, the longest first. Together they are the waits' sum, or less
    /// where there was no room to find out.
    pub blame: Vec<Blame>,
    /// Its locks one by one, the one waited for longest first; empty unless they were kept apart.
    pub instances: Vec<Instance>,
    /// Its threads, if it is waited for much. Threads that did not live at once may be one.
    pub threads: Vec<LockThread>,
}

/// What a thread did with a lock, and besides.
#[derive(Clone, Debug, Default)]
pub struct LockThread {
    /// Its kernel id, 0 if it has ended.
    pub tid: u32,
    /// Threads that followed each other, and count as one here; the last of them has the id.
    pub threads: u32,
    /// How long it was measured.
    pub lived_ns: f64,
    /// What of that it waited for other things and other locks, while it did not hold this one.
    pub away_ns: f64,
    /// The part of it that it waited for other threads: for conditions, semaphores, barriers, joins, futexes.
    pub signalled_ns: f64,
    /// What it waited for while it held this lock.
    pub nested_ns: f64,
    /// Where it took the lock.
    pub sites: Vec<ThreadSite>,
}

/// What a thread did with a lock at one site.
#[derive(Clone, Copy, Debug)]
pub struct ThreadSite {
    /// The site: index into [`Lock::sites`].
    pub site: usize,
    /// The lock of the class, as in [`Instance::inst`]; 0 unless they were kept apart.
    pub inst: u32,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Those that had to wait.
    pub contended: u64,
    /// The timed holds, in all.
    pub hold_ns: f64,
    /// The waits, in all.
    pub wait_ns: f64,
}

impl LockThread {
    /// Acquisitions.
    pub fn acquisitions(&self) -> u64 {
        self.sites.iter().fold(0, |sum, site| sum.saturating_add(site.acquisitions))
    }

    /// Those that had to wait.
    pub fn contended(&self) -> u64 {
        self.sites.iter().fold(0, |sum, site| sum.saturating_add(site.contended))
    }

    /// How long it waited for the lock, ns.
    pub fn wait_ns(&self) -> f64 {
        self.sites.iter().map(|site| site.wait_ns).sum()
    }

    /// How long it held `lock`, ns: estimated from the timed holds where holds were sampled.
    pub fn hold_ns(&self, lock: &Lock) -> f64 {
        let of = |site: &ThreadSite| {
            let numbers = &lock.sites.get(site.site)?.numbers;
            let timed = numbers.hold.total_ns;
            (timed > 0.0).then(|| site.hold_ns * numbers.hold_ns / timed)
        };
        self.sites.iter().filter_map(of).sum()
    }
}

impl Lock {
    /// The sum over sites of one mode.
    pub fn of_mode(&self, mode: Mode) -> Numbers {
        let mut sum = Numbers::default();
        self.sites.iter().filter(|s| s.mode == mode).for_each(|site| sum.add(&site.numbers));
        sum
    }

    /// It has readers and writers.
    pub fn is_rwlock(&self) -> bool {
        self.sites.iter().any(|site| site.mode != Mode::Exclusive)
    }

    /// Part of the measured time in which it was held, 0 to 1: by readers, from the first in to the
    /// last out. More than 1 where several locks of the class are held at once.
    pub fn utilisation(&self) -> f64 {
        let exclusive: f64 =
            self.sites.iter().filter(|s| s.mode != Mode::Read).map(|s| s.numbers.hold_ns).sum();
        let shared = self.readers.as_ref().map_or(0.0, |readers| readers.busy.total_ns);
        part(exclusive + shared, self.measured_ns)
    }

    /// Part of the measured time in which `site` held it, 0 to 1; for readers, that sum may exceed
    /// 1.
    pub fn utilisation_by(&self, site: &Site) -> f64 {
        self.utilisation_of(&site.numbers)
    }

    /// The same by what was measured of some of its holds.
    pub fn utilisation_of(&self, numbers: &Numbers) -> f64 {
        part(numbers.hold_ns, self.measured_ns)
    }
}

fn part(ns: f64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { ns / of as f64 }
}

/// How a site takes its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// A lock that has no readers.
    Exclusive,
    /// As a writer of an rwlock.
    Write,
    /// As a reader of an rwlock.
    Read,
}

/// A place in the program that takes a lock in one way. Calls that differ only in frames further
/// out are one place, and so are the same lines in several processes.
#[derive(Clone, Debug)]
pub struct Site {
    /// How.
    pub mode: Mode,
    /// The mutex is taken back by a condition wait.
    pub cond_reacquire: bool,
    /// Innermost frame first, wrappers included: of the first call seen there, at the most used of
    /// the call sites that are this place.
    pub stack: Rc<[Frame]>,
    /// Number of the place in the program, frames of wrappers skipped: equal for sites of several
    /// locks, or modes, at one place.
    pub place: usize,
    /// Address of the lock that was taken there first.
    pub addr: u64,
    /// What was measured.
    pub numbers: Numbers,
    /// The same for each function of the program's code that has this place, if there are several, as where
    /// it is inlined: see [`Self::each_call`].
    pub calls: Vec<Call>,
    /// What its holds were spent on, as far as they were not running, the longest first.
    pub nested: Vec<Nested>,
    /// How long its holders were ready to run and had no processor, as they saw it in those of its holds that were timed.
    pub lost_ns: f64,
}

impl Site {
    /// The part of its holds during which its threads were ready to run, and had no processor: as far as is known.
    pub fn preempted_ns(&self) -> f64 {
        let nested: f64 = self.nested.iter().map(|nested| nested.ns).sum();
        let Numbers { hold, hold_ns, .. } = &self.numbers;
        let timed = if hold.total_ns > 0.0 { hold.total_ns / hold_ns } else { 1.0 };
        (self.lost_ns / timed).clamp(0.0, (hold_ns - nested).max(0.0))
    }

    /// Something was counted here.
    pub fn is_counted(&self) -> bool {
        let Numbers { acquisitions, contended, rejects, timeouts, .. } = &self.numbers;
        [acquisitions, contended, rejects, timeouts].into_iter().any(|&count| count != 0)
    }

    /// What was measured in each function of the program's code that has this place, and the call's stack.
    pub fn each_call(&self) -> impl Iterator<Item = CallNumbers<'_>> {
        let only = CallNumbers { stack: &self.stack, numbers: &self.numbers };
        let is_only = self.calls.is_empty() && self.is_counted();
        let several = self
            .calls
            .iter()
            .map(|call| CallNumbers { stack: &call.stack, numbers: &call.numbers });
        is_only.then_some(only).into_iter().chain(several)
    }
}

/// As [`Call`], of any site.
#[derive(Clone, Copy, Debug)]
pub struct CallNumbers<'s> {
    /// As [`Site::stack`].
    pub stack: &'s [Frame],
    /// What was measured.
    pub numbers: &'s Numbers,
}

/// A place that takes a lock, in one function of the program's code.
#[derive(Clone, Debug)]
pub struct Call {
    /// As [`Site::stack`].
    pub stack: Rc<[Frame]>,
    /// What was measured.
    pub numbers: Numbers,
}

/// Waits at one site for holds by another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blame {
    /// Who waited: index into [`Lock::sites`].
    pub waiter: usize,
    /// Who held: index into [`Lock::sites`]. `None`: nobody that is known; the waiter was being
    /// woken, or the holders were too many to tell apart.
    pub holder: Option<usize>,
    /// Waits that the holder had a part in.
    pub count: u64,
    /// The holder's part of them.
    pub ns: f64,
}

/// Time that the holder of a lock spent waiting for something else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nested {
    /// For what.
    pub at: At,
    /// How many times.
    pub count: u64,
    /// How long in all.
    pub ns: f64,
}

/// How the readers of an rwlock overlapped; the sum over its instances.
#[derive(Clone, Debug, Default)]
pub struct Readers {
    /// Most readers at once of one instance.
    pub most: u64,
    /// Busy periods, from the first reader in to the last out; without a histogram. One that was
    /// not over counts up to the end of the measurement.
    pub busy: Times,
}

/// One lock of a class.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Process that has it.
    pub pid: u32,
    /// The same, as an index into [`MeterReport::processes`]: a process that calls exec keeps its
    /// id, and is another there.
    pub process: usize,
    /// Its number in the process: one per life of a piece of memory.
    pub inst: u32,
    /// Its address.
    pub addr: u64,
    /// The sum over its sites.
    pub total: Numbers,
    /// What each site did to it: index into [`Lock::sites`], and the numbers.
    pub sites: Vec<(usize, Numbers)>,
}

/// Two switches between threads take longer, even where nobody else wants the processor.
const SHORTEST_SLEEP_NS: f64 = 1_000.0;

/// A place in the program that waits for something that is no lock.
#[derive(Clone, Debug)]
pub struct Wait {
    /// For what.
    pub kind: WaitKind,
    /// The function, of a [`WaitKind::Call`] that is known: one of
    /// [`lockwright_ledger::rows::meter::BLOCKING_CALLS`].
    pub call: Option<&'static str>,
    /// What the source calls the condition variable, semaphore or barrier, if that is known.
    pub name: Option<String>,
    /// The condition's mutex, or the innermost lock held: index into [`MeterReport::locks`].
    pub lock: Option<usize>,
    /// Innermost frame first.
    pub stack: Rc<[Frame]>,
    /// As [`Site::place`].
    pub place: usize,
    /// Waits, those included that were over at once.
    pub waits: u64,
    /// Waits that blocked; of calls and joins, all that ended ([`Wait::slept`]).
    pub blocked: u64,
    /// Waits that were given up.
    pub timeouts: u64,
    /// How long they were.
    pub wait: Times,
    /// Waits that ended in vain: the thread was woken, did nothing, and waited again.
    pub in_vain: u64,
    /// Who ended the waits on a condition or futex, the longest waits first.
    pub wakers: Vec<Waker>,
    /// What is known of a [`WaitKind::Futex`].
    pub futex: Option<Futex>,
}

impl Wait {
    /// It is for a lock that is made of a futex: contention, though none of that lock's
    /// acquisitions is seen.
    pub fn is_for_lock(&self) -> bool {
        self.futex.as_ref().is_some_and(|futex| futex.kind.used_as == FutexUse::Lock)
    }

    /// Waits in which a thread slept. Whether a call or a join did is not recorded; one that was over sooner than a thread
    /// can leave a processor and come back did not.
    pub fn slept(&self) -> u64 {
        if !matches!(self.kind, WaitKind::Call | WaitKind::Join) {
            return self.blocked;
        }
        let short = self.wait.histogram.buckets().filter(|&(ns, _)| ns < SHORTEST_SLEEP_NS);
        short.fold(self.blocked, |slept, (_, count)| slept.saturating_sub(count))
    }
}

/// A futex that threads wait at.
#[derive(Clone, Debug, PartialEq)]
pub struct Futex {
    /// What it is used as, and whose it is.
    pub kind: FutexKind,
    /// Address of its word; 0 where waits at several are summed up.
    pub addr: u64,
    /// The variable that it is in.
    pub name: Option<String>,
    /// Calls that returned at once, as the word had changed: not among the waits.
    pub refused: u64,
    /// Waits that a signal ended.
    pub interrupted: u64,
}

/// How a call wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakerKind {
    /// At a futex.
    Wake,
    /// It signals one of a condition variable's waiters.
    Signal,
    /// It signals all of them.
    Broadcast,
    /// It runs the routine that is waited for.
    Routine,
}

/// A place in the program that ends waits on a condition or futex.
#[derive(Clone, Debug, PartialEq)]
pub struct Waker {
    /// Innermost frame first.
    pub stack: Rc<[Frame]>,
    /// As [`Site::place`].
    pub place: usize,
    /// How.
    pub kind: WakerKind,
    /// Calls there that woke somebody.
    pub calls: u64,
    /// Waits that it ended.
    pub count: u64,
    /// How long they were.
    pub ns: f64,
    /// How many of them ended in vain.
    pub in_vain: u64,
}

/// A thread whose wait was not over when the process ended, or the ledger was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiter {
    /// Process of the thread.
    pub pid: u32,
    /// As [`Instance::process`].
    pub process: usize,
    /// Its kernel id.
    pub tid: u32,
    /// Where it waits, and for what.
    pub at: At,
    /// Address of what it waits for: of a condition, its mutex; 0 for a call.
    pub addr: u64,
    /// From the process' start to the wait's begin; `None` if its clock is not known.
    pub begun_ns: Option<f64>,
    /// How long up to the process' end, or to the last that is known of it.
    pub waited_ns: Option<f64>,
    /// The threads that hold the lock it waits for.
    pub holders: Vec<Holder>,
    /// For a futex: the live thread whose id its word had when the wait began, which holds a lock
    /// that says so there.
    pub names: Option<u32>,
}

/// A thread that holds a lock which another waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    /// Its kernel id.
    pub tid: u32,
    /// Where it took the lock: index into [`Lock::sites`].
    pub site: Option<usize>,
    /// From the process' start to the hold's begin; `None` if that hold is not timed.
    pub begun_ns: Option<f64>,
}

/// A thread that lived when its ledger was read.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveThread {
    /// Process of the thread.
    pub pid: u32,
    /// As [`Instance::process`].
    pub process: usize,
    /// Its kernel id.
    pub tid: u32,
    /// Acquisitions, those of the threads that ended before it and left it their records included.
    pub acquisitions: u64,
    /// Those of them that had to wait.
    pub contended: u64,
    /// How long those waited, ns.
    pub wait_ns: f64,
    /// The locks it held, outermost first.
    pub held: Vec<Holding>,
}

/// A lock that a live thread held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Holding {
    /// Where it was taken.
    pub at: At,
    /// Its address.
    pub addr: u64,
    /// For how long, ns; `None` if that hold is not timed.
    pub held_ns: Option<f64>,
}

/// What is waited for that is no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitKind {
    /// A condition variable, up to its signal; getting the mutex back is that site's wait.
    Condition,
    /// A semaphore.
    Semaphore,
    /// A barrier.
    Barrier,
    /// The end of a thread.
    Join,
    /// A routine that another thread runs, by `pthread_once` or `call_once`.
    Once,
    /// A call that may sleep (I/O, poll, sleep), made with a lock held.
    Call,
    /// A futex that the program, or a library of it, waits at itself; [`Wait::futex`] says for
    /// what.
    Futex,
    /// Something that this version does not know.
    Other,
}

/// What the measurement itself cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// What one uncontended lock and unlock takes longer for it, as calibrated on the same machine.
    pub pair_ns: f64,
    /// What a wait for a lock takes longer.
    pub wait_ns: f64,
    /// What a call that may sleep takes longer when made with a lock held; so do other waits.
    pub call_ns: f64,
    /// CPU time in all: the first times acquisitions and rejects, the second times contended
    /// acquisitions, the third times the waits that are for no lock; and what the start and the slow path took.
    pub cpu_ns: f64,
    /// CPU time of the program, the tool's part included, where it is known.
    pub program_cpu_ns: Option<f64>,
}

//! Locks under schedules that would hardly ever come of themselves.
//!
//! Threads are fibers that take turns. Each access to a lock's words is a scheduling point, where
//! another thread can go on: at random, by a seed, or in all ways with few deviations from a default
//! schedule. What a lock may never do is looked for in each: two threads in a section; threads
//! that sleep with nobody left to wake them; threads that get on no more; waiters that are
//! overtaken, where the lock says that they are not; readers that see what is half written; and
//! refusals before a deadline. Sleeps end early now and then, and deadlines come at any point.
//!
//! All is sequentially consistent: what comes of weaker orders is for the model checker.

mod execution;
mod faults;
mod platform;
mod roles;
mod schedule;
mod subject;
mod trace;

use std::collections::HashSet;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use lockwright::platform::{Atomic, Platform};

use self::execution::Execution;
use self::platform::Entered;
use self::schedule::Strategy;
use self::subject::Placed;
use crate::arena::Arena;
use crate::cell::Cell;
use crate::rng::Rng;

pub use execution::Wrong;
pub use faults::KINDS as FAULTS;
pub use platform::Explored;
pub use roles::{How, Mode, Patience, Role};
pub use schedule::{Deviation, Schedule};
pub use subject::{KINDS, Kind, Phase, Subject, Tell};
pub use trace::{SourceLine, Step, What};

/// What the words of locks ask.
pub(crate) mod cells {
    pub(crate) use super::platform::{access, wait, wake};
}

impl Kind {
    /// The kind of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().chain(FAULTS).find(|kind| kind.name == name)
    }
}

/// The most threads.
pub const MOST_THREADS: u32 = schedule::Threads::MOST;

/// Deadlines come within so many nanoseconds, which are scheduling points: what a few threads need
/// to take a lock and to release it.
const LONGEST_WAIT: u64 = 80;

/// Which schedules are tried.
#[derive(Clone, Debug)]
pub enum Search {
    /// At random, by this seed and those that follow it.
    Random {
        /// The first seed.
        seed: u64,
    },
    /// All with at most so many deviations from the default schedule, those with few first.
    Bounded {
        /// What decides which threads read, and which only try.
        seed: u64,
        /// The most deviations.
        deviations: u32,
    },
    /// This one.
    Given {
        /// What decides which threads read, and which only try.
        seed: u64,
        /// The schedule.
        schedule: Schedule,
    },
}

/// What is explored.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// From 1 to [`MOST_THREADS`].
    pub threads: u32,
    /// How often each of them takes the lock.
    pub operations: u32,
    /// In which schedules.
    pub search: Search,
    /// The most schedules.
    pub count: u64,
}

/// What was found wrong, in one schedule.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What.
    pub wrong: Wrong,
    /// The seed it was found by.
    pub seed: u64,
    /// The schedule that shows it, with as few deviations as could be found.
    pub schedule: Schedule,
    /// All that threads did in that.
    pub steps: Vec<Step>,
}

/// What an exploration has come to.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Schedules that were run.
    pub schedules: u64,
    /// How many of them differed in who went on at some point.
    pub distinct: u64,
    /// Scheduling points, of all.
    pub points: u64,
    /// Whether there are no more schedules of the kind asked for.
    pub is_complete: bool,
    /// How often a waiter was overtaken at most by those who came after it had begun to wait.
    pub overtaken: u32,
    /// The first thing found wrong: it is also the last, as it ends the exploration.
    pub failure: Option<Failure>,
}

impl Exploration {
    /// Explores a lock, and calls `tell` with the number of schedules run, now and then.
    ///
    /// # Panics
    /// If there are too few or too many threads.
    pub fn explore(&self, kind: &Kind, tell: &mut dyn FnMut(u64)) -> Findings {
        assert!((1..=MOST_THREADS).contains(&self.threads), "1 to {MOST_THREADS} threads");
        let mut explorer = Explorer {
            exploration: self,
            kind,
            arena: Arena::take(),
            orders: HashSet::new(),
            findings: Findings::default(),
            tell,
        };
        match &self.search {
            Search::Random { seed } => explorer.random(*seed),
            Search::Bounded { seed, deviations } => explorer.bounded(*seed, *deviations),
            Search::Given { seed, schedule } => {
                explorer.run(*seed, Strategy::follow(schedule.clone()), false);
            }
        }
        explorer.findings.distinct = explorer.orders.len() as u64;
        explorer.findings
    }
}

struct Explorer<'e> {
    exploration: &'e Exploration,
    kind: &'e Kind,
    arena: Arena,
    orders: HashSet<u64>,
    findings: Findings,
    tell: &'e mut dyn FnMut(u64),
}

impl Explorer<'_> {
    /// How many points the default schedule has.
    fn default_points(&mut self, seed: u64) -> u64 {
        let execution = self.execute(seed, Strategy::follow(Schedule::default()), |_| {});
        execution.points
    }

    fn random(&mut self, first: u64) {
        let points = self.default_points(0);
        for number in 0..self.exploration.count {
            let seed = first.wrapping_add(number);
            let strategy = Strategy::random(seed, self.exploration.threads, points);
            if !self.run(seed, strategy, true) {
                return;
            }
        }
    }

    /// Level by level: each schedule is run once, as the child of that with its last deviation left
    /// out.
    fn bounded(&mut self, seed: u64, deviations: u32) {
        if !self.run(seed, Strategy::follow(Schedule::default()), true) {
            return;
        }
        let mut parents = vec![Schedule::default()];
        for level in 1..=deviations {
            let mut children = Vec::new();
            for parent in &parents {
                // Once more, to see which threads could have run at each point.
                let strategy = Strategy::follow(parent.clone());
                let execution = self.execute(seed, strategy, |execution| {
                    execution.choices = Some(Vec::new());
                });
                let choices = execution.choices.unwrap_or_default();
                let after = parent.0.last().map_or(0, |last| last.point);
                for &(point, ready, default) in &choices {
                    if point <= after {
                        continue;
                    }
                    for thread in ready.iter().filter(|thread| *thread != default) {
                        if self.findings.schedules == self.exploration.count {
                            return;
                        }
                        let mut child = parent.clone();
                        child.0.push(Deviation { point, thread });
                        if !self.run(seed, Strategy::follow(child.clone()), true) {
                            return;
                        }
                        if level < deviations {
                            children.push(child);
                        }
                    }
                }
            }
            parents = children;
        }
        self.findings.is_complete = true;
    }

    /// Runs a schedule and counts it. False: something is wrong, and has been noted.
    fn run(&mut self, seed: u64, strategy: Strategy, shrinks: bool) -> bool {
        let execution = self.execute(seed, strategy, |_| {});
        self.findings.schedules += 1;
        self.findings.points += execution.points;
        self.findings.overtaken = self.findings.overtaken.max(execution.worst);
        self.orders.insert(execution.order);
        if self.findings.schedules.is_multiple_of(64) {
            (self.tell)(self.findings.schedules);
        }
        let Some(wrong) = execution.wrong else { return true };
        let schedule = execution.schedule;
        let schedule = if shrinks { self.shrink(seed, &wrong, schedule) } else { schedule };
        let traced = self.execute(seed, Strategy::follow(schedule.clone()), |execution| {
            execution.steps = Some(Vec::new());
        });
        let wrong = traced.wrong.unwrap_or(wrong);
        let steps = traced.steps.unwrap_or_default();
        self.findings.failure = Some(Failure { wrong, seed, schedule, steps });
        false
    }

    /// Leaves out deviations as long as the same goes wrong: halves first, then one by one.
    fn shrink(&mut self, seed: u64, wrong: &Wrong, schedule: Schedule) -> Schedule {
        let mut best = schedule;
        let mut size = best.0.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < best.0.len() {
                let mut fewer = best.clone();
                fewer.0.drain(from..(from + size).min(fewer.0.len()));
                let execution = self.execute(seed, Strategy::follow(fewer), |_| {});
                let fewer = execution.schedule;
                let is_same = execution.wrong.as_ref().is_some_and(|other| other.is_like(wrong));
                if is_same && fewer.0.len() < best.0.len() {
                    best = fewer;
                } else {
                    from += size;
                }
            }
            size /= 2;
        }
        best
    }

    /// Runs a schedule.
    fn execute(
        &mut self,
        seed: u64,
        strategy: Strategy,
        prepare: impl FnOnce(&mut Execution),
    ) -> Execution {
        self.arena.clear();
        let Exploration { threads, operations, .. } = *self.exploration;
        let Placed { subject, address, size } = self.kind.place(&mut self.arena);
        let data: NonNull<Data> = self.arena.place(std::array::from_fn(|_| Atomic::new(0)));
        let mut execution = Execution::new(threads, strategy, self.kind.overtakes, &mut self.arena);
        execution.name(address, size, "the lock");
        execution.name(data.addr().get(), size_of::<Data>(), "the data");
        prepare(&mut execution);
        // SAFETY: placed just now; what is placed next comes after the execution.
        let (subject, data) = unsafe { (subject.as_ref(), data.as_ref()) };
        let kind = *self.kind;
        execution.run(&self.arena, Entered::new, &|thread| {
            let mut rng = Rng::new(seed ^ (u64::from(thread) << 32));
            for _ in 0..operations {
                let how = how(&mut rng, &kind, Explored::now());
                operate(subject, how, data);
            }
        });
        execution.end_step();
        execution
    }
}

/// Half of all operations read, where that is a difference, and a third of these upgrade; one in
/// eight only tries, and a third has a deadline, where there can be one.
fn how(rng: &mut Rng, kind: &Kind, now: u64) -> How {
    let reads = kind.readers && rng.one_in(2);
    let patience = if rng.one_in(8) {
        Patience::None
    } else if kind.deadlines && rng.one_in(3) {
        Patience::Until(now + rng.below(LONGEST_WAIT))
    } else {
        Patience::Endless
    };
    let role = match reads {
        true if kind.upgrades && rng.one_in(3) => Role::Upgrade,
        true => Role::Read,
        false => Role::Write,
    };
    How { role, patience }
}

/// The two words that a lock guards. They are always written together, and so always the same.
type Data = [Cell<AtomicU32>; 2];

/// Takes the lock once. Sections are several accesses, so that others can come in between.
fn operate(lock: &dyn Subject, how: How, data: &Data) {
    let read = || (data[0].load(Relaxed), data[1].load(Relaxed));
    platform::with(|execution| execution.ask(how.role));
    let mut peeked = None;
    let acquired = lock.with(how, &mut |phase| match phase {
        Phase::Has(Mode::Peek) => {
            platform::with(|execution| execution.acquire(Mode::Peek));
            peeked = Some(read());
        }
        Phase::Has(mode) => {
            platform::with(|execution| execution.acquire(mode));
            let seen = read();
            platform::with(|execution| execution.look_at(seen));
            if mode == Mode::Write {
                data[0].store(seen.0.wrapping_add(1), Relaxed);
                data[1].store(seen.0.wrapping_add(1), Relaxed);
            }
            platform::with(Execution::check);
        }
        Phase::Weakens(mode) => {
            platform::with(|execution| execution.weaken(mode));
        }
        Phase::Releases => {
            platform::with(Execution::release);
        }
        Phase::LetsGo => {
            platform::with(|execution| {
                execution.release();
                execution.ask(how.role);
            });
        }
    });
    platform::with(|execution| {
        // What was read is worth something only if nobody wrote meanwhile: it says so.
        if let (true, Some(seen)) = (acquired, peeked) {
            execution.look_at(seen);
        }
        execution.done(acquired, how.patience);
    });
}

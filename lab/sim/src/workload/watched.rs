//! Threads below lockwright's own engines: what lockdep and lockmeter add to each acquisition, and to
//! each object that is made with a lock of its own.
//!
//! An acquisition touches no line that another thread touches (`cargo xtask bench lines` counts them),
//! so it takes time and nothing else. A new lock is looked up under the lock of the process's core,
//! twice: that lock is the real one ([`CoreLock`]), on the simulated machine.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{self, Relaxed};

use lockwright::platform::{Atomic, Platform, Word as _};
use lockwright::qspinlock::RawQspinlock;
use lockwright_engines::core_lock::{self, CoreLock};

use super::checked::{BETWEEN, SECTION, SHARED};
use super::{Figures, Run, UnknownLock, Worker, run_workers};
use crate::cell::{Cell, Word};
use crate::platform::Sim;
use crate::time::{NANOSECOND, SECOND, Time};

/// An object with a lock of its own lasts for so many acquisitions of it, where there are such: a choice.
const OBJECT: u64 = 64;

/// The names of the runs.
pub const NAMES: &[&str] =
    &["unwatched", "check", "meter", "check-objects", "meter-objects", "check-new", "meter-new"];

/// What an engine takes, measured on an EPYC (2.45 GHz) with one thread, and not scaled to other machines:
/// docs/lab/simulator.md.
#[derive(Clone, Copy)]
struct Engine {
    /// The time of an acquisition and its release, with the lock held.
    pair: Time,
    /// The time of an object, outside of the core's lock: walking the stack, system calls.
    object: Time,
    /// With the core's lock held, when an object is made and when it is destroyed.
    core: [Time; 2],
    /// Lines that others have written to, and that are written to with that lock held when an object is made, in
    /// addition to the lock's. (`bench lines` has them; which of them the other section touches, too, was not looked
    /// at.)
    lines: usize,
}

const CHECK: Engine = Engine {
    pair: 9 * NANOSECOND,
    object: 1_775 * NANOSECOND,
    core: [268 * NANOSECOND, 57 * NANOSECOND],
    lines: 6,
};
const METER: Engine = Engine {
    pair: 34 * NANOSECOND,
    object: 1_400 * NANOSECOND,
    core: [326 * NANOSECOND, 67 * NANOSECOND],
    lines: 2,
};

impl core_lock::Word for Word {
    fn load(&self, order: Ordering) -> u32 {
        Atomic::load(self, order)
    }

    fn store(&self, value: u32, order: Ordering) {
        Atomic::store(self, value, order);
    }

    fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        Atomic::compare_exchange(self, current, new, success, failure)
    }
}

/// The simulated kernel, as the core's lock asks for it.
struct Kernel;

impl core_lock::Host<Word> for Kernel {
    fn pause(&self) {
        Sim::relax();
    }

    fn wait(&self, word: &Word, value: u32) -> bool {
        !word.wait(value, Some(Sim::now() + SECOND / NANOSECOND))
    }

    fn wake_one(&self, word: &Word) {
        Word::wake(word, 1);
    }

    fn wake_all(&self, word: &Word) {
        Word::wake(word, u32::MAX);
    }

    fn lives(&self, _: u32) -> bool {
        true
    }
}

/// What a process's threads share with the engine.
struct Core<'s> {
    lock: &'s CoreLock<Word>,
    lines: Vec<&'s Cell<AtomicU64>>,
}

impl Core<'_> {
    /// A section of its lock, which writes to these lines.
    fn with(&self, length: Time, lines: &[&Cell<AtomicU64>]) {
        let me = Sim::cpu().expect("a simulated thread") + 1;
        self.lock.lock(me, &Kernel).expect("nobody is gone, and all make progress");
        for line in lines {
            line.store(line.load(Relaxed) + 1, Relaxed);
        }
        Sim::compute(length);
        self.lock.unlock(&Kernel);
    }
}

pub fn run(run: &Run, name: &str) -> Result<Figures, UnknownLock> {
    // How many acquisitions a lock lasts for.
    let (engine, object) = match name {
        "unwatched" => (None, None),
        "check" => (Some(CHECK), None),
        "meter" => (Some(METER), None),
        "check-objects" => (Some(CHECK), Some(OBJECT)),
        "meter-objects" => (Some(METER), Some(OBJECT)),
        "check-new" => (Some(CHECK), Some(1)),
        "meter-new" => (Some(METER), Some(1)),
        _ => return Err(UnknownLock(name.to_owned())),
    };
    Ok(run_workers(run, |setup| {
        let lock = setup.place("the core's lock", CoreLock::of(Word::new(0), Word::new(0)));
        let number = engine.map_or(0, |engine| engine.lines);
        let lines: Vec<&Cell<AtomicU64>> =
            (0..number).map(|_| setup.place("the core", Cell::new(0))).collect();
        let shared = setup.place("the shared lock", RawQspinlock::<Sim>::new_in());
        Box::new(move |mut worker: Worker<'_>| {
            let core = Core { lock, lines: lines.clone() };
            let own = RawQspinlock::<Sim>::new_in();
            let pair = engine.map_or(0, |engine| engine.pair);
            // Threads have not all begun an object at once.
            let mut left = worker.rng.below(object.unwrap_or(1));
            while !Sim::is_over() {
                if let (Some(engine), Some(object)) = (engine, object) {
                    if left == 0 {
                        left = object;
                        Sim::compute(engine.object / 2);
                        core.with(engine.core[0], &core.lines);
                        Sim::compute(engine.object / 2);
                        core.with(engine.core[1], &[]);
                    }
                    left -= 1;
                }
                Sim::compute(worker.rng.below(2 * (BETWEEN - SECTION / 2)));
                let is_shared = worker.rng.one_in(SHARED);
                let lock = if is_shared { shared } else { &own };
                let section = pair + worker.rng.below(SECTION);
                lock.lock();
                if is_shared {
                    worker.check.section(|| Sim::compute(section));
                } else {
                    Sim::compute(section);
                }
                // SAFETY: this thread took `lock` above, in this round of its loop.
                unsafe { lock.unlock() };
                worker.count();
            }
        })
    }))
}

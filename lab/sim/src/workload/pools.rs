//! The build of Long's 2019 debugobjects patches: each kernel object that has a state is tracked by an object from a
//! pool. The pool is filled from the slab, and gives its surplus back. Before the patches each object is taken and
//! given back under the pool's lock. After them CPUs have pools of 64 of their own, and move or fill 16 at once. The
//! slab gets back 1,024 at most ten times a second.
//!
//! A CPU does one job of the build after the other. Objects of a job last until its end, when all of them
//! go at once, or only for a moment. Objects are alike, so the lists are their lengths; a thread that takes the lock
//! waits for the lines of the objects it moves.

use std::cell::Cell as HostCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright::platform::Atomic;
use lockwright::qspinlock::RawQspinlock;

use super::{Figures, Run, UnknownLock, Worker, run_workers};
use crate::cell::Cell;
use crate::locks::PLACE;
use crate::platform::Sim;
use crate::time::{MICROSECOND, NANOSECOND, SECOND, Time, seconds};

/// Objects that last as long as their job: of 72 at once, pool_max_used less pool_used.
const LASTING: u64 = (170_127 - 108_488) / 72;
/// Two of so many objects last: the others are there for a moment. FITTED on the system time that
/// the patches saved: see docs/lab/simulator.md.
const TWO_IN: u64 = 9;
/// What a job computes. FITTED on objs_allocated before the patches, 34,954,917 in three builds of
/// 291 s.
const JOB: Time = 580_000 * MICROSECOND;
/// A brief object lasts for less than this: a choice.
const MOMENT: Time = 2 * MICROSECOND;
/// What the slab takes to make an object, and to take one back: choices.
const SLAB: [Time; 2] = [150 * NANOSECOND, 100 * NANOSECOND];
/// For the line of an object that another CPU gave back: a choice, between what it takes within a socket
/// and from the other one.
const LINE: Time = 80 * NANOSECOND;

/// Most objects of the pool, and what it is filled up to before it is empty; after the patches a batch
/// for each CPU more.
const SIZE: u64 = 1_024;
const LEAST: u64 = 256;
/// Objects of a CPU's pool, and those moved at once.
const OWN: u64 = 64;
const BATCH: u64 = 16;
/// Objects given back at once, after the patches, and how often.
const FREED: u64 = 1_024;
const EVERY: Time = SECOND / 10;

/// The names of the runs.
pub const NAMES: &[&str] = &["before", "after"];

/// What the lock guards, and what is counted.
#[derive(Default)]
struct Pool {
    free: HostCell<u64>,
    to_free: HostCell<u64>,
    /// Had from the slab, and given back to it.
    allocated: HostCell<u64>,
    freed: HostCell<u64>,
    /// When that was last.
    freed_at: HostCell<Time>,
    acquired: HostCell<u64>,
}

fn add(to: &HostCell<u64>, n: u64) {
    to.set(to.get() + n);
}

fn take(from: &HostCell<u64>, most: u64) -> u64 {
    let n = from.get().min(most);
    from.set(from.get() - n);
    n
}

/// A CPU's side of it.
struct Cpu<'s> {
    pool: Rc<Pool>,
    lock: &'s RawQspinlock<Sim>,
    /// The line of the lengths.
    line: &'s Cell<AtomicU64>,
    is_patched: bool,
    /// Its own pool.
    own: Rc<HostCell<u64>>,
    /// What levels are higher by.
    more: u64,
}

impl Cpu<'_> {
    /// A section of the pool's lock, for which the lines of some objects come.
    fn locked<T>(&self, worker: &Worker<'_>, objects: u64, f: impl FnOnce(&Pool) -> T) -> T {
        self.lock.lock();
        worker.check.section(|| {
            self.line.store(self.line.load(Relaxed) + 1, Relaxed);
            Sim::compute(objects * LINE);
        });
        add(&self.pool.acquired, 1);
        let result = f(&self.pool);
        // SAFETY: `lock` above took `self.lock` for this thread.
        unsafe { self.lock.unlock() };
        result
    }

    fn fill(&self, worker: &Worker<'_>) {
        let (pool, least) = (&self.pool, LEAST + self.more);
        let at_once = if self.is_patched { BATCH } else { 1 };
        while pool.free.get() < least {
            if pool.to_free.get() > 0 {
                self.locked(worker, at_once, |pool| {
                    add(&pool.free, take(&pool.to_free, at_once));
                });
            } else {
                Sim::compute(at_once * SLAB[0]);
                self.locked(worker, 1, |pool| {
                    add(&pool.allocated, at_once);
                    add(&pool.free, at_once);
                });
            }
        }
    }

    /// Takes an object.
    fn take(&self, worker: &Worker<'_>) {
        self.fill(worker);
        if !self.is_patched {
            while self.locked(worker, 1, |pool| take(&pool.free, 1)) == 0 {
                self.fill(worker);
            }
            return;
        }
        while self.own.get() == 0 {
            self.fill(worker);
            let moved = self.locked(worker, BATCH, |pool| take(&pool.free, BATCH));
            add(&self.own, moved);
        }
        take(&self.own, 1);
    }

    /// Gives one back.
    fn give(&self, worker: &Worker<'_>) {
        let n = if !self.is_patched {
            1
        } else if self.own.get() < OWN {
            return add(&self.own, 1);
        } else {
            take(&self.own, BATCH - 1);
            BATCH
        };
        let size = SIZE + self.more;
        let lines = if self.is_patched { 2 } else { 1 };
        self.locked(worker, lines, |pool| {
            add(if pool.free.get() < size { &pool.free } else { &pool.to_free }, n);
        });
        if self.pool.to_free.get() > 0 {
            self.free(worker, size);
        }
    }

    /// What the kernel's worker does: what is too much goes back to the slab.
    fn free(&self, worker: &Worker<'_>, size: u64) {
        let now = Sim::time();
        if self.is_patched {
            if now - self.pool.freed_at.get() < EVERY {
                return;
            }
            self.pool.freed_at.set(now);
        }
        let most = if self.is_patched { FREED } else { u64::MAX };
        let freed = self.locked(worker, 1, |pool| {
            let wanted = size.saturating_sub(pool.free.get());
            add(&pool.free, take(&pool.to_free, wanted));
            // Where it was not full, more are about to be used.
            if self.is_patched && wanted > 0 { 0 } else { take(&pool.to_free, most) }
        });
        add(&self.pool.freed, freed);
        Sim::compute(freed * SLAB[1]);
    }
}

pub fn run(run: &Run, name: &str) -> Result<Figures, UnknownLock> {
    let is_patched = match name {
        "before" => false,
        "after" => true,
        _ => return Err(UnknownLock(name.to_owned())),
    };
    let more = if is_patched { BATCH * u64::from(run.threads) } else { 0 };
    let pool = Rc::new(Pool { free: HostCell::new(SIZE + more), ..Pool::default() });
    let own_pools: Rc<HostCell<Vec<Rc<HostCell<u64>>>>> = Rc::default();
    let (shared, all_own) = (Rc::clone(&pool), Rc::clone(&own_pools));
    let mut figures = run_workers(run, |setup| {
        let lock = setup.place(PLACE, RawQspinlock::<Sim>::new_in());
        let line: &Cell<AtomicU64> = setup.place("the pool", Cell::new(0));
        Box::new(move |mut worker: Worker<'_>| {
            let own = Rc::new(HostCell::new(0));
            let mut all = all_own.take();
            all.push(Rc::clone(&own));
            all_own.set(all);
            let cpu = Cpu { pool: Rc::clone(&shared), lock, line, is_patched, own, more };
            // Jobs have not all begun at once.
            let mut lasting = worker.rng.below(LASTING);
            while !Sim::is_over() {
                Sim::compute(worker.rng.below(2 * JOB / (LASTING * TWO_IN / 2)));
                cpu.take(&worker);
                if worker.rng.below(TWO_IN) < 2 {
                    lasting += 1;
                } else {
                    Sim::compute(worker.rng.below(MOMENT));
                    cpu.give(&worker);
                }
                worker.count();
                if lasting == LASTING {
                    while lasting > 0 && !Sim::is_over() {
                        cpu.give(&worker);
                        lasting -= 1;
                    }
                }
            }
        })
    });
    let a_second = |n: u64| n as f64 / seconds(run.length);
    let own: u64 = own_pools.take().iter().map(|own| own.get()).sum();
    figures.more = vec![
        ("objs_allocated a second", a_second(pool.allocated.get())),
        ("objs_freed a second", a_second(pool.freed.get())),
        ("pool_free", (pool.free.get() + own) as f64),
        ("pool_pcp_free", own as f64),
        ("acquisitions of the pool's lock a second", a_second(pool.acquired.get())),
    ];
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use crate::machine::named;
    use crate::setup::Config;
    use crate::time::SECOND;
    use crate::workload::{Figures, Run, Workload};

    fn figures(name: &str) -> Figures {
        let config = Config::new(named("e5-2699v3-smt").unwrap());
        let run = Run { config, threads: 72, length: SECOND / 20, libraries: Vec::new() };
        Workload::named("pools").unwrap().run(&run, name).unwrap()
    }

    #[test]
    fn the_patches_take_most_acquisitions_away() {
        let more = |figures: &Figures, name: &str| {
            figures.more.iter().find(|(of, _)| *of == name).map(|(_, value)| *value).unwrap()
        };
        let [before, after] = ["before", "after"].map(figures);
        let lock = "acquisitions of the pool's lock a second";
        assert!(more(&before, lock) > 10.0 * more(&after, lock));
        assert_eq!(before.intrusions + after.intrusions, 0);
        assert_eq!(more(&before, "pool_pcp_free"), 0.0);
        assert!(more(&after, "pool_free") >= more(&after, "pool_pcp_free"));
    }
}

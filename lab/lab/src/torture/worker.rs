//! The loop of a writer or a reader under torture.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;
use std::time::Duration;

use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

use super::boost::{Boost, Outcome};
use super::data::Data;
use super::ops::Ops;
use super::parameters::Parameters;
use super::random::Random;
use super::signals::Targets;

/// What all threads share.
pub(super) struct Shared {
    pub lock: Guarded,
    /// Locks that a writer may take before that one, in this order.
    pub nested: Vec<Guarded>,
    pub stop: AtomicBool,
    /// Nobody takes locks for the moment.
    pub pause: AtomicBool,
    pub targets: Targets,
    /// One in so many acquisitions boosts its thread; 0: none does.
    pub boost_once_in: u64,
    pub parameters: Parameters,
}

/// A lock and what is under it.
pub(super) struct Guarded {
    pub ops: Box<dyn Ops>,
    pub data: Data,
}

impl AsRef<Targets> for Shared {
    fn as_ref(&self) -> &Targets {
        &self.targets
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Writer,
    Reader,
}

/// What a place's threads have done. Everything relaxed: statistics.
#[derive(Default)]
pub(super) struct Counts {
    pub acquired: AtomicU64,
    pub refused: AtomicU64,
    pub fail: AtomicU64,
    pub late: AtomicU64,
    pub longest_wait_ns: AtomicU64,
    pub boosts: AtomicU64,
    pub boosts_refused: AtomicU64,
}

/// The place of a thread, which others take over at `restart_after`.
pub(super) struct Worker {
    pub role: Role,
    pub counts: Counts,
}

impl Worker {
    /// How often it has asked for the lock.
    pub fn operations(&self) -> u64 {
        self.counts.acquired.load(Relaxed) + self.counts.refused.load(Relaxed)
    }
}

/// How a lock is asked for.
enum Asked {
    Try,
    Until(u64),
    Wait,
}

/// Works until told to stop, or until all acquisitions are done.
pub(super) fn employ(shared: &Arc<Shared>, worker: &Arc<Worker>, seed: u64) {
    let mut random = Random::new(seed);
    if shared.parameters.restart_after == 0 {
        return work(shared, worker, &mut random);
    }
    while goes_on(shared, worker) {
        let (shared, worker) = (Arc::clone(shared), Arc::clone(worker));
        let one = thread::spawn(move || {
            work(&shared, &worker, &mut random);
            random
        });
        random = one.join().expect("a thread under torture panicked");
    }
}

fn goes_on(shared: &Shared, worker: &Worker) -> bool {
    let acquired = worker.counts.acquired.load(Relaxed);
    let limit = shared.parameters.acquisitions;
    !shared.stop.load(Relaxed) && (limit == 0 || acquired < limit)
}

fn work(shared: &Shared, worker: &Worker, random: &mut Random) {
    let _target = shared.targets.join();
    let counts = &worker.counts;
    let mut boost = Boost::default();
    let until = match shared.parameters.restart_after {
        0 => u64::MAX,
        some => counts.acquired.load(Relaxed) + some,
    };
    while counts.acquired.load(Relaxed) < until && goes_on(shared, worker) {
        if shared.pause.load(Relaxed) {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        if shared.boost_once_in > 0 {
            match boost.now_and_then(random, shared.boost_once_in) {
                Outcome::Boosted => counts.boosts.fetch_add(1, Relaxed),
                Outcome::Refused => counts.boosts_refused.fetch_add(1, Relaxed),
                Outcome::Nothing => 0,
            };
        }
        acquire(shared, worker, random);
        // As a program does: most time is spent without the lock, or nobody else would ever get an
        // unfair one.
        if random.once_in(16) {
            thread::sleep(Duration::from_nanos(1));
        }
    }
}

/// Takes the lock once, after some of the nested ones, and uses what is under them.
fn acquire(shared: &Shared, worker: &Worker, random: &mut Random) {
    let counts = &worker.counts;
    let mask = match worker.role {
        Role::Writer => random.below(1 << shared.nested.len()),
        Role::Reader => 0,
    };
    let nested = || shared.nested.iter().enumerate().filter(|(index, _)| mask >> index & 1 != 0);
    for (_, lock) in nested() {
        lock.ops.writelock();
        counts.fail.fetch_add(u64::from(!lock.data.write(|| ())), Relaxed);
    }
    let asked = match random.below(8) {
        0 => Asked::Try,
        1 | 2 => Asked::Until(Linux::now() + random.below(50_000)),
        _ => Asked::Wait,
    };
    if take_in_time(shared, worker, &asked) {
        section(shared, worker, random);
    } else {
        counts.refused.fetch_add(1, Relaxed);
        thread::yield_now();
    }
    for (_, lock) in nested().rev() {
        // SAFETY: this thread took each of the nested locks above.
        unsafe { lock.ops.writeunlock() };
    }
}

/// Takes the lock, and looks at how long that took a writer, if there is a limit.
fn take_in_time(shared: &Shared, worker: &Worker, asked: &Asked) -> bool {
    let (lock, limit) = (&*shared.lock.ops, shared.parameters.acq_writer_lim);
    if limit.is_zero() || worker.role == Role::Reader {
        return take(lock, worker.role, asked);
    }
    let begin = Linux::now();
    let taken = take(lock, worker.role, asked);
    let waited = Linux::now() - begin;
    let counts = &worker.counts;
    counts.longest_wait_ns.fetch_max(waited, Relaxed);
    counts.late.fetch_add(u64::from(Duration::from_nanos(waited) > limit), Relaxed);
    taken
}

fn take(lock: &dyn Ops, role: Role, asked: &Asked) -> bool {
    match (role, asked) {
        (Role::Writer, Asked::Try) => lock.try_writelock(),
        (Role::Writer, Asked::Until(deadline)) => lock.writelock_until(*deadline),
        (Role::Writer, Asked::Wait) => {
            lock.writelock();
            true
        }
        (Role::Reader, Asked::Try) => lock.try_readlock(),
        (Role::Reader, Asked::Until(deadline)) => lock.readlock_until(*deadline),
        (Role::Reader, Asked::Wait) => {
            lock.readlock();
            true
        }
    }
}

/// Uses what is under the lock, and releases it.
fn section(shared: &Shared, worker: &Worker, random: &mut Random) {
    let Guarded { ops, data } = &shared.lock;
    let kind = random.below(4096);
    let delay = || match kind {
        0 => thread::sleep(shared.parameters.long_hold),
        1..64 => thread::yield_now(),
        _ => {}
    };
    let count = |alone: bool| worker.counts.fail.fetch_add(u64::from(!alone), Relaxed);
    worker.counts.acquired.fetch_add(1, Relaxed);
    match worker.role {
        Role::Writer => {
            count(data.write(delay));
            // SAFETY: `take_in_time` took the lock for this thread as a writer, before `acquire`
            // called this.
            if random.once_in(8) && unsafe { ops.downgrade() } {
                count(data.read(|| ()));
                // SAFETY: `downgrade` returned true, so this thread has the lock shared.
                unsafe { ops.readunlock() };
            } else {
                // SAFETY: `take_in_time` took the lock for this thread as a writer, and `downgrade`
                // left it that.
                unsafe { ops.writeunlock() };
            }
        }
        Role::Reader => {
            count(data.read(delay));
            // SAFETY: `take_in_time` took the lock for this thread as a reader.
            unsafe { ops.readunlock() };
        }
    }
}

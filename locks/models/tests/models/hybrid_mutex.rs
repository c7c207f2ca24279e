use std::sync::Arc;

use lockwright::hybrid_mutex::RawHybridMutex;
use loom::thread;

use crate::exclusion::{self, Counter, Exclusive, exclusive_models};
use crate::world::{self, Loom};

exclusive_models!(RawHybridMutex<Loom>);

#[test]
fn two_sleepers_exclude_each_other() {
    world::with_patience(0, || exclusion::excludes::<RawHybridMutex<Loom>>(2, 2, Some(4)));
}

/// One is the head and one sleeps: the unlocker wakes the one or the other.
#[test]
fn three_sleepers_exclude_each_other() {
    world::with_patience(0, || exclusion::excludes::<RawHybridMutex<Loom>>(3, 1, Some(3)));
}

/// The head says at once that the lock is for it only, and newcomers wake sleepers before them.
#[test]
fn the_impatient_exclude_each_other() {
    world::with_patience(0, || {
        world::with_time_flying(|| {
            exclusion::excludes::<RawHybridMutex<Loom>>(2, 2, Some(4));
            exclusion::excludes::<RawHybridMutex<Loom>>(3, 1, Some(2));
        });
    });
}

#[test]
fn who_unlocks_last_may_free_it() {
    exclusion::who_unlocks_last_may_free_it::<RawHybridMutex<Loom>>();
}

/// Whether the deadline comes before or after the wake, one thread at a time has the lock, others
/// are woken, and nothing of the wait is left in the end.
fn a_deadline_races(others: usize, rounds: usize, preemptions: usize) {
    world::check(Some(preemptions), move || {
        let shared = Arc::new((RawHybridMutex::<Loom>::new_in(), Counter::default()));
        let others: Vec<_> = (0..others)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    (0..rounds).for_each(|_| shared.0.locked(|| shared.1.increment()));
                })
            })
            .collect();
        if shared.0.lock_until(Some(1)) || shared.0.lock_until(Some(1)) {
            shared.1.increment();
            // SAFETY: this thread took `shared.0` with `lock_until` above and still holds it.
            unsafe { shared.0.unlock() };
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(!shared.0.is_locked() && shared.0.try_lock());
    });
}

#[test]
fn a_deadline_races_with_unlock() {
    for patience in [0, 2] {
        world::with_patience(patience, || a_deadline_races(1, 2, 4));
    }
}

#[test]
fn a_deadline_races_with_the_head() {
    world::with_patience(0, || a_deadline_races(2, 1, 2));
}

#[test]
fn a_deadline_races_with_the_impatient() {
    world::with_patience(0, || world::with_time_flying(|| a_deadline_races(2, 1, 2)));
}

/// The lock is free, but kept for a waiter, which takes it or leaves it to all.
#[test]
fn a_fair_unlock_leaves_nobody_behind() {
    fn fair(shared: &(RawHybridMutex<Loom>, Counter)) {
        shared.0.lock();
        shared.1.increment();
        // SAFETY: this thread took `shared.0` with `lock` above and still holds it.
        unsafe { shared.0.unlock_fair() };
    }
    fn timed(shared: &(RawHybridMutex<Loom>, Counter)) {
        if shared.0.lock_until(Some(1)) {
            shared.1.increment();
            // SAFETY: this thread took `shared.0` with `lock_until` above and still holds it.
            unsafe { shared.0.unlock() };
        }
    }
    type Story = fn(&(RawHybridMutex<Loom>, Counter));
    for others in [[fair as Story, fair], [fair, timed], [timed, timed]] {
        world::with_patience(0, || {
            world::check(Some(2), move || {
                let shared = Arc::new((RawHybridMutex::<Loom>::new_in(), Counter::default()));
                let others = others.map(|other| {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || other(&shared))
                });
                fair(&shared);
                others.into_iter().for_each(|other| other.join().unwrap());
                assert!(!shared.0.is_locked() && shared.0.try_lock());
            });
        });
    }
}

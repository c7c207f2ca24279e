use std::sync::Arc;

use lockwright::ww_mutex::{AcquireCtx, Algorithm, Class, RawWwMutex, Refused};
use loom::thread;

use crate::exclusion::{self, Counter, Exclusive};
use crate::world::{self, Loom};

impl Exclusive for RawWwMutex<Loom> {
    fn new() -> Self {
        Self::new_in()
    }

    fn locked(&self, section: impl FnOnce()) {
        // SAFETY: no context; unlocked while held.
        unsafe {
            self.lock(None).unwrap();
            section();
            self.unlock();
        }
    }

    fn try_locked(&self, section: impl FnOnce()) -> bool {
        // SAFETY: there is no context to outlive, and the mutex is unlocked only if it was taken.
        unsafe {
            let taken = self.try_lock(None);
            if taken {
                section();
                self.unlock();
            }
            taken
        }
    }
}

#[test]
fn without_contexts_it_excludes() {
    world::with_patience(0, || exclusion::excludes::<RawWwMutex<Loom>>(2, 2, Some(3)));
}

#[test]
fn trylock_excludes() {
    exclusion::tries::<RawWwMutex<Loom>>(Some(3));
}

/// Locks, what they guard, and their class.
struct Shared {
    class: Class<Loom>,
    locks: [(RawWwMutex<Loom>, Counter); 3],
}

impl Shared {
    fn new(algorithm: Algorithm) -> Self {
        let lock = || (RawWwMutex::new_in(), Counter::default());
        Self { class: Class::new_in(algorithm), locks: [lock(), lock(), lock()] }
    }

    /// Takes the locks in this order, as long as it takes, and releases them. The context ends with
    /// that.
    fn transact(&self, order: &[usize]) {
        let ctx = &*Box::leak(Box::new(AcquireCtx::new(&self.class)));
        // SAFETY: the context lives for ever.
        let lock = |index: usize| unsafe { self.locks[index].0.lock(Some(ctx)) };
        // SAFETY: asked for what is held only.
        let unlock = |index: usize| unsafe { self.locks[index].0.unlock() };
        let mut slow: Option<usize> = None;
        'again: loop {
            // SAFETY: the context lives for ever; nothing is held.
            slow.inspect(|index| unsafe { self.locks[*index].0.lock_slow(ctx) });
            for (done, &index) in order.iter().enumerate() {
                if slow == Some(index) {
                    continue;
                }
                if let Err(refused) = lock(index) {
                    assert_eq!(refused, Refused::Deadlock);
                    order[..done].iter().filter(|&&it| slow != Some(it)).for_each(|&it| unlock(it));
                    slow.inspect(|&it| unlock(it));
                    slow = Some(index);
                    continue 'again;
                }
            }
            break;
        }
        order.iter().for_each(|&index| self.locks[index].1.increment());
        order.iter().for_each(|&index| unlock(index));
        assert_eq!(ctx.acquired(), 0);
        world::free(ctx);
    }
}

fn transactions(algorithm: Algorithm, preemptions: usize, orders: &'static [&'static [usize]]) {
    world::check(Some(preemptions), move || {
        let shared = Arc::new(Shared::new(algorithm));
        let others: Vec<_> = orders[1..]
            .iter()
            .map(|order| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.transact(order))
            })
            .collect();
        shared.transact(orders[0]);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(shared.locks.iter().all(|(lock, _)| !lock.is_locked()));
    });
}

#[test]
fn wound_wait_resolves_abba() {
    world::with_patience(0, || transactions(Algorithm::WoundWait, 3, &[&[0, 1], &[1, 0]]));
}

#[test]
fn wait_die_resolves_abba() {
    world::with_patience(0, || transactions(Algorithm::WaitDie, 3, &[&[0, 1], &[1, 0]]));
}

#[test]
fn spinning_wound_wait_resolves_abba() {
    transactions(Algorithm::WoundWait, 2, &[&[0, 1], &[1, 0]]);
}

#[test]
fn spinning_wait_die_resolves_abba() {
    transactions(Algorithm::WaitDie, 2, &[&[0, 1], &[1, 0]]);
}

/// Nobody uses a context that has ended.
#[test]
fn a_context_ends_with_its_locks() {
    for algorithm in [Algorithm::WoundWait, Algorithm::WaitDie] {
        world::with_patience(0, || transactions(algorithm, 3, &[&[0], &[1, 0]]));
    }
}

#[test]
fn a_cycle_of_three_is_resolved() {
    for algorithm in [Algorithm::WoundWait, Algorithm::WaitDie] {
        world::with_patience(0, || {
            transactions(algorithm, 1, &[&[0, 1], &[1, 2], &[2, 0]]);
        });
    }
}

/// Whichever comes first of wound, hand-over and deadline, the locks are whole.
#[test]
fn a_deadline_races_with_judgement() {
    for algorithm in [Algorithm::WoundWait, Algorithm::WaitDie] {
        world::with_patience(0, || {
            world::check(Some(2), move || {
                let shared = Arc::new(Shared::new(algorithm));
                let other = {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || shared.transact(&[1, 0]))
                };
                let ctx = AcquireCtx::new(&shared.class);
                // SAFETY: unlocked below, before the context ends.
                unsafe {
                    shared.locks[0].0.lock(Some(&ctx)).unwrap();
                    if shared.locks[1].0.lock_until(Some(&ctx), Some(0)).is_ok() {
                        shared.locks[1].1.increment();
                        shared.locks[1].0.unlock();
                    }
                    shared.locks[0].1.increment();
                    shared.locks[0].0.unlock();
                }
                drop(ctx);
                other.join().unwrap();
                assert!(shared.locks.iter().all(|(lock, _)| !lock.is_locked()));
            });
        });
    }
}

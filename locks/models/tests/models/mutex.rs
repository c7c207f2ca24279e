use std::sync::Arc;

use lockwright::mutex::{Compact, RawMutex};
use loom::thread;

use crate::exclusion::{self, Counter, Exclusive, exclusive_models};
use crate::world::{self, Loom};

/// The models, of the mutex in one of its layouts.
macro_rules! models {
    ($($name:ident: $lock:ty;)*) => { $(
        mod $name {
            use super::*;

            type Lock = $lock;

            exclusive_models!(Lock);

            #[test]
            fn two_sleepers_exclude_each_other() {
                world::with_patience(0, || exclusion::excludes::<Lock>(2, 2, Some(3)));
            }

            #[test]
            fn three_sleepers_exclude_each_other() {
                world::with_patience(0, || exclusion::excludes::<Lock>(3, 1, Some(2)));
            }

            /// A waiter that was woken in vain asks for a hand-off, and spins until it has been given the lock.
            #[test]
            fn a_spinner_picks_up_what_is_handed_to_it() {
                world::check(Some(3), || {
                    // The first time, the waiter sleeps at once.
                    world::set_running(false);
                    let shared = Arc::new((<Lock>::new_in(), Counter::default()));
                    let other = {
                        let shared = Arc::clone(&shared);
                        thread::spawn(move || shared.0.locked(|| shared.1.increment()))
                    };
                    shared.0.locked(|| shared.1.increment());
                    world::set_running(true);
                    shared.0.locked(|| shared.1.increment());
                    other.join().unwrap();
                });
            }

            #[test]
            fn who_unlocks_last_may_free_it() {
                exclusion::who_unlocks_last_may_free_it::<Lock>();
            }

            /// Whether the deadline comes before or after the wake, one thread at a time has the lock, and it is free
            /// in the end.
            fn a_deadline_races(rounds: usize) {
                world::check(Some(3), move || {
                    let shared = Arc::new((<Lock>::new_in(), Counter::default()));
                    let other = {
                        let shared = Arc::clone(&shared);
                        thread::spawn(move || {
                            (0..rounds).for_each(|_| shared.0.locked(|| shared.1.increment()));
                        })
                    };
                    if shared.0.lock_until(Some(0)) || shared.0.lock_until(Some(0)) {
                        assert!(shared.0.is_owned());
                        shared.1.increment();
                        // SAFETY: this thread took `shared.0` with `lock_until` above and still
                        // holds it.
                        unsafe { shared.0.unlock() };
                    }
                    other.join().unwrap();
                    assert!(!shared.0.is_locked() && shared.0.try_lock());
                });
            }

            #[test]
            fn a_deadline_races_with_unlock() {
                world::with_patience(0, || a_deadline_races(1));
            }

            /// The second unlock may find that it has to hand off, and that who asked for it has given up.
            #[test]
            fn a_deadline_races_with_handoff() {
                world::with_patience(0, || a_deadline_races(2));
            }

            #[test]
            fn a_deadline_races_with_spinning() {
                a_deadline_races(2);
            }
        }
    )* };
}

models! {
    as_the_kernels: RawMutex<Loom>;
    compact: RawMutex<Loom, Compact<Loom>>;
}

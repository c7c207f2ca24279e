use lockwright::preference_rwlock::{Mode, Preference, RawPreferenceRwLock, Refused};

use crate::sharing::{Guarded, Shared, beside, sharing_models};
use crate::world::{self, Loom};

/// The lock, whose users say that writers go first, or that readers do.
struct Raw<const WRITERS_FIRST: bool>(RawPreferenceRwLock<Loom>);

type ReadersFirst = Raw<false>;
type WritersFirst = Raw<true>;

impl<const WRITERS_FIRST: bool> Raw<WRITERS_FIRST> {
    const PREFERENCE: Preference =
        if WRITERS_FIRST { Preference::Writers } else { Preference::Readers };

    fn lock(&self, mode: Mode) {
        assert_eq!(self.0.lock(mode, Self::PREFERENCE, None), Ok(()));
    }

    /// Whether it has been taken before the deadline.
    fn lock_until(&self, mode: Mode) -> bool {
        let taken = self.0.lock(mode, Self::PREFERENCE, Some(&0));
        assert!(matches!(taken, Ok(()) | Err(Refused::TooLate)));
        taken.is_ok()
    }

    fn try_lock(&self, mode: Mode) -> bool {
        self.0.try_lock(mode, Self::PREFERENCE).is_ok()
    }

    /// The caller has it so.
    fn unlock(&self, mode: Mode) {
        assert_eq!(self.0.holder(), Some(mode));
        // SAFETY: the caller took the lock in `mode`, and the assertion above compared that with
        // its state.
        unsafe { self.0.unlock(mode, Self::PREFERENCE) };
    }

    fn run(&self, mode: Mode, taken: bool, section: impl FnOnce()) -> bool {
        if taken {
            section();
            self.unlock(mode);
        }
        taken
    }
}

impl<const WRITERS_FIRST: bool> Shared for Raw<WRITERS_FIRST> {
    fn new() -> Self {
        Self(RawPreferenceRwLock::new_in())
    }

    fn read(&self, section: impl FnOnce()) {
        self.lock(Mode::Read);
        self.run(Mode::Read, true, section);
    }

    fn write(&self, section: impl FnOnce()) {
        self.lock(Mode::Write);
        self.run(Mode::Write, true, section);
    }

    fn try_read(&self, section: impl FnOnce()) -> bool {
        self.run(Mode::Read, self.try_lock(Mode::Read), section)
    }

    fn try_write(&self, section: impl FnOnce()) -> bool {
        self.run(Mode::Write, self.try_lock(Mode::Write), section)
    }
}

mod readers_first {
    use super::*;
    sharing_models!(ReadersFirst);
}

mod writers_first {
    use super::*;
    sharing_models!(WritersFirst);
}

/// Nobody is left behind, or counted as waiting: then the next one would be kept out.
fn is_free<const WRITERS_FIRST: bool>(shared: &Guarded<Raw<WRITERS_FIRST>>) {
    assert_eq!(shared.lock.0.holder(), None);
    assert!(shared.lock.try_read(|| {}) && shared.lock.try_write(|| {}), "kept for nobody");
}

/// Nobody spins: all waiting is sleeping.
fn sleeping<const WRITERS_FIRST: bool>() {
    world::with_patience(0, || {
        crate::sharing::a_reader_and_a_writer::<Raw<WRITERS_FIRST>>(2, Some(3));
        crate::sharing::two_readers_and_a_writer::<Raw<WRITERS_FIRST>>(Some(2));
        crate::sharing::a_reader_and_two_writers::<Raw<WRITERS_FIRST>>(Some(2));
    });
}

#[test]
fn sleeping_loses_no_wake() {
    sleeping::<false>();
    sleeping::<true>();
}

/// A reader or writer that gives up, together with a reader or writer that does not.
fn deadlines<const WRITERS_FIRST: bool>() {
    for timed in [Mode::Read, Mode::Write] {
        for other in [Guarded::read as fn(&Guarded<Raw<WRITERS_FIRST>>), Guarded::write] {
            world::check(Some(3), move || {
                let shared = Guarded::<Raw<WRITERS_FIRST>>::new();
                let other = beside(&shared, other);
                let taken = shared.lock.lock_until(timed);
                shared.lock.run(timed, taken, || match timed {
                    Mode::Read => _ = shared.value.get(),
                    Mode::Write => shared.value.increment(),
                });
                other.join().unwrap();
                is_free(&shared);
            });
        }
    }
}

#[test]
fn deadlines_race_with_unlocks() {
    world::with_patience(0, || {
        deadlines::<false>();
        deadlines::<true>();
    });
}

/// A thread that was woken gives up: the turn is another's then.
fn passed_on<const WRITERS_FIRST: bool>(gives_up: Mode, goes_on: Mode) {
    world::check(Some(2), move || {
        let shared = Guarded::<Raw<WRITERS_FIRST>>::new();
        shared.lock.lock(Mode::Write);
        let others = [
            beside(&shared, move |shared| {
                let taken = shared.lock.lock_until(gives_up);
                shared.lock.run(gives_up, taken, || {});
            }),
            beside(&shared, move |shared| {
                shared.lock.lock(goes_on);
                shared.lock.unlock(goes_on);
            }),
        ];
        shared.lock.unlock(Mode::Write);
        others.into_iter().for_each(|other| other.join().unwrap());
        is_free(&shared);
    });
}

#[test]
fn a_turn_that_is_not_taken_is_passed_on() {
    world::with_patience(0, || {
        for gives_up in [Mode::Read, Mode::Write] {
            for goes_on in [Mode::Read, Mode::Write] {
                passed_on::<false>(gives_up, goes_on);
                passed_on::<true>(gives_up, goes_on);
            }
        }
    });
}

/// A reader that gives way to a writer goes on when that gives up, though another one is inside all
/// the time.
#[test]
fn a_writer_that_gives_up_lets_readers_in() {
    world::with_patience(0, || {
        world::check(Some(2), || {
            let shared = Guarded::<WritersFirst>::new();
            shared.lock.lock(Mode::Read);
            let writer = beside(&shared, |shared| {
                assert!(!shared.lock.lock_until(Mode::Write));
            });
            beside(&shared, Guarded::read).join().unwrap();
            writer.join().unwrap();
            shared.lock.unlock(Mode::Read);
            is_free(&shared);
        });
    });
}

/// Inside, a reader waits for another one to have been there, while a writer waits for it to leave.
fn reads_beside<const WRITERS_FIRST: bool>() {
    world::with_patience(0, || {
        world::check(Some(2), || {
            let shared = Guarded::<Raw<WRITERS_FIRST>>::new();
            shared.lock.lock(Mode::Read);
            let writer = beside(&shared, Guarded::write);
            beside(&shared, Guarded::read).join().unwrap();
            shared.lock.unlock(Mode::Read);
            writer.join().unwrap();
            is_free(&shared);
        });
    });
}

#[test]
fn readers_go_first_where_they_are_preferred() {
    reads_beside::<false>();
}

/// The control of the former.
#[test]
#[should_panic(expected = "deadlock")]
fn writers_go_first_where_they_are_preferred() {
    reads_beside::<true>();
}

/// A count of references in the object that the lock lies in.
fn freed<const WRITERS_FIRST: bool>() {
    for patience in [0, 2] {
        world::with_patience(patience, || {
            world::check(Some(3), || {
                let shared = &*Box::leak(Box::new(Guarded {
                    lock: Raw::<WRITERS_FIRST>::new(),
                    value: Default::default(),
                }));
                let leave = || {
                    shared.lock.lock(Mode::Write);
                    shared.value.increment();
                    let last = shared.value.get() == 2;
                    // SAFETY: this thread took the lock to write above and still holds it.
                    unsafe { shared.lock.0.unlock(Mode::Write, Raw::<WRITERS_FIRST>::PREFERENCE) };
                    if last {
                        world::free(&shared.lock);
                    }
                };
                let other = loom::thread::spawn(leave);
                leave();
                other.join().unwrap();
            });
        });
    }
}

#[test]
fn who_unlocks_last_may_free_it() {
    freed::<false>();
    freed::<true>();
}

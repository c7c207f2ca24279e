use lockwright::biased_rwlock::RawBiasedRwLock;

use crate::sharing::{Guarded, Shared, beside, sharing_models};
use crate::world::{self, Loom};

type Raw = RawBiasedRwLock<Loom>;
type Lock = Guarded<Raw>;

impl Shared for Raw {
    /// Two readers have met.
    fn new() -> Self {
        let lock = Self::new_in();
        assert!(lock.try_lock_shared() && lock.try_lock_shared());
        // SAFETY: both calls of `try_lock_shared` above succeeded, as asserted.
        unsafe {
            lock.unlock_shared();
            lock.unlock_shared();
        }
        lock
    }

    fn read(&self, section: impl FnOnce()) {
        self.lock_shared();
        section();
        // SAFETY: this thread took `self` with `lock_shared` above and still holds it.
        unsafe { self.unlock_shared() };
    }

    fn write(&self, section: impl FnOnce()) {
        self.lock_exclusive();
        section();
        // SAFETY: this thread took `self` with `lock_exclusive` above and still holds it.
        unsafe { self.unlock_exclusive() };
    }

    fn try_read(&self, section: impl FnOnce()) -> bool {
        let taken = self.try_lock_shared();
        if taken {
            section();
            // SAFETY: this thread took `self` with `try_lock_shared` above and still holds it.
            unsafe { self.unlock_shared() };
        }
        taken
    }

    fn try_write(&self, section: impl FnOnce()) -> bool {
        let taken = self.try_lock_exclusive();
        if taken {
            section();
            // SAFETY: this thread took `self` with `try_lock_exclusive` above and still holds it.
            unsafe { self.unlock_exclusive() };
        }
        taken
    }
}

sharing_models!(Raw, Some(1));

fn without_spinning(model: impl FnOnce()) {
    world::with_patience(0, model);
}

/// Nobody is left behind.
fn is_free(shared: &Lock) {
    assert!(!shared.lock.is_locked() && shared.lock.try_lock_exclusive(), "kept for nobody");
}

/// Nobody spins: a writer sleeps until the last reader has left.
#[test]
fn sleeping_loses_no_wake() {
    without_spinning(|| {
        crate::sharing::a_reader_and_a_writer::<Raw>(1, Some(3));
        crate::sharing::a_reader_and_a_writer::<Raw>(2, Some(2));
        crate::sharing::two_readers_and_a_writer::<Raw>(Some(1));
        crate::sharing::a_reader_and_two_writers::<Raw>(Some(1));
    });
}

/// Two readers give the bias while a writer comes: what was written before is read.
#[test]
fn readers_that_meet_beside_a_writer_see_what_it_wrote() {
    world::check(Some(2), || {
        let shared =
            std::sync::Arc::new(Guarded { lock: Raw::new_in(), value: Default::default() });
        let others = [
            beside(&shared, Guarded::write),
            beside(&shared, |shared| {
                shared.read();
                shared.read();
            }),
        ];
        shared.read();
        shared.read();
        others.into_iter().for_each(|other| other.join().unwrap());
        is_free(&shared);
    });
}

/// A writer that gives up while a reader is inside leaves it inside: the next one waits for it.
#[test]
fn a_writer_that_gives_up_forgets_no_reader() {
    fn writes(shared: &Lock) {
        if shared.lock.lock_exclusive_until(Some(0)) {
            shared.value.increment();
            // SAFETY: this thread took `shared.lock` with `lock_exclusive_until` above and still
            // holds it.
            unsafe { shared.lock.unlock_exclusive() };
        }
    }
    without_spinning(|| {
        world::check(Some(2), || {
            let shared = Lock::new();
            let others = [beside(&shared, writes), beside(&shared, writes)];
            shared.read();
            others.into_iter().for_each(|other| other.join().unwrap());
            is_free(&shared);
        });
    });
}

/// An attempt to write that fails, likewise.
#[test]
fn an_attempt_to_write_forgets_no_reader() {
    world::check(Some(3), || {
        let shared = Lock::new();
        let writer = beside(&shared, |shared| {
            for _ in 0..2 {
                shared.lock.try_write(|| shared.value.increment());
            }
        });
        shared.read();
        writer.join().unwrap();
        is_free(&shared);
    });
}

fn reads_then_writes(shared: &Lock) {
    shared.lock.lock_upgradable();
    let seen = shared.value.get();
    // SAFETY: this thread took `shared.lock` with `lock_upgradable` above and still holds it.
    unsafe { shared.lock.upgrade() };
    assert_eq!(shared.value.get(), seen, "somebody has written between");
    shared.value.increment();
    // SAFETY: this thread took `shared.lock` with `upgrade` above and still holds it.
    unsafe { shared.lock.unlock_exclusive() };
}

/// A thread that upgrades waits for the readers that came in by their entries.
#[test]
fn upgrading_waits_for_visible_readers() {
    without_spinning(|| {
        for other in [reads_then_writes as fn(&Lock), Guarded::write, Guarded::read] {
            world::check(Some(2), move || {
                let shared = Lock::new();
                let other = beside(&shared, other);
                reads_then_writes(&shared);
                other.join().unwrap();
                is_free(&shared);
            });
        }
    });
}

/// An upgrade that does not wait, or not for long: it comes to nothing, or excludes.
#[test]
fn an_attempt_to_upgrade_excludes() {
    fn tries(shared: &Lock, upgrades: impl FnOnce(&Raw) -> bool) {
        shared.lock.lock_upgradable();
        // SAFETY: this thread took `shared.lock` upgradably above, and each step releases or
        // changes what it has.
        unsafe {
            if upgrades(&shared.lock) {
                shared.value.increment();
                shared.lock.downgrade_to_upgradable();
            }
            shared.value.get();
            shared.lock.downgrade_upgradable();
            shared.value.get();
            shared.lock.unlock_shared();
        }
    }
    without_spinning(|| {
        for timed in [false, true] {
            world::check(Some(2), move || {
                let shared = Lock::new();
                let reader = beside(&shared, |shared| {
                    shared.read();
                    shared.read();
                });
                tries(&shared, |lock| {
                    // SAFETY: `tries` took the lock upgradably for this thread before it calls
                    // this.
                    unsafe { if timed { lock.upgrade_until(Some(0)) } else { lock.try_upgrade() } }
                });
                reader.join().unwrap();
                is_free(&shared);
            });
        }
    });
}

/// A reader reads again, more often than it has entries, while a writer waits for it.
#[test]
fn a_recursive_reader_goes_ahead_of_the_writer() {
    fn tries_to_write(shared: &Lock) {
        shared.lock.try_write(|| shared.value.increment());
    }
    without_spinning(|| {
        for writes in [Guarded::write as fn(&Lock), tries_to_write] {
            world::check(Some(2), move || {
                let shared = Lock::new();
                let writer = beside(&shared, writes);
                shared.lock.lock_shared();
                let first = shared.value.get();
                for _ in 0..3 {
                    shared.lock.lock_shared_recursive();
                }
                for _ in 0..4 {
                    assert_eq!(shared.value.get(), first, "written while it was read");
                    // SAFETY: this thread took the lock four times to read: once plainly and three
                    // times recursively.
                    unsafe { shared.lock.unlock_shared() };
                }
                writer.join().unwrap();
                is_free(&shared);
            });
        }
    });
}

/// The writer that goes on as a reader lets others read with it.
#[test]
fn downgrade_lets_readers_in() {
    without_spinning(|| {
        world::check(Some(2), || {
            let shared = Lock::new();
            let reader = beside(&shared, |shared| {
                shared.lock.read(|| assert_ne!(shared.value.get(), 1, "read between two writes"));
            });
            shared.lock.lock_exclusive();
            shared.value.increment();
            shared.value.increment();
            // SAFETY: this thread took `shared.lock` with `lock_exclusive` above and still holds
            // it.
            unsafe { shared.lock.downgrade() };
            assert_eq!(shared.value.get(), 2);
            reader.join().unwrap();
            // SAFETY: `downgrade` above made this thread a reader of `shared.lock`.
            unsafe { shared.lock.unlock_shared() };
            is_free(&shared);
        });
    });
}

use lockwright::hybrid_rwlock::RawHybridRwLock;

use crate::exclusion::{self, Exclusive};
use crate::sharing::{Guarded, Shared, beside, sharing_models};
use crate::world::{self, Loom};

type Raw = RawHybridRwLock<Loom>;
type Lock = Guarded<Raw>;

impl Shared for Raw {
    fn new() -> Self {
        Self::new_in()
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

sharing_models!(Raw);

fn without_spinning(model: impl FnOnce()) {
    world::with_patience(0, model);
}

/// Nobody is left behind: neither at the word nor in the queue.
fn is_free(shared: &Lock) {
    assert!(!shared.lock.is_locked() && shared.lock.try_lock_exclusive(), "kept for nobody");
}

/// Nobody spins: all waiting is sleeping.
#[test]
fn sleeping_loses_no_wake() {
    without_spinning(|| {
        crate::sharing::a_reader_and_a_writer::<Raw>(2, Some(3));
        crate::sharing::two_readers_and_a_writer::<Raw>(Some(2));
        crate::sharing::a_reader_and_two_writers::<Raw>(Some(2));
    });
}

/// Every head says that nobody may go in before it. That is forgotten when it is inside.
#[test]
fn who_has_waited_too_long_is_next() {
    world::with_time_flying(|| {
        without_spinning(|| {
            world::check(Some(2), || {
                let shared = Lock::new();
                let others = [beside(&shared, Guarded::read), beside(&shared, Guarded::write)];
                shared.write();
                others.into_iter().for_each(|other| other.join().unwrap());
                is_free(&shared);
            });
        });
    });
}

/// The lock is handed to a head that sleeps.
#[test]
fn a_fair_unlock_lets_the_head_in() {
    without_spinning(|| {
        world::check(Some(3), || {
            let shared = Lock::new();
            shared.lock.lock_exclusive();
            let other = beside(&shared, Guarded::write);
            loom::thread::yield_now();
            // SAFETY: this thread took `shared.lock` with `lock_exclusive` above and still holds
            // it.
            unsafe { shared.lock.unlock_exclusive_fair() };
            shared.read();
            other.join().unwrap();
            is_free(&shared);
        });
    });
}

/// The writer that goes on as a reader lets others read with it, and what it has written is there.
#[test]
fn downgrade_lets_readers_in() {
    without_spinning(|| {
        world::check(Some(3), || {
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
            // The reader comes in, if it waits, while we read.
            assert_eq!(shared.value.get(), 2);
            reader.join().unwrap();
            // SAFETY: `downgrade` above made this thread a reader of `shared.lock`.
            unsafe { shared.lock.unlock_shared() };
            is_free(&shared);
        });
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

/// Nobody writes between what an upgradable reader has read and what it writes.
#[test]
fn upgrading_lets_nobody_write_in_between() {
    without_spinning(|| {
        for other in [reads_then_writes as fn(&Lock), Guarded::write, Guarded::read] {
            world::check(Some(3), move || {
                let shared = Lock::new();
                let other = beside(&shared, other);
                reads_then_writes(&shared);
                other.join().unwrap();
                is_free(&shared);
            });
        }
    });
}

/// An upgradable reader and a reader are inside together.
#[test]
fn an_upgradable_reader_lets_readers_in() {
    world::check(Some(3), || {
        let shared = Lock::new();
        shared.lock.lock_upgradable();
        beside(&shared, Guarded::read).join().unwrap();
        assert!(!shared.lock.try_lock_upgradable() && !shared.lock.try_lock_exclusive());
        // SAFETY: this thread took `shared.lock` with `lock_upgradable` above and still holds it.
        unsafe { shared.lock.unlock_upgradable() };
        is_free(&shared);
    });
}

/// An upgrade that does not wait: it comes to nothing, or excludes.
#[test]
fn an_attempt_to_upgrade_excludes() {
    without_spinning(|| {
        for other in [Guarded::read as fn(&Lock), Guarded::write] {
            world::check(Some(3), move || {
                let shared = Lock::new();
                let other = beside(&shared, other);
                shared.lock.lock_upgradable();
                // SAFETY: this thread took `shared.lock` upgradably above, and each step releases
                // or changes what it has.
                unsafe {
                    if shared.lock.try_upgrade() {
                        shared.value.increment();
                        shared.lock.downgrade_to_upgradable();
                    }
                    shared.value.get();
                    shared.lock.downgrade_upgradable();
                    shared.value.get();
                    shared.lock.unlock_shared();
                }
                other.join().unwrap();
                is_free(&shared);
            });
        }
    });
}

/// A reader reads again while a writer waits for it, which would never end by `lock_shared`.
#[test]
fn a_recursive_reader_goes_ahead_of_the_writer() {
    without_spinning(|| {
        world::check(Some(3), || {
            let shared = Lock::new();
            let writer = beside(&shared, Guarded::write);
            let read = |section: &dyn Fn()| {
                shared.lock.lock_shared_recursive();
                section();
                // SAFETY: this thread took `shared.lock` with `lock_shared_recursive` above and
                // still holds it.
                unsafe { shared.lock.unlock_shared() };
            };
            read(&|| {
                let first = shared.value.get();
                read(&|| assert_eq!(shared.value.get(), first));
            });
            writer.join().unwrap();
            is_free(&shared);
        });
    });
}

/// The control of the former.
#[test]
#[should_panic(expected = "deadlock")]
fn a_reader_that_reads_twice_waits_for_the_writer_between() {
    world::check(Some(3), || {
        let shared = Lock::new();
        let writer = beside(&shared, Guarded::write);
        shared.lock.read(|| shared.read());
        writer.join().unwrap();
    });
}

/// Whether a deadline comes before or after the lock, the lock is taken once, and no waiter is
/// forgotten.
#[test]
fn deadlines_race_with_unlocks() {
    fn reads(shared: &Lock) {
        if shared.lock.lock_shared_until(Some(0)) {
            shared.value.get();
            // SAFETY: this thread took `shared.lock` with `lock_shared_until` above and still holds
            // it.
            unsafe { shared.lock.unlock_shared() };
        }
    }
    fn writes(shared: &Lock) {
        if shared.lock.lock_exclusive_until(Some(0)) {
            shared.value.increment();
            // SAFETY: this thread took `shared.lock` with `lock_exclusive_until` above and still
            // holds it.
            unsafe { shared.lock.unlock_exclusive() };
        }
    }
    fn upgrades(shared: &Lock) {
        if !shared.lock.lock_upgradable_until(Some(0)) {
            return;
        }
        // SAFETY: this thread took `shared.lock` upgradably above; each branch releases what the
        // upgrade left it.
        unsafe {
            if shared.lock.upgrade_until(Some(0)) {
                shared.value.increment();
                shared.lock.unlock_exclusive();
            } else {
                shared.lock.unlock_upgradable();
            }
        }
    }
    without_spinning(|| {
        for timed in [reads, writes, upgrades] {
            for other in [Guarded::read as fn(&Lock), Guarded::write] {
                world::check(Some(3), move || {
                    let shared = Lock::new();
                    let other = beside(&shared, other);
                    timed(&shared);
                    other.join().unwrap();
                    is_free(&shared);
                });
            }
        }
    });
}

/// A writer that waits for a reader gives up, and with it what kept a reader out.
#[test]
fn a_writer_that_gives_up_lets_readers_in() {
    without_spinning(|| {
        world::check(Some(2), || {
            let shared = Lock::new();
            shared.lock.lock_shared();
            let writer = beside(&shared, |shared| {
                if shared.lock.lock_exclusive_until(Some(0)) {
                    shared.value.increment();
                    // SAFETY: this thread took `shared.lock` with `lock_exclusive_until` above and
                    // still holds it.
                    unsafe { shared.lock.unlock_exclusive() };
                }
            });
            let reader = beside(&shared, Guarded::read);
            reader.join().unwrap();
            writer.join().unwrap();
            // SAFETY: this thread took `shared.lock` with `lock_shared` above and still holds it.
            unsafe { shared.lock.unlock_shared() };
            is_free(&shared);
        });
    });
}

/// The lock as its writers have it.
struct Written(Raw);

impl Exclusive for Written {
    fn new() -> Self {
        Self(Raw::new_in())
    }

    fn locked(&self, section: impl FnOnce()) {
        self.0.write(section);
    }

    fn try_locked(&self, section: impl FnOnce()) -> bool {
        self.0.try_write(section)
    }
}

#[test]
fn who_unlocks_last_may_free_it() {
    exclusion::who_unlocks_last_may_free_it::<Written>();
}

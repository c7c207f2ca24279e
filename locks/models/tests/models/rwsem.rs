use lockwright::rwsem::RawRwSem;
use lockwright::rwsem::try_read::{AddAndUndo, AssumeFree, LoadFirst, Shape};

use crate::sharing::{Guarded, Shared, beside, sharing_models};
use crate::world::{self, Loom};

impl Shared for RawRwSem<Loom> {
    fn new() -> Self {
        Self::new_in()
    }

    fn read(&self, section: impl FnOnce()) {
        self.down_read();
        section();
        // SAFETY: this thread took `self` with `down_read` above and still holds it.
        unsafe { self.up_read() };
    }

    fn write(&self, section: impl FnOnce()) {
        self.down_write();
        section();
        // SAFETY: this thread took `self` with `down_write` above and still holds it.
        unsafe { self.up_write() };
    }

    fn try_read(&self, section: impl FnOnce()) -> bool {
        self.try_read_by::<LoadFirst>(section)
    }

    fn try_write(&self, section: impl FnOnce()) -> bool {
        let taken = self.try_down_write();
        if taken {
            section();
            // SAFETY: this thread took `self` with `try_down_write` above and still holds it.
            unsafe { self.up_write() };
        }
        taken
    }
}

trait TryReadBy {
    fn try_read_by<S: Shape>(&self, section: impl FnOnce()) -> bool;
}

impl TryReadBy for RawRwSem<Loom> {
    fn try_read_by<S: Shape>(&self, section: impl FnOnce()) -> bool {
        let taken = self.try_down_read_by::<S>().taken;
        if taken {
            section();
            // SAFETY: `try_down_read_by` took `self` to read for this thread, which still holds it.
            unsafe { self.up_read() };
        }
        taken
    }
}

type Lock = Guarded<RawRwSem<Loom>>;

sharing_models!(RawRwSem<Loom>);

fn without_spinning(model: impl FnOnce()) {
    world::with_patience(0, model);
}

/// Nobody spins: all waiting is sleeping.
#[test]
fn sleeping_loses_no_wake() {
    without_spinning(|| {
        crate::sharing::a_reader_and_a_writer::<RawRwSem<Loom>>(2, Some(3));
        crate::sharing::two_readers_and_a_writer::<RawRwSem<Loom>>(Some(2));
        crate::sharing::a_reader_and_two_writers::<RawRwSem<Loom>>(Some(2));
    });
}

/// Every waiter that has to look twice asks for the hand-off. It is forgotten with those who asked.
#[test]
fn the_lock_is_handed_off() {
    fn at_the_end_it_is_free(preemptions: usize) {
        world::check(Some(preemptions), move || {
            let shared = Lock::new();
            shared.lock.down_write();
            let others = [beside(&shared, Guarded::read), beside(&shared, Guarded::write)];
            // The others may come to sleep: no preemption for what has to happen before the race.
            loom::thread::yield_now();
            // SAFETY: this thread took `shared.lock` with `down_write` above and still holds it.
            unsafe { shared.lock.up_write() };
            others.into_iter().for_each(|other| other.join().unwrap());
            assert!(shared.lock.try_down_write(), "kept for nobody");
        });
    }
    world::with_time_flying(|| {
        without_spinning(|| {
            crate::sharing::a_reader_and_a_writer::<RawRwSem<Loom>>(2, Some(2));
            at_the_end_it_is_free(2);
        });
        at_the_end_it_is_free(1);
    });
}

fn tries_to_read_by<S: Shape>() {
    world::check(Some(3), || {
        let shared = Lock::new();
        let writer = beside(&shared, Guarded::write);
        shared.lock.try_read_by::<S>(|| {
            shared.value.get();
        });
        writer.join().unwrap();
        assert!(shared.lock.try_read_by::<S>(|| assert_eq!(shared.value.get(), 1)));
    });
}

#[test]
fn trylocks_of_all_shapes_exclude_writers() {
    tries_to_read_by::<LoadFirst>();
    tries_to_read_by::<AssumeFree>();
    tries_to_read_by::<AddAndUndo>();
}

/// A reader that comes in vain may keep the last reader from waking the writer: it must do so
/// itself.
#[test]
fn a_trylock_that_adds_and_undoes_wakes_whom_it_has_kept_asleep() {
    without_spinning(|| {
        world::check(Some(2), || {
            let shared = Lock::new();
            shared.lock.down_read();
            let try_read = |shared: &Lock| {
                shared.lock.try_read_by::<AddAndUndo>(|| {
                    shared.value.get();
                });
            };
            let others = [beside(&shared, Guarded::write), beside(&shared, try_read)];
            // SAFETY: this thread took `shared.lock` with `down_read` above and still holds it.
            unsafe { shared.lock.up_read() };
            others.into_iter().for_each(|other| other.join().unwrap());
        });
    });
}

/// The writer that goes on as a reader lets others read with it, and what it has written is there.
#[test]
fn downgrade_lets_readers_in() {
    world::check(Some(3), || {
        let shared = Lock::new();
        let reader = beside(&shared, |shared| {
            shared.lock.read(|| assert_ne!(shared.value.get(), 1, "read between two writes"));
        });
        shared.lock.down_write();
        shared.value.increment();
        shared.value.increment();
        // SAFETY: this thread took `shared.lock` with `down_write` above and still holds it.
        unsafe { shared.lock.downgrade_write() };
        // The reader comes in, if it waits, while we read.
        assert_eq!(shared.value.get(), 2);
        reader.join().unwrap();
        // SAFETY: `downgrade_write` above made this thread a reader of `shared.lock`.
        unsafe { shared.lock.up_read() };
        assert!(!shared.lock.is_locked());
    });
}

/// Whether a deadline comes before or after the lock, the lock is taken once, and no waiter is
/// forgotten.
#[test]
fn deadlines_race_with_unlocks() {
    without_spinning(|| {
        for reads in [true, false] {
            world::check(Some(3), move || {
                let shared = Lock::new();
                let other = beside(&shared, Guarded::write);
                if reads && shared.lock.down_read_until(Some(0)) {
                    shared.value.get();
                    // SAFETY: this thread took `shared.lock` with `down_read_until` above and still
                    // holds it.
                    unsafe { shared.lock.up_read() };
                } else if !reads && shared.lock.down_write_until(Some(0)) {
                    shared.value.increment();
                    // SAFETY: this thread took `shared.lock` with `down_write_until` above and
                    // still holds it.
                    unsafe { shared.lock.up_write() };
                }
                other.join().unwrap();
                assert!(!shared.lock.is_locked() && !shared.lock.is_contended());
            });
        }
    });
}

/// The first that waits gives up: the others' wake may have been its own.
#[test]
fn who_gives_up_passes_the_wake_on() {
    without_spinning(|| {
        for reads in [true, false] {
            world::check(Some(2), move || {
                let shared = Lock::new();
                let first = beside(&shared, |shared| {
                    if shared.lock.down_write_until(Some(0)) {
                        shared.value.increment();
                        // SAFETY: this thread took `shared.lock` with `down_write_until` above and
                        // still holds it.
                        unsafe { shared.lock.up_write() };
                    }
                });
                let second = beside(&shared, if reads { Guarded::read } else { Guarded::write });
                shared.write();
                first.join().unwrap();
                second.join().unwrap();
                assert!(!shared.lock.is_locked() && !shared.lock.is_contended());
            });
        }
    });
}

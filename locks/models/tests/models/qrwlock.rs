use lockwright::qrwlock::RawQrwLock;

use crate::sharing::{Guarded, Shared, beside, sharing_models};
use crate::world::{self, Loom};

impl Shared for RawQrwLock<Loom> {
    fn new() -> Self {
        Self::new_in()
    }

    fn read(&self, section: impl FnOnce()) {
        self.read_lock();
        section();
        // SAFETY: this thread took `self` with `read_lock` above and still holds it.
        unsafe { self.read_unlock() };
    }

    fn write(&self, section: impl FnOnce()) {
        self.write_lock();
        section();
        // SAFETY: this thread took `self` with `write_lock` above and still holds it.
        unsafe { self.write_unlock() };
    }

    fn try_read(&self, section: impl FnOnce()) -> bool {
        let taken = self.try_read_lock();
        if taken {
            section();
            // SAFETY: this thread took `self` with `try_read_lock` above and still holds it.
            unsafe { self.read_unlock() };
        }
        taken
    }

    fn try_write(&self, section: impl FnOnce()) -> bool {
        let taken = self.try_write_lock();
        if taken {
            section();
            // SAFETY: this thread took `self` with `try_write_lock` above and still holds it.
            unsafe { self.write_unlock() };
        }
        taken
    }
}

sharing_models!(RawQrwLock<Loom>);

/// A handler reads what it has interrupted the reading of, with a writer waiting in between; and
/// one that comes while the writer writes waits for it.
#[test]
fn a_handlers_reader_goes_before_waiting_writers() {
    world::check(Some(3), || {
        let shared = Guarded::<RawQrwLock<Loom>>::new();
        let writer = beside(&shared, Guarded::write);
        shared.lock.read(|| world::in_interrupt(|| shared.read()));
        world::in_interrupt(|| shared.read());
        writer.join().unwrap();
    });
}

/// The control of the former: a reader that is not in a handler must not read twice.
#[test]
#[should_panic(expected = "deadlock")]
fn a_reader_that_reads_twice_waits_for_the_writer_between() {
    world::check(Some(3), || {
        let shared = Guarded::<RawQrwLock<Loom>>::new();
        let writer = beside(&shared, Guarded::write);
        shared.lock.read(|| shared.read());
        writer.join().unwrap();
    });
}

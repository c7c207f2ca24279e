use lockwright::percpu_rwsem::RawPercpuRwSem;

use crate::sharing::{self, Guarded, Shared, beside, sharing_models};
use crate::world::{self, Loom};

impl<const SLOTS: usize> Shared for RawPercpuRwSem<Loom, SLOTS> {
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
        let taken = self.try_down_read();
        if taken {
            section();
            // SAFETY: this thread took `self` with `try_down_read` above and still holds it.
            unsafe { self.up_read() };
        }
        taken
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

sharing_models!(RawPercpuRwSem<Loom, 4>);

/// All threads share one count.
type Crowded = RawPercpuRwSem<Loom, 1>;

#[test]
fn a_shared_count_counts() {
    sharing::a_reader_and_a_writer::<Crowded>(1, None);
    sharing::two_readers_and_a_writer::<Crowded>(Some(1));
    sharing::trylocks::<Crowded>(Some(3));
}

/// A reader hands the lock to another thread, which releases it: no writer comes in between.
#[test]
fn another_thread_releases() {
    world::check(Some(2), || {
        let shared = Guarded::<RawPercpuRwSem<Loom, 4>>::new();
        let writer = beside(&shared, Guarded::write);
        shared.lock.down_read();
        let heir = beside(&shared, |shared| {
            shared.value.get();
            // SAFETY: the thread that started us took it, and left it to us.
            unsafe { shared.lock.up_read() };
        });
        heir.join().unwrap();
        writer.join().unwrap();
        shared.lock.read(|| assert_eq!(shared.value.get(), 1));
    });
}

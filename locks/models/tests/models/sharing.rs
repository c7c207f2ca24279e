//! The checks of every reader-writer lock, in addition to those of an exclusive lock for its
//! writers.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use crate::exclusion::Exclusive;
use crate::world;

/// A reader-writer lock of this world.
pub trait Shared: Send + Sync + 'static {
    /// A free one.
    fn new() -> Self;
    /// Runs `section` with the lock held to read.
    fn read(&self, section: impl FnOnce());
    /// Runs `section` with the lock held to write.
    fn write(&self, section: impl FnOnce());
    /// Runs `section` with the lock held to read if that needs no wait. False: it cannot, or
    /// one cannot tell.
    fn try_read(&self, section: impl FnOnce()) -> bool;
    /// Runs `section` with the lock held to write if that needs no wait. False: it cannot, or
    /// one cannot tell.
    fn try_write(&self, section: impl FnOnce()) -> bool;
}

/// The writers' side of a reader-writer lock.
pub struct Writers<L>(L);

impl<L: Shared> Exclusive for Writers<L> {
    fn new() -> Self {
        Self(L::new())
    }

    fn locked(&self, section: impl FnOnce()) {
        self.0.write(section);
    }

    fn try_locked(&self, section: impl FnOnce()) -> bool {
        self.0.try_write(section)
    }
}

/// A value that is safe under the lock only.
#[derive(Default)]
pub struct Value(UnsafeCell<usize>);

// SAFETY: loom's cell; that it is reached under the lock only is what is checked.
unsafe impl Sync for Value {}

impl Value {
    pub fn get(&self) -> usize {
        // SAFETY: loom checks each access to its cell, and stops the model if a writer meets
        // another thread in it.
        self.0.with(|value| unsafe { *value })
    }

    pub fn increment(&self) {
        // SAFETY: loom checks each access to its cell, and stops the model if a writer meets
        // another thread in it.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }
}

/// A lock and what it guards.
pub struct Guarded<L> {
    pub lock: L,
    pub value: Value,
}

impl<L: Shared> Guarded<L> {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { lock: L::new(), value: Value(UnsafeCell::new(0)) })
    }

    pub fn read(&self) {
        self.lock.read(|| {
            self.value.get();
        });
    }

    pub fn write(&self) {
        self.lock.write(|| self.value.increment());
    }
}

/// Runs `f` in another thread of the model.
pub fn beside<L: Shared>(
    shared: &Arc<Guarded<L>>,
    f: impl FnOnce(&Guarded<L>) + 'static,
) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || f(&shared))
}

/// One thread reads `rounds` times, and another writes.
pub fn a_reader_and_a_writer<L: Shared>(rounds: usize, preemptions: Option<usize>) {
    world::check(preemptions, move || {
        let shared = Guarded::<L>::new();
        let writer = beside(&shared, move |shared| (0..rounds).for_each(|_| shared.write()));
        (0..rounds).for_each(|_| shared.read());
        writer.join().unwrap();
        shared.lock.read(|| assert_eq!(shared.value.get(), rounds));
    });
}

/// Two read, and one writes.
pub fn two_readers_and_a_writer<L: Shared>(preemptions: Option<usize>) {
    world::check(preemptions, || {
        let shared = Guarded::<L>::new();
        let others = [beside(&shared, Guarded::read), beside(&shared, Guarded::read)];
        shared.write();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// One reads, and two write.
pub fn a_reader_and_two_writers<L: Shared>(preemptions: Option<usize>) {
    world::check(preemptions, || {
        let shared = Guarded::<L>::new();
        let others = [beside(&shared, Guarded::write), beside(&shared, Guarded::write)];
        shared.read();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// Trylocks against locks of the other kind.
pub fn trylocks<L: Shared>(preemptions: Option<usize>) {
    world::check(preemptions, || {
        let shared = Guarded::<L>::new();
        let writer = beside(&shared, Guarded::write);
        shared.lock.try_read(|| {
            shared.value.get();
        });
        writer.join().unwrap();
        assert!(shared.lock.try_read(|| assert_eq!(shared.value.get(), 1)), "refused, though free");
    });
    world::check(preemptions, || {
        let shared = Guarded::<L>::new();
        let reader = beside(&shared, Guarded::read);
        shared.lock.try_write(|| shared.value.increment());
        reader.join().unwrap();
        assert!(shared.lock.try_write(|| shared.value.increment()), "refused, though free");
    });
}

/// Readers hold the lock together: one waits, inside, for the other to be inside.
pub fn readers_share<L: Shared>() {
    use loom::sync::atomic::AtomicUsize;
    use loom::sync::atomic::Ordering::Relaxed;

    world::check(None, || {
        let shared = Guarded::<L>::new();
        let inside = Arc::new(AtomicUsize::new(0));
        let other = {
            let inside = Arc::clone(&inside);
            beside(&shared, move |shared| {
                shared.lock.read(|| inside.store(1, Relaxed));
            })
        };
        shared.lock.read(|| {
            while inside.load(Relaxed) == 0 {
                thread::yield_now();
            }
        });
        other.join().unwrap();
    });
}

/// The usual checks of a reader-writer lock; for a lock of many steps, two readers and a writer
/// with fewer preemptions.
macro_rules! sharing_models {
    ($lock:ty) => {
        $crate::sharing::sharing_models!($lock, Some(2));
    };
    ($lock:ty, $preemptions_of_two_readers:expr) => {
        #[test]
        fn two_writers_exclude_each_other() {
            $crate::exclusion::excludes::<$crate::sharing::Writers<$lock>>(2, 2, Some(3));
        }
        #[test]
        fn three_writers_exclude_each_other() {
            $crate::exclusion::excludes::<$crate::sharing::Writers<$lock>>(3, 1, Some(1));
        }
        #[test]
        fn a_writers_trylock_excludes() {
            $crate::exclusion::tries::<$crate::sharing::Writers<$lock>>(Some(3));
        }
        #[test]
        fn a_writer_excludes_a_reader() {
            $crate::sharing::a_reader_and_a_writer::<$lock>(1, None);
            $crate::sharing::a_reader_and_a_writer::<$lock>(2, Some(2));
        }
        #[test]
        fn a_writer_excludes_two_readers() {
            $crate::sharing::two_readers_and_a_writer::<$lock>($preemptions_of_two_readers);
        }
        #[test]
        fn two_writers_exclude_a_reader() {
            $crate::sharing::a_reader_and_two_writers::<$lock>(Some(2));
        }
        #[test]
        fn trylocks_exclude_locks() {
            $crate::sharing::trylocks::<$lock>(Some(3));
        }
        #[test]
        fn readers_share() {
            $crate::sharing::readers_share::<$lock>();
        }
    };
}
pub(crate) use sharing_models;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use lockwright::platform::{Atomic, Platform};
use lockwright::seqlock::{RawSeqCount, RawSeqLock};
use loom::thread;

use crate::exclusion::{Exclusive, exclusion_models};
use crate::world::{self, Loom};

impl Exclusive for RawSeqLock<Loom> {
    fn new() -> Self {
        Self::new_in()
    }

    fn locked(&self, section: impl FnOnce()) {
        self.write_lock();
        section();
        // SAFETY: this thread took `self` with `write_lock` above and still holds it.
        unsafe { self.write_unlock() };
    }

    fn try_locked(&self, section: impl FnOnce()) -> bool {
        let taken = self.try_write_lock();
        if taken {
            section();
            // SAFETY: this thread took `self` with `try_write_lock` above and still holds it.
            unsafe { self.write_unlock() };
        }
        taken
    }
}

exclusion_models!(RawSeqLock<Loom>);

type Word = <Loom as Platform>::Word;

/// Two words that a reader under the lock always finds equal.
struct Twins<L> {
    lock: L,
    words: [Word; 2],
}

impl<L: Send + Sync + 'static> Twins<L> {
    fn new(lock: L) -> Arc<Self> {
        Arc::new(Self { lock, words: [Word::new(0), Word::new(0)] })
    }

    fn set(&self, value: u32) {
        self.words.iter().for_each(|word| word.store(value, Relaxed));
    }

    fn get(&self) -> [u32; 2] {
        [self.words[0].load(Relaxed), self.words[1].load(Relaxed)]
    }

    fn beside(self: &Arc<Self>, f: impl FnOnce(&Self) + 'static) -> thread::JoinHandle<()> {
        let this = Arc::clone(self);
        thread::spawn(move || f(&this))
    }
}

fn assert_same([one, other]: [u32; 2]) {
    assert_eq!(one, other, "half of a write was read");
}

/// What is read is of one write, and writes are seen in their order.
#[test]
fn readers_see_whole_writes() {
    world::check(Some(3), || {
        let twins = Twins::new(RawSeqCount::<Loom>::new_in());
        let writer = twins.beside(|twins| {
            for value in 1..=2 {
                // SAFETY: this thread is the only one that writes, and it begins no write inside
                // another.
                unsafe {
                    twins.lock.begin_write();
                    twins.set(value);
                    twins.lock.end_write();
                }
            }
        });
        assert_same(twins.lock.read(|| twins.get()));
        writer.join().unwrap();
        assert_eq!(twins.lock.read(|| twins.get()), [2, 2]);
    });
}

/// The sequence is all that a reader needs to see a writer's other stores, too.
#[test]
fn a_reader_sees_what_came_before_the_write() {
    world::check(None, || {
        let twins = Twins::new((RawSeqCount::<Loom>::new_in(), Word::new(0)));
        let writer = twins.beside(|twins| {
            let (count, before) = &twins.lock;
            before.store(1, Relaxed);
            // SAFETY: this thread is the only one that writes, and it begins no write inside
            // another.
            unsafe {
                count.begin_write();
                twins.set(1);
                count.end_write();
            }
        });
        let (count, before) = &twins.lock;
        if count.read(|| twins.get()) == [1, 1] {
            assert_eq!(before.load(Relaxed), 1);
        }
        writer.join().unwrap();
    });
}

fn write(twins: &Twins<RawSeqLock<Loom>>) {
    twins.lock.locked(|| {
        let [value, _] = twins.get();
        twins.set(value + 1);
    });
}

/// A reader that locks at the second attempt, against two writers.
#[test]
fn a_reader_that_locks_sees_whole_writes() {
    world::check(Some(2), || {
        let twins = Twins::new(RawSeqLock::<Loom>::new_in());
        let writers = [twins.beside(write), twins.beside(write)];
        assert_same(twins.lock.read_or_lock(|| twins.get()));
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(twins.lock.read(|| twins.get()), [2, 2]);
    });
}

/// No attempt succeeds while a write is under way.
#[test]
fn who_does_not_wait_is_refused_by_a_writer() {
    world::check(None, || {
        let twins = Twins::new(RawSeqLock::<Loom>::new_in());
        let writer = twins.beside(write);
        if let Some(begun) = twins.lock.count().try_begin() {
            let read = twins.get();
            if !twins.lock.count().must_retry(begun) {
                assert_same(read);
            }
        }
        twins.lock.locked(|| assert!(twins.lock.count().try_begin().is_none()));
        writer.join().unwrap();
    });
}

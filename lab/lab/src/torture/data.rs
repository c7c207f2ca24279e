//! The data under a lock: two numbers that are equal unless a thread is writing, and the threads
//! that use them now.
//!
//! They are read and written as if they were no atomics: each increment is a load and a store, and
//! what two writers do at a time gets lost. Only that it is defined what happens is owed to
//! atomics.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The data. Everything relaxed: it is the lock that orders it.
#[derive(Debug, Default)]
pub(super) struct Data {
    writers: AtomicU64,
    readers: AtomicU64,
    first: AtomicU64,
    second: AtomicU64,
}

impl Data {
    /// A write, with `delay` in its middle. False: somebody else was there.
    pub fn write(&self, delay: impl FnOnce()) -> bool {
        let alone = self.writers.fetch_add(1, Relaxed) == 0 && self.readers.load(Relaxed) == 0;
        let value = self.first.load(Relaxed);
        let whole = self.second.load(Relaxed) == value;
        self.first.store(value + 1, Relaxed);
        delay();
        let kept = self.first.load(Relaxed) == value + 1 && self.second.load(Relaxed) == value;
        self.second.store(value + 1, Relaxed);
        self.writers.fetch_sub(1, Relaxed) == 1
            && self.readers.load(Relaxed) == 0
            && alone
            && whole
            && kept
    }

    /// A read, with `delay` in its middle. False: a writer was there.
    pub fn read(&self, delay: impl FnOnce()) -> bool {
        self.readers.fetch_add(1, Relaxed);
        let quiet = self.writers.load(Relaxed) == 0;
        let value = self.first.load(Relaxed);
        delay();
        let whole = self.second.load(Relaxed) == value;
        let still = self.writers.load(Relaxed) == 0;
        self.readers.fetch_sub(1, Relaxed);
        quiet && whole && still
    }

    /// How many writes were not lost.
    pub fn writes(&self) -> u64 {
        self.second.load(Relaxed)
    }
}

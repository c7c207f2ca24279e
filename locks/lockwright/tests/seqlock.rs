//! The sequence lock, on Linux with real threads.

#![cfg(feature = "std")]

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use lockwright::platform::linux::Linux;
use lockwright::seqlock::RawSeqLock;

static LOCK: RawSeqLock<Linux> = RawSeqLock::new();
static WORDS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

const WRITERS: u64 = 2;
const ROUNDS: u64 = 20_000;

fn words() -> [u64; 4] {
    [0, 1, 2, 3].map(|index: usize| WORDS[index].load(Relaxed))
}

/// A writer writes one word after the other; nobody reads some old and some new.
#[test]
fn seqlock_torture() {
    let write = || {
        for round in 0..ROUNDS {
            if round % 4 != 0 || !LOCK.try_write_lock() {
                LOCK.write_lock();
            }
            let value = WORDS[0].load(Relaxed) + 1;
            WORDS.iter().for_each(|word| word.store(value, Relaxed));
            // SAFETY: this thread took `LOCK` with `write_lock` above and still holds it.
            unsafe { LOCK.write_unlock() };
        }
    };
    let read = || {
        let mut last = 0;
        for round in 0_u64.. {
            let words = if round % 4 == 0 { LOCK.read_or_lock(words) } else { LOCK.read(words) };
            assert_eq!(words, [words[0]; 4]);
            assert!(last <= words[0], "read what was before");
            last = words[0];
            if last == WRITERS * ROUNDS {
                return;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(write);
            scope.spawn(read);
        }
    });
    assert!(!LOCK.is_locked());
}

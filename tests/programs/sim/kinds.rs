//! A reader-writer lock with deadlines, of a library in Rust. `SOUND` or not: whether a writer that
//! gives up lets readers in again.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright::exclusive::Exclusive;
use lockwright::lock_library;
use lockwright::lock_library::{Hosted, Lock, ReaderWriter, Timed};
use lockwright::platform::{Atomic, Platform, await_until};

/// A writer is inside, or waits for readers to leave.
const WRITER: u32 = 1 << 31;

pub struct Kinds<P: Platform, const SOUND: bool>(P::Word);

impl<P: Platform, const SOUND: bool> Kinds<P, SOUND> {
    fn claim(&self) -> bool {
        let seen = self.0.load(Relaxed);
        seen & WRITER == 0
            && self.0.compare_exchange(seen, seen | WRITER, Acquire, Relaxed).is_ok()
    }
}

// SAFETY: the explorer checks for each order of steps that two threads never have it.
unsafe impl<P: Platform, const SOUND: bool> Exclusive for Kinds<P, SOUND> {
    const SPINS: bool = true;

    fn new() -> Self {
        Self(P::Word::new(0))
    }
    fn lock(&self) {
        await_until::<P>(|| self.claim());
        await_until::<P>(|| self.0.load(Acquire) == WRITER);
    }
    fn try_lock(&self) -> bool {
        self.0.compare_exchange(0, WRITER, Acquire, Relaxed).is_ok()
    }
    unsafe fn unlock(&self) {
        self.0.fetch_and(!WRITER, Release);
    }
    fn is_locked(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}

// SAFETY: the explorer checks this for each order of steps, too.
unsafe impl<P: Platform, const SOUND: bool> Timed for Kinds<P, SOUND> {
    fn lock_until(&self, deadline: u64) -> bool {
        while !self.claim() {
            if P::now() >= deadline {
                return false;
            }
            P::relax();
        }
        while self.0.load(Acquire) != WRITER {
            if P::now() >= deadline {
                if SOUND {
                    self.0.fetch_and(!WRITER, Release);
                }
                return false;
            }
            P::relax();
        }
        true
    }
}

// SAFETY: the explorer checks for each order of steps that a writer is alone.
unsafe impl<P: Platform, const SOUND: bool> ReaderWriter for Kinds<P, SOUND> {
    fn read_lock(&self) {
        await_until::<P>(|| self.try_read_lock());
    }
    fn try_read_lock(&self) -> bool {
        let seen = self.0.load(Relaxed);
        seen & WRITER == 0 && self.0.compare_exchange(seen, seen + 1, Acquire, Relaxed).is_ok()
    }
    unsafe fn read_unlock(&self) {
        self.0.fetch_sub(1, Release);
    }
}

type Sound = Kinds<Hosted, true>;
type Broken = Kinds<Hosted, false>;

lock_library! {
    Lock::reader_writer::<Sound>(c"kinds", c"a reader-writer lock").timed::<Sound>(),
    // Any newcomer can be first.
    Lock::exclusive::<Sound>(c"kinds_unfair", c"one said to be fair").overtakes(0),
    Lock::reader_writer::<Broken>(c"kinds_busted", c"one that stays shut").timed::<Broken>(),
}

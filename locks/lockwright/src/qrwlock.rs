//! The queued reader-writer spinlock (`kernel/locking/qrwlock.c`): one word, and a queue for all
//! who have to wait, readers and writers in the order in which they came.
//!
//! The queue is a spinlock: its holder is the first in the queue and waits for the word, the others
//! for it. A writer that is first lets no more readers in, but those in interrupt (signal)
//! handlers: such a one may have interrupted a reader that the writer waits for, and goes on as
//! soon as no writer has the lock.
//!
//! ```text
//!   word  bits 0-7   0xff: held by a writer
//!         bit  8     a writer waits, first in the queue
//!         bits 9-31  readers that hold it, or have come to see whether they may
//! ```

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, Word, await_until};
use crate::qspinlock::RawQspinlock;

const FREE: u32 = 0;
const WRITER: u32 = 0xff;
const WAITING: u32 = 1 << 8;
const READER: u32 = 1 << 9;

/// Whether a reader may go on without queueing.
const fn is_read_lockable(word: u32) -> bool {
    word & (WRITER | WAITING) == 0
}

/// A queued reader-writer spinlock. Not recursive; for readers in interrupt handlers it is.
pub struct RawQrwLock<P: Platform> {
    word: P::Word,
    /// Its holder is the first waiter.
    queue: RawQspinlock<P>,
}

impl<P: Platform> RawQrwLock<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { word: P::Word::new(FREE), queue: RawQspinlock::new_in() }
    }

    /// Takes the lock to read.
    #[inline]
    pub fn read_lock(&self) {
        // Acquire: pairs with the Release in `write_unlock`.
        if !is_read_lockable(self.word.fetch_add(READER, Acquire)) {
            self.read_lock_slow();
        }
    }

    /// Takes the lock to read if no writer has it or waits for it.
    #[inline]
    pub fn try_read_lock(&self) -> bool {
        // Relaxed: a look. Acquire: pairs with the Release in `write_unlock`.
        if !is_read_lockable(self.word.load(Relaxed)) {
            return false;
        }
        let taken = is_read_lockable(self.word.fetch_add(READER, Acquire));
        if !taken {
            // Relaxed: we have read nothing that a writer must wait for.
            self.word.fetch_sub(READER, Relaxed);
        }
        taken
    }

    /// Takes the lock to write.
    #[inline]
    pub fn write_lock(&self) {
        if !self.take_from(FREE) {
            self.write_lock_slow();
        }
    }

    /// Takes the lock to write if it is free.
    #[inline]
    pub fn try_write_lock(&self) -> bool {
        // Relaxed: a look.
        self.word.load(Relaxed) == FREE && self.take_from(FREE)
    }

    /// Makes `word`, which nobody holds, the writer's.
    #[inline]
    fn take_from(&self, word: u32) -> bool {
        // Acquire: pairs with the Releases in `read_unlock` and `write_unlock`.
        self.word.compare_exchange(word, WRITER, Acquire, Relaxed).is_ok()
    }

    /// Releases the lock of a reader.
    ///
    /// # Safety
    /// It is held by a reader, which is leaving.
    #[inline]
    pub unsafe fn read_unlock(&self) {
        // Release: pairs with the Acquire in `take_from`.
        self.word.fetch_sub(READER, Release);
    }

    /// Releases the lock of the writer.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn write_unlock(&self) {
        // Release: pairs with the Acquires of all who take the lock.
        self.word.clear_byte(Release);
    }

    /// Whether anyone holds it now, or has come to see whether he may read.
    pub fn is_locked(&self) -> bool {
        // Relaxed: tells nothing of what the holder has done.
        self.word.load(Relaxed) & !WAITING != 0
    }

    /// Whether a writer holds it now.
    pub fn is_locked_by_writer(&self) -> bool {
        // Relaxed: as in `is_locked`.
        self.word.load(Relaxed) & WRITER != 0
    }

    /// Whether anybody waits for it now.
    pub fn is_contended(&self) -> bool {
        self.queue.is_locked()
    }

    /// For a reader that is on the word, but not alone with readers.
    #[cold]
    fn read_lock_slow(&self) {
        if P::in_interrupt() {
            self.await_writers_end();
            return;
        }
        // Relaxed: as in `try_read_lock`.
        self.word.fetch_sub(READER, Relaxed);
        self.queue.lock();
        // From here on no writer takes the lock: it would have to be first in the queue, or to find
        // it free.
        self.word.fetch_add(READER, Relaxed);
        self.await_writers_end();
        // SAFETY: `lock` above took `self.queue` for this thread.
        unsafe { self.queue.unlock() };
    }

    fn await_writers_end(&self) {
        // Acquire: pairs with the Release in `write_unlock`.
        await_until::<P>(|| self.word.load(Acquire) & WRITER == 0);
    }

    #[cold]
    fn write_lock_slow(&self) {
        self.queue.lock();
        if !self.take_from(FREE) {
            // Relaxed: says only that readers are to queue.
            self.word.fetch_or(WAITING, Relaxed);
            // Relaxed: a look.
            await_until::<P>(|| self.word.load(Relaxed) == WAITING && self.take_from(WAITING));
        }
        // SAFETY: `lock` above took `self.queue` for this thread.
        unsafe { self.queue.unlock() };
    }
}

#[cfg(feature = "std")]
impl RawQrwLock<crate::platform::linux::Linux> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        Self { word: core::sync::atomic::AtomicU32::new(FREE), queue: RawQspinlock::new() }
    }
}

#[cfg(feature = "std")]
impl Default for RawQrwLock<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}

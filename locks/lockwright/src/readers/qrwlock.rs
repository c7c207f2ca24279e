//! The queued reader-writer spinlock (`kernel/locking/qrwlock.c`): one word, and a queue for all
//! who have to wait, readers and writers in the order in which they came.
//!
//! The queue is a spinlock: its holder is the first in the queue and waits for the word, the others
//! for it. A writer that is first lets no more readers in, except those in interrupt handlers: such
//! a reader may have interrupted a reader that the writer waits for, and goes on as soon as no
//! writer has the lock. [`Platform::in_interrupt`] recognises handlers. On Linux no signal handler
//! is recognised, so users that a handler shares the lock with block signals
//! ([`crate::irqsave`]).
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

/// A queued reader-writer spinlock. Not recursive, except for readers in interrupt handlers that the
/// platform recognises.
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork must not take a lock that another thread held at the fork: it would spin
///   for ever.
/// - The holder must not sleep, do I/O or take a sleeping lock: the waiters spin meanwhile.
///
/// # Guarantees
/// - Ordering: a holder sees all that earlier writers did before they released the lock, and a
///   writer comes after all that earlier readers read.
/// - Fairness: first come, first served, readers and writers alike. A reader in an interrupt
///   handler that the platform recognises goes ahead of writers that wait.
/// - Source: `kernel/locking/qrwlock.c`.
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
    ///
    /// - The caller must not hold the lock already, not even to read: a writer may have come in
    ///   between, and the two would spin for ever.
    /// - A handler may read what it has interrupted a reader of only where the platform recognises
    ///   handlers ([`Platform::in_interrupt`]), and every writer must block them
    ///   (`write_lock_irqsave`).
    /// - A signal handler on Linux is not recognised: it may call this only if every other user,
    ///   readers too, takes the lock with signals blocked.
    #[inline]
    pub fn read_lock(&self) {
        // Acquire: pairs with the Release in `write_unlock`.
        if !is_read_lockable(self.word.fetch_add(READER, Acquire)) {
            self.read_lock_slow();
        }
    }

    /// Takes the lock to read if no writer has it or waits for it.
    ///
    /// - Any thread and any signal handler may call this: it does not wait. A reader may call it
    ///   again, and must then release the lock once more.
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
    ///
    /// - The caller must not hold the lock already, in either mode: it would spin for ever.
    /// - A signal handler may call this only if every other user, readers too, takes the lock with
    ///   signals blocked.
    #[inline]
    pub fn write_lock(&self) {
        if !self.take_from(FREE) {
            self.write_lock_slow();
        }
    }

    /// Takes the lock to write if it is free.
    ///
    /// - Any thread and any signal handler may call this: it does not wait. A holder gets `false`.
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
    /// - The reader must release the lock once for each time it took it. One call too many takes
    ///   the count of readers below zero, and the lock is in an undefined state.
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
    /// - The writer must release the lock, once. After any other call two writers can be inside at
    ///   once.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn write_unlock(&self) {
        // Release: pairs with the Acquires of all who take the lock.
        self.word.clear_byte(Release);
    }

    /// Whether anyone holds it now, or has come to see whether he may read.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        // Relaxed: tells nothing of what the holder has done.
        self.word.load(Relaxed) & !WAITING != 0
    }

    /// Whether a writer holds it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked_by_writer(&self) -> bool {
        // Relaxed: as in `is_locked`.
        self.word.load(Relaxed) & WRITER != 0
    }

    /// Whether anybody waits for it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
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

//! A reader-writer lock of 8 bytes for programs with more threads than CPUs: a word that is the
//! lock, and a [hybrid mutex](crate::hybrid_mutex) that is the queue of those who wait.
//!
//! A thread that finds the word open enters at once. A writer does so even while readers are
//! inside: it sets WRITER, and from then on no thread enters. The writer has the lock when the last
//! of these readers has left, so readers cannot starve a writer. All other threads queue for the
//! mutex. Its owner is the *head*: it alone waits on the word, and releases the mutex to the next
//! one when it is inside. A head that has waited for [`PATIENCE`] sets FAIR: no thread enters
//! before it. So writers cannot starve other threads either.
//!
//! ```text
//!   31      5    4        3           2        1       0
//!   | readers | FAIR | HEAD_SLEEPS | UPGRADABLE | DRAIN | WRITER |
//! ```
//!
//! Each bit has one owner: WRITER and DRAIN are the writer's, UPGRADABLE the upgradable reader's,
//! HEAD_SLEEPS and FAIR the head's. A releaser may clear HEAD_SLEEPS as it wakes the head, and set
//! FAIR as it hands the lock over.
//!
//! - An upgradable reader excludes writers and other upgradable readers, no readers. To upgrade, it
//!   becomes a writer and waits for the readers to leave, as any writer does.
//! - A release does one store to the word and then knows only its address: the next owner may free
//!   the lock.
//! - A thread that reads already must not read again by [`RawHybridRwLock::lock_shared`]: if a
//!   writer has come in between, the two wait for each other. By
//!   [`RawHybridRwLock::lock_shared_recursive`] it may.
//! - In the child of a fork a lock is as it was in the parent. One that threads waited for in the
//!   parent must not be waited for in the child: its queue is theirs.
//!
//! After the idea of the kernel's qrwlock (one lock as the queue, its owner at the word), which spins
//! and has no bounds.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::hybrid_mutex::RawHybridMutex;
use crate::platform::{Atomic, Platform, Waited, Word};

/// A writer has the lock, or will have it once there are no readers. Nobody enters.
const WRITER: u32 = 1;
/// That writer sleeps until the last reader has left.
const DRAIN: u32 = 1 << 1;
/// An upgradable reader has the lock.
const UPGRADABLE: u32 = 1 << 2;
/// The head sleeps until a writer or an upgradable reader has left.
const HEAD_SLEEPS: u32 = 1 << 3;
/// Only the head enters.
const FAIR: u32 = 1 << 4;
/// One reader.
const READER: u32 = 1 << 5;
/// The number of readers.
const READERS: u32 = !(READER - 1);
/// So many readers that no more are let in.
const TOO_MANY: u32 = 1 << 31;

/// The futex bits that a writer sleeps with until readers have left.
const AS_WRITER: u32 = 1;
/// The futex bits that the head sleeps with.
const AS_HEAD: u32 = 2;

/// Nanoseconds that a wait may last before others can no longer go first: as for the mutex, long
/// compared with a thread's wake-up, and short compared with a time slice.
const PATIENCE: u64 = 500_000;

/// A way to enter.
#[derive(Clone, Copy)]
struct Mode {
    /// The bits that keep out a thread which enters so.
    barred_by: u32,
    /// The value that each thread inside adds to the word.
    adds: u32,
    /// Whether those who come spin before they queue. Readers do: all of them go in together when
    /// the writer leaves, where the queue would let them in one by one.
    spins: bool,
}

const READ: Mode = Mode { barred_by: WRITER | TOO_MANY, adds: READER, spins: true };
const UPGRADABLE_READ: Mode =
    Mode { barred_by: WRITER | UPGRADABLE, adds: UPGRADABLE, spins: false };
const WRITE: Mode = Mode { barred_by: WRITER | UPGRADABLE, adds: WRITER, spins: false };

/// Whether a reader may enter that may be inside already: ahead of a writer who waits for readers
/// to leave.
const fn is_open_to_recursion(word: u32) -> bool {
    word & TOO_MANY == 0 && (word & WRITER == 0 || word & READERS != 0)
}

/// A reader-writer lock of 8 bytes. The thread that locked it unlocks it, in the mode it locked it
/// in.
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork may release what the forking thread held. It must not wait for a lock that
///   other threads held or waited for at the fork: it would wait for ever.
/// - A holder must release the lock in the mode in which it took it last, after a downgrade or an
///   upgrade in the new one.
///
/// # Guarantees
/// - Ordering: a holder sees all that earlier writers did before they released the lock, and a
///   writer comes after all that earlier readers read.
/// - Fairness: a writer that has entered keeps all newcomers out until the readers have left. The
///   first waiter enters next once it has waited for 0.5 ms. So neither readers nor writers starve.
/// - Source: the idea of `kernel/locking/qrwlock.c`, over [`crate::hybrid_mutex`].
pub struct RawHybridRwLock<P: Platform> {
    word: P::Word,
    queue: RawHybridMutex<P>,
}

impl<P: Platform> RawHybridRwLock<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { word: P::Word::new(0), queue: RawHybridMutex::new_in() }
    }

    /// Takes the lock to read, and waits for that as long as it takes.
    ///
    /// - The caller must not hold the lock already: a writer may have come in between, and the two
    ///   would wait for each other. A reader calls [`Self::lock_shared_recursive`].
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it would wait for ever if it has interrupted a holder
    ///   or a waiter.
    ///
    /// # Panics
    /// If there are 2^26 readers.
    #[inline]
    pub fn lock_shared(&self) {
        self.lock_shared_until(None);
    }

    /// Takes the lock to read, or gives up when `deadline` (nanoseconds of [`Platform::now`]; none:
    /// never) has come. True if it has the lock.
    ///
    /// - The rules of [`Self::lock_shared`] apply.
    /// - The lock is taken if it is free, even if the deadline has passed.
    ///
    /// # Panics
    /// If there are 2^26 readers.
    #[inline]
    pub fn lock_shared_until(&self, deadline: Option<u64>) -> bool {
        self.try_lock_shared() || self.enter_slow(READ, deadline)
    }

    /// Takes the lock to read if that needs no waiting.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. A reader may call
    ///   it again, and must then release the lock once more.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        self.try_enter(READ)
    }

    /// As [`RawHybridRwLock::lock_shared`], also for a thread that has the lock to read: it goes
    /// ahead of writers that wait.
    ///
    /// - A reader may call this, a writer must not: it would wait for ever.
    /// - The caller should not use this in a loop instead of [`Self::lock_shared`]: it keeps
    ///   writers that wait outside.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it would wait for ever if it has interrupted a holder
    ///   or a waiter.
    ///
    /// # Panics
    /// As that.
    #[inline]
    pub fn lock_shared_recursive(&self) {
        if !self.try_lock_shared_recursive() {
            // Nobody reads, so neither does the caller.
            self.lock_shared();
        }
    }

    /// As [`RawHybridRwLock::try_lock_shared`], also ahead of writers that wait.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. A reader may call
    ///   it again, and must then release the lock once more.
    #[inline]
    pub fn try_lock_shared_recursive(&self) -> bool {
        let mut seen = self.word.load(Relaxed);
        while is_open_to_recursion(seen) {
            // Acquire: as in `try_enter`.
            match self.word.compare_exchange(seen, seen + READER, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Releases the lock of a reader.
    ///
    /// - The reader must release the lock once for each time it took it. After one call too many
    ///   the count is wrong, and a writer can be inside with a reader.
    /// - The caller may free the lock afterwards, if no other thread holds it, waits for it or will
    ///   use it.
    ///
    /// # Safety
    /// The calling thread has it to read.
    #[inline]
    pub unsafe fn unlock_shared(&self) {
        let address = &raw const self.word;
        // Release: pairs with the Acquires in `drain`, `try_lock_exclusive` and `try_upgrade`.
        let old = self.word.fetch_sub(READER, Release);
        // From here on the word may be gone.
        if old & (READERS | DRAIN) == READER | DRAIN {
            P::Word::wake_bitset(address, 1, AS_WRITER);
        }
    }

    /// Takes the lock to write, and waits for that as long as it takes.
    ///
    /// - The caller must not hold the lock already, in any mode: it would wait for ever.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it would wait for ever if it has interrupted a holder
    ///   or a waiter.
    #[inline]
    pub fn lock_exclusive(&self) {
        self.lock_exclusive_until(None);
    }

    /// Takes the lock to write, or gives up when `deadline` (nanoseconds of [`Platform::now`];
    /// none: never) has come. True if it has the lock.
    ///
    /// - The rules of [`Self::lock_exclusive`] apply.
    /// - The lock is taken if it is free, even if the deadline has passed.
    #[inline]
    pub fn lock_exclusive_until(&self, deadline: Option<u64>) -> bool {
        // Acquire: as in `try_lock_exclusive`.
        self.word.compare_exchange(0, WRITER, Acquire, Relaxed).is_ok()
            || self.lock_exclusive_slow(deadline)
    }

    #[cold]
    fn lock_exclusive_slow(&self, deadline: Option<u64>) -> bool {
        (self.try_enter(WRITE) || self.enter_slow(WRITE, deadline)) && self.drain(0, deadline)
    }

    /// Takes the lock to write if that needs no waiting.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. A holder gets
    ///   `false`.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        let mut seen = 0;
        while seen & (WRITE.barred_by | FAIR | READERS) == 0 {
            // Acquire: pairs with the Releases in `leave` and `unlock_shared`.
            match self.word.compare_exchange(seen, seen | WRITER, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Releases the lock of a writer.
    ///
    /// - The writer must release the lock, once. After any other call the lock is in an undefined
    ///   state.
    /// - The caller may free the lock afterwards, if no other thread holds it, waits for it or will
    ///   use it.
    ///
    /// # Safety
    /// The calling thread has it to write.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        self.leave(WRITER, 0, 0);
    }

    /// As [`RawHybridRwLock::unlock_exclusive`]; a head that sleeps enters next, even if other
    /// threads come before it has woken up.
    ///
    /// - The rules of [`Self::unlock_exclusive`] apply.
    ///
    /// # Safety
    /// The calling thread has it to write.
    #[inline]
    pub unsafe fn unlock_exclusive_fair(&self) {
        self.leave(WRITER, 0, FAIR);
    }

    /// Makes a writer a reader, with no other writer in between.
    ///
    /// - The writer must call this, and must release the lock by [`Self::unlock_shared`].
    ///
    /// # Safety
    /// The calling thread has the lock to write.
    #[inline]
    pub unsafe fn downgrade(&self) {
        self.leave(WRITER, READER, 0);
    }

    /// Makes a writer an upgradable reader, with no other writer in between.
    ///
    /// - The writer must call this, and must release the lock by [`Self::unlock_upgradable`].
    ///
    /// # Safety
    /// The calling thread has the lock to write.
    #[inline]
    pub unsafe fn downgrade_to_upgradable(&self) {
        self.leave(WRITER, UPGRADABLE, 0);
    }

    /// Takes the lock to read and perhaps to write later, and waits for that as long as it takes.
    ///
    /// - The caller must not hold the lock already, in any mode. The writer and the upgradable
    ///   reader would wait for ever, and so would a reader for which a writer waits.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it would wait for ever if it has interrupted a holder
    ///   or a waiter.
    #[inline]
    pub fn lock_upgradable(&self) {
        self.lock_upgradable_until(None);
    }

    /// As [`RawHybridRwLock::lock_upgradable`], or gives up when `deadline` (nanoseconds of
    /// [`Platform::now`]; none: never) has come. True if it has the lock.
    ///
    /// - The rules of [`Self::lock_upgradable`] apply.
    /// - The lock is taken if it is free, even if the deadline has passed.
    #[inline]
    pub fn lock_upgradable_until(&self, deadline: Option<u64>) -> bool {
        self.try_lock_upgradable() || self.enter_slow(UPGRADABLE_READ, deadline)
    }

    /// As [`RawHybridRwLock::lock_upgradable`], if that needs no waiting.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. The writer and the
    ///   upgradable reader get `false`.
    #[inline]
    pub fn try_lock_upgradable(&self) -> bool {
        self.try_enter(UPGRADABLE_READ)
    }

    /// Releases the lock of an upgradable reader.
    ///
    /// - The upgradable reader must release the lock, once. After any other call the lock is in an
    ///   undefined state.
    /// - The caller may free the lock afterwards, if no other thread holds it, waits for it or will
    ///   use it.
    ///
    /// # Safety
    /// The calling thread has it so.
    #[inline]
    pub unsafe fn unlock_upgradable(&self) {
        self.leave(UPGRADABLE, 0, 0);
    }

    /// As [`RawHybridRwLock::unlock_upgradable`]; a head that sleeps enters next.
    ///
    /// - The rules of [`Self::unlock_upgradable`] apply.
    ///
    /// # Safety
    /// The calling thread has it so.
    #[inline]
    pub unsafe fn unlock_upgradable_fair(&self) {
        self.leave(UPGRADABLE, 0, FAIR);
    }

    /// Makes an upgradable reader a reader like others.
    ///
    /// - The upgradable reader must call this, and must release the lock by
    ///   [`Self::unlock_shared`].
    ///
    /// # Safety
    /// The calling thread has the lock as an upgradable reader.
    #[inline]
    pub unsafe fn downgrade_upgradable(&self) {
        self.leave(UPGRADABLE, READER, 0);
    }

    /// Makes an upgradable reader a writer, with no other writer in between, and waits for the
    /// other readers to leave as long as it takes.
    ///
    /// - The caller must not read the lock besides: it would wait for itself for ever.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it would wait for ever if it has interrupted a holder
    ///   or a waiter.
    /// - Afterwards the caller must release the lock by [`Self::unlock_exclusive`].
    ///
    /// # Safety
    /// The calling thread has the lock as an upgradable reader.
    #[inline]
    pub unsafe fn upgrade(&self) {
        // SAFETY: by contract the caller is the upgradable reader, as `upgrade_until` demands.
        unsafe { self.upgrade_until(None) };
    }

    /// As [`RawHybridRwLock::upgrade`], or gives up when `deadline` (nanoseconds of
    /// [`Platform::now`]; none: never) has come. False: the caller is an upgradable reader still.
    ///
    /// - The rules of [`Self::upgrade`] apply.
    /// - After `false` the caller must release the lock by [`Self::unlock_upgradable`].
    ///
    /// # Safety
    /// The calling thread has the lock as an upgradable reader.
    pub unsafe fn upgrade_until(&self, deadline: Option<u64>) -> bool {
        // Relaxed: `drain` orders, and there is nobody inside but readers.
        self.word.fetch_sub(UPGRADABLE - WRITER, Relaxed);
        self.drain(UPGRADABLE, deadline)
    }

    /// As [`RawHybridRwLock::upgrade`], if nobody else reads.
    ///
    /// - The upgradable reader must call this. It does not wait; after `false` the caller is an
    ///   upgradable reader still.
    ///
    /// # Safety
    /// The calling thread has the lock as an upgradable reader.
    pub unsafe fn try_upgrade(&self) -> bool {
        let mut seen = self.word.load(Relaxed);
        while seen & READERS == 0 {
            let upgraded = (seen & !UPGRADABLE) | WRITER;
            // Acquire: pairs with the Release in `unlock_shared`.
            match self.word.compare_exchange(seen, upgraded, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Whether anyone has it now, or waits for readers to leave.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        // Relaxed: it may be otherwise by the time that the caller knows.
        self.word.load(Relaxed) & (WRITER | UPGRADABLE | READERS) != 0
    }

    /// Whether a writer has it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked_exclusive(&self) -> bool {
        // Relaxed: as above.
        self.word.load(Relaxed) & (WRITER | READERS) == WRITER
    }

    /// As [`RawHybridRwLock::try_lock_shared`]: whether no other reader was met on the way, if it is
    /// taken.
    #[inline]
    pub(crate) fn try_lock_shared_alone(&self) -> Option<bool> {
        let mut seen = self.word.load(Relaxed);
        let mut alone = seen & READERS == 0;
        while seen & (READ.barred_by | FAIR) == 0 {
            // Acquire: as in `try_enter`.
            match self.word.compare_exchange(seen, seen + READER, Acquire, Relaxed) {
                Ok(_) => return Some(alone),
                Err(now) => (seen, alone) = (now, false),
            }
        }
        None
    }

    /// Takes the lock to read, even if there is a writer; that one must call
    /// [`RawHybridRwLock::await_readers`] before it writes. False: there are too many readers.
    pub(crate) fn try_lock_shared_beside_writer(&self) -> bool {
        let mut seen = self.word.load(Relaxed);
        while seen & TOO_MANY == 0 {
            // Relaxed: the caller may read already.
            match self.word.compare_exchange(seen, seen + READER, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// How many read it now.
    pub(crate) fn readers(&self) -> u32 {
        // Acquire: pairs with the Release in `unlock_shared`, where it is the writer that asks.
        (self.word.load(Acquire) & READERS) / READER
    }

    /// Waits, as the writer, until the last reader has left. False: the deadline has come, and the
    /// caller is the writer still.
    pub(crate) fn await_readers(&self, deadline: Option<u64>) -> bool {
        self.drain(WRITER, deadline)
    }

    /// Enters unless it is barred, or kept for the head. A writer who has entered has yet to wait
    /// for readers to leave.
    #[inline]
    fn try_enter(&self, mode: Mode) -> bool {
        let mut seen = self.word.load(Relaxed);
        while seen & (mode.barred_by | FAIR) == 0 {
            // Acquire: pairs with the Release in `leave`.
            match self.word.compare_exchange(seen, seen + mode.adds, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Enters through the queue. False: the deadline has come.
    #[cold]
    fn enter_slow(&self, mode: Mode, deadline: Option<u64>) -> bool {
        let begun = P::now();
        let mut rounds = 0;
        while mode.spins && !P::need_resched(rounds) {
            rounds += 1;
            P::relax();
            if self.try_enter(mode) {
                return true;
            }
        }
        // Relaxed: guards that were forgotten, by the million.
        assert!(self.word.load(Relaxed) & TOO_MANY == 0, "too many readers of a lock");
        if !self.queue.lock_until(deadline) {
            return false;
        }
        let entered = self.enter_as_head(mode, begun, deadline);
        // SAFETY: `lock_until` above took `self.queue` for this thread.
        unsafe { self.queue.unlock() };
        entered
    }

    /// Enters as the head of the queue, which has waited since `begun`. False: the deadline has
    /// come.
    fn enter_as_head(&self, mode: Mode, begun: u64, deadline: Option<u64>) -> bool {
        let (mut rounds, mut expired) = (0, false);
        loop {
            let seen = self.word.load(Relaxed);
            let open = seen & mode.barred_by == 0;
            if open || expired {
                let new = (seen & !(HEAD_SLEEPS | FAIR)) + if open { mode.adds } else { 0 };
                // Acquire: pairs with the Release in `leave`, if it enters.
                if self.word.compare_exchange(seen, new, Acquire, Relaxed).is_ok() {
                    return open;
                }
            } else if P::need_resched(rounds) {
                let fair = if P::now() - begun >= PATIENCE { FAIR } else { 0 };
                match self.sleep(seen, HEAD_SLEEPS | fair, AS_HEAD, deadline) {
                    Waited::Changed => {}
                    Waited::Woken => rounds = 0,
                    Waited::TooLate => expired = true,
                }
            } else {
                rounds += 1;
                P::relax();
            }
        }
    }

    /// Waits, as the writer, until the last reader has left. False: the deadline has come, and
    /// instead of the writer there is `otherwise`.
    fn drain(&self, otherwise: u32, deadline: Option<u64>) -> bool {
        let (mut rounds, mut expired) = (0, false);
        loop {
            // Acquire: pairs with the Release in `unlock_shared`.
            let seen = self.word.load(Acquire);
            if seen & READERS == 0 {
                if seen & DRAIN != 0 {
                    // Relaxed: it concerns no memory but the word.
                    self.word.fetch_and(!DRAIN, Relaxed);
                }
                return true;
            }
            if expired {
                let new = (seen & !(WRITER | DRAIN | HEAD_SLEEPS)) + otherwise;
                // Relaxed: the caller has written nothing.
                if self.word.compare_exchange(seen, new, Relaxed, Relaxed).is_ok() {
                    if seen & HEAD_SLEEPS != 0 {
                        P::Word::wake_bitset(&raw const self.word, 1, AS_HEAD);
                    }
                    return false;
                }
            } else if P::need_resched(rounds) {
                let waited = self.sleep(seen, DRAIN, AS_WRITER, deadline);
                expired = waited == Waited::TooLate;
            } else {
                rounds += 1;
                P::relax();
            }
        }
    }

    /// Sleeps with `note` in the word, to be woken for `bits`, unless the word is no longer `seen`.
    fn sleep(&self, seen: u32, note: u32, bits: u32, deadline: Option<u64>) -> Waited {
        let asleep = seen | note;
        // Relaxed: it concerns no memory but the word.
        if asleep != seen && self.word.compare_exchange(seen, asleep, Relaxed, Relaxed).is_err() {
            return Waited::Changed;
        }
        self.word.wait_bitset(asleep, bits, deadline)
    }

    /// Leaves what one was, for what one is then; a head that sleeps is woken, with `note` in the
    /// word.
    #[inline]
    fn leave(&self, was: u32, is: u32, note: u32) {
        // Release: pairs with the Acquires of all who enter.
        if self.word.compare_exchange(was, is, Release, Relaxed).is_err() {
            self.leave_slow(was, is, note);
        }
    }

    #[cold]
    fn leave_slow(&self, was: u32, is: u32, note: u32) {
        let address = &raw const self.word;
        let mut seen = self.word.load(Relaxed);
        loop {
            let sleeps = seen & HEAD_SLEEPS != 0;
            let note = if sleeps { note } else { 0 };
            let new = ((seen & !HEAD_SLEEPS) - was + is) | note;
            // Release: as in `leave`.
            match self.word.compare_exchange(seen, new, Release, Relaxed) {
                // From here on the word may be gone.
                Ok(_) if sleeps => return P::Word::wake_bitset(address, 1, AS_HEAD),
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }
}

#[cfg(feature = "std")]
impl RawHybridRwLock<crate::platform::linux::Linux> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        Self { word: core::sync::atomic::AtomicU32::new(0), queue: RawHybridMutex::new() }
    }
}

#[cfg(feature = "std")]
impl Default for RawHybridRwLock<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}

//! A reader-writer lock whose readers have lines of their own as long as nobody writes: a
//! [hybrid reader-writer lock](crate::hybrid_rwlock), and a bias towards readers (after BRAVO: Dice
//! and Kogan, *BRAVO: Biased locking for reader-writer locks*, USENIX ATC 2019).
//!
//! A reader of a lock that is biased makes itself visible in a line of its own
//! ([`crate::visible_readers`]) and writes to nothing that others write to. A writer takes the lock
//! below, takes the bias back, and waits until all readers have left that are visible:
//!
//! ```text
//!   reader                         writer, which has the lock below
//!   A: entry = name                C: bias = off
//!      fence                          fence
//!   B: is the bias on? it is in    D: is the name in an entry? it waits
//! ```
//!
//! Whichever fence comes first: B sees C, or D sees A.
//!
//! The bias is given when readers meet: only then does a line go from one to the other. Once a
//! writer has taken it back, it is not given again for [`INHIBITION`] times as long as that took:
//! so taking it back costs writers a tenth of their time at most.
//!
//! The promises of [`crate::hybrid_rwlock`] hold, with one difference: before a writer takes the
//! bias back, readers go on coming in. After it they do not, so they starve no writer.
//!
//! - Locks are known by names, not by addresses: a guard that is forgotten keeps its own lock
//!   locked for ever, and none that is put in the same place later.
//! - A reader unlocks it in the thread that locked it.
//! - Where CPUs are not threads ([`Platform::CPUS_ARE_THREADS`]) it is never biased.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crate::hybrid_rwlock::RawHybridRwLock;
use crate::platform::{Atomic, Platform};
use crate::visible_readers::VisibleReaders;

/// Readers may come in by their entries.
const ON: usize = 1;
/// There may be readers inside that did.
const VISIBLE: usize = 2;

/// How many times as long as it took to take the bias back it is not given again: BRAVO's 9.
const INHIBITION: u64 = 9;
/// But no longer than that, in nanoseconds: some second.
const LONGEST: u64 = 1 << 30;

/// A time in units of 1,024 ns, modulo 2^32, which is 51 days.
fn coarse(time: u64) -> u32 {
    (time >> 10) as u32
}

/// Whether it is before `end`, which was no more than [`LONGEST`] away when it was chosen.
fn is_before(now: u64, end: u32) -> bool {
    let left = end.wrapping_sub(coarse(now));
    left != 0 && left <= coarse(LONGEST)
}

/// A reader-writer lock of 24 bytes. The thread that locked it unlocks it, in the mode it locked it
/// in.
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork may release what the forking thread held. It must not wait for a lock that
///   other threads held or waited for at the fork: it would wait for ever.
/// - A holder must release the lock in the mode in which it took it last, after a downgrade or an
///   upgrade in the new one.
/// - The thread that took the lock must release it, a reader too: its entry lies in storage of its
///   thread.
///
/// # Guarantees
/// - Ordering: a holder sees all that earlier writers did before they released the lock, and a
///   writer comes after all that earlier readers read.
/// - Fairness: that of [`crate::hybrid_rwlock`]; but readers may enter until a writer has taken the
///   bias back.
/// - Source: Dice and Kogan, *BRAVO: Biased locking for reader-writer locks*, USENIX ATC 2019.
pub struct RawBiasedRwLock<P: Platform> {
    lock: RawHybridRwLock<P>,
    /// The lock's name, 0 as long as it has none, with ON and VISIBLE. Changed by readers that have
    /// the lock below, and by its writer.
    bias: P::Long,
    /// The bias is not given before this time ([`coarse`]).
    inhibited: P::Word,
}

impl<P: Platform> RawBiasedRwLock<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { lock: RawHybridRwLock::new_in(), bias: P::Long::new(0), inhibited: P::Word::new(0) }
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
        self.try_lock_shared() || self.lock_shared_slow(deadline)
    }

    #[cold]
    fn lock_shared_slow(&self, deadline: Option<u64>) -> bool {
        let taken = self.lock.lock_shared_until(deadline);
        if taken && self.lock.readers() > 1 {
            self.meet();
        }
        taken
    }

    /// Takes the lock to read if that needs no waiting.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. A reader may call
    ///   it again, and must then release the lock once more.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        // Relaxed: `enter` looks again.
        if self.bias.load(Relaxed) & ON != 0 && self.enter() {
            return true;
        }
        match self.lock.try_lock_shared_alone() {
            Some(alone) => {
                if !alone {
                    self.meet();
                }
                true
            }
            None => false,
        }
    }

    /// As [`RawBiasedRwLock::lock_shared`], also for a thread that has the lock to read: it goes
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
            self.lock_shared();
        }
    }

    /// As [`RawBiasedRwLock::try_lock_shared`], also ahead of writers that wait.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. A reader may call
    ///   it again, and must then release the lock once more.
    #[inline]
    pub fn try_lock_shared_recursive(&self) -> bool {
        let seen = self.bias.load(Relaxed);
        if seen & VISIBLE != 0
            && let Some(own) = own::<P>()
            && own.is_reading(name(seen))
        {
            // No writer is inside, or will be before we have left. Without a free entry we are
            // covered as well: a thread that takes the bias back also waits for the holders of the
            // lock below.
            return own.enter(name(seen)) || self.lock.try_lock_shared_beside_writer();
        }
        seen & ON != 0 && self.enter() || self.lock.try_lock_shared_recursive()
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
        // Relaxed: the name was there, if it was, when this thread came in.
        let seen = self.bias.load(Relaxed);
        if seen != 0 && own::<P>().is_some_and(|own| own.leave::<P>(name(seen))) {
            // From here on the lock may be gone.
            return;
        }
        // SAFETY: it is in no entry of the thread's, so it has the lock below.
        unsafe { self.lock.unlock_shared() };
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
        if !self.lock.lock_exclusive_until(deadline) {
            return false;
        }
        if !self.has_visible() || self.take_back(deadline) {
            return true;
        }
        // SAFETY: `lock_exclusive_until` above took `self.lock` for this thread.
        unsafe { self.lock.unlock_exclusive() };
        false
    }

    /// Takes the lock to write if that needs no waiting.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. A holder gets
    ///   `false`.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        if !self.lock.try_lock_exclusive() {
            return false;
        }
        if !self.has_visible() || self.try_take_back() {
            return true;
        }
        // SAFETY: `try_lock_exclusive` above took `self.lock` for this thread.
        unsafe { self.lock.unlock_exclusive() };
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
        // SAFETY: by contract the caller writes, so it holds `self.lock` exclusively.
        unsafe { self.lock.unlock_exclusive() };
    }

    /// As [`RawBiasedRwLock::unlock_exclusive`]; the longest waiter enters next.
    ///
    /// - The rules of [`Self::unlock_exclusive`] apply.
    ///
    /// # Safety
    /// The calling thread has it to write.
    #[inline]
    pub unsafe fn unlock_exclusive_fair(&self) {
        // SAFETY: by contract the caller writes, so it holds `self.lock` exclusively.
        unsafe { self.lock.unlock_exclusive_fair() };
    }

    /// Makes a writer a reader, with no other writer in between.
    ///
    /// - The writer must call this, and must release the lock by [`Self::unlock_shared`].
    ///
    /// # Safety
    /// The calling thread has the lock to write.
    #[inline]
    pub unsafe fn downgrade(&self) {
        // SAFETY: by contract the caller writes, so it holds `self.lock` exclusively.
        unsafe { self.lock.downgrade() };
    }

    /// Makes a writer an upgradable reader, with no other writer in between.
    ///
    /// - The writer must call this, and must release the lock by [`Self::unlock_upgradable`].
    ///
    /// # Safety
    /// The calling thread has the lock to write.
    #[inline]
    pub unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: by contract the caller writes, so it holds `self.lock` exclusively.
        unsafe { self.lock.downgrade_to_upgradable() };
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
        self.lock.lock_upgradable();
    }

    /// As [`RawBiasedRwLock::lock_upgradable`], or gives up when `deadline` (nanoseconds of
    /// [`Platform::now`]; none: never) has come. True if it has the lock.
    ///
    /// - The rules of [`Self::lock_upgradable`] apply.
    /// - The lock is taken if it is free, even if the deadline has passed.
    #[inline]
    pub fn lock_upgradable_until(&self, deadline: Option<u64>) -> bool {
        self.lock.lock_upgradable_until(deadline)
    }

    /// As [`RawBiasedRwLock::lock_upgradable`], if that needs no waiting.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. The writer and the
    ///   upgradable reader get `false`.
    #[inline]
    pub fn try_lock_upgradable(&self) -> bool {
        self.lock.try_lock_upgradable()
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
        // SAFETY: by contract the caller is the upgradable reader, so it holds `self.lock` as that.
        unsafe { self.lock.unlock_upgradable() };
    }

    /// As [`RawBiasedRwLock::unlock_upgradable`]; the longest waiter enters next.
    ///
    /// - The rules of [`Self::unlock_upgradable`] apply.
    ///
    /// # Safety
    /// The calling thread has it so.
    #[inline]
    pub unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: by contract the caller is the upgradable reader, so it holds `self.lock` as that.
        unsafe { self.lock.unlock_upgradable_fair() };
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
        // SAFETY: by contract the caller is the upgradable reader, so it holds `self.lock` as that.
        unsafe { self.lock.downgrade_upgradable() };
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
        // SAFETY: by contract the caller is the upgradable reader, so it holds `self.lock` as that.
        unsafe { self.upgrade_until(None) };
    }

    /// As [`RawBiasedRwLock::upgrade`], or gives up when `deadline` (nanoseconds of
    /// [`Platform::now`]; none: never) has come. False: the caller is an upgradable reader still.
    ///
    /// - The rules of [`Self::upgrade`] apply.
    /// - After `false` the caller must release the lock by [`Self::unlock_upgradable`].
    ///
    /// # Safety
    /// The calling thread has the lock as an upgradable reader.
    pub unsafe fn upgrade_until(&self, deadline: Option<u64>) -> bool {
        // SAFETY: by contract the caller is the upgradable reader, so it holds `self.lock` as that.
        if !unsafe { self.lock.upgrade_until(deadline) } {
            return false;
        }
        if !self.has_visible() || self.take_back(deadline) {
            return true;
        }
        // SAFETY: `upgrade_until` above made this thread the writer of `self.lock`.
        unsafe { self.lock.downgrade_to_upgradable() };
        false
    }

    /// As [`RawBiasedRwLock::upgrade`], if nobody else reads.
    ///
    /// - The upgradable reader must call this. It does not wait; after `false` the caller is an
    ///   upgradable reader still.
    ///
    /// # Safety
    /// The calling thread has the lock as an upgradable reader.
    pub unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: by contract the caller is the upgradable reader, so it holds `self.lock` as that.
        if !unsafe { self.lock.try_upgrade() } {
            return false;
        }
        if !self.has_visible() || self.try_take_back() {
            return true;
        }
        // SAFETY: `try_upgrade` above made this thread the writer of `self.lock`.
        unsafe { self.lock.downgrade_to_upgradable() };
        false
    }

    /// Whether anyone has it now, or waits for readers to leave.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked() || self.is_visible()
    }

    /// Whether a writer has it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked_exclusive(&self) -> bool {
        self.lock.is_locked_exclusive() && !self.is_visible()
    }

    /// A reader has met another. The caller has the lock below, to read.
    #[cold]
    fn meet(&self) {
        let Some(cpu) = P::cpu() else { return };
        let own = &P::per_cpu(cpu).visible_readers;
        // Relaxed: a wrong guess costs time.
        if P::CPUS_ARE_THREADS
            && own.meets_often()
            && !is_before(P::now(), self.inhibited.load(Relaxed))
        {
            self.give(|| own.name(cpu));
        }
    }

    /// Lets readers come in by entries of their own, from now on until the first writer. The caller
    /// has the lock below, to read.
    fn give(&self, new_name: impl FnOnce() -> usize) {
        let seen = self.bias.load(Relaxed);
        let name = if name(seen) == 0 { new_name() } else { name(seen) };
        // Release: pairs with the Acquire in `enter`: like us, a reader that comes in by an entry
        // sees what the last writer did. If the exchange fails, another reader has done it.
        let _ = self.bias.compare_exchange(seen, name | ON | VISIBLE, Release, Relaxed);
    }

    /// Comes in by an entry of this CPU's. False: the bias is gone, or there is none free.
    #[inline]
    fn enter(&self) -> bool {
        let Some(own) = own::<P>() else { return false };
        // Relaxed: it has a name, which never changes.
        let name = name(self.bias.load(Relaxed));
        if !own.enter(name) {
            return false;
        }
        // Pairs with the fence in `turn_off`.
        P::fence_after_atomic();
        // Acquire: pairs with the Release in `give`.
        if self.bias.load(Acquire) & ON != 0 {
            return true;
        }
        own.leave::<P>(name);
        false
    }

    /// Whether there may be readers inside that came in by their entries. Only a writer asks.
    #[inline]
    fn has_visible(&self) -> bool {
        // Relaxed: a reader sets it while it holds the lock below, and the caller has locked that
        // for writing since.
        self.bias.load(Relaxed) & VISIBLE != 0
    }

    /// Whether there are.
    fn is_visible(&self) -> bool {
        let name = name(self.bias.load(Relaxed));
        name != 0 && all::<P>().any(|readers| readers.is_reading(name))
    }

    /// Closes the entries to readers, and returns the lock's name. Only a writer may call it.
    fn turn_off(&self) -> usize {
        let name = name(self.bias.load(Relaxed));
        // Relaxed: the fence orders.
        self.bias.store(name | VISIBLE, Relaxed);
        // Pairs with that in `enter`.
        P::fence(SeqCst);
        name
    }

    /// As the writer, takes the bias back and waits until the last reader has left that came in by
    /// it. False: the deadline has come.
    #[cold]
    fn take_back(&self, deadline: Option<u64>) -> bool {
        let begun = P::now();
        let name = self.turn_off();
        let left = all::<P>().all(|readers| readers.await_leaving::<P>(name, deadline))
            && self.lock.await_readers(deadline);
        self.inhibit(begun);
        if left {
            // Relaxed: until the lock below is released this thread alone looks at it.
            self.bias.store(name, Relaxed);
        }
        left
    }

    /// As [`RawBiasedRwLock::take_back`], without waiting. False: somebody reads.
    #[cold]
    fn try_take_back(&self) -> bool {
        let begun = P::now();
        let name = self.turn_off();
        let left = !all::<P>().any(|readers| readers.is_reading(name)) && self.lock.readers() == 0;
        self.inhibit(begun);
        if left {
            // Relaxed: as in `take_back`.
            self.bias.store(name, Relaxed);
        }
        left
    }

    /// The bias has been taken back since `begun`: it is not given again for a while.
    fn inhibit(&self, begun: u64) {
        let now = P::now();
        let pause = ((now - begun) * INHIBITION).min(LONGEST);
        // Relaxed: a wrong guess costs time.
        self.inhibited.store(coarse(now + pause), Relaxed);
    }
}

/// The name in a word of bias; 0: none yet.
#[inline]
fn name(bias: usize) -> usize {
    bias & !(ON | VISIBLE)
}

/// The visible readers of the calling thread.
#[inline]
fn own<P: Platform>() -> Option<&'static VisibleReaders<P::Word, P::Long>> {
    P::cpu().map(|cpu| &P::per_cpu(cpu).visible_readers)
}

/// The visible readers of all threads.
fn all<P: Platform>() -> impl Iterator<Item = &'static VisibleReaders<P::Word, P::Long>> {
    (0..P::cpus()).map(|cpu| &P::per_cpu(cpu).visible_readers)
}

#[cfg(feature = "std")]
impl RawBiasedRwLock<crate::platform::linux::Linux> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        use core::sync::atomic::{AtomicU32, AtomicUsize};
        Self {
            lock: RawHybridRwLock::new(),
            bias: AtomicUsize::new(0),
            inhibited: AtomicU32::new(0),
        }
    }
}

#[cfg(feature = "std")]
impl Default for RawBiasedRwLock<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}

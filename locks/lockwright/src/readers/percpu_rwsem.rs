//! The per-CPU reader-writer semaphore (`kernel/locking/percpu-rwsem.c`): reading is an addition to
//! a count of the reader's own; all cost is the writer's. For what is read all the time and hardly
//! ever written.
//!
//! Waiters sleep, first come, first served: when a writer is done, it lets in the readers that came
//! before the next writer, then that writer.
//!
//! ```text
//!   counts   one a slot: readers that came there less those that left there; their sum: readers inside, or looking
//!   blocked  1: a writer is inside or waits for readers to leave; readers that come queue
//!   left     counts readers that left meanwhile, for the writer to wait on
//! ```
//!
//! A reader adds itself, then looks for a writer; a writer blocks, then looks for readers. One of
//! the two sees the other if a barrier is between the steps on either side: the reader's costs
//! nothing ([`Platform::light_barrier`]), as the writer's interrupts all CPUs
//! ([`Platform::heavy_barrier`]: membarrier; the kernel waits for an RCU grace period).
//!
//! As in the kernel, the releaser may look at the lock once more when another thread has it
//! already: it must not be freed before the release has returned.
//!
//! The kernel's counts are a variable of all CPUs. Here they lie in the lock, `SLOTS` of them, a
//! cache line each: the threads with the first `SLOTS - 1` numbers ([`Platform::cpu`]; the lowest
//! that is free when a thread begins) have one of their own and add by load and store; all others
//! share the last one, and add atomically.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, Word};
use crate::sleeper::Sleeper;
use crate::wait_list::{List, Node};
use crate::wait_lock::{WaitGuard, WaitLock};

/// The difference to a count when a reader leaves.
const LEAVES: u32 = 1_u32.wrapping_neg();

/// Readers that came less those that left, modulo 2^32.
#[repr(align(64))]
struct Count<P: Platform>(P::Word);

/// One that waits.
struct Waiter<P: Platform> {
    writes: bool,
    sleeper: Sleeper<P>,
}

type Waiters<P> = List<Waiter<P>>;

/// A per-CPU reader-writer semaphore. Not recursive, for readers neither: between the two a writer
/// may have come.
///
/// Its holder may hand it to another thread, to be released there.
///
/// # Rules
/// - A holder may end if another thread releases the lock for it.
/// - The child of a fork must not use a lock that another thread held or waited for at the fork.
///   Its wait list leads to threads that the child does not have.
///
/// # Guarantees
/// - Ordering: a holder sees all that earlier writers did before they released the lock, and a
///   writer comes after all that earlier readers read.
/// - Fairness: first come, first served. A writer that has come keeps new readers out until it is
///   done.
/// - Cost: an uncontended reader does no atomic operation; a writer interrupts all CPUs of the
///   process.
/// - Source: `kernel/locking/percpu-rwsem.c`.
pub struct RawPercpuRwSem<P: Platform, const SLOTS: usize = 16> {
    counts: [Count<P>; SLOTS],
    /// Changes under the lock of the list.
    blocked: P::Word,
    left: P::Word,
    waiters: WaitLock<P, Waiters<P>>,
}

impl<P: Platform, const SLOTS: usize> RawPercpuRwSem<P, SLOTS> {
    /// A free lock.
    pub fn new_in() -> Self {
        const { assert!(SLOTS > 0) };
        Self {
            counts: core::array::from_fn(|_| Count(P::Word::new(0))),
            blocked: P::Word::new(0),
            left: P::Word::new(0),
            waiters: WaitLock::new(List::new()),
        }
    }

    /// Takes the lock to read.
    ///
    /// - The caller must not hold the lock already, not even to read: a writer may have come in
    ///   between, and the two would wait for each other.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it may have interrupted the holder, or a change of
    ///   the wait list, and would wait for ever.
    #[inline]
    pub fn down_read(&self) {
        if !self.enter() {
            self.down_read_slow();
        }
    }

    /// Takes the lock to read if no writer has it or waits for readers to leave.
    ///
    /// - Any thread may call this: it does not wait. A reader may call it again, and must then
    ///   release the lock once more.
    #[inline]
    pub fn try_down_read(&self) -> bool {
        let taken = self.enter();
        if !taken {
            self.leave();
        }
        taken
    }

    /// Releases the lock of a reader.
    ///
    /// - Any thread may call this for the reader, once for each time the reader took the lock.
    ///   After one call too many a writer waits for ever, or enters with a reader inside.
    /// - A signal handler must not call this for a lock that has waiters: it may have interrupted a
    ///   change of the wait list.
    /// - The memory of the lock must stay until this call has returned, even if another thread
    ///   holds the lock by then.
    ///
    /// # Safety
    /// It is held by a reader, which is leaving.
    #[inline]
    pub unsafe fn up_read(&self) {
        self.leave();
    }

    /// Takes the lock to write. Takes microseconds at best.
    ///
    /// - The caller must not hold the lock already, in either mode: it would wait for ever.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it may have interrupted the holder, or a change of
    ///   the wait list, and would wait for ever.
    pub fn down_write(&self) {
        let waiters = self.waiters.lock();
        if self.is_blocked() {
            let node = Node::new(Waiter { writes: true, sleeper: Sleeper::new() });
            // SAFETY: the node stays where it is until the thread that hands us the lock has
            // removed it.
            unsafe { waiters.push_back(&node) };
            drop(waiters);
            node.value.sleeper.sleep(None);
            // It has been blocked all the time.
        } else {
            self.block(waiters);
        }
        loop {
            // Acquire: pairs with the Release in `tell_writer`: the sum counts each reader that has
            // announced its leave.
            let left = self.left.load(Acquire);
            if self.readers() == 0 {
                return;
            }
            self.left.wait(left, None);
        }
    }

    /// Takes the lock to write if it is free. Takes microseconds, and holds readers up as long.
    ///
    /// - Any thread may call this. It does not wait for holders, but each call delays all readers
    ///   by a barrier on all CPUs.
    /// - A signal handler must not call this: it may have interrupted the holder, or a change of
    ///   the wait list, and would wait for ever.
    pub fn try_down_write(&self) -> bool {
        let waiters = self.waiters.lock();
        if self.is_blocked() {
            return false;
        }
        self.block(waiters);
        let taken = self.readers() == 0;
        if !taken {
            self.unblock();
        }
        taken
    }

    /// Releases the lock of the writer.
    ///
    /// - Any thread may call this for the writer, once. After any other call the lock is in an
    ///   undefined state.
    /// - A signal handler must not call this for a lock that has waiters: it may have interrupted a
    ///   change of the wait list.
    /// - The memory of the lock must stay until this call has returned, even if another thread
    ///   holds the lock by then.
    ///
    /// # Safety
    /// The caller holds it.
    pub unsafe fn up_write(&self) {
        self.unblock();
    }

    /// Whether anyone holds it now, or checks whether it may.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        self.is_blocked() || self.readers() != 0
    }

    /// Whether a writer holds it now, or waits for readers to leave.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_blocked(&self) -> bool {
        // Relaxed: tells nothing of what the writer has done; or under the lock.
        self.blocked.load(Relaxed) != 0
    }

    /// Adds a reader. True: no writer is there.
    #[inline]
    fn enter(&self) -> bool {
        self.add(1);
        // Pairs with the heavy one in `block`.
        P::light_barrier();
        // Acquire: pairs with the Release in `unblock`.
        self.blocked.load(Acquire) == 0
    }

    /// Takes a reader off, whether it held the lock or had only come to see.
    #[inline]
    fn leave(&self) {
        self.add(LEAVES);
        // Pairs with the heavy one in `block`: the writer sees that we have left, or we see the
        // writer.
        P::light_barrier();
        if self.is_blocked() {
            self.tell_writer();
        }
    }

    /// Adds to the caller's count.
    #[inline]
    fn add(&self, difference: u32) {
        // Release: pairs with the Acquires in `readers`, when it is a reader that leaves.
        match P::cpu() {
            Some(cpu) if (cpu as usize) < SLOTS - 1 => {
                let count = &self.counts[cpu as usize].0;
                // Only this thread stores here. A signal handler in between leaves as many readers
                // as it finds.
                count.store(count.load(Relaxed).wrapping_add(difference), Release);
            }
            _ => {
                self.counts[SLOTS - 1].0.fetch_add(difference, Release);
            }
        }
    }

    /// Readers that are inside, or looking. While the lock is blocked: those inside are counted for
    /// certain.
    fn readers(&self) -> u32 {
        // Acquire: pairs with the Release in `add`.
        self.counts.iter().fold(0, |sum, count| sum.wrapping_add(count.0.load(Acquire)))
    }

    #[cold]
    fn tell_writer(&self) {
        // Release: pairs with the Acquire in `down_write`.
        self.left.fetch_add(1, Release);
        P::Word::wake(&raw const self.left, 1);
    }

    #[cold]
    fn down_read_slow(&self) {
        self.leave();
        let waiters = self.waiters.lock();
        if !self.is_blocked() {
            // The next writer blocks after we have left the list's lock, and sees our count.
            self.add(1);
            return;
        }
        let node = Node::new(Waiter { writes: false, sleeper: Sleeper::new() });
        // SAFETY: the node stays where it is until the thread that grants us the lock has removed
        // it.
        unsafe { waiters.push_back(&node) };
        drop(waiters);
        node.value.sleeper.sleep(None);
    }

    /// Keeps readers from coming in.
    fn block(&self, waiters: WaitGuard<'_, P, Waiters<P>>) {
        self.blocked.store(1, Relaxed);
        drop(waiters);
        P::heavy_barrier();
    }

    /// Lets the next waiters in: all readers to the first writer that waits, and that one as soon
    /// as they have left; or any newcomer.
    fn unblock(&self) {
        let waiters = self.waiters.lock();
        let readers: Waiters<P> = List::new();
        let mut count = 0;
        for node in waiters.iter().take_while(|node| !node.value.writes) {
            count += 1;
            // SAFETY: from this list into that, where it stays to the end of its own.
            unsafe {
                waiters.remove(node);
                readers.push_back(node);
            }
        }
        if count != 0 {
            // On our count: it is the sum that counts.
            self.add(count);
        }
        let writer = waiters.first().map(|writer| {
            // SAFETY: it is in the list, and a waiter in the list lives until we wake it.
            unsafe {
                waiters.remove(writer.as_ref());
                Sleeper::tell(&raw const (*writer.as_ptr()).value.sleeper)
            }
        });
        if writer.is_none() {
            // Release: pairs with the Acquire in `enter`.
            self.blocked.store(0, Release);
        }
        drop(waiters);
        for node in readers.iter() {
            // SAFETY: a waiting reader stays until it is woken, and only we wake it.
            unsafe { Sleeper::tell(&raw const node.value.sleeper) }.send();
        }
        if let Some(writer) = writer {
            writer.send();
        }
    }
}

#[cfg(feature = "std")]
impl<const SLOTS: usize> RawPercpuRwSem<crate::platform::linux::Linux, SLOTS> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        use core::sync::atomic::AtomicU32;
        const { assert!(SLOTS > 0) };
        Self {
            counts: [const { Count(AtomicU32::new(0)) }; SLOTS],
            blocked: AtomicU32::new(0),
            left: AtomicU32::new(0),
            waiters: WaitLock::from_word(AtomicU32::new(0), List::new()),
        }
    }
}

#[cfg(feature = "std")]
impl<const SLOTS: usize> Default for RawPercpuRwSem<crate::platform::linux::Linux, SLOTS> {
    fn default() -> Self {
        Self::new()
    }
}

//! The reader-writer semaphore (`kernel/locking/rwsem.c`): any number of readers or one writer;
//! waiters sleep.
//!
//! A thread that finds the lock free may take it ahead of the waiters, which keeps it busy while
//! they wake up. After 4 ms the first waiter sets the hand-off flag, and gets the lock next. A turn
//! of the readers takes all readers that wait (phase-fair), at most 256.
//! Writers spin for a while before they sleep ([`spin`]).
//!
//! ```text
//!   count  bit  0      held by a writer
//!          bit  1      somebody waits
//!          bit  2      hand-off: nobody takes the lock ahead of the first waiter
//!          bits 8-62   readers that hold it, or have come to see whether they may
//!          bit  63     too many of them
//!   owner  see `owner`
//! ```
//!
//! The flags of bits 1 and 2 change under the lock of the wait list only.
//!
//! A new reader adds itself to the count first and checks the result then. It counts as a holder
//! until it has subtracted itself again. Then it must do what the last holder does: wake the
//! waiters.
//!
//! As in the kernel, the releaser may look at the lock once more when another thread has it
//! already: it must not be freed before the release has returned.

mod owner;
mod spin;
pub mod try_read;

use core::cell::Cell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::event::Event;
use crate::osq::RawOsq;
use crate::platform::{Atomic, Platform, Task};
use crate::sleeper::{Sleeper, Wake};
use crate::wait_list::{List, Node};
use crate::wait_lock::WaitLock;
use owner::{Holder, Owner};

const FREE: usize = 0;
const WRITER: usize = 1 << 0;
const WAITERS: usize = 1 << 1;
const HANDOFF: usize = 1 << 2;
const READER: usize = 1 << 8;
const READERS: usize = !(READER - 1);
const TOO_MANY: usize = 1 << (usize::BITS - 1);

/// Nanoseconds that a waiter lets others overtake it.
const PATIENCE: u64 = 4_000_000;

/// The most readers that are woken at a time, while the list is locked.
const MOST_WOKEN: usize = 256;

/// Whether a reader may go on without a look at the waiters.
const fn is_read_lockable(count: usize) -> bool {
    count & (WRITER | WAITERS | HANDOFF | TOO_MANY) == 0
}

const fn is_held(count: usize) -> bool {
    count & (WRITER | READERS) != 0
}

/// Whether a thread that leaves this count behind has to wake waiters.
const fn is_left_to_waiters(count: usize) -> bool {
    !is_held(count) && count & WAITERS != 0
}

/// One that waits. Cells: under the lock of the list.
struct Waiter<P: Platform> {
    writes: bool,
    /// The time from which on it asks for the hand-off.
    patient_until: u64,
    /// It has set the hand-off flag, or found it set, and is first: the lock is kept for it.
    heir: Cell<bool>,
    /// It has the lock, is no longer in the list, and will be woken.
    granted: Cell<bool>,
    task: Task,
    sleeper: Sleeper<P>,
}

// SAFETY: the cells are under the lock of the list.
unsafe impl<P: Platform> Sync for Waiter<P> {}

impl<P: Platform> Waiter<P> {
    fn new(writes: bool) -> Node<Self> {
        Node::new(Self {
            writes,
            patient_until: P::now() + PATIENCE,
            heir: Cell::new(false),
            granted: Cell::new(false),
            task: P::current(),
            sleeper: Sleeper::new(),
        })
    }

    fn is_impatient(&self) -> bool {
        P::now() > self.patient_until
    }
}

/// The waiters of a lock.
type Waiters<P> = List<Waiter<P>>;

/// Which waiters to wake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whom {
    /// The first, or all readers if it is one.
    Any,
    /// Readers, if the first is one.
    Readers,
    /// Likewise, and the lock is held by readers for certain.
    ReadersToo,
}

/// The waiters to wake once the list is unlocked (the kernel's wake_q).
struct WakeQueue<P: Platform> {
    /// Readers that have the lock.
    readers: Waiters<P>,
    /// A writer that may look again.
    writer: Option<Wake<P>>,
}

impl<P: Platform> WakeQueue<P> {
    const fn new() -> Self {
        Self { readers: List::new(), writer: None }
    }

    fn is_empty(&self) -> bool {
        self.readers.is_empty() && self.writer.is_none()
    }

    fn send(self) {
        for node in self.readers.iter() {
            // SAFETY: a reader that was granted the lock stays until it is woken, and only we wake
            // it.
            unsafe { Sleeper::tell(&raw const node.value.sleeper) }.send();
        }
        if let Some(writer) = self.writer {
            writer.send();
        }
    }
}

/// A reader-writer semaphore. Not recursive, for readers neither: between the two a writer may have
/// come.
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork must not use a lock that another thread held or waited for at the fork.
///   Its wait list leads to threads that the child does not have.
///
/// # Guarantees
/// - Ordering: a holder sees all that earlier writers did before they released the lock, and a
///   writer comes after all that earlier readers read.
/// - Fairness: a thread that finds the lock free may take it before the waiters. After 4 ms the
///   first waiter gets the lock next, so no thread starves. One turn of readers takes at most 256
///   of them.
/// - Source: `kernel/locking/rwsem.c`.
pub struct RawRwSem<P: Platform> {
    count: P::Long,
    owner: Owner<P>,
    /// Where writers queue to spin.
    osq: RawOsq<P>,
    waiters: WaitLock<P, Waiters<P>>,
}

impl<P: Platform> RawRwSem<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self {
            count: P::Long::new(FREE),
            owner: Owner::new(),
            osq: RawOsq::new_in(),
            waiters: WaitLock::new(List::new()),
        }
    }

    /// Takes the lock to read.
    ///
    /// - The caller must not hold the lock already, not even to read: a writer may have come in
    ///   between, and the two would wait for each other.
    ///   [`RawDebugRwSem`](crate::debug_rwsem::RawDebugRwSem) returns `Recursion` to the writer; it
    ///   does not know its readers.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it may have interrupted the holder, or a change of
    ///   the wait list, and would wait for ever.
    #[inline]
    pub fn down_read(&self) {
        self.down_read_until(None);
    }

    /// Takes the lock to read, or gives up when `deadline` (nanoseconds of [`Platform::now`]; none:
    /// never) has come. True if it is taken.
    ///
    /// - The rules of [`Self::down_read`] apply.
    /// - The lock is taken if it is free, even if the deadline has passed.
    #[inline]
    pub fn down_read_until(&self, deadline: Option<u64>) -> bool {
        // Acquire: pairs with the Releases in `up_write` and `downgrade_write`.
        let old = self.count.fetch_add(READER, Acquire);
        if !is_read_lockable(old) {
            return self.down_read_slow(old, deadline);
        }
        self.owner.set_reader(P::current());
        true
    }

    /// Takes the lock to write.
    ///
    /// - The caller must not hold the lock already, in either mode: it would wait for ever.
    ///   [`RawDebugRwSem`](crate::debug_rwsem::RawDebugRwSem) returns `Recursion` to the writer.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it may have interrupted the holder, or a change of
    ///   the wait list, and would wait for ever.
    #[inline]
    pub fn down_write(&self) {
        self.down_write_until(None);
    }

    /// Takes the lock to write, or gives up when `deadline` (nanoseconds of [`Platform::now`];
    /// none: never) has come. True if it is taken. It may be late by the time that a writer spins.
    ///
    /// - The rules of [`Self::down_write`] apply.
    /// - The lock is taken if it is free, even if the deadline has passed.
    #[inline]
    pub fn down_write_until(&self, deadline: Option<u64>) -> bool {
        self.try_down_write() || self.down_write_slow(deadline)
    }

    /// Takes the lock to write if it is free and nobody waits.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. A holder gets
    ///   `false`.
    #[inline]
    pub fn try_down_write(&self) -> bool {
        // Acquire: pairs with the Releases in `up_write` and `leave_readers`.
        let taken = self.count.compare_exchange(FREE, WRITER, Acquire, Relaxed).is_ok();
        if taken {
            self.owner.set_writer();
        }
        taken
    }

    /// Releases the lock of a reader.
    ///
    /// - The reader must release the lock once for each time it took it. After one call too many a
    ///   writer can be inside with a reader. [`RawDebugRwSem`](crate::debug_rwsem::RawDebugRwSem)
    ///   returns `AlreadyUnlocked` or `WrongOwner` if no reader is left.
    /// - A signal handler must not call this for a lock that has waiters: it may have interrupted a
    ///   change of the wait list.
    /// - The memory of the lock must stay until this call has returned, even if another thread
    ///   holds the lock by then.
    ///
    /// # Safety
    /// It is held by a reader, which is leaving.
    #[inline]
    pub unsafe fn up_read(&self) {
        self.leave_readers();
    }

    /// Takes one reader off the count, whether it held the lock or had only come to see.
    #[inline]
    fn leave_readers(&self) {
        // Release: pairs with the Acquires of the writers that take the lock.
        let count = self.count.fetch_sub(READER, Release).wrapping_sub(READER);
        if is_left_to_waiters(count) {
            self.owner.clear_nonspinnable();
            self.wake(Whom::Any);
        }
    }

    /// Releases the lock of the writer.
    ///
    /// - The writer must release the lock, once. After any other call the lock is in an undefined
    ///   state. [`RawDebugRwSem`](crate::debug_rwsem::RawDebugRwSem) returns `AlreadyUnlocked` or
    ///   `WrongOwner` instead.
    /// - A signal handler must not call this for a lock that has waiters: it may have interrupted a
    ///   change of the wait list.
    /// - The memory of the lock must stay until this call has returned, even if another thread
    ///   holds the lock by then.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn up_write(&self) {
        self.owner.clear();
        // Release: pairs with the Acquires of all who take the lock.
        if self.count.fetch_sub(WRITER, Release) & WAITERS != 0 {
            self.wake(Whom::Any);
        }
    }

    /// Makes the writer a reader, with no other writer in between. Readers that wait have the lock
    /// with it.
    ///
    /// - The caller must hold the lock to write, and must release it as a reader.
    ///   [`RawDebugRwSem`](crate::debug_rwsem::RawDebugRwSem) returns `WrongOwner` to any other
    ///   thread.
    /// - A signal handler must not call this for a lock that has waiters: it may have interrupted a
    ///   change of the wait list.
    ///
    /// # Safety
    /// The caller holds it as writer.
    #[inline]
    pub unsafe fn downgrade_write(&self) {
        // Release: pairs with the Acquires of readers.
        let old = self.count.fetch_add(READER - WRITER, Release);
        self.owner.set_reader(P::current());
        if old & WAITERS != 0 {
            self.wake(Whom::ReadersToo);
        }
    }

    /// Whether anyone holds it now, or has come to see whether he may read.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        // Relaxed: tells nothing of what the holder has done.
        is_held(self.count.load(Relaxed))
    }

    /// Whether a writer holds it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked_by_writer(&self) -> bool {
        // Relaxed: as above.
        self.count.load(Relaxed) & WRITER != 0
    }

    /// Whether anybody waits for it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_contended(&self) -> bool {
        // Relaxed: as above.
        self.count.load(Relaxed) & WAITERS != 0
    }

    /// For a reader that is on the count, but not alone with readers: `old` is what it found.
    #[cold]
    fn down_read_slow(&self, old: usize, deadline: Option<u64>) -> bool {
        if self.may_steal(old) {
            self.owner.set_reader(P::current());
            P::count(Event::RwsemRlockSteal, 1);
            if old & READERS == 0 && old & WAITERS != 0 {
                // The first reader opens the turn of the readers.
                self.wake(Whom::ReadersToo);
            }
            return true;
        }
        let waiters = self.waiters.lock();
        let first = waiters.is_empty();
        // Acquire: pairs with the Release in `up_write`.
        if first && self.count.load(Acquire) & WRITER == 0 {
            // The thread that kept us out has left, and no waiter is before us: we are on the count
            // already.
            drop(waiters);
            self.owner.set_reader(P::current());
            P::count(Event::RwsemRlockFast, 1);
            return true;
        }
        let node = Waiter::new(false);
        // SAFETY: it stays where it is until it is removed: by the thread that grants us the lock,
        // or by `give_up`.
        unsafe { waiters.push_back(&node) };
        let flag = if first { WAITERS } else { 0 };
        // Relaxed: what we have read of others' we do not rely on.
        let old = self.count.fetch_sub(READER.wrapping_sub(flag), Relaxed);
        let wakes = self.wake_after_coming(&waiters, old - READER + flag);
        drop(waiters);
        wakes.send();

        if !node.value.sleeper.is_told() {
            // A statistic: the wake-up may come right now.
            P::count(Event::RwsemSleepReader, 1);
        }
        if !node.value.sleeper.sleep(deadline) && self.give_up(&node) {
            P::count(Event::RwsemRlockFail, 1);
            return false;
        }
        P::count(Event::RwsemRlock, 1);
        true
    }

    /// Whether a reader that found `old` may go on though somebody waits.
    fn may_steal(&self, old: usize) -> bool {
        // Ahead of a writer that waits for readers to leave, there must be no end of readers that
        // come: whether or not they may be spun on.
        let joins_readers = self.owner.is_reader() && old & READERS != 0;
        old & (WRITER | HANDOFF) == 0 && !joins_readers
    }

    /// Takes one whose deadline has come from the list. False: it is a reader that has the lock by
    /// now, and has been told.
    fn give_up(&self, node: &Node<Waiter<P>>) -> bool {
        let waiters = self.waiters.lock();
        if node.value.granted.get() {
            drop(waiters);
            // The thread that granted it is about to wake us, and must find us here.
            node.value.sleeper.sleep(None);
            return false;
        }
        let was_first = waiters.first().is_some_and(|first| core::ptr::eq(first.as_ptr(), node));
        // SAFETY: a waiter that was not granted the lock is in the list.
        unsafe { waiters.remove(node) };
        if waiters.is_empty() {
            self.count.fetch_and(!(WAITERS | HANDOFF), Relaxed);
        } else if was_first {
            // A wake that was meant for us is the next one's.
            let wakes = self.mark_wake(&waiters, Whom::Any);
            drop(waiters);
            wakes.send();
        }
        true
    }

    #[cold]
    fn down_write_slow(&self, deadline: Option<u64>) -> bool {
        if self.spin() {
            return true;
        }
        let node = Waiter::new(true);
        let mut waiters = self.waiters.lock();
        let first = waiters.is_empty();
        // SAFETY: it stays where it is until it is removed, by us: below or in `give_up`.
        unsafe { waiters.push_back(&node) };
        if first {
            self.count.fetch_or(WAITERS, Relaxed);
        } else {
            let wakes = self.wake_after_coming(&waiters, self.count.load(Relaxed));
            if !wakes.is_empty() {
                drop(waiters);
                wakes.send();
                waiters = self.waiters.lock();
            }
        }
        let mut rounds = 0;
        while !self.try_write_in_turn(&waiters, &node.value) {
            // A wake-up from here on ends the sleep below.
            node.value.sleeper.arm();
            let heir = node.value.heir.get();
            drop(waiters);
            // The lock is kept for us: a holder that is about to leave is not worth a sleep.
            let again = heir && self.spin_on_owner(&mut rounds) == Holder::Nobody;
            if !again || P::need_resched(rounds) {
                P::count(Event::RwsemSleepWriter, 1);
                if !node.value.sleeper.sleep(deadline) {
                    self.give_up(&node);
                    P::count(Event::RwsemWlockFail, 1);
                    return false;
                }
                rounds = 0;
            } else {
                rounds += 1;
                P::relax();
            }
            waiters = self.waiters.lock();
        }
        // SAFETY: it has been in the list since we put it there.
        unsafe { waiters.remove(&node) };
        P::count(Event::RwsemWlock, 1);
        true
    }

    /// Takes the lock for a writer that waits, or sets the hand-off flag for the first.
    fn try_write_in_turn(&self, waiters: &Waiters<P>, waiter: &Waiter<P>) -> bool {
        let mut nodes = waiters.iter();
        let first = nodes.next().map_or(waiter, |first| &first.value);
        let alone = nodes.next().is_none();
        let mut count = self.count.load(Relaxed);
        loop {
            if count & HANDOFF != 0 && first.heir.get() && !core::ptr::eq(first, waiter) {
                return false;
            }
            let new = if !is_held(count) {
                (count & !HANDOFF & !if alone { WAITERS } else { 0 }) | WRITER
            } else if count & HANDOFF == 0 && waiter.is_impatient() {
                count | HANDOFF
            } else {
                return false;
            };
            // Acquire: pairs with the Releases in `up_write` and `leave_readers`.
            match self.count.compare_exchange(count, new, Acquire, Relaxed) {
                Err(seen) => count = seen,
                Ok(_) if new & HANDOFF != 0 => {
                    first.heir.set(true);
                    P::count(Event::RwsemWlockHandoff, 1);
                    return false;
                }
                Ok(_) => {
                    self.owner.set_writer();
                    return true;
                }
            }
        }
    }

    /// The waiters that a thread wakes after it has joined the list, `count` being what it has read
    /// since. Their turn has come; if our presence on the count kept the last holder from waking
    /// them, no other thread would.
    fn wake_after_coming(&self, waiters: &Waiters<P>, count: usize) -> WakeQueue<P> {
        if count & WRITER != 0 {
            return WakeQueue::new();
        }
        if count & READERS != 0 {
            return self.mark_wake(waiters, Whom::Readers);
        }
        self.owner.clear_nonspinnable();
        self.mark_wake(waiters, Whom::Any)
    }

    #[cold]
    fn wake(&self, whom: Whom) {
        let waiters = self.waiters.lock();
        let wakes = self.mark_wake(&waiters, whom);
        drop(waiters);
        wakes.send();
    }

    /// Gives the lock to the readers whose turn it is, or tells the writer whose turn it is to look
    /// again.
    fn mark_wake(&self, waiters: &Waiters<P>, whom: Whom) -> WakeQueue<P> {
        let mut wakes = WakeQueue::new();
        let Some(first) = waiters.iter().next().map(|first| &first.value) else { return wakes };
        if first.writes {
            if whom == Whom::Any {
                // SAFETY: it is in the list, hence there.
                wakes.writer = Some(unsafe { Sleeper::tell(&raw const first.sleeper) });
                P::count(Event::RwsemWakeWriter, 1);
            }
            return wakes;
        }
        let mut claimed = 0;
        if whom != Whom::ReadersToo {
            // A writer may be faster: first of all, the lock must be the readers'.
            let old = self.count.fetch_add(READER, Relaxed);
            if old & WRITER != 0 {
                self.leave_to_writer(first, old);
                return wakes;
            }
            claimed = READER;
            // Early, for those who spin on the owner.
            self.owner.set_reader(first.task);
        }
        let mut woken = 0;
        for node in waiters.iter().filter(|node| !node.value.writes).take(MOST_WOKEN) {
            woken += 1;
            node.value.granted.set(true);
            // SAFETY: from this list into that, where it stays to the end of its own.
            unsafe {
                waiters.remove(node);
                wakes.readers.push_back(node);
            }
        }
        P::count(Event::RwsemWakeReader, woken);
        // Readers have had their turn: nothing is kept for anybody.
        let done = self.count.load(Relaxed) & HANDOFF;
        let done = done | if waiters.is_empty() { WAITERS } else { 0 };
        let change = (woken * READER).wrapping_sub(claimed).wrapping_sub(done);
        // Acquire: pairs with the Release in `up_write`, for the readers that we tell.
        self.count.fetch_add(change, Acquire);
        wakes
    }

    /// Takes back the readers' claim to the lock, as a writer has it in `old`. With the
    /// flag that this was the last time, if the first reader has waited for long.
    fn leave_to_writer(&self, first: &Waiter<P>, old: usize) {
        let mut flag = 0;
        if first.is_impatient() {
            if old & HANDOFF == 0 {
                flag = HANDOFF;
                P::count(Event::RwsemRlockHandoff, 1);
            }
            first.heir.set(true);
        }
        self.count.fetch_sub(READER - flag, Relaxed);
    }
}

#[cfg(feature = "std")]
impl RawRwSem<crate::platform::linux::Linux> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        use core::sync::atomic::{AtomicU32, AtomicUsize};
        Self {
            count: AtomicUsize::new(FREE),
            owner: Owner::from_long(AtomicUsize::new(0)),
            osq: RawOsq::new(),
            waiters: WaitLock::from_word(AtomicU32::new(0), List::new()),
        }
    }
}

#[cfg(feature = "std")]
impl Default for RawRwSem<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}

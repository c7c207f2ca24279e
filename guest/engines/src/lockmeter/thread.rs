//! The fast path: the calling thread's index of cells and its stack of held locks. No lock, nothing
//! that another thread writes.
//!
//! A signal handler may run between any two instructions here, on the same state, and leaves it as
//! it found it: see [`crate::held`].

use core::cell::UnsafeCell;
use core::marker::PhantomPinned;
use core::mem::offset_of;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU32, compiler_fence};

use lockwright_ledger::rows::meter::{Meter, Metered};

use super::cell::CellRef;
use super::conditions::CondWaiter;
use super::contention::Waiting;
use super::off_cpu::{LongHold, Period, Reading};
use super::pending::{Condition, Kept, LastWord, Own, PENDING, Pending, PendingAt, Waits, Woken};
use super::readers::ReadersRef;
use crate::held::{Entry, HeldStack, addr_of, set_addr, update, word};
use crate::trial::Trial;

/// [`Metered::flags`]: given up in the middle of the stack, to be removed.
const DEAD: u32 = 1 << 31;
/// [`Metered::flags`]: it can be held by several at once.
pub(super) const SHARED: u32 = 1 << 30;
/// [`Metered::flags`]: it is a candidate.
const ON_TRIAL: u32 = 1 << 29;
/// [`Metered::flags`]: not held yet, an acquisition under way; `since` is the lock's address.
pub(super) const RESERVED: u32 = 1 << 28;
/// [`Metered::flags`]: number of its [`Pending`] wait, plus 1.
const PENDING_BITS: u32 = 0xf;

/// What there is to know of a hold that ends.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// When it began, 0 if it is not timed.
    pub since: u64,
    /// The cell of its acquisition.
    pub cell: CellRef,
}

impl Ending {
    /// The hold of a held lock; `None` for an entry that is none.
    #[inline(always)]
    pub fn of(held: &Metered) -> Option<Self> {
        CellRef::at(held.cell).map(|cell| Self { since: held.since, cell })
    }
}

/// A slot of the index.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Slot {
    pub(super) key: u64,
    pub(super) cell: u64,
}

/// Stands for a key in a slot that changes: keys are odd.
const GONE: u64 = 2;

const _: () = {
    assert!(offset_of!(Metered, addr) == 0 && offset_of!(Metered, recursion) % 8 == 0);
    assert!(offset_of!(Metered, flags) == offset_of!(Metered, recursion) + 4);
    assert!(cfg!(target_endian = "little"));
};

/// Recursion and flags of an entry, as one word.
const fn special(recursion: u32, flags: u32) -> u64 {
    recursion as u64 | (flags as u64) << 32
}

/// Adds flags to an entry, and takes others off.
///
/// # Safety
/// An entry of the calling thread's.
#[inline(always)]
pub(super) unsafe fn change_flags(entry: *mut Metered, add: u32, take: u32) {
    // SAFETY: by contract this is an entry of the calling thread's. Its thread alone writes the
    // word. Relaxed: as in `held::set_addr`.
    unsafe {
        let word = word((&raw const (*entry).recursion).cast());
        word.store(word.load(Relaxed) & !special(0, take) | special(0, add), Relaxed);
    }
}

/// Sets the cell of an entry.
///
/// # Safety
/// An entry of the calling thread's.
#[inline(always)]
unsafe fn set_cell(entry: *mut Metered, cell: u64) {
    // SAFETY: by contract this is an entry of the calling thread's. Release pairs with the Acquire in `look`:
    // another thread that has the address finds the row written.
    unsafe { word(&raw const (*entry).cell) }.store(cell, Release);
}

/// Sets since when the lock of an entry is held.
///
/// # Safety
/// An entry of the calling thread's.
#[inline(always)]
pub(super) unsafe fn set_since(entry: *mut Metered, since: u64) {
    // SAFETY: by contract this is an entry of the calling thread's. Relaxed: as in
    // `held::set_addr`.
    unsafe { word(&raw const (*entry).since) }.store(since, Relaxed);
}

// SAFETY: repr(C) integers, the address first (asserted above).
unsafe impl Entry for Metered {
    fn is_dead(&self) -> bool {
        self.flags & DEAD != 0
    }

    fn set_dead(&mut self) {
        self.flags = DEAD;
    }

    #[inline(always)]
    fn addr(&self) -> u64 {
        self.addr
    }

    /// # Safety
    /// The contract is that of `Entry::load`.
    #[inline]
    unsafe fn load(entry: *const Self) -> Self {
        // SAFETY: by contract this is an entry of the calling thread's: what other threads do not
        // look at is read as it is.
        unsafe { Self { trial: (*entry).trial, readers: (*entry).readers, ..Self::look(entry) } }
    }

    /// # Safety
    /// The contract is that of `Entry::store_but_addr`.
    unsafe fn store_but_addr(entry: *mut Self, held: &Self) {
        // SAFETY: by contract this is an entry of the calling thread's. Relaxed: as in
        // `held::set_addr`.
        unsafe {
            (*entry).trial = held.trial;
            (*entry).readers = held.readers;
            set_since(entry, held.since);
            set_cell(entry, held.cell);
            word((&raw const (*entry).recursion).cast())
                .store(special(held.recursion, held.flags), Relaxed);
        }
    }

    /// # Safety
    /// The contract is that of `Entry::look`.
    #[inline]
    unsafe fn look(entry: *const Self) -> Self {
        // SAFETY: by contract this is an entry in a thread's array, which stays mapped. Relaxed: as
        // in `held::set_addr`.
        let (addr, since, cell, special) = unsafe {
            (
                addr_of(entry),
                word(&raw const (*entry).since).load(Relaxed),
                // Acquire pairs with the Release in `set_cell`.
                word(&raw const (*entry).cell).load(Acquire),
                word((&raw const (*entry).recursion).cast()).load(Relaxed),
            )
        };
        let (recursion, flags) = (special as u32, (special >> 32) as u32);
        Self { addr, since, cell, recursion, flags, ..Self::default() }
    }
}

/// State of one live thread: a ledger row. See [`Meter`].
///
/// Other threads look at what it holds ([`MeterThread::find_foreign`]), and at nothing else. The two
/// markers say to the compiler that no reference to the state claims all of it.
#[repr(transparent)]
pub struct MeterThread {
    pub(super) row: Meter,
    shared: (UnsafeCell<()>, PhantomPinned),
}

impl MeterThread {
    /// Row id.
    pub fn id(&self) -> u32 {
        self.row.id
    }

    /// Counts a record that there was no space for.
    pub fn lose(&mut self) {
        self.row.lost += 1;
    }

    /// The locks it holds.
    #[inline(always)]
    pub(super) fn stack(&self) -> &HeldStack<Metered> {
        HeldStack::of(&self.row.held)
    }

    #[inline(always)]
    pub(super) fn stack_mut(&mut self) -> &mut HeldStack<Metered> {
        HeldStack::of_mut(&mut self.row.held)
    }

    #[inline(always)]
    pub(super) fn top(&self) -> *mut Metered {
        self.stack().top()
    }

    /// Nothing is held.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.stack().is_idle()
    }

    /// The cell of `key`, if it is where the index has it first and there is room for one more held
    /// lock. The fast path of [`MeterThread::find`].
    #[inline(always)]
    pub fn known(&self, key: u64) -> Option<CellRef> {
        let at = (key >> self.row.shift) as usize;
        // A handler that comes between makes the index larger, never smaller.
        compiler_fence(SeqCst);
        // SAFETY: the shift leaves as many bits as the index has slots; the index stays mapped.
        let slot = unsafe { *(self.row.index as *const Slot).add(at) };
        // Written out: through `has_room` the compiler loads the cell before it compares the key.
        let held = &self.row.held;
        // SAFETY: no key is 0, and a slot that has one has a cell.
        (slot.key == key && held.top < held.limit)
            .then(|| unsafe { CellRef::at_unchecked(slot.cell) })
    }

    /// The cell of `key`.
    pub fn find(&self, key: u64) -> Option<CellRef> {
        let mask = (1u64 << (64 - self.row.shift)) - 1;
        let mut at = key >> self.row.shift;
        loop {
            // SAFETY: `at` stays within the slots of this thread's index, which stays mapped.
            let slot = unsafe { *(self.row.index as *const Slot).add(at as usize) };
            if slot.key == key {
                return CellRef::at(slot.cell);
            }
            if slot.key == 0 {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    /// Has the thread of this row ask for its cells before it takes its next lock.
    ///
    /// # Safety
    /// A mapped row, whose thread may run.
    pub(super) unsafe fn shut(row: *mut Meter) {
        // SAFETY: the caller promises a mapped row, and the words of its stack are accessed atomically here.
        unsafe { HeldStack::<Metered>::shut(&raw mut (*row).held) };
    }

    /// If other code may lie where some lay, the thread has no cells any more that it knows of. To be called with the lock held.
    pub(super) fn looks_again(&mut self) {
        if !self.stack().is_shut() {
            return;
        }
        self.stack_mut().reopen();
        for at in 0..self.slots() as usize {
            let none = Slot { key: 0, cell: 0 };
            // SAFETY: the index has that many slots, which only this thread uses.
            unsafe { (self.row.index as *mut Slot).add(at).write(none) };
        }
        self.row.keys = 0;
    }

    /// Slots of the index.
    pub(super) fn slots(&self) -> u64 {
        1 << (64 - self.row.shift)
    }

    /// Stores a cell under a key that is not there. There is room.
    ///
    /// The newest key has the slot where the fast path looks, and what was there moves on: a program takes the locks that
    /// matter longer than those of its start. (If a signal handler takes a lock for the first time between two loads of the
    /// look-up that it interrupts, that one acquisition is counted in the handler's cell.)
    pub(super) fn insert(&mut self, key: u64, cell: CellRef) {
        let (mask, first) = (self.slots() - 1, key >> self.row.shift);
        let mut at = first;
        // SAFETY: the slot is within this thread's index, which stays mapped.
        let slot = |at: u64| unsafe { (self.row.index as *mut Slot).add(at as usize) };
        // SAFETY: a slot of the index; at least one is free.
        while unsafe { (*slot(at)).key } != 0 {
            at = (at + 1) & mask;
        }
        let new = Slot { key, cell: cell.address() };
        // SAFETY: both are slots of the index. All between them are taken, so what moves is still found.
        unsafe {
            if at != first {
                store(slot(at), *slot(first));
            }
            store(slot(first), new);
        }
        self.row.keys += 1;
    }

    /// There is room for one more held lock.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.stack().has_room()
    }

    /// This hold is to be timed, where one in `sample` is (1: all; 0: none).
    #[inline(always)]
    pub fn is_timed(&mut self, sample: u32) -> bool {
        sample == 1 || !self.skips() && self.next_sample(sample)
    }

    /// This hold is not to be timed; else [`MeterThread::next_sample`] is to be asked.
    #[inline(always)]
    pub fn skips(&mut self) -> bool {
        let left = self.row.countdown;
        self.row.countdown = left.wrapping_sub(1);
        left != 0
    }

    /// Draws the distance to the next that is timed, so that it is `sample` on average and in step
    /// with nothing. False: this one is not timed either, as none is.
    #[cold]
    pub fn next_sample(&mut self, sample: u32) -> bool {
        // xorshift64 (Marsaglia).
        let mut x = self.row.random | 1;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.row.random = x;
        if sample == 0 {
            self.row.countdown = u32::MAX;
            return false;
        }
        self.row.countdown = (((x >> 32) * u64::from(2 * sample - 1)) >> 32) as u32;
        true
    }

    /// The lock at `addr` is held since `since` (0: not timed), by way of `cell`; or is about to be
    /// tried for, and [`MeterThread::pop`] takes it off again if it was not had. There is room.
    #[inline(always)]
    pub fn acquired(&mut self, addr: u64, cell: CellRef, since: u64) {
        self.push(addr, cell, since, 0);
    }

    /// As [`MeterThread::acquired`], of an acquisition that is to be counted with its release. The
    /// cell is found by way of the lock's memory, and what is stored there while the lock is fought
    /// for is stored late: others see the lock held longer, by as much as its memory takes to come
    /// from another processor.
    #[inline(always)]
    pub fn acquired_uncounted(&mut self, addr: u64, cell: CellRef, since: u64) {
        self.push(addr, cell, since, Metered::UNCOUNTED);
    }

    #[inline(always)]
    fn push(&mut self, addr: u64, cell: CellRef, since: u64, recursion: u32) {
        // The caller made sure of the room.
        let at = self.stack_mut().push();
        // SAFETY: our entry; only this thread (and its handlers, above us) writes the array.
        unsafe {
            set_since(at, since);
            set_cell(at, cell.address());
            word((&raw const (*at).recursion).cast()).store(special(recursion, 0), Relaxed);
            compiler_fence(SeqCst);
            set_addr(at, addr);
        }
    }

    /// As [`MeterThread::acquired`], for a lock that several can hold.
    #[inline(always)]
    pub fn acquired_shared(&mut self, addr: u64, cell: CellRef, since: u64) {
        self.acquired(addr, cell, since);
        self.share(0);
    }

    /// The innermost held lock, or what is reserved, can be held by several at once. `flags` are
    /// its others.
    #[inline(always)]
    pub(super) fn share(&mut self, flags: u32) {
        // SAFETY: the caller has just made the top entry in this thread's own array.
        unsafe {
            (*self.top()).readers = 0;
            change_flags(self.top(), SHARED | flags, 0);
        }
    }

    /// The innermost held lock is held for reading, which is counted in `readers`.
    #[inline(always)]
    pub fn reads(&mut self, readers: ReadersRef) {
        // SAFETY: the top is an entry, as the thread holds the lock. Other threads do not look at this.
        unsafe { (*self.top()).readers = readers.address() };
    }

    /// As [`MeterThread::reads`], of the held lock at position `i`.
    pub fn reads_at(&mut self, i: u32, readers: ReadersRef) {
        // SAFETY: an entry of this thread's own array. Other threads do not look at this.
        unsafe { (*self.stack().entry(i)).readers = readers.address() };
    }

    /// The position of `addr` among the held locks, from 1 up to the depth.
    pub fn position_of(&self, addr: u64) -> Option<u32> {
        self.stack().find(addr)
    }

    /// Where a held lock is counted among those that are held for reading; `None` if it is not.
    #[inline(always)]
    pub fn readers_of(held: &Metered) -> Option<ReadersRef> {
        if Self::is_shared(held) { ReadersRef::of(held) } else { None }
    }

    /// The acquisition of `addr` that was reserved ([`MeterThread::reserve`]) came to its end: the
    /// lock is held since `since` (0: not timed), after `waited`, if that can be kept.
    pub fn acquired_reserved(&mut self, addr: u64, since: u64, waited: Option<&Pending>) {
        let entry = self.fill_reserved(addr, since);
        if let (Some(entry), Some(waited)) = (entry, waited) {
            self.keep_for(entry, waited);
        }
    }

    /// Makes the innermost held lock a candidate.
    pub fn put_on_trial(&mut self, trial: Trial) {
        // SAFETY: the top is an entry.
        unsafe {
            (*self.top()).trial = [trial.address, trial.frame];
            change_flags(self.top(), ON_TRIAL, 0);
        }
    }

    /// The trial of a held lock.
    pub fn trial_of(held: &Metered) -> Option<Trial> {
        let [address, frame] = held.trial;
        (held.flags & ON_TRIAL != 0).then_some(Trial { address, frame })
    }

    /// The innermost held lock, if it is `addr` and its release has nothing special to do.
    #[inline(always)]
    pub fn innermost(&self, addr: u64) -> Option<Ending> {
        self.innermost_with(addr, 0)
    }

    /// As [`MeterThread::innermost`], whose acquisition is not counted yet.
    #[inline(always)]
    pub fn innermost_uncounted(&self, addr: u64) -> Option<Ending> {
        self.innermost_with(addr, u64::from(Metered::UNCOUNTED))
    }

    /// How often a held recursive mutex was taken on top of the first time.
    pub fn recursion_of(held: &Metered) -> u32 {
        held.recursion & !Metered::UNCOUNTED
    }

    /// As [`MeterThread::innermost`], for a lock that several hold.
    #[inline(always)]
    pub fn innermost_shared(&self, addr: u64) -> Option<(Ending, Option<ReadersRef>)> {
        let ending = self.innermost_with(addr, u64::from(SHARED) << 32)?;
        // SAFETY: the top is an entry, of a lock that several can hold. It is this thread's.
        Some((ending, ReadersRef::of(unsafe { &*self.top() })))
    }

    #[inline(always)]
    fn innermost_with(&self, addr: u64, expected: u64) -> Option<Ending> {
        let top = self.top();
        // SAFETY: the top is an entry, or "nothing held", whose addr is 0. Recursion and flags are
        // 8 bytes, 8-aligned.
        unsafe {
            let special = (&raw const (*top).recursion).cast::<u64>().read();
            ((*top).addr == addr && special == expected).then(|| Ending {
                since: (*top).since,
                // An entry that has an address has a cell.
                cell: CellRef::at_unchecked((*top).cell),
            })
        }
    }

    /// Takes the innermost held lock off, and returns what [`MeterThread::innermost`] returned for
    /// it. So no caller keeps that while the lock is released.
    ///
    /// # Safety
    /// Something is held.
    #[inline(always)]
    pub unsafe fn pop(&mut self) -> Ending {
        let top = self.top();
        // SAFETY: the top is an entry, by the caller's promise.
        unsafe {
            let ending = Ending { since: (*top).since, cell: CellRef::at_unchecked((*top).cell) };
            self.stack_mut().pop();
            ending
        }
    }

    /// Copies of the held locks, outermost first, with entries in flux or given up (`addr == 0`) among them.
    pub fn held(&self) -> impl DoubleEndedIterator<Item = Metered> + ExactSizeIterator {
        self.stack().entries()
    }

    /// How many they are.
    pub fn depth(&self) -> u32 {
        self.stack().depth()
    }

    /// A copy of the held lock at position `i`, from 1 up to the depth.
    pub fn held_at(&self, i: u32) -> Metered {
        self.stack().get(i)
    }

    /// The entry of `addr`, which is this thread's.
    fn find_held(&self, addr: u64) -> Option<*mut Metered> {
        self.stack().find(addr).map(|i| self.stack().entry(i))
    }

    /// A recursive mutex that is held already is taken once more. False: it is not held.
    pub fn recurse(&mut self, addr: u64) -> bool {
        let Some(held) = self.find_held(addr) else { return false };
        // SAFETY: `find_held` gave a valid entry.
        unsafe { update(held, |held| held.recursion += 1) };
        true
    }

    /// The entry of `addr`, wherever it is: a copy. `None`: it is not held.
    pub fn entry_of(&self, addr: u64) -> Option<Metered> {
        // SAFETY: `find_held` gives a valid entry.
        self.find_held(addr).map(|held| unsafe { Metered::load(held) })
    }

    /// A recursive mutex has been let go once, and stays held.
    pub fn unrecurse(&mut self, addr: u64) {
        if let Some(held) = self.find_held(addr) {
            // SAFETY: `find_held` gave a valid entry.
            unsafe { update(held, |held| held.recursion -= 1) };
        }
    }

    /// Takes the entry of `addr` off, wherever it is.
    pub fn remove(&mut self, addr: u64) {
        if let Some(i) = self.stack().find(addr) {
            self.remove_at(i);
        }
    }

    /// Takes the entry at position `i` off.
    pub(super) fn remove_at(&mut self, i: u32) {
        self.stack_mut().remove(i);
        if !self.has_room() {
            self.compact();
        }
    }

    /// Closes the gaps of locks released in another order than taken. True if there were any.
    pub(super) fn compact(&mut self) -> bool {
        let depth = self.stack().depth();
        self.stack_mut().retain(|held| !held.is_dead());
        self.stack().depth() < depth
    }

    /// The hold is of a lock that several can hold at once.
    pub fn is_shared(held: &Metered) -> bool {
        held.flags & SHARED != 0
    }

    /// Cell of the acquisition of a held lock.
    pub fn cell_of(held: &Metered) -> Option<CellRef> {
        CellRef::at(held.cell)
    }

    // --- waits -----------------------------------------------------------------------------------

    /// The thread is about to wait. What is handed back is for [`MeterThread::wait_ends`].
    pub fn wait_begins(&mut self, wait: Waiting) -> Waiting {
        let row = &self.row;
        let outer = Waiting { site: row.waiting, addr: row.waiting_for, since: row.waiting_since };
        self.set_waiting(wait);
        outer
    }

    /// The wait is over, at `ended`; `outer` is what it interrupted, if it was a signal handler's.
    pub fn wait_ends(&mut self, outer: Waiting, ended: u64) {
        let begun = self.row.waiting_since;
        if self.row.waiting != 0
            && outer.site == 0
            && let Some(own) = self.own_waits()
        {
            own.since_reading.slept(begun, ended);
        }
        self.set_waiting(outer);
    }

    /// The thread is in a wait.
    pub fn is_waiting(&self) -> bool {
        self.row.waiting != 0
    }

    /// Site of the wait for what is at `addr`, if that is what the thread waits for.
    pub fn waits_at(&self, addr: u64) -> Option<u32> {
        (self.row.waiting != 0 && self.row.waiting_for == addr).then_some(self.row.waiting)
    }

    /// What the futex' word was at which the thread is about to wait.
    pub fn set_waiting_word(&mut self, word: u32) {
        self.row.waiting_word = word;
    }

    /// Kernel thread id.
    pub fn tid(&self) -> u32 {
        self.row.tid
    }

    /// All waits under way are over without their calls having returned.
    pub fn wait_left(&mut self) {
        if self.row.waiting != 0 {
            self.set_waiting(Waiting { site: 0, addr: 0, since: 0 });
        }
    }

    fn set_waiting(&mut self, wait: Waiting) {
        // SAFETY: own word. Relaxed: readers of the ledger of a process that runs take it for a
        // hint; of one that was killed, the fences leave the three consistent.
        let site = unsafe { AtomicU32::from_ptr(&raw mut self.row.waiting) };
        site.store(0, Relaxed);
        compiler_fence(SeqCst);
        (self.row.waiting_for, self.row.waiting_since) = (wait.addr, wait.since);
        compiler_fence(SeqCst);
        site.store(wait.site, Relaxed);
    }

    fn pending(&self, i: usize) -> PendingAt {
        // SAFETY: callers stay below PENDING, and the memory is there (`has_pending_memory`).
        PendingAt(unsafe { (self.row.waits as *mut Pending).add(i) })
    }

    /// There is memory for waits that are to be recorded later.
    pub fn has_pending_memory(&self) -> bool {
        self.row.waits != 0
    }

    fn free_place(&self) -> Option<usize> {
        // SAFETY: below PENDING, and the memory is there.
        (0..PENDING).find(|&i| self.row.waits != 0 && unsafe { self.pending(i).is_free() })
    }

    /// There is room to keep a wait.
    pub fn can_keep(&self) -> bool {
        self.free_place().is_some()
    }

    /// Keeps a wait for the innermost held lock until that is let go. There is room.
    pub fn keep(&mut self, wait: &Pending) {
        self.keep_for(self.top(), wait);
    }

    /// As [`MeterThread::keep`], for a held lock of this thread's.
    fn keep_for(&mut self, entry: *mut Metered, wait: &Pending) {
        if let Some(i) = self.free_place() {
            // SAFETY: below PENDING; the caller's entry.
            unsafe {
                self.pending(i).store(wait);
                change_flags(entry, i as u32 + 1, 0);
            }
        }
    }

    /// The thread waited for the held lock, and that is not recorded yet.
    pub fn has_waited(held: &Metered) -> bool {
        held.flags & PENDING_BITS != 0
    }

    /// Since when a lock is held, whose hold need not be one that is timed: where a wait came
    /// before, it was timed. 0 if that is not known.
    pub fn had_since(&self, held: &Metered) -> u64 {
        // SAFETY: `self` is a reference to a thread row, which is mapped.
        unsafe { Self::had_since_at(self, held) }
    }

    /// As [`MeterThread::had_since`], of a held lock of `thread`, which may be another.
    ///
    /// # Safety
    /// `thread` is a mapped thread row.
    unsafe fn had_since_at(thread: *const Self, held: &Metered) -> u64 {
        // SAFETY: by contract `thread` is a mapped row. Acquire pairs with the Release in
        // `set_pending_memory`.
        let waits = unsafe { word(&raw const (*thread).row.waits) }.load(Acquire) as *mut Pending;
        let at = (held.flags & PENDING_BITS) as usize;
        if held.since != 0 || waits.is_null() || !(1..=PENDING).contains(&at) {
            return held.since;
        }
        // SAFETY: below PENDING; the memory stays mapped.
        unsafe { PendingAt(waits.add(at - 1)).ended() }
    }

    /// Where waits are to be kept, which is blank.
    pub(super) fn set_pending_memory(&mut self, at: u64) {
        // SAFETY: own word. Release pairs with the Acquire in `had_since_at`: the memory is blank.
        unsafe { word(&raw const self.row.waits) }.store(at, Release);
    }

    /// Has `f` record the wait that was kept for `held`, if there is one, and forgets it. It is not copied: it would take much of the
    /// program's stack.
    pub fn record_kept(&mut self, held: &Metered, f: impl FnOnce(&mut Self, &Pending)) {
        let Some(i) = (held.flags & PENDING_BITS).checked_sub(1) else { return };
        let place = self.pending(i as usize);
        // SAFETY: `keep` put it there; below PENDING. Handlers of signals use free places, which this is not until it is cleared,
        // and other threads only look at when it ended.
        unsafe {
            if !place.is_free() {
                f(self, &*place.0);
                place.clear();
            }
        }
    }

    /// The part of the memory for waits that is this thread's alone, if it is there.
    pub(super) fn own_waits(&mut self) -> Option<&mut Own> {
        let waits = self.row.waits as *mut Waits;
        // SAFETY: not null, so the memory is there, stays mapped and began zeroed, as this part may. No other thread looks at it, and
        // no reference is made to the parts that others do look at.
        (!waits.is_null()).then(|| unsafe { &mut (*waits).own })
    }

    /// The thread's place among the waiters on condition variables, if there is memory for it.
    pub fn cond_waiter(&self) -> Option<*mut CondWaiter> {
        let waits = self.row.waits as *mut Waits;
        // SAFETY: not null, so the memory is there. No reference is made, as signallers write to the place.
        (!waits.is_null()).then(|| unsafe { &raw mut (*waits).cond_waiter })
    }

    /// What it knows of its condition waits, if there is memory for that.
    pub fn condition(&mut self) -> Option<&mut Condition> {
        self.own_waits().map(|own| &mut own.condition)
    }

    /// The last wait at a futex, if there is memory for it.
    pub fn last_word(&mut self) -> Option<&mut Kept<LastWord>> {
        self.own_waits().map(|own| &mut own.word)
    }

    /// The thread reads its clocks: the time since it did last, as `hold` is over. `None` without memory for that.
    pub fn read(&mut self, now: Reading, hold: &LongHold) -> Option<Period> {
        self.own_waits().map(|own| own.since_reading.read(now, hold))
    }

    /// Keeps the condition wait that came before the wait which is kept for the innermost held lock. False: none is.
    pub fn keep_woken(&mut self, woken: &Woken) -> bool {
        // SAFETY: the top is an entry of this thread's own array, or "nothing held", which has no flags.
        let flags = unsafe { (*self.top()).flags };
        match ((flags & PENDING_BITS).checked_sub(1), self.own_waits()) {
            (Some(i), Some(waits)) => {
                waits.woken[i as usize].put(*woken);
                true
            }
            _ => false,
        }
    }

    /// The condition wait that came before the wait which is kept for `held`.
    pub fn kept_woken(&mut self, held: &Metered) -> Option<Woken> {
        let i = (held.flags & PENDING_BITS).checked_sub(1)? as usize;
        self.own_waits()?.woken[i].take()
    }

    /// An acquisition of the lock at `addr` begins that may wait out of sight.
    pub fn expect_wait(&mut self, addr: u64, cell: CellRef) {
        (self.row.expected, self.row.expected_cell) = (addr, cell.address());
    }

    /// The cell of the acquisition of `addr` that is under way.
    pub fn expected_wait(&self, addr: u64) -> Option<CellRef> {
        if self.row.expected == addr && self.row.waits != 0 {
            CellRef::at(self.row.expected_cell)
        } else {
            None
        }
    }

    /// The wait of the acquisition that is under way is over.
    pub fn put_wait(&mut self, wait: &Pending) {
        // SAFETY: one place more than PENDING, and the memory is there, or no wait would be
        // expected.
        unsafe { self.pending(PENDING).store(wait) };
    }

    /// The acquisition is over. True: there was a wait, which is to be taken.
    #[inline(always)]
    pub fn has_put_wait(&mut self) -> bool {
        self.row.expected = 0;
        // SAFETY: `waits` is not 0, so the memory is there, and it has one place more than PENDING.
        self.row.waits != 0 && !unsafe { self.pending(PENDING).is_free() }
    }

    /// The acquisition is over, and its wait does not count.
    pub fn forget_wait(&mut self) {
        if self.has_put_wait() {
            // SAFETY: `has_put_wait` found a wait there.
            unsafe { self.pending(PENDING).clear() };
        }
    }

    /// The acquisition is over. Its wait, if there was one.
    pub fn take_wait(&mut self) -> Option<Pending> {
        self.row.expected = 0;
        if self.row.waits == 0 {
            return None;
        }
        // SAFETY: `waits` is not 0, so the memory is there, and it has one place more than PENDING.
        unsafe { self.pending(PENDING).take() }
    }

    /// Where and since when the thread of row `other` holds `addr`, as far as that is known while
    /// it runs.
    ///
    /// # Safety
    /// `other` is a mapped thread row.
    pub unsafe fn find_foreign(other: *mut Self, addr: u64) -> Option<(u32, u64)> {
        // SAFETY: the row and its arrays stay mapped, and are of this engine for good.
        let entries = unsafe { HeldStack::<Metered>::of_any(&raw const (*other).row.held) };
        // SAFETY: entries of its array. What they are of several moments is a hint.
        let mut held = entries.rev().take(64).map(|entry| unsafe { Metered::look(entry) });
        let held = held.find(|held| held.addr == addr)?;
        // SAFETY: by this function's contract `other` is a mapped thread row.
        let since = unsafe { Self::had_since_at(other, &held) };
        CellRef::at(held.cell).map(|cell| (cell.site(), since))
    }
}

/// Fills a slot.
///
/// # Safety
/// `slot` is one of the calling thread's index.
unsafe fn store(slot: *mut Slot, new: Slot) {
    // SAFETY: the caller promises a slot, which only this thread uses.
    unsafe {
        // A handler that comes between must not find a key with another's cell.
        (*slot).key = GONE;
        compiler_fence(SeqCst);
        (*slot).cell = new.cell;
        compiler_fence(SeqCst);
        (*slot).key = new.key;
    }
}

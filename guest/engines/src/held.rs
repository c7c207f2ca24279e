//! A thread's stack of held locks, whatever an engine notes of each: an array of entries, of which
//! the thread's row says where it is. The first entry stands for "nothing held".
//!
//! Only the thread itself and its signal handlers change it. A handler may run between any two
//! instructions, and leaves the stack as it found it. Hence the order of stores: an entry is
//! reserved (the top is raised) before it is filled, and its address is stored last and cleared
//! first; a handler pushes above whatever is in flux.
//!
//! Other threads look at the stack meanwhile, and some take a lock off it. So the words that they access,
//! here and in the entries, are accessed atomically by all, and no reference to an entry is made: its
//! thread has copies. What other threads see may be of several moments. It is exact only while the thread
//! waits (`lockdep/recorder/waits.rs`), and a hint otherwise.

use core::marker::PhantomData;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicU64, compiler_fence};

use lockwright_ledger::Writer;
use lockwright_ledger::rows::StackWords;

use crate::arch;
use crate::search::search;

/// What an engine notes of a held lock.
///
/// # Safety
/// The type is `repr(C)`, consists of integers only, and begins with the lock's address, 64 bits,
/// which is 0 while the lock is not held.
pub unsafe trait Entry: Copy + Default {
    /// It was given up below the top, and is to be removed.
    fn is_dead(&self) -> bool;
    /// Makes it one that was.
    fn set_dead(&mut self);
    /// Address of the lock.
    fn addr(&self) -> u64;

    /// A copy of an entry of the calling thread's.
    ///
    /// # Safety
    /// `entry` is one, in its array.
    unsafe fn load(entry: *const Self) -> Self;

    /// Stores all of an entry of the calling thread's.
    ///
    /// # Safety
    /// As [`Entry::load`].
    unsafe fn store(entry: *mut Self, held: &Self) {
        // SAFETY: by contract `entry` belongs to the calling thread and lies in its array; both
        // callees ask for that.
        unsafe {
            Self::store_but_addr(entry, held);
            set_addr(entry, held.addr());
        }
    }

    /// Stores all of an entry of the calling thread's but the address.
    ///
    /// # Safety
    /// As [`Entry::load`].
    unsafe fn store_but_addr(entry: *mut Self, held: &Self);

    /// A copy of an entry that may be another thread's: what other threads may know of it.
    ///
    /// # Safety
    /// `entry` is in the array of a thread, or was.
    unsafe fn look(entry: *const Self) -> Self;
}

/// A word of memory that other threads access meanwhile.
///
/// # Safety
/// `word` stays mapped and is only accessed atomically, except by its one writer who reads it.
#[inline(always)]
pub unsafe fn word<'a>(word: *const u64) -> &'a AtomicU64 {
    // SAFETY: by contract the word stays mapped and others access it atomically only; words are
    // aligned.
    unsafe { AtomicU64::from_ptr(word.cast_mut()) }
}

/// Address of the lock that `entry` is, which another thread may be taking off.
///
/// # Safety
/// An entry in a thread's array.
#[inline(always)]
pub unsafe fn addr_of<E: Entry>(entry: *const E) -> u64 {
    // SAFETY: by contract this is an entry in a thread's array, which stays mapped; an entry begins
    // with its address. Relaxed: as in `set_addr`.
    unsafe { word(entry.cast()) }.load(Relaxed)
}

/// Stores the address of the lock that `entry` is.
///
/// # Safety
/// An entry of the calling thread's.
#[inline(always)]
pub unsafe fn set_addr<E: Entry>(entry: *mut E, addr: u64) {
    // SAFETY: by contract this is an entry of the calling thread's, which stays mapped; an entry
    // begins with its address. Relaxed: another thread believes it only while this one waits, which
    // is published with Release, or takes it for a hint.
    unsafe { word(entry.cast()) }.store(addr, Relaxed);
}

/// Changes an entry of the calling thread's, except for its address.
///
/// # Safety
/// `entry` is one, in its array.
pub unsafe fn update<E: Entry>(entry: *mut E, change: impl FnOnce(&mut E)) {
    // SAFETY: by contract `entry` belongs to the calling thread and lies in its array.
    unsafe {
        let mut held = E::load(entry);
        change(&mut held);
        // Another thread may have taken the lock off since: the address stays as it is.
        E::store_but_addr(entry, &held);
    }
}

/// The stack of one thread: the words of its row that say where it is.
#[repr(transparent)]
pub struct HeldStack<E>(StackWords, PhantomData<E>);

impl<E: Entry> HeldStack<E> {
    /// The words of an empty stack in the `capacity` entries at `offset` of the ledger, which are
    /// blank.
    pub fn begin(writer: &Writer, offset: u64, capacity: u32) -> StackWords {
        let base = writer.at(offset) as u64;
        let limit = base + (u64::from(capacity) - 1) * size_of::<E>() as u64;
        StackWords { top: base, limit, base, offset, capacity, gap: 0 }
    }

    /// The stack that these words are of.
    #[inline(always)]
    pub fn of(words: &StackWords) -> &Self {
        // SAFETY: `HeldStack` is a transparent wrapper of `StackWords`, so both have the same
        // layout.
        unsafe { &*ptr::from_ref(words).cast() }
    }

    /// As [`HeldStack::of`].
    #[inline(always)]
    pub fn of_mut(words: &mut StackWords) -> &mut Self {
        // SAFETY: `HeldStack` is a transparent wrapper of `StackWords`, so both have the same
        // layout.
        unsafe { &mut *ptr::from_mut(words).cast() }
    }

    /// The innermost entry, or "nothing held".
    #[inline(always)]
    pub fn top(&self) -> *mut E {
        self.0.top as *mut E
    }

    #[inline(always)]
    fn set_top(&mut self, top: *mut E) {
        // SAFETY: own word. Relaxed: as in `set_addr`.
        unsafe { word(&raw const self.0.top) }.store(top as u64, Relaxed);
    }

    /// Entries above "nothing held", those in flux or given up included.
    #[inline]
    pub fn depth(&self) -> u32 {
        ((self.0.top - self.0.base) / size_of::<E>() as u64) as u32
    }

    /// Nothing is held and nothing is being acquired.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.0.top == self.0.base
    }

    /// There is room for one more entry, and the stack is not [shut](HeldStack::shut).
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        // SAFETY: own words, of which another thread may change the limit.
        unsafe {
            arch::is_below::<{ offset_of!(StackWords, limit) }>(self.0.top, &raw const self.0)
        }
    }

    /// Entry `i`, from 1 for the outermost; 0 is "nothing held".
    #[inline(always)]
    pub fn entry(&self, i: u32) -> *mut E {
        // SAFETY: callers stay within the array's capacity.
        unsafe { (self.0.base as *mut E).add(i as usize) }
    }

    /// A copy of entry `i`, which is no more than the depth.
    #[inline]
    pub fn get(&self, i: u32) -> E {
        // SAFETY: the callers' promise; entries up to the top are initialised (the array began blank).
        unsafe { E::load(self.entry(i)) }
    }

    /// Copies of the held locks, outermost first, with entries in flux or given up (`addr == 0`) among them.
    #[inline]
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = E> + ExactSizeIterator {
        // Not `1..=depth`, whose length is not exact.
        (0..self.depth() as usize).map(|i| self.get(i as u32 + 1))
    }

    /// Entries of a stack that may be another live thread's: no reference to its words is made. The array
    /// may be changing, and the thread may have another by now.
    ///
    /// # Safety
    /// `words` are those of a mapped row, and arrays stay mapped.
    pub unsafe fn of_any(words: *const StackWords) -> impl DoubleEndedIterator<Item = *const E> {
        // SAFETY: by contract the row is mapped, and arrays stay mapped. Acquire pairs with the Release in
        // `grow`: the array that this is the address of has the entries of the last one. Relaxed: what has been
        // pushed or taken off since is a hint, except while the thread waits.
        let (base, top, capacity) = unsafe {
            (
                word(&raw const (*words).base).load(Acquire),
                word(&raw const (*words).top).load(Relaxed),
                AtomicU32::from_ptr((&raw const (*words).capacity).cast_mut()).load(Relaxed),
            )
        };
        let words = StackWords { top, base, capacity, ..StackWords::default() };
        // SAFETY: the array at `base` has more elements than that, or had: see `grow`.
        (1..=words.depth::<E>() as usize).map(move |i| unsafe { (base as *const E).add(i) })
    }

    /// Reserves the next entry, which the caller fills. There is room.
    #[inline(always)]
    pub fn push(&mut self) -> *mut E {
        // SAFETY: below the limit, so there is a next entry.
        let at = unsafe { self.top().add(1) };
        self.set_top(at);
        compiler_fence(SeqCst);
        at
    }

    /// Takes the reserved entry off again, which has no address yet.
    #[inline(always)]
    pub fn take_back(&mut self) {
        // SAFETY: the reserved entry is above "nothing held".
        self.set_top(unsafe { self.top().sub(1) });
    }

    /// The innermost held lock is `addr`.
    #[inline(always)]
    pub fn is_innermost(&self, addr: u64) -> bool {
        // SAFETY: the top is an entry, or "nothing held", whose address is 0; an entry begins with its
        // address. Another thread may be taking the lock off.
        unsafe { arch::is_equal::<0>(addr, self.top().cast_const()) }
    }

    /// Takes the innermost held lock off.
    ///
    /// # Safety
    /// Something is held.
    #[inline(always)]
    pub unsafe fn pop(&mut self) {
        let top = self.top();
        // SAFETY: the top is an entry, by the caller's promise.
        unsafe {
            set_addr(top, 0);
            compiler_fence(SeqCst);
            self.set_top(top.sub(1));
        }
    }

    /// Position of the innermost entry for `addr`. Among thousands, an entry near the last gap is
    /// preferred to one further in.
    pub fn find(&self, addr: u64) -> Option<u32> {
        // SAFETY: `search` asks only for positions below the depth, and entry `i + 1` of those is in
        // the array.
        let is_it = |i: usize| unsafe { addr_of(self.entry(i as u32 + 1)) } == addr;
        search(self.depth() as usize, self.0.gap as usize, is_it).0.map(|i| i as u32 + 1)
    }

    /// Gives entry `i` up, wherever it is. Below the top it leaves a gap, until
    /// [`HeldStack::retain`] closes it: so releasing many locks in the order they were taken stays
    /// linear.
    pub fn remove(&mut self, i: u32) {
        // SAFETY: callers give a position up to the depth.
        unsafe {
            set_addr(self.entry(i), 0);
            update(self.entry(i), E::set_dead);
        }
        self.0.gap = i;
        self.drop_dead();
    }

    /// Takes entries off that were given up, from the top.
    fn drop_dead(&mut self) {
        let mut depth = self.depth();
        // Entries up to the depth exist; entry 0 is never dead.
        while self.get(depth).is_dead() {
            // SAFETY: an own entry. Above the top they are blank.
            unsafe { E::store(self.entry(depth), &E::default()) };
            depth -= 1;
        }
        self.set_top(self.entry(depth));
    }

    /// Closes the gaps of entries that `keep` does not want, which may change the others. It is
    /// called from the outermost on.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut E) -> bool) {
        let depth = self.depth();
        let mut kept = 0;
        for i in 1..=depth {
            let mut held = self.get(i);
            if keep(&mut held) {
                kept += 1;
                // SAFETY: `kept` is at most `i`, so the entry lies in this thread's array.
                unsafe { E::store(self.entry(kept), &held) };
            }
        }
        for i in kept + 1..=depth {
            // SAFETY: up to the old depth.
            unsafe { E::store(self.entry(i), &E::default()) };
        }
        self.set_top(self.entry(kept));
    }

    /// From now on there is no room, so that fast paths fail without looking why. The stack may be another live
    /// thread's: no reference to its words is made.
    ///
    /// # Safety
    /// `words` are those of a mapped row.
    pub unsafe fn shut(words: *mut StackWords) {
        // SAFETY: by contract the words are those of a mapped row, and this one is accessed atomically.
        // Relaxed: the thread only reads the word, and at worst overwrites it, which delays this.
        unsafe { word(&raw const (*words).limit) }.store(0, Relaxed);
    }

    /// It is [shut](HeldStack::shut).
    pub fn is_shut(&self) -> bool {
        // SAFETY: own word. Relaxed: as in `shut`.
        unsafe { word(&raw const self.0.limit) }.load(Relaxed) == 0
    }

    /// Undoes [`HeldStack::shut`].
    pub fn reopen(&mut self) {
        let limit = self.entry(self.0.capacity - 1) as u64;
        // SAFETY: own word. Another thread may shut the stack meanwhile. Relaxed: as in `shut`.
        unsafe { word(&raw const self.0.limit) }.store(limit, Relaxed);
    }

    /// Moves the entries to an array of `capacity`, which is larger; [`HeldStack::reopen`]s. The
    /// words of the old array, which is the caller's now; `None` where there is no room in the
    /// ledger.
    pub fn grow(&mut self, writer: &mut Writer, capacity: u32) -> Option<StackWords> {
        let (depth, old) = (self.depth(), self.0);
        let offset = writer.alloc(Self::bytes(capacity))?;
        let new = writer.at(offset).cast::<E>();
        for i in 0..old.capacity {
            // SAFETY: both arrays have the old one's capacity; they do not overlap.
            unsafe { E::store(new.add(i as usize), &E::load(self.entry(i))) };
        }
        self.move_to(new, offset, capacity);
        self.reopen();
        self.set_top(self.entry(depth));
        Some(old)
    }

    /// The array is another, which is larger and has the same entries.
    fn move_to(&mut self, base: *mut E, offset: u64, capacity: u32) {
        self.0.offset = offset;
        // SAFETY: own words. Release pairs with the Acquire in `of_any`: a thread with the new address finds the
        // entries. A thread that finds it with the old top or capacity looks at fewer entries.
        unsafe {
            word(&raw const self.0.base).store(base as u64, Release);
            AtomicU32::from_ptr(&raw mut self.0.capacity).store(capacity, Release);
        }
    }

    /// The thread has ended: nothing is held. The words of the array, which is the caller's now.
    pub fn end(&mut self) -> StackWords {
        let old = self.0;
        // SAFETY: own word. Relaxed: a thread that still finds the old one finds an array of entries.
        unsafe { AtomicU32::from_ptr(&raw mut self.0.capacity) }.store(0, Relaxed);
        self.set_top(self.entry(0));
        old
    }

    /// Nothing is held any more, and the array is blank.
    pub fn clear(&mut self) {
        for i in 0..self.0.capacity {
            // SAFETY: the array has that many entries.
            unsafe { E::store(self.entry(i), &E::default()) };
        }
        self.set_top(self.entry(0));
    }

    /// Size of an array.
    pub const fn bytes(capacity: u32) -> usize {
        capacity as usize * size_of::<E>()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Lock {
        addr: u64,
        is_dead: u64,
    }

    // SAFETY: repr(C) integers, the address first.
    unsafe impl Entry for Lock {
        fn is_dead(&self) -> bool {
            self.is_dead != 0
        }

        fn set_dead(&mut self) {
            self.is_dead = 1;
        }

        fn addr(&self) -> u64 {
            self.addr
        }

        /// # Safety
        /// The contract is that of `Entry::load`.
        unsafe fn load(entry: *const Self) -> Self {
            // SAFETY: `entry` lies in the test's own array, which no other thread knows.
            unsafe { entry.read() }
        }

        /// # Safety
        /// The contract is that of `Entry::store_but_addr`.
        unsafe fn store_but_addr(entry: *mut Self, held: &Self) {
            // SAFETY: `entry` lies in the test's own array, which no other thread knows.
            unsafe { (*entry).is_dead = held.is_dead };
        }

        /// # Safety
        /// The contract is that of `Entry::look`.
        unsafe fn look(entry: *const Self) -> Self {
            // SAFETY: `entry` lies in the test's own array, which no other thread knows.
            unsafe { entry.read() }
        }
    }

    const CAPACITY: usize = 100;

    /// A stack of its own memory, and what should be in it.
    struct Tried {
        words: StackWords,
        expected: Vec<u64>,
    }

    impl Tried {
        fn new(memory: &mut [Lock; CAPACITY]) -> Self {
            let base = memory.as_mut_ptr() as u64;
            let capacity = CAPACITY as u32;
            let words = StackWords { top: base, base, capacity, ..StackWords::default() };
            let mut tried = Self { words, expected: Vec::new() };
            tried.stack().reopen();
            tried
        }

        fn stack(&mut self) -> &mut HeldStack<Lock> {
            HeldStack::of_mut(&mut self.words)
        }

        fn take(&mut self, addr: u64) {
            if !self.stack().has_room() {
                self.stack().retain(|lock| !lock.is_dead());
            }
            let entry = self.stack().push();
            // SAFETY: just reserved. Until its address is stored it has none.
            unsafe {
                assert_eq!((*entry).addr, 0);
                set_addr(entry, addr);
            }
            self.expected.push(addr);
        }

        fn let_go(&mut self, addr: u64) {
            if self.stack().is_innermost(addr) {
                // SAFETY: the test has checked that the stack's innermost entry is this lock.
                unsafe { self.stack().pop() };
            } else {
                let i = self.stack().find(addr).unwrap();
                self.stack().remove(i);
            }
            self.expected.retain(|&held| held != addr);
        }

        fn check(&mut self) {
            let held = self.stack().entries().map(|lock| lock.addr);
            let held: Vec<u64> = held.filter(|&addr| addr != 0).collect();
            assert_eq!(held, self.expected);
            for &addr in &held {
                let i = self.stack().find(addr).unwrap();
                // SAFETY: `find` gave a valid position.
                assert_eq!(unsafe { (*self.stack().entry(i)).addr }, addr);
            }
            // Entries that were given up may lie there yet.
            assert!(!self.stack().is_idle() || held.is_empty());
        }
    }

    #[test]
    fn locks_are_taken_and_let_go_in_any_order() {
        let mut memory = [Lock::default(); CAPACITY];
        let mut tried = Tried::new(&mut memory);
        let mut random = 1u64;
        for addr in 1..20_000u64 {
            // xorshift64 (Marsaglia).
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let held = tried.expected.len();
            // Now more and more, now fewer and fewer, and never as many as there is room for.
            let wanted = if (addr / 200).is_multiple_of(2) { CAPACITY - 2 } else { 0 };
            if held < wanted && !random.is_multiple_of(3) || held == 0 {
                tried.take(addr);
            } else {
                // Mostly one of the innermost.
                let from_top = (random >> 8) as usize % held.min(1 + (random >> 40) as usize % 50);
                tried.let_go(tried.expected[held - 1 - from_top]);
            }
            tried.check();
        }
    }

    #[test]
    fn a_stack_that_is_shut_has_no_room() {
        let mut memory = [Lock::default(); CAPACITY];
        let mut tried = Tried::new(&mut memory);
        tried.take(1);
        // SAFETY: the words belong to the test, and no other thread knows them.
        unsafe { HeldStack::<Lock>::shut(&raw mut tried.stack().0) };
        assert!(!tried.stack().has_room());
        tried.stack().reopen();
        assert!(tried.stack().has_room());
        tried.check();
    }

    #[test]
    fn an_acquisition_that_came_to_nothing_leaves_nothing() {
        let mut memory = [Lock::default(); CAPACITY];
        let mut tried = Tried::new(&mut memory);
        tried.take(1);
        tried.stack().push();
        assert_eq!(tried.stack().depth(), 2);
        tried.stack().take_back();
        tried.check();
    }
}

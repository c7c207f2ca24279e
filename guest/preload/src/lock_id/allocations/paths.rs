//! Numbers of call stacks without unwinding.
//!
//! A path is what the unwinder has read of a stack ([`Noted`]), in one row. If each word is what it was then, the stack is
//! the same. [`SLOTS`] has the path that was found last for a return address and a stack pointer: allocations of one
//! place in a loop have both alike. A path that is not in its slot is found by its stack, after that was unwound.
//!
//! Nothing is ever taken out, and where there is no room the stack is unwound each time.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use crate::os::sys;
use crate::stack::memo::{MOST, Noted};
use crate::stack::steps::Step;
use crate::stack::unwind::Frame;

/// Slots, as a power of two.
const BITS: u32 = 12;

/// The path to try first for a return address and a stack pointer, 0 for none. Any will do: each is checked.
static SLOTS: [AtomicU32; 1 << BITS] = [const { AtomicU32::new(0) }; 1 << BITS];

/// Paths that fit. Address space is taken for all, memory for those that there are.
const PATHS: usize = 1 << 16;

/// Paths of one stack: frames that have no constant size give it another each time.
const OF_A_STACK: usize = 8;

/// Bits of an address in a path's key. Above them is the generation.
const ADDRESS_BITS: u32 = 48;

struct Path {
    /// The return address that the path begins with, and the generation.
    key: u64,
    len: u32,
    /// The number of the stack.
    stack: u32,
    /// The path of the same stack before this one, 0 if there is none.
    before: u32,
    reads: [Read; MOST],
}

/// What the unwinder has read.
#[derive(Clone, Copy)]
struct Read {
    /// For a word of the stack its offset from the stack pointer. Else a [`Step`] of another kind, whose low bits differ.
    at: u64,
    word: u64,
}

impl Read {
    fn new(step: Step, word: u64) -> Self {
        Self { at: step.offset().unwrap_or(step.0.into()), word }
    }

    /// # Safety
    /// As for [`Step::read`].
    #[inline(always)]
    unsafe fn again(&self, call: Frame) -> u64 {
        if self.at & u64::from(Step::KIND) == 0 {
            // SAFETY: the caller promises a word of a live frame.
            return unsafe { (call.sp.wrapping_add(self.at) as *const u64).read() };
        }
        // SAFETY: the caller promises what this step asks for.
        unsafe { Step(self.at as u32).read(call) }
    }
}

/// All zero at first.
struct Table {
    /// Numbers given away so far; 0 is none.
    used: AtomicU32,
    paths: [UnsafeCell<Path>; PATHS],
}

// SAFETY: the thread that drew a path's number writes the path, before the number is published.
unsafe impl Sync for Table {}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(core::ptr::null_mut());

/// What is above the address in keys of paths that may still be met. Paths of others name addresses of modules that are
/// gone.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Makes the table. Where there is no address space for it, no path is ever found.
pub fn start() {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let bytes = size_of::<Table>();
    // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use changes.
    let at = unsafe { sys::mmap(bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1) };
    if at <= 0 {
        return;
    }
    // SAFETY: the range is the mapping made above, which nobody else knows yet, and advice changes
    // no content.
    unsafe {
        sys::madvise(at as *mut u8, bytes, libc::MADV_NOHUGEPAGE);
        sys::madvise(at as *mut u8, bytes, libc::MADV_DONTDUMP);
    }
    TABLE.store(at as *mut Table, Release);
}

/// A module was unloaded: its addresses may come to mean something else. After so many that keys have no bits left for it,
/// no path is found any more.
pub fn forget() {
    let next = GENERATION.load(Relaxed).saturating_add(1 << ADDRESS_BITS);
    GENERATION.store(next, Relaxed);
}

fn key(pc: u64) -> u64 {
    pc | GENERATION.load(Relaxed)
}

#[inline(always)]
fn slot(call: Frame) -> &'static AtomicU32 {
    // Fibonacci hashing. The stack pointer is a multiple of 8 and has few bits that differ within a stack.
    let hash = (call.pc ^ call.sp << 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &SLOTS[(hash >> (64 - BITS)) as usize]
}

impl Table {
    /// # Safety
    /// `id` was published, or is 0.
    #[inline(always)]
    unsafe fn path(&self, id: u32) -> &Path {
        // SAFETY: the caller promises a path that nobody writes any more; ids are below `PATHS`.
        unsafe { &*self.paths.get_unchecked(id as usize).get() }
    }
}

impl Path {
    /// The stack of `call` is this one's.
    ///
    /// # Safety
    /// The call has not returned.
    #[inline(always)]
    unsafe fn is_of(&self, call: Frame) -> bool {
        if self.key != key(call.pc) {
            return false;
        }
        // A loop, which is half as many instructions as `all` here.
        for read in &self.reads[..MOST.min(self.len as usize)] {
            // SAFETY: all that the unwinder reads before this word is as it was when it has read this one. So it would
            // read it now, too, of the frames of a call that the caller promises.
            if unsafe { read.again(call) } != read.word {
                return false;
            }
        }
        true
    }
}

/// The number of the stack of `call`, if its path is in its slot.
///
/// # Safety
/// The call has not returned.
#[inline(always)]
pub unsafe fn find(call: Frame) -> Option<u32> {
    // Acquire pairs with the Release in `keep`: the path is there.
    let id = slot(call).load(Acquire);
    if id == 0 {
        return None;
    }
    // SAFETY: null or the table, which stays mapped; what is in a slot was published; and the caller promises a call that
    // has not returned.
    unsafe {
        let path = TABLE.load(Relaxed).as_ref()?.path(id);
        path.is_of(call).then_some(path.stack)
    }
}

/// Has [`find`] find `stack` for `call`, of which `noted` has what the unwinder has read. `last`: the path of the stack that
/// was kept last.
///
/// # Safety
/// The call has not returned.
#[cold]
pub unsafe fn keep(call: Frame, noted: &Noted, stack: u32, last: &AtomicU32) {
    // Acquire pairs with the Release in `start`.
    // SAFETY: null or the table, which stays mapped.
    let (Some(table), Some((steps, words))) =
        (unsafe { TABLE.load(Acquire).as_ref() }, noted.whole())
    else {
        return;
    };
    // Acquire pairs with the Release below: the paths are there.
    let newest = last.load(Acquire);
    let mut id = newest;
    let mut seen = 0;
    while id != 0 {
        // SAFETY: published as the stack's; and the caller promises a call that has not returned.
        let path = unsafe { table.path(id) };
        // SAFETY: the caller promises a call that has not returned.
        if unsafe { path.is_of(call) } {
            // Release pairs with the Acquire in `find`.
            slot(call).store(id, Release);
            return;
        }
        id = path.before;
        // Those of modules that are gone do not count for ever: they are at the end.
        seen += usize::from(path.key >> ADDRESS_BITS == key(0) >> ADDRESS_BITS);
    }
    if seen >= OF_A_STACK || key(0) >> ADDRESS_BITS == u64::MAX >> ADDRESS_BITS {
        return;
    }
    let drawn =
        table.used.fetch_update(Relaxed, Relaxed, |n| (n < PATHS as u32 - 1).then_some(n + 1));
    let Ok(id) = drawn.map(|used| used + 1) else { return };
    // SAFETY: the number is this call's alone until it is published.
    let path = unsafe { &mut *table.paths[id as usize].get() };
    path.key = key(call.pc);
    path.stack = stack;
    path.before = newest;
    path.len = steps.len() as u32;
    for (read, (&step, &word)) in path.reads.iter_mut().zip(steps.iter().zip(words)) {
        *read = Read::new(step, word);
    }
    // Release pairs with the Acquire above and in `find`. If another thread has kept one meanwhile, this one is not found by
    // the stack.
    let _ = last.compare_exchange(newest, id, Release, Relaxed);
    slot(call).store(id, Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::unwind::Reads;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// Tests share the slots and the generation.
    fn turn() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        if TABLE.load(Relaxed).is_null() {
            start();
        }
        turn
    }

    /// A stack of two calls; the second finds its frame by the frame pointer that the first has saved.
    fn calls(returns: [u64; 2]) -> Box<[u64; 8]> {
        let mut calls = Box::new([0; 8]);
        calls[1] = &raw const calls[6] as u64;
        (calls[2], calls[7]) = (returns[0], returns[1]);
        calls
    }

    fn call(calls: &[u64; 8], pc: u64) -> Frame {
        Frame { pc, sp: &raw const calls[0] as u64, fp: 77 }
    }

    fn noted(calls: &[u64; 8], pc: u64) -> Noted {
        let mut noted = Noted::new();
        let at = |word: usize| &raw const calls[word] as u64;
        noted.begin(call(calls, pc));
        noted.return_address(at(2), calls[2]);
        noted.saved_fp(at(1), calls[1]);
        noted.uses_fp();
        noted.return_address(at(7), calls[7]);
        noted
    }

    fn found(calls: &[u64; 8], pc: u64) -> Option<u32> {
        // SAFETY: all words that were noted are in the array.
        unsafe { find(call(calls, pc)) }
    }

    fn kept(calls: &[u64; 8], pc: u64, stack: u32, last: &AtomicU32) {
        // SAFETY: all words that were noted are in the array.
        unsafe { keep(call(calls, pc), &noted(calls, pc), stack, last) };
    }

    #[test]
    fn a_stack_is_found_as_long_as_each_of_its_words_is_the_same() {
        let _turn = turn();
        let last = AtomicU32::new(0);
        let mut stack = calls([0x1001, 0x1002]);
        assert_eq!(found(&stack, 0x1000), None);
        kept(&stack, 0x1000, 5, &last);
        assert_eq!((found(&stack, 0x1000), found(&stack, 0x1008)), (Some(5), None));
        for word in [1, 2, 7] {
            stack[word] ^= 8;
            assert_eq!(found(&stack, 0x1000), None, "{word}");
            stack[word] ^= 8;
        }
        assert_eq!(found(&stack, 0x1000), Some(5));
    }

    #[test]
    fn a_path_serves_all_threads_and_a_stack_has_a_bounded_number() {
        let _turn = turn();
        let last = AtomicU32::new(0);
        let (first, moved) = (calls([0x2001, 0x2002]), calls([0x2001, 0x2002]));
        kept(&first, 0x2000, 6, &last);
        let path = last.load(Relaxed);
        kept(&moved, 0x2000, 6, &last);
        assert_eq!((found(&moved, 0x2000), last.load(Relaxed)), (Some(6), path));
        let others: Vec<_> = (0..20).map(|i| calls([0x2001, 0x3000 + i])).collect();
        others.iter().for_each(|other| kept(other, 0x2000, 6, &last));
        let all = others.iter().filter(|other| {
            kept(other, 0x2000, 6, &last);
            found(other, 0x2000) == Some(6)
        });
        assert_eq!(all.count(), OF_A_STACK - 1);
    }

    #[test]
    fn nothing_is_found_by_addresses_of_a_module_that_is_gone() {
        let _turn = turn();
        let last = AtomicU32::new(0);
        let stack = calls([0x4001, 0x4002]);
        kept(&stack, 0x4000, 7, &last);
        forget();
        assert_eq!(found(&stack, 0x4000), None);
        kept(&stack, 0x4000, 8, &last);
        assert_eq!(found(&stack, 0x4000), Some(8));
    }
}

//! Paths of the trie of [`super::memo`], each as a row: what to read and what has to be there, one after the other.
//!
//! From a row follows nothing that does not follow from the path, but to compare it takes no hashing. Which row a call may
//! be of is guessed by its return address and its stack pointer: a caller mostly comes back with both.
//!
//! Rows never change and are never removed. They begin with the root of their trie, so those of a former one are no
//! more found. No lock is taken: a thread writes its row in entries that it has taken for itself.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use super::steps::{KeyOnce, Step};
use super::unwind::Frame;

/// Entries that there is room for.
const ENTRIES: usize = 1 << 11;

/// What to read, and what has to be there.
struct Entry {
    word: AtomicU64,
    /// A [`Step`]; in the first entry of a row the root. In the last one, [`Step::END`], and the word is the node.
    step: AtomicU32,
}

/// The first two are of no row.
static ROWS: [Entry; ENTRIES] =
    [const { Entry { word: AtomicU64::new(0), step: AtomicU32::new(0) } }; ENTRIES];

/// Entries that were taken.
static TAKEN: AtomicU32 = AtomicU32::new(FIRST);
const FIRST: u32 = 2;

/// Guesses, two for each hash of a root and a call: where a row begins, 0 if there is none yet.
static GUESSES: [[AtomicU32; 2]; 1 << BITS] =
    [const { [const { AtomicU32::new(0) }; 2] }; 1 << BITS];
const BITS: u32 = 8;
pub const FIRST_GUESS: usize = 0;
pub const SECOND_GUESS: usize = 1;

/// A row is guessed for some calls of this process. To look for one where there is none would be page faults for each child.
#[unsafe(link_section = "lockwright_forked")]
static ARE_GUESSED: AtomicBool = AtomicBool::new(false);

/// In a forked child: its parent's rows are of no use.
pub fn begin() {
    ARE_GUESSED.store(false, Relaxed);
}

#[inline(always)]
fn guesses(root: u32, call: Frame) -> &'static [AtomicU32; 2] {
    // Fibonacci hashing, as in `rule_cache`.
    let hash = (call.pc ^ call.sp << 20 ^ u64::from(root)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &GUESSES[(hash >> (64 - BITS)) as usize]
}

/// The node that the path of `call` leads to, if the guess number `guess` is right, of [`FIRST_GUESS`] and [`SECOND_GUESS`].
///
/// # Safety
/// The call has not returned.
#[inline(always)]
pub unsafe fn find(root: u32, call: Frame, guess: usize, key: &mut KeyOnce) -> Option<u32> {
    // Relaxed: a row is only found later where this is not seen.
    if !ARE_GUESSED.load(Relaxed) {
        return None;
    }
    // Acquire pairs with the Release in `use_for`: the row is there.
    let row = guesses(root, call)[guess].load(Acquire);
    // SAFETY: the caller promises a call that has not returned.
    unsafe { compare(row, root, call, key) }
}

/// The node that a row leads to, if it is that of `call`.
///
/// # Safety
/// As for [`find`]. The row is one that was seen whole, or 0.
#[inline(always)]
unsafe fn compare(row: u32, root: u32, call: Frame, key: &mut KeyOnce) -> Option<u32> {
    let mut at = &raw const ROWS[row as usize % ENTRIES];
    // SAFETY: an entry of the table.
    let first = unsafe { &*at };
    // Relaxed: `find` has seen the row whole.
    if first.word.load(Relaxed) != call.pc || first.step.load(Relaxed) != root {
        return None;
    }
    loop {
        // SAFETY: no entry before the row's last one ends this, and that one ends it.
        let entry = unsafe {
            at = at.add(1);
            &*at
        };
        let (step, word) = (Step(entry.step.load(Relaxed)), entry.word.load(Relaxed));
        if let Some(offset) = step.offset() {
            // SAFETY: all that the unwinder reads before this word is as it was when it has read this one. So it would read
            // it now, too, of the frames of a call that the caller promises.
            if unsafe { ((call.sp + offset) as *const u64).read() } != word {
                return None;
            }
            continue;
        }
        if step == Step::END {
            return Some(word as u32);
        }
        // SAFETY: as of the word above.
        if unsafe { step.read_any(call, key) } != Some(word) {
            return None;
        }
    }
}

/// From now on the row is guessed for calls like this.
pub fn use_for(root: u32, call: Frame, row: u32) {
    let [first, second] = guesses(root, call);
    // Acquire and Release: the row that was there is passed on whole.
    second.store(first.load(Acquire), Release);
    // Pairs with the Acquire in `find`.
    first.store(row, Release);
    if !ARE_GUESSED.load(Relaxed) {
        ARE_GUESSED.store(true, Relaxed);
    }
}

/// A row that is being written, and by nobody else.
pub struct Draft {
    first: u32,
    entries: core::slice::Iter<'static, Entry>,
}

impl Draft {
    /// A row of `len` words, of the path from `root` of a call that returns to `pc`. `None`: there is no room.
    pub fn begin(root: u32, pc: u64, len: usize) -> Option<Self> {
        let len = len + 2;
        // Relaxed: it only divides the entries among threads. Looked at first, so that it does not overflow.
        if TAKEN.load(Relaxed) as usize + len > ENTRIES {
            return None;
        }
        let first = TAKEN.fetch_add(len as u32, Relaxed);
        let entries = ROWS.get(first as usize..)?.get(..len)?.iter();
        let mut draft = Self { first, entries };
        draft.push(Step(root), pc);
        Some(draft)
    }

    /// The path goes on.
    pub fn push(&mut self, step: Step, word: u64) {
        if let Some(entry) = self.entries.next() {
            // Relaxed: the caller publishes the row.
            entry.step.store(step.0, Relaxed);
            entry.word.store(word, Relaxed);
        }
    }

    /// The path ends at `node`. Where its row begins, if that has as many words as it was to have.
    pub fn end(mut self, node: u32) -> Option<u32> {
        let is_whole = self.entries.len() == 1;
        self.push(Step::END, node.into());
        is_whole.then_some(self.first)
    }
}

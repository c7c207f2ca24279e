//! What was found out about a call stack, found again without unwinding it.
//!
//! Where a stack leads depends on little: the return address of the call, and the words on the stack
//! that the unwinder reads after that. [`Noted`] has those words as offsets from the stack pointer. If
//! each of them is what it was, the frames are the same. So they make a path in a trie: at each node the
//! next word is read, and an edge for its value leads on. As the unwinder would, a walk reads no word before it
//! has found those before to be the same; so each lies in a live frame. Where a stack goes through CPython, the last word is
//! the key of the interpreter's frames ([`super::python_key`]).
//!
//! A path that has been found twice is also written down as a row ([`rows`]), which is found again without hashing.
//!
//! Edges never change and are never removed: readers take no lock. Only a forked child, and a process that has unloaded
//! a module, begin another trie. The holder of the core's lock adds edges.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::edges::{Edge, Edges};
use super::rows;
use super::steps::{KeyOnce, Step};
use super::unwind::{Frame, Reads};

/// What a path leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The class of locks of this kind whose life begins with their init function there.
    Initialised(u8),
    /// The class of locks of this kind that are first acquired there.
    FirstAcquired(u8),
    /// The stack as it is recorded.
    Stack,
}

impl About {
    const fn number(self) -> u32 {
        match self {
            Self::Initialised(kind) => (kind as u32) << 1,
            Self::FirstAcquired(kind) => (kind as u32) << 1 | 1,
            // No kind is 0.
            Self::Stack => 0,
        }
    }
}

/// Words of a path at most. A frame has one, or two if its function keeps a frame pointer. CPython's stacks have up to
/// 48 where objects end.
pub const MOST: usize = 48;

/// Roots have numbers of this bit: generation and [`About::number`].
const ROOT: u32 = 1 << 31;
/// Bits of [`About::number`] in a root's number.
const ABOUT_BITS: u32 = 9;
/// Generations that there are numbers for.
const GENERATIONS: u32 = 1 << (31 - ABOUT_BITS);

/// What an edge whose path ends there has for a [row](rows): the path was found once. A forked child finds most of its paths
/// once, and a row is two pages to write to.
const FOUND: u32 = 1;

static TRIE: Edges = Edges::NONE;

/// Which trie it is. A forked child's word.
#[unsafe(link_section = "lockwright_forked")]
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The node of the path that was kept last, 0 if there is none.
#[unsafe(link_section = "lockwright_forked")]
static LAST: AtomicU32 = AtomicU32::new(0);

/// The words that an unwinder has read.
pub struct Noted {
    pc: u64,
    sp: u64,
    len: usize,
    /// What was read, and what it was: not pairs, which would take a third more of the stack.
    steps: [Step; MOST],
    words: [u64; MOST],
    /// Where the frame pointer comes from that the next frame has, unless that is noted.
    fp: Option<(Step, u64)>,
    /// Nothing else was read, and all found room.
    is_whole: bool,
}

impl Noted {
    /// Of no unwinding: there is nothing to keep.
    pub const fn new() -> Self {
        Self {
            pc: 0,
            sp: 0,
            len: 0,
            steps: [Step::END; MOST],
            words: [0; MOST],
            fp: None,
            is_whole: false,
        }
    }

    /// All that the way depends on was noted.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// An unwinding begins at `call`.
    pub fn begin(&mut self, call: Frame) {
        (self.pc, self.sp, self.len, self.is_whole) = (call.pc, call.sp, 0, true);
        self.fp = Some((Step(Step::FRAME_POINTER), call.fp.wrapping_sub(call.sp)));
    }

    /// What was read, and what it was, if nothing else was read.
    pub fn whole(&self) -> Option<(&[Step], &[u64])> {
        self.is_whole.then(|| (&self.steps[..self.len], &self.words[..self.len]))
    }

    fn push(&mut self, (step, word): (Step, u64)) {
        if self.len == MOST {
            self.is_whole = false;
            return;
        }
        (self.steps[self.len], self.words[self.len]) = (step, word);
        self.len += 1;
    }

    /// The stack goes through the interpreter, whose frames have this key. There is nothing to note after that.
    pub fn interpreted(&mut self, key: u64) {
        self.push((Step::INTERPRETED, key));
    }

    fn step(&mut self, at: u64, kind: u32) -> Step {
        match u32::try_from(at.wrapping_sub(self.sp)) {
            Ok(offset) if offset & Step::KIND == 0 => Step(offset | kind),
            _ => {
                self.is_whole = false;
                Step::END
            }
        }
    }
}

impl Reads for Noted {
    fn return_address(&mut self, at: u64, word: u64) {
        let step = self.step(at, Step::WORD);
        self.push((step, word));
    }

    fn pointer(&mut self, at: u64, word: u64) {
        let step = self.step(at, Step::POINTER);
        self.push((step, word.wrapping_sub(self.sp)));
    }

    fn saved_fp(&mut self, at: u64, word: u64) {
        let step = self.step(at, Step::POINTER);
        self.fp = Some((step, word.wrapping_sub(self.sp)));
    }

    fn uses_fp(&mut self) {
        if let Some(step) = self.fp.take() {
            self.push(step);
        }
    }

    fn anything_else(&mut self) {
        self.is_whole = false;
    }
}

fn root(about: About) -> u32 {
    // Relaxed: the thread that unloads a module has no frame in it, and another that has would be lost anyhow.
    ROOT | GENERATION.load(Relaxed) << ABOUT_BITS | about.number()
}

/// What was kept for the stack of `call`.
///
/// # Safety
/// The call has not returned.
#[inline(always)]
pub unsafe fn find(about: About, call: Frame) -> Option<&'static Edge> {
    // Relaxed: whether a path that is being kept now is found already does not matter. To look where there is none would be
    // a page fault for each child.
    if LAST.load(Relaxed) == 0 {
        return None;
    }
    let root = root(about);
    let mut key = KeyOnce::new();
    // SAFETY: the caller promises a call that has not returned, and rows are paths of the trie.
    match unsafe { rows::find(root, call, rows::FIRST_GUESS, &mut key) } {
        Some(node) => TRIE.edge(node),
        // SAFETY: as the caller promises.
        None => unsafe { find_otherwise(root, call, key) },
    }
}

/// As [`find`], of a path whose row is not the first guess.
///
/// # Safety
/// As for [`find`].
#[inline(never)]
unsafe fn find_otherwise(root: u32, call: Frame, mut key: KeyOnce) -> Option<&'static Edge> {
    // SAFETY: as the caller promises.
    if let Some(node) = unsafe { rows::find(root, call, rows::SECOND_GUESS, &mut key) } {
        return TRIE.edge(node);
    }
    // SAFETY: as the caller promises.
    let (node, edge) = unsafe { walk(root, call, &mut key, |_, _| {}) }?;
    // Acquire pairs with the Release below: the row is there.
    match Step(edge.step.load(Acquire)).row() {
        0 => edge.step.store(Step::end_with(FOUND).0, Relaxed),
        FOUND => {
            let mut len = 0;
            // SAFETY: as the caller promises.
            unsafe { walk(root, call, &mut key, |_, _| len += 1) }?;
            if let Some(mut row) = rows::Draft::begin(root, call.pc, len) {
                // SAFETY: as the caller promises.
                unsafe { walk(root, call, &mut key, |step, word| row.push(step, word)) }?;
                if let Some(row) = row.end(node) {
                    // Pairs with the Acquire above, also of another thread that will guess the row.
                    edge.step.store(Step::end_with(row).0, Release);
                }
            }
        }
        row => rows::use_for(root, call, row),
    }
    Some(edge)
}

/// Goes from edge to edge. Shows `see` what it reads.
///
/// # Safety
/// As for [`find`].
#[inline(always)]
unsafe fn walk(
    root: u32,
    call: Frame,
    key: &mut KeyOnce,
    mut see: impl FnMut(Step, u64),
) -> Option<(u32, &'static Edge)> {
    let (mut from, mut word) = (root, call.pc);
    loop {
        let (node, edge) = TRIE.find(from, word)?;
        let step = Step(edge.step.load(Relaxed));
        if step.is_end() {
            return Some((node, edge));
        }
        // SAFETY: all that the unwinder reads before this word is as it was when it has read this one. So it would read
        // it now, too, of the frames of a call that the caller promises.
        word = unsafe { step.read_any(call, key) }?;
        see(step, word);
        from = node;
    }
}

/// Keeps `values` for the stack of the call of which `noted` has all words. The caller has the core's
/// lock. What there is no room for is not kept.
pub fn keep(about: About, noted: &Noted, values: [u32; 2]) -> Option<&'static Edge> {
    if !noted.is_whole || GENERATION.load(Relaxed) == GENERATIONS - 1 {
        return None;
    }
    let (mut from, mut word) = (root(about), noted.pc);
    for (&step, &next) in noted.steps.iter().zip(&noted.words).take(noted.len) {
        let node = TRIE.add(from, word, step, [0; 2])?;
        (from, word) = (node, next);
    }
    if let Some((_, edge)) = TRIE.find(from, word) {
        return Some(edge);
    }
    let node = TRIE.add(from, word, Step::END, values)?;
    let edge = TRIE.edge(node)?;
    // Relaxed: only holders of the core's lock follow the list.
    edge.before.store(LAST.swap(node, Relaxed), Relaxed);
    Some(edge)
}

/// All that was kept, whether or not it was forgotten since. The caller has the core's lock.
pub fn all() -> impl Iterator<Item = &'static Edge> {
    let mut next = LAST.load(Relaxed);
    core::iter::from_fn(move || {
        let edge = TRIE.edge(next)?;
        next = edge.before.load(Relaxed);
        Some(edge)
    })
}

/// Forgets all in a forked child: its parent's values are of another ledger.
pub fn begin() {
    forget();
    rows::begin();
    LAST.store(0, Relaxed);
}

/// Forgets all: the addresses of a module that is gone may come to mean something else. The caller has the core's lock.
pub fn forget() {
    // Relaxed: as in `root`. The last generation has nothing: its number means that there are no more.
    GENERATION.store((GENERATION.load(Relaxed) + 1).min(GENERATIONS - 1), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard};

    /// Tests add edges in turns, as the core's lock would have it.
    fn turn() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A stack of two calls: the first function finds its frame by the stack pointer, the second by the frame pointer that the
    /// first has saved.
    #[repr(align(16))]
    struct Calls([u64; 8]);

    impl Calls {
        fn new(returns: [u64; 2]) -> Box<Self> {
            let mut calls = Box::new(Self([0; 8]));
            calls.0[1] = calls.at(6);
            calls.0[2] = returns[0];
            calls.0[7] = returns[1];
            calls
        }

        fn at(&self, word: usize) -> u64 {
            &raw const self.0[word] as u64
        }

        fn call(&self, pc: u64) -> Frame {
            Frame { pc, sp: self.at(0), fp: 77 }
        }

        fn noted(&self, pc: u64) -> Noted {
            let mut noted = Noted::new();
            noted.begin(self.call(pc));
            noted.return_address(self.at(2), self.0[2]);
            noted.saved_fp(self.at(1), self.0[1]);
            noted.uses_fp();
            noted.return_address(self.at(7), self.0[7]);
            noted
        }

        fn find(&self, about: About, pc: u64) -> Option<u32> {
            // SAFETY: all words that were noted are in the array.
            unsafe { find(about, self.call(pc)) }.map(|edge| edge.values()[0])
        }
    }

    #[test]
    fn a_stack_is_known_wherever_it_lies_and_no_other_is() {
        let _turn = turn();
        let (first, moved) = (Calls::new([0x1001, 0x1002]), Calls::new([0x1001, 0x1002]));
        let (inner, outer) = (Calls::new([0x1003, 0x1002]), Calls::new([0x1001, 0x1003]));
        let mut longer = Calls::new([0x1001, 0x1002]);
        longer.0[1] += 8;
        assert_eq!(first.find(About::Stack, 0x1000), None);
        keep(About::Stack, &first.noted(0x1000), [5, 6]).expect("room");
        assert_eq!(first.find(About::Stack, 0x1000), Some(5));
        assert_eq!(moved.find(About::Stack, 0x1000), Some(5));
        for other in [inner, outer, longer] {
            assert_eq!(other.find(About::Stack, 0x1000), None);
        }
        assert_eq!(first.find(About::Stack, 0x1004), None);
        assert_eq!(first.find(About::Initialised(1), 0x1000), None);
    }

    #[test]
    fn stacks_part_where_they_differ_and_each_has_its_own_value() {
        let _turn = turn();
        let stacks: Vec<_> = (0..100).map(|i| Calls::new([0x2001, 0x3000 + i])).collect();
        for (i, stack) in (0..).zip(&stacks) {
            keep(About::Stack, &stack.noted(0x2000), [i, 0]).expect("room");
        }
        for (i, stack) in (0..).zip(&stacks) {
            assert_eq!(stack.find(About::Stack, 0x2000), Some(i));
        }
        // The first value stays.
        keep(About::Stack, &stacks[7].noted(0x2000), [1000, 0]).expect("there");
        assert_eq!(stacks[7].find(About::Stack, 0x2000), Some(7));
    }

    #[test]
    fn what_depends_on_more_than_the_stack_is_not_kept() {
        let _turn = turn();
        let stack = Calls::new([0x4001, 0x4002]);
        let mut noted = stack.noted(0x4000);
        noted.anything_else();
        assert!(keep(About::Stack, &noted, [5, 0]).is_none());
        // Below the call's frame there is nothing that stays.
        let mut noted = stack.noted(0x4000);
        noted.return_address(stack.at(0) - 8, 5);
        assert!(keep(About::Stack, &noted, [5, 0]).is_none());
        let mut noted = stack.noted(0x4000);
        (0..MOST).for_each(|_| noted.return_address(stack.at(2), stack.0[2]));
        assert!(keep(About::Stack, &noted, [5, 0]).is_none());
        assert_eq!(stack.find(About::Stack, 0x4000), None);
    }

    #[test]
    fn what_is_forgotten_is_kept_anew() {
        let _turn = turn();
        let stack = Calls::new([0x5001, 0x5002]);
        keep(About::Stack, &stack.noted(0x5000), [5, 0]).expect("room");
        forget();
        assert_eq!(stack.find(About::Stack, 0x5000), None);
        keep(About::Stack, &stack.noted(0x5000), [6, 0]).expect("room");
        assert_eq!(stack.find(About::Stack, 0x5000), Some(6));
        assert!(all().any(|edge| edge.values() == [5, 0]), "its locks are still to be counted");
        begin();
        assert_eq!((stack.find(About::Stack, 0x5000), all().count()), (None, 0));
    }

    #[test]
    fn rows_lead_to_what_edges_lead_to_and_to_nothing_else() {
        let _turn = turn();
        let mut stack = Calls::new([0x6001, 0x6002]);
        let paths = [(0x6002, Some(5)), (0x6003, Some(6)), (0x6004, Some(7)), (0x6005, None)];
        for (word, value) in paths {
            stack.0[7] = word;
            if let Some(value) = value {
                keep(About::Stack, &stack.noted(0x6000), [value, 0]).expect("room");
            }
        }
        // SAFETY: all words that were noted are in the array.
        let by_row = |stack: &Calls, guess: usize| unsafe {
            rows::find(root(About::Stack), stack.call(0x6000), guess, &mut KeyOnce::new())
        };
        // One call: each path but the last is guessed for it, then that is another again.
        for round in 0..5 {
            for (word, value) in paths {
                stack.0[7] = word;
                assert_eq!(stack.find(About::Stack, 0x6000), value, "round {round}");
                let second = || by_row(&stack, rows::SECOND_GUESS);
                let row = by_row(&stack, rows::FIRST_GUESS).or_else(second);
                assert_eq!(row.is_some(), value.is_some() && round > 1);
            }
            // What a word points to is another function's frame.
            stack.0[1] += 8;
            assert_eq!(stack.find(About::Stack, 0x6000), None);
            stack.0[1] -= 8;
        }
        forget();
        stack.0[7] = 0x6004;
        assert_eq!(
            (stack.find(About::Stack, 0x6000), by_row(&stack, rows::FIRST_GUESS)),
            (None, None)
        );
    }
}

//! lockdep's engine where a pair of classes has so many contexts that one more stands for all other locks.

use lockwright_engines::lockdep::{Acquire, Core, Ident, Origin, RecordedLocks, ThreadState};
use lockwright_ledger::rows::lock_kind;
use lockwright_ledger::{Writer, layout::PAGE};

const PAGES: usize = 800;

/// Where the lock is that is held.
const OUTER: u64 = 0x1000;
/// Where the others are, one after the other.
const INNER: u64 = 0x2000;

/// Contexts that one pair of classes has for single locks.
const PAIRS: u32 = 4096;

/// One lock is held, and others of a class are taken within it, by calls that return to 7 or, of which nothing is known, to 8.
struct Nested {
    core: Core,
    thread: &'static mut ThreadState,
    recorded: &'static RecordedLocks,
}

impl Nested {
    fn new() -> Self {
        let words = vec![0u64; (PAGES + 1) * PAGE / 8].leak();
        let base = (words.as_mut_ptr() as usize).next_multiple_of(PAGE) as *mut u8;
        // SAFETY: the words are leaked and zeroed, and `base` is the first page boundary in them.
        let writer = unsafe { Writer::create(base, PAGES * PAGE, |_, _| Ok(()), |_| {}) };
        let mut core = Core::new(writer.expect("room for a ledger"));
        let recorded: &'static RecordedLocks = Box::leak(Box::default());
        core.note_recorded_in(recorded);
        let thread = core.thread_start(1, 0, 0, 0).expect("a thread");
        // SAFETY: a row of the leaked ledger; the test uses one reference at a time.
        let thread = unsafe { &mut *thread };
        let mut nested = Self { core, thread, recorded };
        nested.hold_outer();
        nested
    }

    /// The thread acquires a lock that the others are taken within.
    fn hold_outer(&mut self) {
        let outer = self.new_lock_of(8);
        let node = self.enter(outer);
        let probe = self.thread.probe(outer, 0, 7);
        assert!(node != 0 && self.thread.reserve(outer, 0, 7, probe));
        self.thread.acquired(OUTER);
    }

    /// The thread creates another, which acts from now on.
    fn go_on_in_a_new_thread(&mut self) {
        let (segment, stack) = self.core.thread_creates(self.thread, &mut |_| 0);
        let thread = self.core.thread_start(2, 2, segment, stack).expect("a thread");
        // SAFETY: as in `new`.
        self.thread = unsafe { &mut *thread };
    }

    /// A lock whose class is of the locks that are initialised there.
    fn new_lock_of(&mut self, frame: u64) -> Ident {
        self.core.new_lock(lock_kind::MUTEX, Origin::Init(&[frame])).expect("a class")
    }

    fn new_lock(&mut self) -> Ident {
        self.new_lock_of(9)
    }

    /// The context that the core has for the acquisition.
    fn enter(&mut self, ident: Ident) -> u32 {
        let Self { core, thread, .. } = self;
        let lock = Acquire { addr: INNER, ident, mode: 0, site: 7 };
        let probe = thread.probe(ident, 0, 7);
        let entered = core.enter(thread, &lock, probe, &mut |frames| {
            frames[0] = 7;
            1
        });
        entered.node()
    }

    /// The pair of classes has as many contexts as it can have, and the one for all others.
    fn fill(&mut self) {
        for _ in 0..=PAIRS {
            let lock = self.new_lock();
            self.enter(lock);
        }
    }

    /// The thread acquires a lock that it knows by its class. The context.
    fn acquire_by_class(&mut self, lock: Ident) -> u32 {
        let folded = self.thread.folded(lock, 0).expect("room");
        let probe = self.thread.known_folded(&folded, 7).expect("a full pair");
        self.thread.reserve_folded(folded, lock, 0, 7, probe);
        self.thread.acquired(INNER);
        probe.node()
    }

    /// The context that the thread knows without the core, if the lock has no row.
    fn known(&mut self, ident: Ident, site: u64) -> Option<u32> {
        if self.recorded.may_have(ident.inst()) {
            return None;
        }
        let folded = self.thread.folded(ident, 0)?;
        Some(self.thread.known_folded(&folded, site)?.node())
    }
}

#[test]
fn a_thread_knows_the_context_of_new_locks_once_their_pair_of_classes_is_full() {
    let mut nested = Nested::new();
    let early = nested.new_lock();
    nested.enter(early);
    for _ in 1..PAIRS {
        let lock = nested.new_lock();
        assert_eq!(nested.known(lock, 7), None, "not full yet");
        nested.enter(lock);
    }
    let unmet = nested.new_lock();
    let first = nested.new_lock();
    let node = nested.enter(first);
    let next = nested.new_lock();
    for lock in [first, next, unmet] {
        assert_eq!(nested.known(lock, 7), Some(node));
    }
    assert_eq!(nested.enter(next), node, "the core says the same");
    // What is not the same.
    assert_eq!(nested.known(early, 7), None, "a lock that has a context of its own");
    assert_ne!(nested.enter(early), node);
    assert_eq!(nested.known(next, 8), None, "another call");
    let other = nested.new_lock_of(10);
    assert_eq!(nested.known(other, 7), None, "another class");
    assert!(nested.thread.release(OUTER));
    assert_eq!(nested.known(unmet, 7), None, "with nothing held");
}

#[test]
fn a_lock_that_a_thread_knew_by_its_class_is_known_by_itself_and_held() {
    let mut nested = Nested::new();
    nested.fill();
    let lock = nested.new_lock();
    assert!(!nested.thread.probe(lock, 0, 7).is_hit());
    let node = nested.acquire_by_class(lock);
    assert!(nested.thread.is_innermost(INNER));
    assert!(nested.thread.release(INNER));
    assert_eq!(nested.thread.probe(lock, 0, 7).node(), node);
}

#[test]
fn nothing_is_known_by_its_class_where_it_matters_which_lock_it_is() {
    let mut nested = Nested::new();
    nested.thread.set_open_signals(1 << 14);
    // Some locks of the class are to be recorded as taken with the signal open, and the first of them have contexts.
    nested.fill();
    let lock = nested.new_lock();
    assert!(nested.known(lock, 7).is_some(), "enough of them are");
    nested.thread.set_open_signals(1 << 14 | 1 << 15);
    assert_eq!(nested.known(lock, 7), None, "of another signal none is");
    nested.enter(lock);
    let next = nested.new_lock();
    assert_eq!(nested.known(next, 7), None, "of another signal one is");
}

/// Nearly all threads of CPython are created with a lock held, which most of them never take.
#[test]
fn a_thread_knows_the_context_of_new_locks_but_not_of_one_that_its_creator_held() {
    let mut nested = Nested::new();
    nested.fill();
    let lent = nested.new_lock();
    nested.acquire_by_class(lent);
    assert!(!nested.recorded.may_have(lent.inst()), "it has no row");

    nested.go_on_in_a_new_thread();
    nested.hold_outer();
    let first = nested.new_lock();
    let node = nested.enter(first);
    let next = nested.new_lock();
    assert_eq!(nested.known(next, 7), Some(node));
    assert_eq!(nested.known(lent, 7), None, "its acquisition comes after the creator's release");
}

//! A process of few locks, told to the engine by its threads' lives.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::{Acquire, Core, Ident, Origin, ThreadState};
use lockwright_ledger::rows::{Segment, Thread, lock_kind};
use lockwright_ledger::{Writer, layout::PAGE};

pub const PAGES: usize = 8192;

pub struct Host {
    pub core: Core,
    pub main: *mut ThreadState,
    pub locks: [Ident; 2],
}

pub fn state(state: *mut ThreadState) -> &'static mut ThreadState {
    // SAFETY: a live thread's row of the leaked ledger; a test uses one reference at a time.
    unsafe { &mut *state }
}

impl Host {
    pub fn new() -> Self {
        let words = vec![0u64; (PAGES + 1) * PAGE / 8].leak();
        let base = (words.as_mut_ptr() as usize).next_multiple_of(PAGE) as *mut u8;
        Self::at(base)
    }

    /// In [`PAGES`] zeroed pages, which stay.
    pub fn at(base: *mut u8) -> Self {
        // SAFETY: the caller gives `PAGES` zeroed pages that stay and that nobody else uses.
        let writer = unsafe { Writer::create(base, PAGES * PAGE, |_, _| Ok(()), |_| {}) };
        let mut core = Core::new(writer.expect("room for a ledger"));
        let main = core.thread_start(1, 1, 0, 0).expect("a thread");
        let mut lock = |frame| {
            let origin = Origin::FirstAcquire(std::slice::from_ref(frame));
            core.new_lock(lock_kind::MUTEX, origin).expect("a class")
        };
        let locks = [lock(&7), lock(&8)];
        Self { core, main, locks }
    }

    pub fn lock(&mut self, thread: *mut ThreadState, lock: usize) {
        let (ident, thread, site) = (self.locks[lock], state(thread), 7 + lock as u64);
        let acquire = Acquire { addr: 0x1000 * (1 + lock as u64), ident, mode: 0, site };
        let mut probe = thread.probe(ident, 0, site);
        if !probe.is_hit() {
            probe = self.core.enter(thread, &acquire, probe, &mut |frames| {
                frames[0] = site;
                1
            });
        }
        assert!(thread.reserve(ident, 0, site, probe));
        thread.acquired(acquire.addr);
    }

    pub fn unlock(&mut self, thread: *mut ThreadState, lock: usize) {
        let (state, addr) = (state(thread), 0x1000 * (1 + lock as u64));
        if state.orders(addr) {
            self.core.hands_over(state, addr);
        }
        assert!(state.release(addr));
    }

    pub fn create(&mut self) -> *mut ThreadState {
        self.create_by(self.main)
    }

    pub fn create_by(&mut self, creator: *mut ThreadState) -> *mut ThreadState {
        let (segment, stack) = self.core.thread_creates(state(creator), &mut |frames| {
            frames[0] = 99;
            1
        });
        self.core.thread_start(2, 2, segment, stack).expect("room for a thread")
    }

    /// Evidence of the thread's segment.
    pub fn lock_alone(&mut self, thread: *mut ThreadState) {
        self.lock(thread, 0);
        self.unlock(thread, 0);
    }

    pub fn work(&mut self, thread: *mut ThreadState) {
        self.lock(thread, 0);
        self.lock(thread, 1);
        self.unlock(thread, 1);
        self.unlock(thread, 0);
    }

    pub fn end(&mut self, thread: *mut ThreadState) -> u32 {
        let id = state(thread).id();
        // SAFETY: the caller has no other reference to `thread` and does not use it after this
        // call.
        unsafe { self.core.thread_exit(thread, 3) };
        id
    }

    pub fn join(&mut self, id: u32) {
        self.core.thread_joined(state(self.main), id);
    }

    /// So many random creations, joins, ends and acquisitions, after which the main thread still
    /// lives.
    pub fn act_at_random(&mut self, below: &mut impl FnMut(usize) -> usize, times: usize) {
        let mut live = vec![self.main];
        let mut ended = Vec::new();
        for _ in 0..times {
            let thread = live[below(live.len())];
            match below(12) {
                0..=3 => live.push(self.create_by(thread)),
                4 => self.lock_alone(thread),
                5..=7 if live.len() > 1 => {
                    let victim = live.remove(1 + below(live.len() - 1));
                    ended.push(self.end(victim));
                }
                8..=10 if !ended.is_empty() => {
                    let joined = ended.swap_remove(below(ended.len()));
                    self.core.thread_joined(state(thread), joined);
                }
                _ => {}
            }
        }
        for thread in live.into_iter().skip(1) {
            let id = self.end(thread);
            self.core.thread_settled(id);
        }
    }

    /// Removes what is not needed, now.
    pub fn remove_now(&mut self) {
        self.core.reclaim_eagerly();
        let thread = self.create();
        let id = self.end(thread);
        self.join(id);
    }

    /// Bytes of the ledger, and its threads and segments.
    pub fn size(&self) -> (u64, u64, u64) {
        let ledger = self.core.ledger();
        let used = ledger.header().used.load(Relaxed);
        assert_eq!(ledger.header().lost.load(Relaxed), 0);
        (used, ledger.count_of::<Thread>(), ledger.count_of::<Segment>())
    }
}

/// Whether segment `a` comes before segment `b`, by the rows.
pub fn before(ledger: &Writer, a: u32, b: u32) -> bool {
    let (mut open, mut seen) = (vec![b], std::collections::HashSet::new());
    while let Some(at) = open.pop() {
        let Some(row) = ledger.get::<Segment>(at) else { continue };
        for next in [row.prev, row.peer] {
            assert!(next < at, "a segment's past has lower numbers");
            if next == a {
                return true;
            }
            if next > a && seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

/// Random numbers below a given one.
pub fn random(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |n| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    }
}

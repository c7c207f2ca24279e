//! Locks that are broken on purpose, each in one way: the explorer must find them all.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright::platform::{Atomic, Platform, Word as _, await_until};

use super::platform::Explored;
use super::subject::{How, Kind, New, Subject};
use crate::platform::{Long, Word};

/// All of them.
pub const KINDS: &[Kind] = &[
    Kind::of::<Busted>("lock_busted", "no lock at all").fault("exclusion"),
    Kind::of::<SlowPath>("busted_slow_path", "a futex mutex whose waiter, once woken, has it")
        .fault("exclusion"),
    Kind::of::<ReaderNotCounted>(
        "busted_reader",
        "a reader that another one can keep from being counted",
    )
    .fault("exclusion")
    .readers(),
    Kind::of::<WriterUnaware>("busted_writer", "a writer that looks for readers, then locks")
        .fault("exclusion")
        .readers(),
    Kind::of::<NoWake>("busted_no_wake", "a futex mutex that forgets other waiters")
        .fault("lost wake-up"),
    Kind::of::<NoRecheck>("busted_no_recheck", "a halt without a look at the lock before it")
        .fault("lost wake-up"),
    Kind::of::<LateAnnouncement>("busted_late", "a waiter that is announced after its last look")
        .fault("lost wake-up"),
    Kind::of::<LostHandOver>("busted_hand_over", "an MCS lock that does not await its successor")
        .fault("no progress"),
    Kind::of::<TornTicket>("busted_ticket", "a ticket that is taken by load and store")
        .fault("exclusion or no progress"),
    Kind::of::<Barging>("busted_fair", "a ticket lock with a steal, said to be fair")
        .fault("overtaking")
        .overtakes(0),
];

/// A lock by its two halves.
trait Halves {
    fn new() -> Self;
    fn lock(&self);
    fn unlock(&self);
}

macro_rules! subjects {
    ($($lock:ty),*) => {
        $(
            impl New for $lock {
                fn new() -> Self {
                    Halves::new()
                }
            }
            impl Subject for $lock {
                fn with(&self, _: How, section: &mut dyn FnMut()) -> bool {
                    self.lock();
                    section();
                    self.unlock();
                    true
                }
            }
        )*
    };
}

subjects!(Busted, SlowPath, NoWake, NoRecheck, LateAnnouncement, LostHandOver, TornTicket, Barging);

fn word() -> Word {
    Word::new(0)
}

/// locktorture's `lock_busted`.
struct Busted;

impl Halves for Busted {
    fn new() -> Self {
        Self
    }
    fn lock(&self) {}
    fn unlock(&self) {}
}

/// Free, held, or held with waiters, as in Drepper's *Futexes are tricky*.
const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = 2;

fn try_lock(word: &Word) -> bool {
    word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
}

/// A futex mutex. Who was woken takes the lock as handed over, but others may have been faster; or,
/// if not `HANDED_OVER`, as if nobody else waited: the next one is never woken.
struct Futex<const HANDED_OVER: bool>(Word);

type SlowPath = Futex<true>;
type NoWake = Futex<false>;

impl<const HANDED_OVER: bool> Halves for Futex<HANDED_OVER> {
    fn new() -> Self {
        Self(word())
    }
    fn lock(&self) {
        while !try_lock(&self.0) {
            if self.0.load(Relaxed) == AWAITED
                || self.0.compare_exchange(HELD, AWAITED, Relaxed, Relaxed).is_ok()
            {
                self.0.wait(AWAITED, None);
                if HANDED_OVER {
                    return self.0.store(AWAITED, Acquire);
                }
            }
        }
    }
    fn unlock(&self) {
        if self.0.swap(FREE, Release) == AWAITED {
            Word::wake(&raw const self.0, 1);
        }
    }
}

/// The waiter does not look at the lock again once it is known to wait: it may be free by then.
struct NoRecheck {
    held: Word,
    waits: Word,
}

impl Halves for NoRecheck {
    fn new() -> Self {
        Self { held: word(), waits: word() }
    }
    fn lock(&self) {
        while !try_lock(&self.held) {
            self.waits.store(1, Relaxed);
            // Here `held` is to be looked at.
            self.waits.wait(1, None);
        }
    }
    fn unlock(&self) {
        self.held.store(FREE, Release);
        if self.waits.swap(0, Relaxed) != 0 {
            Word::wake(&raw const self.waits, u32::MAX);
        }
    }
}

/// The holder sees nobody wait, and the waiter, who has seen it hold the lock, sleeps.
struct LateAnnouncement {
    held: Word,
    waiters: Word,
    turn: Word,
}

impl Halves for LateAnnouncement {
    fn new() -> Self {
        Self { held: word(), waiters: word(), turn: word() }
    }
    fn lock(&self) {
        while !try_lock(&self.held) {
            let turn = self.turn.load(Relaxed);
            if self.held.load(Relaxed) != FREE {
                self.waiters.fetch_add(1, Relaxed);
                self.turn.wait(turn, None);
                self.waiters.fetch_sub(1, Relaxed);
            }
        }
    }
    fn unlock(&self) {
        self.held.store(FREE, Release);
        if self.waiters.load(Relaxed) != 0 {
            self.turn.fetch_add(1, Relaxed);
            Word::wake(&raw const self.turn, u32::MAX);
        }
    }
}

/// An MCS lock with a node for each thread. Its unlock takes a successor that has not linked itself
/// yet for none.
struct LostHandOver {
    tail: Long,
    nodes: [McsNode; 64],
}

struct McsNode {
    next: Long,
    waits: Word,
}

impl LostHandOver {
    fn me() -> usize {
        Explored::cpu().map_or(0, |cpu| cpu as usize)
    }
}

impl Halves for LostHandOver {
    fn new() -> Self {
        let node = || McsNode { next: Long::new(0), waits: word() };
        Self { tail: Long::new(0), nodes: std::array::from_fn(|_| node()) }
    }
    fn lock(&self) {
        let me = Self::me();
        let node = &self.nodes[me];
        node.next.store(0, Relaxed);
        node.waits.store(1, Relaxed);
        let before = self.tail.swap(me + 1, Acquire);
        if before != 0 {
            self.nodes[before - 1].next.store(me + 1, Release);
            await_until::<Explored>(|| node.waits.load(Acquire) == 0);
        }
    }
    fn unlock(&self) {
        let me = Self::me();
        let next = self.nodes[me].next.load(Acquire);
        if next != 0 {
            self.nodes[next - 1].waits.store(0, Release);
        } else {
            // If this fails somebody is about to link itself, and is to be awaited.
            let _ = self.tail.compare_exchange(me + 1, 0, Release, Relaxed);
        }
    }
}

/// Two threads can have the same ticket.
struct TornTicket {
    next: Word,
    served: Word,
}

impl Halves for TornTicket {
    fn new() -> Self {
        Self { next: word(), served: word() }
    }
    fn lock(&self) {
        let mine = self.next.load(Relaxed);
        self.next.store(mine + 1, Relaxed);
        await_until::<Explored>(|| self.served.load(Acquire) == mine);
    }
    fn unlock(&self) {
        self.served.fetch_add(1, Release);
    }
}

/// Tickets, over a test-and-set word that newcomers take first.
struct Barging {
    held: Word,
    next: Word,
    served: Word,
}

impl Halves for Barging {
    fn new() -> Self {
        Self { held: word(), next: word(), served: word() }
    }
    fn lock(&self) {
        if try_lock(&self.held) {
            return;
        }
        let mine = self.next.fetch_add(1, Relaxed);
        await_until::<Explored>(|| self.served.load(Acquire) == mine);
        await_until::<Explored>(|| try_lock(&self.held));
        self.served.fetch_add(1, Release);
    }
    fn unlock(&self) {
        self.held.store(FREE, Release);
    }
}

/// Bit 31: a writer; below: how many readers.
const WRITER: u32 = 1 << 31;

/// Two readers can be counted as one, so that a writer comes in when the first leaves.
struct ReaderNotCounted(Word);

impl New for ReaderNotCounted {
    fn new() -> Self {
        Self(word())
    }
}

impl Subject for ReaderNotCounted {
    fn with(&self, how: How, section: &mut dyn FnMut()) -> bool {
        if !how.reads {
            await_until::<Explored>(|| {
                self.0.compare_exchange(0, WRITER, Acquire, Relaxed).is_ok()
            });
            section();
            self.0.fetch_and(!WRITER, Release);
            return true;
        }
        await_until::<Explored>(|| {
            let seen = self.0.load(Relaxed);
            // Another reader may come in between: only a writer is looked for.
            seen & WRITER == 0
                && match self.0.compare_exchange(seen, seen + 1, Acquire, Relaxed) {
                    Ok(_) => true,
                    Err(other) => other & WRITER == 0 && other != 0,
                }
        });
        section();
        // Who was not counted has nothing to take back, but does not know it: not below 0.
        let mut seen = self.0.load(Relaxed);
        while seen & !WRITER != 0 {
            match self.0.compare_exchange(seen, seen - 1, Release, Relaxed) {
                Ok(_) => break,
                Err(other) => seen = other,
            }
        }
        true
    }
}

/// Readers that come between its look and its lock are not seen.
struct WriterUnaware {
    readers: Word,
    writer: Word,
}

impl New for WriterUnaware {
    fn new() -> Self {
        Self { readers: word(), writer: word() }
    }
}

impl Subject for WriterUnaware {
    fn with(&self, how: How, section: &mut dyn FnMut()) -> bool {
        if !how.reads {
            await_until::<Explored>(|| self.readers.load(Acquire) == 0);
            await_until::<Explored>(|| try_lock(&self.writer));
            section();
            self.writer.store(FREE, Release);
        } else {
            self.readers.fetch_add(1, Acquire);
            while self.writer.load(Acquire) != FREE {
                self.readers.fetch_sub(1, Relaxed);
                await_until::<Explored>(|| self.writer.load(Relaxed) == FREE);
                self.readers.fetch_add(1, Acquire);
            }
            section();
            self.readers.fetch_sub(1, Release);
        }
        true
    }
}

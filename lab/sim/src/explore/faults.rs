//! Locks that are broken on purpose, each in one way: the explorer must find them all.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright::platform::{Atomic, Platform, Word as _, await_until};

use super::platform::Explored;
use super::roles::{How, Mode, Patience, Role};
use super::subject::{Kind, New, Phase, Subject, Tell, hold};
use crate::cell::{Long, Word};

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
    Kind::of::<Abandoned>(
        "busted_deadline",
        "a ticket lock whose late waiters leave their tickets",
    )
    .fault("no progress")
    .deadlines(),
    Kind::of::<WokenTooLate>(
        "busted_late_wake",
        "a waiter that is woken, and gives up all the same",
    )
    .fault("lost wake-up")
    .deadlines(),
    Kind::of::<Impatient>("busted_patience", "a waiter to which any end of its sleep is too late")
        .fault("early refusal")
        .deadlines(),
    Kind::of::<Trusting>("busted_early", "a waiter that takes the end of its sleep for its turn")
        .fault("exclusion"),
    Kind::of::<Upgrading<true>>("busted_upgrade", "an upgrade that lets go of the lock in between")
        .fault("exclusion")
        .upgrades(),
    Kind::of::<Upgrading<false>>("busted_upgraders", "upgradable readers that await each other")
        .fault("no progress")
        .upgrades(),
    Kind::of::<Sequence<true>>("busted_seqlock", "a sequence lock whose readers do not look again")
        .fault("torn read")
        .readers(),
    Kind::of::<Sequence<false>>("busted_seqlock_write", "a writer that counts at its end only")
        .fault("torn read")
        .readers(),
    Kind::of::<Shallow>("busted_bkl", "a big kernel lock that forgets its depth where it sleeps")
        .fault("exclusion"),
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
                fn with(&self, _: How, tell: Tell<'_>) -> bool {
                    self.lock();
                    hold(Mode::Write, tell);
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

/// A futex mutex with a fault. With `HANDED_OVER`, a woken thread believes it was given the lock,
/// but another may have been faster. Without, it takes the lock as if no other thread waited, and
/// the next one is never woken.
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

/// The holder sees no waiter, and the waiter, which has seen the lock held, sleeps.
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
    fn with(&self, how: How, tell: Tell<'_>) -> bool {
        if how.role == Role::Write {
            await_until::<Explored>(|| {
                self.0.compare_exchange(0, WRITER, Acquire, Relaxed).is_ok()
            });
            hold(Mode::Write, tell);
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
        hold(Mode::Read, tell);
        // A thread that was not counted has nothing to take back, but does not know it: not below
        // 0.
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
    fn with(&self, how: How, tell: Tell<'_>) -> bool {
        if how.role == Role::Write {
            await_until::<Explored>(|| self.readers.load(Acquire) == 0);
            await_until::<Explored>(|| try_lock(&self.writer));
            hold(Mode::Write, tell);
            self.writer.store(FREE, Release);
        } else {
            self.readers.fetch_add(1, Acquire);
            while self.writer.load(Acquire) != FREE {
                self.readers.fetch_sub(1, Relaxed);
                await_until::<Explored>(|| self.writer.load(Relaxed) == FREE);
                self.readers.fetch_add(1, Acquire);
            }
            hold(Mode::Read, tell);
            self.readers.fetch_sub(1, Release);
        }
        true
    }
}

/// Gives up as a [`Patience`] says.
fn is_late(patience: Patience) -> bool {
    matches!(patience, Patience::Until(deadline) if Explored::now() >= deadline)
}

/// Waits until the condition holds, as long as there is patience: whether it does.
fn await_patiently(patience: Patience, mut condition: impl FnMut() -> bool) -> bool {
    while !condition() {
        if is_late(patience) {
            return false;
        }
        Explored::relax();
    }
    true
}

/// A thread that gives up leaves its ticket. When that ticket is served, the lock stops: no thread
/// serves the next one.
struct Abandoned {
    next: Word,
    served: Word,
}

impl New for Abandoned {
    fn new() -> Self {
        Self { next: word(), served: word() }
    }
}

impl Subject for Abandoned {
    fn with(&self, how: How, tell: Tell<'_>) -> bool {
        let mine = self.next.fetch_add(1, Relaxed);
        if !await_patiently(how.patience, || self.served.load(Acquire) == mine) {
            return false;
        }
        hold(Mode::Write, tell);
        self.served.fetch_add(1, Release);
        true
    }
}

/// A futex mutex, correct except for what it does at the end of a sleep.
fn lock_until(word: &Word, patience: Patience, gives_up: impl Fn(Patience) -> bool) -> bool {
    let deadline = match patience {
        Patience::Until(deadline) => Some(deadline),
        _ => None,
    };
    if try_lock(word) {
        return true;
    }
    while word.swap(AWAITED, Acquire) != FREE {
        word.wait(AWAITED, deadline);
        if gives_up(patience) {
            return false;
        }
    }
    true
}

fn unlock(word: &Word) {
    if word.swap(FREE, Release) == AWAITED {
        Word::wake(word, 1);
    }
}

/// It looks at the clock after it was woken, and keeps from all others that the lock is free.
struct WokenTooLate(Word);

impl New for WokenTooLate {
    fn new() -> Self {
        Self(word())
    }
}

impl Subject for WokenTooLate {
    fn with(&self, how: How, tell: Tell<'_>) -> bool {
        let acquired = lock_until(&self.0, how.patience, is_late);
        if acquired {
            hold(Mode::Write, tell);
            unlock(&self.0);
        }
        acquired
    }
}

/// Nothing but its deadline ends a sleep, it thinks.
struct Impatient(Word);

impl New for Impatient {
    fn new() -> Self {
        Self(word())
    }
}

impl Subject for Impatient {
    fn with(&self, how: How, tell: Tell<'_>) -> bool {
        let has_deadline = |patience| matches!(patience, Patience::Until(_));
        let acquired = lock_until(&self.0, how.patience, has_deadline);
        if acquired {
            hold(Mode::Write, tell);
            unlock(&self.0);
        }
        acquired
    }
}

/// Tickets, and a word for each to sleep on, which is 1 once it is its turn. Only a thread that
/// wakes up early enters before that.
struct Trusting {
    next: Word,
    served: Word,
    turns: [Word; 64],
}

impl Trusting {
    fn turn(&self, ticket: u32) -> &Word {
        &self.turns[ticket as usize % self.turns.len()]
    }
}

impl New for Trusting {
    fn new() -> Self {
        Self { next: word(), served: word(), turns: std::array::from_fn(|_| word()) }
    }
}

impl Subject for Trusting {
    fn with(&self, _: How, tell: Tell<'_>) -> bool {
        let mine = self.next.fetch_add(1, Relaxed);
        if mine != 0 {
            // Here it is to be looked at again.
            self.turn(mine).wait(0, None);
        }
        self.turn(mine).store(0, Relaxed);
        hold(Mode::Write, tell);
        self.served.fetch_add(1, Relaxed);
        let next = self.turn(mine.wrapping_add(1));
        next.store(1, Release);
        Word::wake(next, 1);
        true
    }
}

/// A reader-writer lock, one word. Its upgradable readers are readers like others: when they upgrade
/// they leave and come again as writers, if `LETS_GO`, or wait until they are the only ones.
struct Upgrading<const LETS_GO: bool>(Word);

impl<const LETS_GO: bool> Upgrading<LETS_GO> {
    fn read_lock(&self) {
        await_until::<Explored>(|| {
            let seen = self.0.load(Relaxed);
            seen & WRITER == 0 && self.0.compare_exchange(seen, seen + 1, Acquire, Relaxed).is_ok()
        });
    }

    fn write_lock(&self, readers: u32) {
        await_until::<Explored>(|| {
            self.0.compare_exchange(readers, WRITER, Acquire, Relaxed).is_ok()
        });
    }
}

impl<const LETS_GO: bool> New for Upgrading<LETS_GO> {
    fn new() -> Self {
        Self(word())
    }
}

impl<const LETS_GO: bool> Subject for Upgrading<LETS_GO> {
    fn with(&self, how: How, tell: Tell<'_>) -> bool {
        match how.role {
            Role::Write => {
                self.write_lock(0);
                hold(Mode::Write, tell);
                self.0.store(0, Release);
            }
            Role::Read => {
                self.read_lock();
                hold(Mode::Read, tell);
                self.0.fetch_sub(1, Release);
            }
            Role::Upgrade => {
                self.read_lock();
                // There can be two of them: told as readers, which is all that they are so far.
                let mode = if LETS_GO { Mode::Upgradable } else { Mode::Read };
                tell(Phase::Has(mode));
                if LETS_GO {
                    self.0.fetch_sub(1, Release);
                    self.write_lock(0);
                } else {
                    self.write_lock(1);
                }
                hold(Mode::Write, tell);
                self.0.store(0, Release);
            }
        }
        true
    }
}

/// A sequence lock. If `LOOKS_ONCE`, what is read while somebody writes is taken for good; if not,
/// the count says only afterwards that somebody wrote.
struct Sequence<const LOOKS_ONCE: bool> {
    held: Word,
    count: Word,
}

impl<const LOOKS_ONCE: bool> New for Sequence<LOOKS_ONCE> {
    fn new() -> Self {
        Self { held: word(), count: word() }
    }
}

impl<const LOOKS_ONCE: bool> Subject for Sequence<LOOKS_ONCE> {
    fn with(&self, how: How, tell: Tell<'_>) -> bool {
        if how.role == Role::Write {
            await_until::<Explored>(|| try_lock(&self.held));
            if LOOKS_ONCE {
                self.count.fetch_add(1, Relaxed);
                hold(Mode::Write, tell);
                self.count.fetch_add(1, Release);
            } else {
                hold(Mode::Write, tell);
                self.count.fetch_add(2, Release);
            }
            self.held.store(FREE, Release);
            return true;
        }
        loop {
            let mut begun = 0;
            await_until::<Explored>(|| {
                begun = self.count.load(Acquire);
                begun.is_multiple_of(2)
            });
            tell(Phase::Has(Mode::Peek));
            if LOOKS_ONCE || self.count.load(Relaxed) == begun {
                return true;
            }
        }
    }
}

/// A big kernel lock, taken twice. After its sleep it is held once: the first unlock is the last.
struct Shallow {
    held: Word,
    depth: Word,
}

impl Shallow {
    fn take(&self) {
        await_until::<Explored>(|| try_lock(&self.held));
        self.depth.store(1, Relaxed);
    }

    fn unlock(&self) {
        // Not below 0: a thread that has lost the lock does not know.
        let depth = self.depth.load(Relaxed).saturating_sub(1);
        self.depth.store(depth, Relaxed);
        if depth == 0 {
            self.held.store(FREE, Release);
        }
    }
}

impl New for Shallow {
    fn new() -> Self {
        Self { held: word(), depth: word() }
    }
}

impl Subject for Shallow {
    fn with(&self, _: How, tell: Tell<'_>) -> bool {
        self.take();
        self.depth.store(2, Relaxed);
        tell(Phase::Has(Mode::Write));
        tell(Phase::LetsGo);
        self.held.store(FREE, Release);
        // Here the depth is to be what it was.
        self.take();
        tell(Phase::Has(Mode::Write));
        self.unlock();
        hold(Mode::Write, tell);
        self.unlock();
        true
    }
}

//! A mutex for programs with more threads than CPUs, in one futex word of 32 bits: the rule of
//! Long's 2017 patch "locking/pvqspinlock: Implement hybrid PV queued/unfair locks", with the queue
//! in the kernel.
//!
//! Any thread that finds the lock free takes it, so that the lock is not idle while a waiter wakes
//! up (*unfair*). One waiter is the *head*: it alone spins. The others watch the word for some
//! microseconds, sleep, and are woken one at a time to be the next head (*queued*). Two bounds make
//! it fair. A head that has waited for [`PATIENCE`] sets FAIR, and then no thread takes the lock
//! before it. A newcomer becomes the head without having slept only until a waiter has slept for more
//! than [`PATIENCE`] since the last wake-up.
//!
//! ```text
//!   31      30 29      18 17      12 11         9     6             5      4
//!   | releases | sleepers | admitted | generation | - | SLOW_UNLOCK | KEPT | WOKEN |
//!     3             2      1      0
//!   | HEAD_SLEEPS | HEAD | FAIR | LOCKED |
//! ```
//!
//! At each step below stands its transition, as (sleepers, head, lock):
//!
//! ```text
//!   sleepers   s   how many
//!   head       0   none       1  awake      Z  asleep (HEAD_SLEEPS)
//!              W   none yet: a sleeper is being woken to be it (WOKEN)
//!              h   any of these
//!   lock       0   free       1  held       K  free for the head alone (LOCKED and KEPT)
//!
//!              fetch_or, enter            enter                  spin
//!   newcomer   (s,h,0) -> (s,h,1)   head  (s,0,1) -> (s,1,1)     (s,1,0) -> (s,0,1)
//!   sleeper    (s,h,1) -> (s+1,h,1)       (s,W,1) -> (s-1,1,1)   (s,1,K) -> (s,0,1)
//! ```
//!
//! `(0,0,0)` and `(0,0,1)` are the words 0 and LOCKED, apart from the count of releases. There is no
//! other state, so the next owner may free the lock, and threads need no storage of their own. A
//! signal handler can wait like any other code, unless it has interrupted the owner or the head.
//!
//! Its limit: nobody notices a head that is preempted while it spins. Running threads take the free
//! lock meanwhile, but sleepers are not woken until it runs again, for one time slice at most. A
//! monitor in the kernel (FlexGuard, SOSP 2025) or a time slice extension would tell.
//!
//! `models/hybrid_mutex.pml` has the same steps, by the same names, for Spin: what changes here
//! changes there.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, Waited, Word};

/// Somebody has the lock, or it is [`KEPT`]: a newcomer does not get it.
const LOCKED: u32 = 1;
/// The lock will be [`KEPT`] when it is released.
const FAIR: u32 = 1 << 1;
/// One waiter is the head: it spins, sleeps with [`HEAD_SLEEPS`], or comes back from that.
const HEAD: u32 = 1 << 2;
/// The head sleeps, or an unlock has just released the lock and wakes it: the head clears it then.
const HEAD_SLEEPS: u32 = 1 << 3;
/// A sleeper is being woken to be the head; there is no head until then.
const WOKEN: u32 = 1 << 4;
/// Nobody has the lock, but only the head may take it; only with LOCKED, and with HEAD or WOKEN.
const KEPT: u32 = 1 << 5;
/// The unlocker has to wake a waiter, or keep the lock for one. [`tidy`] computes it from the other
/// bits.
const SLOW_UNLOCK: u32 = 1 << 6;
/// Which generation of forks the waiters belong to.
const GENERATION: Field = Field { shift: 9, bits: 3 };
/// When the oldest sleeper began to wait, or one was last woken, in units of 2^17 nanoseconds.
const ADMITTED: Field = Field { shift: 12, bits: 6 };
/// How many sleep, or are about to.
const SLEEPERS: Field = Field { shift: 18, bits: 12 };
/// How often the lock was released, modulo the size: the highest bits, so that they wrap.
const RELEASES: Field = Field { shift: 30, bits: 2 };
/// The bits that are set as long as there are waiters.
const WAITERS: u32 = HEAD | WOKEN | SLEEPERS.mask();

/// The futex bits that the head sleeps with.
const AS_HEAD: u32 = 1;
/// The futex bits that the others sleep with.
const AS_SLEEPER: u32 = 2;
/// The futex bits of the waiters that [`SLEEPERS`] has no room to count. No unlock wakes them: they
/// sleep with a timeout.
const UNCOUNTED: u32 = 4;

/// Nanoseconds that a wait may last before others can no longer go first.
const PATIENCE: u64 = 500_000;
/// The binary logarithm of the unit of [`ADMITTED`].
const UNIT: u32 = 17;
/// Nanoseconds after which an uncounted waiter wakes up and looks again.
const UNCOUNTED_SLEEP: u64 = 1_000_000;
/// Nanoseconds that a newcomer leaves to the sleeper who is being woken to become the head.
const NAP: u64 = 100_000;
/// How often a thread looks at the word in the time that it spins (10 µs), where sections are not known
/// to be short. Only the first look after a change takes the line from somebody. With twice as many as
/// 200 two threads with sections of 100 to 300 ns do 2 to 7 % more, with 800 no more than that.
const NEAR_LOOKS: u32 = 400;
/// Likewise, where they are.
const FAR_LOOKS: u32 = 2;

/// Some bits of the word that are a number.
struct Field {
    shift: u32,
    bits: u32,
}

impl Field {
    const fn mask(&self) -> u32 {
        ((1 << self.bits) - 1) << self.shift
    }

    const fn one(&self) -> u32 {
        1 << self.shift
    }

    const fn of(&self, word: u32) -> u32 {
        (word & self.mask()) >> self.shift
    }

    /// The word with this number in it, modulo its size.
    const fn with(&self, word: u32, number: u32) -> u32 {
        (word & !self.mask()) | ((number << self.shift) & self.mask())
    }
}

/// The word with nothing of waiters if there are none, and with [`SLOW_UNLOCK`] if, and only if, one
/// of them sleeps as the head, nobody is there to be the head, or the lock is to be kept.
const fn tidy(word: u32) -> u32 {
    if word & WAITERS == 0 {
        return word & (LOCKED | RELEASES.mask());
    }
    let somebody_comes = word & (HEAD | WOKEN) != 0 && word & HEAD_SLEEPS == 0;
    if somebody_comes && word & FAIR == 0 { word & !SLOW_UNLOCK } else { word | SLOW_UNLOCK }
}

/// The futex bits of the waiter that an unlock has to wake: the head if it sleeps, a sleeper if
/// there is no head, or none (0).
const fn to_wake(word: u32) -> u32 {
    if word & HEAD_SLEEPS != 0 {
        AS_HEAD
    } else if word & (HEAD | WOKEN) == 0 && word & SLEEPERS.mask() != 0 {
        AS_SLEEPER
    } else {
        0
    }
}

/// Whether the head may take the lock.
const fn is_for_head(word: u32) -> bool {
    word & LOCKED == 0 || word & KEPT != 0
}

/// The clock as [`ADMITTED`] counts it.
fn units(now: u64) -> u32 {
    (now >> UNIT) as u32
}

/// Whether a sleeper's turn to be woken has come. Wrong, in either direction, where it has been
/// for a multiple of the field's 8 ms: the turn comes at the next look then.
fn is_due(word: u32, now: u64) -> bool {
    let waited = units(now).wrapping_sub(ADMITTED.of(word)) & ((1 << ADMITTED.bits) - 1);
    u64::from(waited) << UNIT >= PATIENCE
}

/// The outcome of an attempt.
enum Entered {
    /// The lock is the caller's.
    Locked,
    /// The caller is the head.
    Head,
    /// The caller is one of the sleepers, and has yet to sleep.
    Sleeper,
    /// There are too many of them.
    Uncounted,
    /// The deadline has come.
    TooLate,
}

/// A mutex of 4 bytes. Not recursive, and it does not record its owner; the thread that locked it
/// unlocks it.
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork may release a lock that the forking thread held. It must not take one that
///   another thread held at the fork: it would wait for ever. It ignores the waiters of the parent.
///
/// # Guarantees
/// - Ordering: the next holder sees all that a holder did before it released the lock.
/// - Fairness: a newcomer may take a free lock before the waiters. A head that has waited for 0.5
///   ms gets the lock next, and then a sleeper becomes the head, so no thread starves.
/// - Source: Long's 2017 patch "locking/pvqspinlock: Implement hybrid PV queued/unfair locks".
#[repr(transparent)]
pub struct RawHybridMutex<P: Platform> {
    word: P::Word,
}

impl<P: Platform> RawHybridMutex<P> {
    /// A free mutex.
    pub fn new_in() -> Self {
        Self { word: P::Word::new(0) }
    }

    /// Takes the lock, and waits for that as long as it takes.
    ///
    /// - The caller must not hold the lock already: it would wait for ever.
    ///   [`RawDebug`](crate::debug::RawDebug) returns `Recursion` instead.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it would wait for ever if it has interrupted the
    ///   holder, or the waiter that is the head.
    #[inline]
    pub fn lock(&self) {
        if !self.take() {
            self.lock_slow(None);
        }
    }

    /// Takes the lock, or gives up when `deadline` (nanoseconds of [`Platform::now`]; none: never)
    /// has come. True if it has the lock.
    ///
    /// - The rules of [`Self::lock`] apply.
    /// - The lock is taken if it is free, even if the deadline has passed.
    #[inline]
    pub fn lock_until(&self, deadline: Option<u64>) -> bool {
        self.take() || self.lock_slow(deadline)
    }

    /// Takes the lock if it is free, and not kept for a waiter that has waited too long.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. The holder gets
    ///   `false`.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.take() || self.take_from_parent()
    }

    /// Takes the lock if it is free, even if there are waiters, without reading the word before: a
    /// compare-exchange that fails first doubles the cost on AMD's Zen 3.
    #[inline(always)]
    fn take(&self) -> bool {
        // (s,h,0) -> (s,h,1). If the lock is held or kept, LOCKED is set already.
        // Acquire: pairs with the Release in `unlock_as`.
        self.word.fetch_or(LOCKED, Acquire) & LOCKED == 0
    }

    /// Takes the lock if it is kept for a thread of the process that this one was forked from.
    #[cold]
    fn take_from_parent(&self) -> bool {
        let seen = self.word.load(Relaxed);
        let word = living::<P>(seen);
        // Acquire: as in `take`. It fails if another thread has dropped the same notes and has the
        // lock now.
        word & LOCKED == 0
            && self.word.compare_exchange(seen, word | LOCKED, Acquire, Relaxed).is_ok()
    }

    /// Whether anyone holds it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        // Relaxed: it may be otherwise by the time that the caller knows.
        !is_for_head(self.word.load(Relaxed))
    }

    /// Releases the lock.
    ///
    /// - The thread that took the lock must release it, once. After any other call two threads can
    ///   be inside at once. [`RawDebug`](crate::debug::RawDebug) returns `AlreadyUnlocked` or
    ///   `WrongOwner` instead.
    /// - The caller may free the lock afterwards, if no other thread holds it, waits for it or will
    ///   use it.
    ///
    /// # Safety
    /// The calling thread holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        self.release(0);
    }

    /// Releases the lock for the head: if anybody waits, nobody who comes takes it first.
    ///
    /// - The rules of [`Self::unlock`] apply.
    ///
    /// # Safety
    /// The calling thread holds it.
    #[inline]
    pub unsafe fn unlock_fair(&self) {
        self.release(FAIR);
    }

    /// Releases the lock, with `note` for those who wait, if anybody does.
    #[inline(always)]
    fn release(&self, note: u32) {
        // Relaxed: a look.
        let seen = self.word.load(Relaxed);
        if !is_left_alone(seen, note) {
            return self.unlock_slow(seen, note);
        }
        // (s,h,1) -> (s,h,0), where nobody needs more of it. It is an addition, which does not depend on
        // the look as a compare-exchange would, and of the whole word: a thread that reads it after a
        // byte of it was written waits until that store has reached the cache. A waiter may have set a bit since
        // the look: FAIR takes effect from the next unlock on, and `released_late` wakes.
        // LOCKED is set, so this makes it `released`. Release: pairs with the Acquires of the next
        // owner.
        let was = self.word.fetch_add(RELEASES.one() - LOCKED, Release);
        if was != seen {
            self.released_late(was);
        }
    }

    /// After an unlock that has only released the lock, though the word was `was` by then, and no
    /// longer what the look saw: wakes the waiter that needs it. The word may be gone.
    #[cold]
    fn released_late(&self, was: u32) {
        let wake = to_wake(was);
        if was & LOCKED == 0 {
            // Two threads have unlocked at the same time what was locked once, which they must not.
            // The second addition has borrowed from the bits above, and gives that back.
            self.word.fetch_add(LOCKED, Relaxed);
        } else if wake != 0 {
            P::Word::wake_bitset(&raw const self.word, 1, wake);
        }
    }

    /// Makes the word, if it is `seen`, that of a free lock. Else what it is.
    #[inline]
    fn unlock_as(&self, seen: u32, free: u32) -> Result<u32, u32> {
        // Release: pairs with the Acquires of the next owner.
        self.word.compare_exchange(seen, free, Release, Relaxed)
    }

    /// Releases the lock, whose word was `seen`, to those who wait, with `note` in the word.
    #[cold]
    fn unlock_slow(&self, mut seen: u32, note: u32) {
        let address = &raw const self.word;
        let wake = loop {
            let (free, wake) = if is_left_alone(seen, note) {
                // Also if the waiters are the parent's: the next waiter drops them.
                (released(seen), 0)
            } else {
                let word = living::<P>(released(seen));
                let wake = to_wake(word);
                let free = match wake {
                    // (s,Z,1) -> (s,1,0)
                    AS_HEAD => word & !HEAD_SLEEPS,
                    // (s,0,1) -> (s,W,0)
                    AS_SLEEPER => word | WOKEN,
                    // (s,h,1) -> (s,h,0)
                    _ => word,
                };
                // To K instead of 0.
                let fair = free | note;
                let is_kept = fair & FAIR != 0 && fair & WAITERS != 0;
                (tidy(if is_kept { fair | KEPT | LOCKED } else { free }), wake)
            };
            match self.unlock_as(seen, free) {
                Ok(_) => break wake,
                Err(now) => seen = now,
            }
        };
        // From here on the word may be gone.
        if wake != 0 {
            P::Word::wake_bitset(address, 1, wake);
        }
    }

    #[cold]
    fn lock_slow(&self, deadline: Option<u64>) -> bool {
        let mut wait = Wait { mutex: self, begun: None, deadline, generation: P::generation() };
        loop {
            wait.linger();
            let entered = match wait.enter() {
                Entered::Sleeper => wait.sleep(),
                other => other,
            };
            let entered = match entered {
                Entered::Head => wait.head(),
                other => other,
            };
            match entered {
                Entered::Locked => return true,
                Entered::TooLate => return false,
                Entered::Uncounted if !wait.sleep_uncounted() => return false,
                // Or the thread is another process' since it began to wait.
                _ => wait.generation = P::generation(),
            }
        }
    }
}

/// The word after an unlock, if there is nothing else to do.
const fn released(word: u32) -> u32 {
    (word & !LOCKED).wrapping_add(RELEASES.one())
}

/// Whether an unlock, with `note` for those who wait, only releases the lock. Not where nobody has it:
/// there is nothing to release.
const fn is_left_alone(word: u32, note: u32) -> bool {
    let needs = if note == 0 { SLOW_UNLOCK } else { WAITERS };
    word & (needs | LOCKED) == LOCKED
}

/// The word without those who waited in a process that this one was forked from: a child sees them
/// as bits of another generation.
fn living<P: Platform>(word: u32) -> u32 {
    let of_ours = || GENERATION.of(word) == GENERATION.of(GENERATION.with(0, P::generation()));
    if word & WAITERS == 0 || of_ours() {
        word
    } else if is_for_head(word) {
        0
    } else {
        LOCKED
    }
}

/// When a thread that spins looks at the word.
///
/// Each look takes the cache line from the owner. Where sections are long that costs little, and a lock
/// that is free and not taken costs much; where they are short it is the other way round. So releases
/// are counted in the word. Spinners look closely until they see that the lock changed hands between
/// two looks; then they stay away for microseconds.
struct Looks {
    /// Pauses until the next look.
    pauses: u32,
    /// The same, where sections are short.
    far: u32,
    /// All pauses until now.
    rounds: u32,
    /// The word at the last look.
    last: Option<u32>,
}

impl Looks {
    /// The schedule of a thread that spins for `patience` pauses.
    const fn new(patience: u32) -> Self {
        let (pauses, far) = (patience.div_ceil(NEAR_LOOKS), patience.div_ceil(FAR_LOOKS));
        Self { pauses, far, rounds: 0, last: None }
    }

    /// Whether the word, at this look, says that the owner is better left alone for a while: since
    /// the last look there was a whole section and more, or the lock was released and taken again,
    /// so that it is hardly ever free.
    fn is_too_soon(&mut self, word: u32) -> bool {
        let last = self.last.replace(word).unwrap_or(word);
        let released = RELEASES.of(word.wrapping_sub(last & RELEASES.mask()));
        let too_soon = released + u32::from(!is_for_head(word)) > 1 && self.pauses != self.far;
        if too_soon {
            self.pauses = self.far;
        }
        too_soon
    }

    /// Waits for the time of the next look. False: the thread has spun for so long that others
    /// should run.
    fn pause<P: Platform>(&mut self) -> bool {
        if P::need_resched(self.rounds) {
            return false;
        }
        P::pause(self.pauses);
        self.rounds += self.pauses;
        true
    }
}

/// One thread's wait for the lock.
struct Wait<'a, P: Platform> {
    mutex: &'a RawHybridMutex<P>,
    /// When it began, by [`Platform::now`]; none: nobody has looked at the clock yet.
    begun: Option<u64>,
    deadline: Option<u64>,
    generation: u32,
}

impl<P: Platform> Wait<'_, P> {
    /// The clock, and with it the beginning of the wait.
    fn now(&mut self) -> u64 {
        let now = P::now();
        self.begun.get_or_insert(now);
        now
    }

    /// Whether a fork has happened since it entered: nobody knows of it then.
    fn is_of_parent(&self) -> bool {
        self.generation != P::generation()
    }

    /// Looks for a while whether it need not sleep: to fall asleep and to be woken takes longer than
    /// most sections.
    fn linger(&self) {
        let mut looks = Looks::new(P::patience());
        loop {
            let seen = self.mutex.word.load(Relaxed);
            let enters = seen & LOCKED == 0 || seen & (HEAD | WOKEN) == 0;
            if !looks.is_too_soon(seen) && enters || !looks.pause::<P>() {
                return;
            }
        }
    }

    /// Takes a free lock, or becomes the head, or is counted among the sleepers.
    fn enter(&mut self) -> Entered {
        let mutex = self.mutex;
        let mut seen = mutex.word.load(Relaxed);
        loop {
            let word = living::<P>(seen);
            let noted = GENERATION.with(word, self.generation);
            let sleepers = SLEEPERS.of(word);
            let mut admits = false;
            let (new, entered) = if word & LOCKED == 0 {
                // (s,h,0) -> (s,h,1)
                (word | LOCKED, Entered::Locked)
            } else if word & (HEAD | WOKEN) == 0 && sleepers == 0 {
                // (0,0,1) -> (0,1,1)
                (noted | HEAD, Entered::Head)
            } else if sleepers == SLEEPERS.mask() >> SLEEPERS.shift {
                return Entered::Uncounted;
            } else {
                let now = self.now();
                let due = word & (HEAD | WOKEN) == 0;
                admits = due && is_due(word, now);
                if due && !admits {
                    // (s,0,1) -> (s,1,1), past the sleepers
                    (noted | HEAD, Entered::Head)
                } else {
                    // (s,h,1) -> (s+1,h,1), or where a sleeper's turn has come
                    // (s,0,1) -> (s+1,W,1)
                    let counted = noted + SLEEPERS.one() + if admits { WOKEN } else { 0 };
                    let restart = admits || sleepers == 0;
                    let new = if restart { ADMITTED.with(counted, units(now)) } else { counted };
                    (new, Entered::Sleeper)
                }
            };
            // Acquire: as in `take`, if it takes the lock.
            match mutex.word.compare_exchange(seen, tidy(new), Acquire, Relaxed) {
                Ok(_) => {
                    if admits {
                        P::Word::wake_bitset(&raw const mutex.word, 1, AS_SLEEPER);
                    }
                    return entered;
                }
                Err(now) => seen = now,
            }
        }
    }

    /// Sleeps as one of many until it is woken to be the head.
    ///
    /// A waiter whose sleep has ended, for whatever reason, becomes the head, even if another one
    /// is being woken: that one will find a head and sleep again. A waiter that has yet to fall
    /// asleep leaves the place to the one being woken. But it does not do so for ever, as nobody
    /// knows whether there was a sleeper to wake.
    fn sleep(&mut self) -> Entered {
        let word = &self.mutex.word;
        let (mut slept, mut expired) = (false, false);
        let mut nap = None;
        let mut seen = word.load(Relaxed);
        loop {
            if self.is_of_parent() {
                return Entered::Sleeper;
            }
            let left = seen.wrapping_sub(SLEEPERS.one());
            let (new, entered) = if seen & LOCKED == 0 {
                // (s,h,0) -> (s-1,h,1), and of W to 0: instead of the waiter that is being woken.
                ((left & !WOKEN) | LOCKED, Entered::Locked)
            } else if seen & WOKEN != 0 && (slept || SLEEPERS.of(seen) == 1) {
                // (s,W,1) -> (s-1,1,1)
                ((left & !WOKEN) | HEAD, Entered::Head)
            } else if expired {
                // (s,h,1) -> (s-1,h,1)
                (left, Entered::TooLate)
            } else {
                let until = (seen & WOKEN != 0).then(|| *nap.get_or_insert_with(|| P::now() + NAP));
                let until = until.into_iter().chain(self.deadline).min();
                match word.wait_bitset(seen, AS_SLEEPER, until) {
                    Waited::Changed => {}
                    Waited::Woken => slept = true,
                    Waited::TooLate => {
                        slept = true;
                        expired = until == self.deadline;
                    }
                }
                seen = word.load(Relaxed);
                continue;
            };
            // Acquire: as in `take`, if it takes the lock.
            match word.compare_exchange(seen, tidy(new), Acquire, Relaxed) {
                Ok(_) => return entered,
                Err(now) => seen = now,
            }
        }
    }

    /// Waits as the head until it has the lock.
    fn head(&mut self) -> Entered {
        let mut expired = false;
        loop {
            if self.spin() {
                return Entered::Locked;
            }
            let now = self.now();
            // The deadline is looked at here as well: a wait that is woken again and again has one.
            if expired || self.deadline.is_some_and(|deadline| deadline <= now) {
                return if self.leave() { Entered::TooLate } else { Entered::Locked };
            }
            let waited = now - self.begun.unwrap_or(now);
            if waited >= PATIENCE && self.demand() && self.spin() {
                return Entered::Locked;
            }
            expired = !self.sleep_as_head();
            if self.is_of_parent() {
                return Entered::Head;
            }
        }
    }

    /// Takes the lock as soon as it is free, if that is soon: a head of the policy SCHED_FIFO must
    /// not keep the owner from its CPU.
    fn spin(&self) -> bool {
        let word = &self.mutex.word;
        let mut looks = Looks::new(P::patience());
        loop {
            let seen = word.load(Relaxed);
            if !looks.is_too_soon(seen) && is_for_head(seen) {
                // (s,1,0) -> (s,0,1) and (s,1,K) -> (s,0,1)
                let new = tidy(seen & !(HEAD | HEAD_SLEEPS | FAIR | KEPT)) | LOCKED;
                // Acquire: as in `take`.
                if word.compare_exchange(seen, new, Acquire, Relaxed).is_ok() {
                    return true;
                }
                continue;
            }
            if !looks.pause::<P>() {
                return false;
            }
        }
    }

    /// From now on only this one may take the lock. False: that has been said before.
    fn demand(&self) -> bool {
        let word = &self.mutex.word;
        let mut seen = word.load(Relaxed);
        while seen & FAIR == 0 {
            // (s,1,1) -> (s,1,1) with FAIR, so that its release makes it K. A newcomer sets LOCKED
            // without reading the word, so a free lock has to be kept at once: (s,1,0) -> (s,1,K).
            let kept = if seen & LOCKED == 0 { KEPT | LOCKED } else { 0 };
            // Relaxed: it concerns no memory but the word, and continues the unlocker's release
            // sequence, which `spin` acquires.
            let demanded = (seen & !HEAD_SLEEPS) | FAIR | kept;
            match word.compare_exchange(seen, tidy(demanded), Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Sleeps until the lock is released, or the sleep has ended in another way: late wakes must not
    /// keep the head from looking at its clock. False: the deadline has come.
    fn sleep_as_head(&self) -> bool {
        let word = &self.mutex.word;
        let mut seen = word.load(Relaxed);
        while !is_for_head(seen) && !self.is_of_parent() {
            // (s,1,1) -> (s,Z,1)
            let asleep = tidy(seen | HEAD_SLEEPS);
            // Relaxed: it concerns no memory but the word.
            match word.compare_exchange(seen, asleep, Relaxed, Relaxed) {
                Ok(_) => {
                    let waited = word.wait_bitset(asleep, AS_HEAD, self.deadline);
                    // Woken by the unlocker, even if the deadline has come as well.
                    return waited != Waited::TooLate || word.load(Relaxed) & HEAD_SLEEPS == 0;
                }
                Err(now) => seen = now,
            }
        }
        true
    }

    /// Gives up being the head; the next one is woken, if there is anybody and the lock is free.
    /// False: it was free, and is the caller's now.
    fn leave(&self) -> bool {
        let word = &self.mutex.word;
        let mut seen = word.load(Relaxed);
        loop {
            let word_left = seen & !(HEAD | HEAD_SLEEPS | FAIR | KEPT);
            // (s,1,1) -> (s,0,1), and the caller gives up. An unlock may have relied on the head:
            // (s,1,0) -> (s,0,1) and (s,1,K) -> (s,0,1), and the lock is the caller's.
            let free = is_for_head(seen);
            // Acquire: as in `take`, if it takes the lock.
            match word.compare_exchange(seen, tidy(word_left) | LOCKED, Acquire, Relaxed) {
                Ok(_) => return !free,
                Err(now) => seen = now,
            }
        }
    }

    /// Sleeps for a while as an uncounted waiter, which no unlock wakes. False: the deadline has
    /// come.
    fn sleep_uncounted(&mut self) -> bool {
        let now = self.now();
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return false;
        }
        let until = self.deadline.unwrap_or(u64::MAX).min(now + UNCOUNTED_SLEEP);
        let word = &self.mutex.word;
        let seen = word.load(Relaxed);
        if seen & LOCKED != 0 {
            word.wait_bitset(seen, UNCOUNTED, Some(until));
        }
        true
    }
}

#[cfg(feature = "std")]
impl RawHybridMutex<crate::platform::linux::Linux> {
    /// A free mutex, for statics.
    pub const fn new() -> Self {
        Self { word: core::sync::atomic::AtomicU32::new(0) }
    }
}

#[cfg(feature = "std")]
impl Default for RawHybridMutex<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each of some looks, at words of so many releases, is too soon.
    fn too_soon<const N: usize>(looks: [(u32, u32); N]) -> [bool; N] {
        let mut spinner = Looks::new(400);
        looks.map(|(releases, locked)| {
            spinner.is_too_soon(RELEASES.with(HEAD | SLEEPERS.one(), releases) | locked)
        })
    }

    #[test]
    fn one_section_is_looked_at_closely() {
        assert_eq!(too_soon([(3, LOCKED), (3, LOCKED), (3, LOCKED)]), [false; 3]);
        assert_eq!(too_soon([(3, LOCKED), (3, LOCKED), (4, 0)]), [false; 3], "and its end taken");
    }

    #[test]
    fn short_sections_are_left_alone_once() {
        assert_eq!(too_soon([(3, LOCKED), (5, 0), (7, 0)]), [false, true, false], "several");
        assert_eq!(too_soon([(0, LOCKED), (1, LOCKED), (3, LOCKED)]), [false, true, false], "gaps");
    }

    #[test]
    fn releases_overflow_into_nothing() {
        let all = HEAD | WOKEN | GENERATION.mask() | ADMITTED.mask() | SLEEPERS.mask();
        let word = RELEASES.with(all, u32::MAX) | LOCKED;
        assert_eq!(released(word), all);
    }

    /// A program may do what it must not, and has to go on.
    #[test]
    fn one_unlock_too_many_frees_a_free_lock() {
        assert_eq!(released(RELEASES.one()), 2 * RELEASES.one());
    }

    /// Nor may two do so at the same time, after each has seen it locked.
    #[cfg(feature = "std")]
    #[test]
    fn two_unlocks_at_once_free_it_once() {
        let mutex = RawHybridMutex::<crate::platform::linux::Linux>::new();
        mutex.lock();
        let unlock = || mutex.word.fetch_add(RELEASES.one() - LOCKED, Release);
        assert_eq!(unlock(), LOCKED);
        let was = unlock();
        mutex.released_late(was);
        assert_eq!(mutex.word.load(Relaxed), 2 * RELEASES.one());
    }

    #[test]
    fn an_unlock_is_slow_where_one_who_waits_needs_it() {
        let one = SLEEPERS.one();
        for needy in
            [HEAD | HEAD_SLEEPS, HEAD | FAIR, WOKEN | one | FAIR, one, HEAD | HEAD_SLEEPS | one]
        {
            assert_eq!(tidy(needy | LOCKED), needy | LOCKED | SLOW_UNLOCK);
        }
        for calm in [HEAD, HEAD | one, WOKEN | one] {
            assert_eq!(tidy(calm | LOCKED | SLOW_UNLOCK), calm | LOCKED);
        }
        let noted = GENERATION.mask() | ADMITTED.mask() | SLOW_UNLOCK;
        assert_eq!(tidy(noted | RELEASES.one()), RELEASES.one(), "nobody waits");
    }
}

//! A reader-writer lock of 8 bytes that prefers readers, or writers, as its user says: what POSIX'
//! attributes of such locks ask for. `lockwright swap` runs a program's reader-writer locks on it.
//!
//! ```text
//!   63               48 47               32   31   30      0
//!   | readers waiting  | writers waiting  | WRITER | readers |
//! ```
//!
//! A thread that waits has told so in the state before, in the same word that a release changes: so
//! a release is one operation, after which it knows only the address; the next owner may free the
//! lock. Waiters sleep while the lower half of the state is as they have seen it (a reader that gives way to
//! writers that only wait: the upper half), readers and writers told apart by the bits that they are
//! woken for. A thread that gives up tells so in the same way, and passes on the turn that it may
//! have been woken for.
//!
//! - [`Preference::Readers`]: readers enter whenever no writer is inside, so a thread may read again
//!   while a writer waits, and a thread inside may wait for another reader to come in. When a writer
//!   leaves, readers that wait are woken, and no writer. Writers can starve.
//! - [`Preference::Writers`]: no reader enters while a writer waits, so a thread must not read
//!   twice. When the lock is free, a writer that waits is woken, and no reader. Readers can starve.
//!
//! [`crate::hybrid_rwlock`], in which neither starves, keeps neither promise: those who queue there
//! go in in the order of the queue, so a reader may have to wait, behind a writer, though another reader
//! is inside.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, Waited};

/// Whether readers or writers go first. All calls on one lock must pass the same preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// Readers do, also ahead of writers that wait.
    Readers,
    /// Writers do.
    Writers,
}

/// The mode in which a thread takes the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To read, together with others.
    Read,
    /// To write, alone.
    Write,
}

/// Why a thread does not get the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Others have it.
    Held,
    /// 2^31 - 1 readers have it.
    TooMany,
    /// The deadline has come.
    TooLate,
}

/// How many wait.
#[derive(Clone, Copy, Debug)]
pub struct Waiters(u64);

/// A half of the state, which threads can wait on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The lower 32 bits.
    Low,
    /// The upper 32 bits.
    High,
}

/// The services that the lock needs beyond a [`Platform`]: a state of 64 bits of which each half is
/// a futex.
pub trait Halves: Send + Sync + 'static {
    /// Where the threads run.
    type Platform: Platform;
    /// The state.
    type State: Atomic<u64>;
    /// Until when a thread waits.
    type Deadline;

    /// As [`Word::wait_bitset`](crate::platform::Word::wait_bitset), on a half of the state.
    #[track_caller]
    fn wait(
        state: &Self::State,
        half: Half,
        expected: u32,
        bits: u32,
        deadline: Option<&Self::Deadline>,
    ) -> Waited;

    /// As [`Word::wake_bitset`](crate::platform::Word::wake_bitset), of those who wait on a half of
    /// the state at this address, which may be gone.
    #[track_caller]
    fn wake(state: *const Self::State, half: Half, count: u32, bits: u32);
}

const READER: u64 = 1;
const MOST_READERS: u64 = WRITER - 1;
const WRITER: u64 = 1 << 31;
const HELD: u64 = (1 << 32) - 1;
const WAITING_WRITER: u64 = 1 << 32;
const WAITING_WRITERS: u64 = 0xffff << 32;
const WAITING_READER: u64 = 1 << 48;
const WAITING_READERS: u64 = 0xffff << 48;

/// The futex bit that readers sleep with.
const AS_READER: u32 = 1;
/// The futex bit that writers sleep with.
const AS_WRITER: u32 = 2;

impl Mode {
    /// The value that a holder adds to the state in this mode.
    const fn hold(self) -> u64 {
        match self {
            Self::Read => READER,
            Self::Write => WRITER,
        }
    }

    /// The value that a waiter adds to the state.
    const fn wait(self) -> u64 {
        match self {
            Self::Read => WAITING_READER,
            Self::Write => WAITING_WRITER,
        }
    }

    /// The futex bits of a sleeper.
    const fn bits(self) -> u32 {
        match self {
            Self::Read => AS_READER,
            Self::Write => AS_WRITER,
        }
    }

    /// Whether it may have the lock in this state.
    const fn may_have(self, state: u64, preference: Preference) -> bool {
        match self {
            Self::Write => state & HELD == 0,
            Self::Read => {
                state & WRITER == 0
                    && state & HELD != MOST_READERS
                    && !(matches!(preference, Preference::Writers) && state & WAITING_WRITERS != 0)
            }
        }
    }
}

/// A reader-writer lock of 8 bytes. Zeroed memory is a free one, where a zeroed state is one of 0.
#[repr(transparent)]
pub struct RawPreferenceRwLock<H: Halves> {
    state: H::State,
}

impl<H: Halves> RawPreferenceRwLock<H> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { state: H::State::new(0) }
    }

    /// Takes the lock, or gives up when the deadline, if there is one, has come.
    ///
    /// # Errors
    /// [`Refused::TooLate`] and [`Refused::TooMany`].
    #[inline]
    pub fn lock(
        &self,
        mode: Mode,
        preference: Preference,
        deadline: Option<&H::Deadline>,
    ) -> Result<(), Refused> {
        if self.take(mode, 0, preference) {
            return Ok(());
        }
        self.lock_slow(mode, preference, deadline)
    }

    #[cold]
    fn lock_slow(
        &self,
        mode: Mode,
        preference: Preference,
        deadline: Option<&H::Deadline>,
    ) -> Result<(), Refused> {
        self.has_room(mode)?;
        let mut rounds = 0;
        while !H::Platform::need_resched(rounds) {
            rounds += 1;
            H::Platform::relax();
            if self.take(mode, 0, preference) {
                return Ok(());
            }
        }
        self.wait(mode, preference, deadline)
    }

    /// Takes the lock if that needs no waiting.
    ///
    /// # Errors
    /// [`Refused::Held`] and [`Refused::TooMany`].
    #[inline]
    pub fn try_lock(&self, mode: Mode, preference: Preference) -> Result<(), Refused> {
        if self.take(mode, 0, preference) {
            return Ok(());
        }
        self.has_room(mode)?;
        Err(Refused::Held)
    }

    /// How the lock is held, if it is. With a reader, other readers may come and go. If neither the
    /// caller nor a reader holds it, the answer may be out of date by now.
    #[inline]
    pub fn holder(&self) -> Option<Mode> {
        // Relaxed: the holder knows what it has done.
        match self.state.load(Relaxed) & HELD {
            0 => None,
            held if held & WRITER != 0 => Some(Mode::Write),
            _ => Some(Mode::Read),
        }
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The caller holds it so, or a thread that has left it to the caller does.
    #[inline]
    pub unsafe fn unlock(&self, mode: Mode, preference: Preference) {
        let address = &raw const self.state;
        // SAFETY: by contract the caller holds the lock in `mode`, or took it over from the thread
        // that did.
        let state = unsafe { self.leave(mode) };
        // From here on the lock may be gone.
        if state & HELD == 0 && state != 0 {
            wake::<H>(address, state, preference);
        }
    }

    /// Releases a lock whose waiters are those of the process that this one was forked from.
    ///
    /// # Safety
    /// As for [`RawPreferenceRwLock::unlock`].
    #[inline]
    pub unsafe fn unlock_inherited(&self, mode: Mode) {
        // SAFETY: by contract the caller holds the lock in `mode`, or took it over from the thread
        // that did.
        unsafe { self.leave(mode) };
    }

    /// The waiters' bits of the state.
    pub fn waiters(&self) -> Waiters {
        Waiters(self.state.load(Relaxed) & !HELD)
    }

    /// Clears the bits of waiters in the parent process, before any thread of the forked child waited.
    pub fn forget(&self, waiters: Waiters) {
        // Relaxed: publishes nothing; they are still in the state, even if other waiters have come
        // since.
        self.state.fetch_sub(waiters.0, Relaxed);
    }

    fn has_room(&self, mode: Mode) -> Result<(), Refused> {
        // Relaxed: the caller decides what it means, and may be wrong a moment later.
        let is_full = mode == Mode::Read && self.state.load(Relaxed) & HELD == MOST_READERS;
        if is_full { Err(Refused::TooMany) } else { Ok(()) }
    }

    /// Takes the lock if that is allowed now, with `waited` off the state.
    #[inline]
    fn take(&self, mode: Mode, waited: u64, preference: Preference) -> bool {
        let mut state = self.state.load(Relaxed);
        while mode.may_have(state, preference) {
            let new = state - waited + mode.hold();
            // Acquire: pairs with the Release in `leave`.
            match self.state.compare_exchange(state, new, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(seen) => state = seen,
            }
        }
        false
    }

    fn wait(
        &self,
        mode: Mode,
        preference: Preference,
        deadline: Option<&H::Deadline>,
    ) -> Result<(), Refused> {
        // Relaxed: from here on a release finds us in the state.
        self.state.fetch_add(mode.wait(), Relaxed);
        loop {
            if self.take(mode, mode.wait(), preference) {
                return Ok(());
            }
            let state = self.state.load(Relaxed);
            if mode.may_have(state, preference) {
                continue;
            }
            // A reader that only waiting writers keep waiting sleeps on the half that says so: the
            // other may look the same when they have had the lock.
            let (half, seen) = match state & WRITER != 0 || mode == Mode::Write {
                true => (Half::Low, state as u32),
                false => (Half::High, (state >> 32) as u32),
            };
            let waited = H::wait(&self.state, half, seen, mode.bits(), deadline);
            if waited == Waited::TooLate {
                return self.give_up(mode, preference);
            }
        }
    }

    /// Gives the wait up, unless the lock is free.
    fn give_up(&self, mode: Mode, preference: Preference) -> Result<(), Refused> {
        if self.take(mode, mode.wait(), preference) {
            return Ok(());
        }
        // Relaxed: publishes nothing.
        let state = self.state.fetch_sub(mode.wait(), Relaxed) - mode.wait();
        // It may have been woken for a turn that it does not take; and readers may have waited for
        // it alone.
        if state & WRITER == 0 {
            wake::<H>(&raw const self.state, state, preference);
        }
        Err(Refused::TooLate)
    }

    /// Leaves, and returns what the state is then.
    ///
    /// # Safety
    /// The caller holds the lock in `mode`, or a thread that has left it to the caller does.
    #[inline]
    unsafe fn leave(&self, mode: Mode) -> u64 {
        // Release: pairs with the Acquire in `take`.
        self.state.fetch_sub(mode.hold(), Release) - mode.hold()
    }
}

/// Wakes those whose turn it is, in a state in which no writer holds the lock.
#[cold]
fn wake<H: Halves>(lock: *const H::State, state: u64, preference: Preference) {
    let writers = state & WAITING_WRITERS != 0;
    let prefers_writers = preference == Preference::Writers;
    if state & WAITING_READERS != 0 && !(prefers_writers && writers) {
        H::wake(lock, Half::Low, u32::MAX, AS_READER);
        if prefers_writers {
            H::wake(lock, Half::High, u32::MAX, AS_READER);
        }
    } else if writers && state & HELD == 0 {
        H::wake(lock, Half::Low, 1, AS_WRITER);
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use core::sync::atomic::AtomicU64;

    use super::*;
    use crate::platform::linux::Linux;

    /// A world in which nobody waits or is woken.
    struct Quiet;

    impl Halves for Quiet {
        type Platform = Linux;
        type State = AtomicU64;
        type Deadline = u64;

        fn wait(_: &AtomicU64, _: Half, _: u32, _: u32, _: Option<&u64>) -> Waited {
            Waited::TooLate
        }

        fn wake(_: *const AtomicU64, _: Half, _: u32, _: u32) {
            panic!("somebody is woken");
        }
    }

    fn lock(state: u64) -> RawPreferenceRwLock<Quiet> {
        RawPreferenceRwLock { state: AtomicU64::new(state) }
    }

    #[test]
    fn readers_that_cannot_be_counted_are_refused() {
        let lock = lock(MOST_READERS - 1);
        assert_eq!(lock.try_lock(Mode::Read, Preference::Readers), Ok(()));
        assert_eq!(lock.try_lock(Mode::Read, Preference::Readers), Err(Refused::TooMany));
        assert_eq!(lock.lock(Mode::Read, Preference::Readers, None), Err(Refused::TooMany));
        assert_eq!(lock.try_lock(Mode::Write, Preference::Readers), Err(Refused::Held));
        assert_eq!(lock.holder(), Some(Mode::Read));
    }

    /// In a forked child the state has bits of threads that the child does not have.
    #[test]
    fn waiters_of_another_process_keep_nobody_out_and_are_not_woken() {
        let inherited = lock(READER + 2 * WAITING_WRITER + WAITING_READER);
        assert_eq!(inherited.try_lock(Mode::Read, Preference::Writers), Err(Refused::Held));
        inherited.forget(inherited.waiters());
        assert_eq!(inherited.try_lock(Mode::Read, Preference::Writers), Ok(()));
        // SAFETY: the lock was made with one reader, and `try_lock` above added a second.
        unsafe {
            inherited.unlock_inherited(Mode::Read);
            inherited.unlock(Mode::Read, Preference::Writers);
        }
        assert_eq!(inherited.holder(), None);

        let released_first = lock(WRITER + WAITING_WRITER);
        // SAFETY: `lock` made it as held by a writer, which nobody has released.
        unsafe { released_first.unlock_inherited(Mode::Write) };
        released_first.forget(released_first.waiters());
        assert_eq!(released_first.state.load(Relaxed), 0);
    }

    /// A thread that gives up without a wait leaves no bits in the state.
    #[test]
    fn a_deadline_that_has_come_leaves_nothing() {
        for (state, mode) in [(WRITER, Mode::Read), (WRITER, Mode::Write), (READER, Mode::Write)] {
            let lock = lock(state);
            assert_eq!(lock.lock(mode, Preference::Writers, Some(&0)), Err(Refused::TooLate));
            assert_eq!(lock.state.load(Relaxed), state);
        }
    }
}

//! Reader-writer locks, in the C library's 56 bytes. They run on one lock whichever is chosen for
//! mutexes: an exclusive lock would keep readers from each other.
//!
//! ```text
//!    0  the state, 64 bits:  0-30  readers that hold it
//!                            31    a writer holds it
//!                            32-47 writers that wait, or are about to
//!                            48-63 readers that do
//!    8  nothing
//!   12  the mark of a lock that has been met in this era
//!   16  nothing of ours: a tool that watches locks notes there which one this is
//!   24  the thread id of the writer, 0: none
//!   28  not 0: shared with other processes, and the C library's
//!   36  where patterns choose the locks that are replaced: whether this one is
//!   40  nothing of ours, as above
//!   48  2: writers go first; else readers do, and a thread may read again while a writer waits
//! ```
//!
//! Who waits has told so in the state before, in the same word that a release changes: so a release
//! is one operation, after which it knows only the address; who locks next may free the lock. They
//! sleep while the lower half of the state is as they have seen it (a reader that gives way to writers
//! who only wait: the upper half), readers and writers told apart by the bits that they are woken for. Who gives up tells so in the same way, and passes on the
//! turn that it may have been woken for.

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, ETIMEDOUT, timespec};

use crate::counts::{Count, count};
use crate::deadline::Deadline;
use crate::guest::has_spun_enough;
use crate::os::{self, Slept};
use crate::{era, next, selection};

/// A reader-writer lock in the program's memory.
#[repr(C)]
pub struct RwLock {
    state: AtomicU64,
    _unused: u32,
    met: AtomicU32,
    _others: [u32; 2],
    writer: AtomicU32,
    shared: AtomicU32,
    _elision: u32,
    choice: AtomicU32,
    _more: [u32; 2],
    kind: AtomicU32,
    _end: u32,
}

const _: () = assert!(size_of::<RwLock>() == size_of::<libc::pthread_rwlock_t>());

const READER: u64 = 1;
const MOST_READERS: u64 = WRITER - 1;
const WRITER: u64 = 1 << 31;
const HELD: u64 = (1 << 32) - 1;
const WAITING_WRITER: u64 = 1 << 32;
const WAITING_WRITERS: u64 = 0xffff << 32;
const WAITING_READER: u64 = 1 << 48;
const WAITING_READERS: u64 = 0xffff << 48;

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`.
const PREFERS_WRITERS: u32 = 2;

/// A pattern chooses the lock: it is replaced.
const CHOSEN: u32 = 1;
/// None does: it stays the C library's.
const LEFT: u32 = 2;

/// The futex bit that readers sleep with.
const AS_READER: u32 = 1;
/// The futex bit that writers sleep with.
const AS_WRITER: u32 = 2;

/// What a thread wants of the lock.
#[derive(Clone, Copy)]
struct Want {
    /// What it adds to the state when it has it.
    hold: u64,
    /// What it adds while it waits.
    wait: u64,
    /// What it sleeps with.
    bits: u32,
}

const TO_READ: Want = Want { hold: READER, wait: WAITING_READER, bits: AS_READER };
const TO_WRITE: Want = Want { hold: WRITER, wait: WAITING_WRITER, bits: AS_WRITER };

impl Want {
    /// Whether it may have the lock in this state.
    const fn may_have(self, state: u64, prefers_writers: bool) -> bool {
        if self.hold == WRITER {
            return state & HELD == 0;
        }
        state & WRITER == 0
            && state & HELD != MOST_READERS
            && !(prefers_writers && state & WAITING_WRITERS != 0)
    }
}

/// How long a thread waits.
#[derive(Clone, Copy)]
enum Patience<'a> {
    Endless,
    None,
    Until(&'a Deadline),
}

impl RwLock {
    fn prefers_writers(&self) -> bool {
        self.kind.load(Relaxed) == PREFERS_WRITERS
    }

    /// Whether the lock is replaced; then it is marked.
    #[inline(always)]
    fn is_ours(&self, site: usize) -> bool {
        let era = era::current();
        self.met.load(Relaxed) == era::met(era) || self.meet(era, site)
    }

    /// Whether it is the C library's.
    fn is_forwarded(&self) -> bool {
        self.shared.load(Relaxed) != 0 || self.choice.load(Relaxed) == LEFT
    }

    /// Marks the lock, if it is replaced. What it says of waiting threads is of another process if it
    /// was marked before a fork.
    #[cold]
    fn meet(&self, era: u32, site: usize) -> bool {
        if self.is_forwarded() || !self.is_chosen(site) {
            return false;
        }
        let mark = era::met(era);
        let seen = self.met.load(Relaxed);
        // Nobody of this era waits before the lock is marked, and nobody else changes this half.
        let dead = self.state.load(Relaxed) & !HELD;
        if seen == mark || self.met.compare_exchange(seen, mark, Relaxed, Relaxed).is_err() {
            return true;
        }
        if era::is_mark(seen) {
            self.state.fetch_sub(dead, Relaxed);
        } else {
            count(Count::Rwlocks);
        }
        true
    }

    /// Whether the patterns, if there are any, choose the lock. Once for all.
    fn is_chosen(&self, site: usize) -> bool {
        if !selection::is_active() || self.choice.load(Relaxed) == CHOSEN {
            return true;
        }
        let verdict = selection::verdict(ptr::from_ref(self).addr(), site);
        let choice = if verdict.is_chosen { CHOSEN } else { LEFT };
        // Of several threads that come here first, one decides for all.
        match self.choice.compare_exchange(0, choice, Relaxed, Relaxed) {
            Ok(_) => {
                verdict.count();
                if !verdict.is_chosen {
                    count(Count::LeftRwlocks);
                }
                verdict.is_chosen
            }
            Err(decided) => decided == CHOSEN,
        }
    }

    /// Takes the lock, or says why not.
    fn acquire(&self, want: Want, patience: Patience<'_>) -> c_int {
        let me = era::thread();
        let is_writer = self.writer.load(Relaxed) == me;
        let taken = match patience {
            Patience::Until(deadline) if !deadline.is_valid() => EINVAL,
            Patience::None if is_writer => EBUSY,
            _ if is_writer => EDEADLK,
            _ => self.enter(want, patience),
        };
        if taken == 0 && want.hold == WRITER {
            self.writer.store(me, Relaxed);
        }
        taken
    }

    fn enter(&self, want: Want, patience: Patience<'_>) -> c_int {
        let prefers_writers = self.prefers_writers();
        if self.take(want, 0, prefers_writers) {
            return 0;
        }
        if want.hold == READER && self.state.load(Relaxed) & HELD == MOST_READERS {
            return EAGAIN;
        }
        if matches!(patience, Patience::None) {
            return EBUSY;
        }
        let mut rounds = 0;
        while !has_spun_enough(rounds) {
            rounds += 1;
            core::hint::spin_loop();
            if self.take(want, 0, prefers_writers) {
                return 0;
            }
        }
        self.wait(want, patience, prefers_writers)
    }

    /// Takes the lock if that is allowed now, with `waited` off the state.
    fn take(&self, want: Want, waited: u64, prefers_writers: bool) -> bool {
        let mut state = self.state.load(Relaxed);
        while want.may_have(state, prefers_writers) {
            // Acquire: pairs with the Releases in `release`.
            let new = state - waited + want.hold;
            match self.state.compare_exchange_weak(state, new, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(seen) => state = seen,
            }
        }
        false
    }

    #[cold]
    fn wait(&self, want: Want, patience: Patience<'_>, prefers_writers: bool) -> c_int {
        // Relaxed: from here on a release finds us in the state.
        self.state.fetch_add(want.wait, Relaxed);
        let (clock, time) = match patience {
            Patience::Until(deadline) => (deadline.clock, Some(&deadline.time)),
            _ => (libc::CLOCK_MONOTONIC, None),
        };
        let has_come = time.is_some_and(|time| time.tv_sec < 0);
        loop {
            if self.take(want, want.wait, prefers_writers) {
                return 0;
            }
            let state = self.state.load(Relaxed);
            if want.may_have(state, prefers_writers) {
                continue;
            }
            // A reader that only waiting writers keep waiting sleeps on the half that says so: the
            // other may look the same when they have had the lock.
            let (half, seen) = match state & WRITER != 0 || want.hold == WRITER {
                true => (low(&raw const self.state), state as u32),
                false => (high(&raw const self.state), (state >> 32) as u32),
            };
            if has_come || os::futex_wait(half, seen, want.bits, clock, time) == Slept::TooLate {
                return self.give_up(want, prefers_writers);
            }
        }
    }

    /// Waits no more, unless the lock can be had.
    fn give_up(&self, want: Want, prefers_writers: bool) -> c_int {
        if self.take(want, want.wait, prefers_writers) {
            return 0;
        }
        // Relaxed: publishes nothing.
        let state = self.state.fetch_sub(want.wait, Relaxed) - want.wait;
        // It may have been woken for a turn that it does not take; and readers may have waited for
        // it alone.
        if state & WRITER == 0 {
            wake(&raw const self.state, state, prefers_writers);
        }
        ETIMEDOUT
    }

    /// Releases the lock, whoever holds it. Not of this era: nobody of this process waits for it.
    fn release(&self, of_this_era: bool) -> c_int {
        let prefers_writers = self.prefers_writers();
        // Relaxed: it is held, so that at most readers change this half.
        let state = self.state.load(Relaxed);
        let hold = match state & HELD {
            // Nobody holds it: a fault of the program's.
            0 => return 0,
            held if held & WRITER != 0 => WRITER,
            _ => READER,
        };
        if hold == WRITER {
            self.writer.store(0, Relaxed);
        }
        let address = &raw const self.state;
        // Release: pairs with the Acquire in `take`. From here on the lock may be gone.
        let state = self.state.fetch_sub(hold, Release) - hold;
        if state & HELD == 0 && state != 0 && of_this_era {
            wake(address, state, prefers_writers);
        }
        0
    }
}

/// The half of a state that says who holds the lock.
const fn low(state: *const AtomicU64) -> *const AtomicU32 {
    state.cast()
}

/// The half that says who waits.
const fn high(state: *const AtomicU64) -> *const AtomicU32 {
    state.cast::<AtomicU32>().wrapping_add(1)
}

/// Wakes those whose turn it is, in a state in which no writer holds the lock.
#[cold]
fn wake(lock: *const AtomicU64, state: u64, prefers_writers: bool) {
    let writers = state & WAITING_WRITERS != 0;
    if state & WAITING_READERS != 0 && !(prefers_writers && writers) {
        os::futex_wake(low(lock), u32::MAX, AS_READER);
        if prefers_writers {
            os::futex_wake(high(lock), u32::MAX, AS_READER);
        }
    } else if writers && state & HELD == 0 {
        os::futex_wake(low(lock), 1, AS_WRITER);
    }
}

/// A function that takes the lock: forwarded, if it is not replaced.
macro_rules! acquire {
    ($($name:ident($($arg:ident: $ty:ty),*) $next:ident, $want:expr, $deadline:expr;)*) => { $(
        #[doc = concat!("`", stringify!($next), "`.")]
        ///
        /// # Safety
        /// As the function itself.
        #[allow(unused_unsafe, reason = "some have no time to read")]
        pub unsafe extern "C-unwind" fn $name(
            l: *mut RwLock,
            $($arg: $ty,)*
            site: usize,
        ) -> c_int {
            // SAFETY: the caller's lock.
            let lock = unsafe { &*l };
            if !lock.is_ours(site) {
                // SAFETY: forwarded.
                return unsafe { next::$next(l.cast() $(, $arg)*) };
            }
            // SAFETY: the caller's time, if there is one.
            let deadline: Option<Deadline> = unsafe { $deadline };
            match &deadline {
                Some(deadline) if !deadline.has_clock() => EINVAL,
                Some(deadline) => lock.acquire($want, Patience::Until(deadline)),
                None => lock.acquire($want, Patience::Endless),
            }
        }
    )* };
}

acquire! {
    rdlock() pthread_rwlock_rdlock, TO_READ, None;
    wrlock() pthread_rwlock_wrlock, TO_WRITE, None;
    timedrdlock(t: *const timespec) pthread_rwlock_timedrdlock, TO_READ, Deadline::given(libc::CLOCK_REALTIME, t);
    timedwrlock(t: *const timespec) pthread_rwlock_timedwrlock, TO_WRITE, Deadline::given(libc::CLOCK_REALTIME, t);
    clockrdlock(c: c_int, t: *const timespec) pthread_rwlock_clockrdlock, TO_READ, Deadline::given(c, t);
    clockwrlock(c: c_int, t: *const timespec) pthread_rwlock_clockwrlock, TO_WRITE, Deadline::given(c, t);
}

/// `pthread_rwlock_tryrdlock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn tryrdlock(l: *mut RwLock, site: usize) -> c_int {
    // SAFETY: the caller's lock.
    let lock = unsafe { &*l };
    if !lock.is_ours(site) {
        // SAFETY: forwarded.
        return unsafe { next::pthread_rwlock_tryrdlock(l.cast()) };
    }
    lock.acquire(TO_READ, Patience::None)
}

/// `pthread_rwlock_trywrlock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn trywrlock(l: *mut RwLock, site: usize) -> c_int {
    // SAFETY: the caller's lock.
    let lock = unsafe { &*l };
    if !lock.is_ours(site) {
        // SAFETY: forwarded.
        return unsafe { next::pthread_rwlock_trywrlock(l.cast()) };
    }
    lock.acquire(TO_WRITE, Patience::None)
}

/// `pthread_rwlock_unlock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn unlock(l: *mut RwLock) -> c_int {
    // SAFETY: the caller's lock.
    let lock = unsafe { &*l };
    let of_this_era = lock.met.load(Relaxed) == era::met(era::glance());
    if !of_this_era && lock.is_forwarded() {
        // SAFETY: forwarded.
        return unsafe { next::pthread_rwlock_unlock(l.cast()) };
    }
    lock.release(of_this_era)
}

unsafe extern "C" {
    fn pthread_rwlockattr_getpshared(attr: *const c_void, pshared: *mut c_int) -> c_int;
    fn pthread_rwlockattr_getkind_np(attr: *const c_void, kind: *mut c_int) -> c_int;
}

/// `pthread_rwlock_init`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn init(l: *mut RwLock, attr: *const c_void, site: usize) -> c_int {
    let (mut pshared, mut kind) = (0, 0);
    if !attr.is_null() {
        // SAFETY: the caller's attributes; each writes one number.
        unsafe {
            pthread_rwlockattr_getpshared(attr, &raw mut pshared);
            pthread_rwlockattr_getkind_np(attr, &raw mut kind);
        }
    }
    if pshared == libc::PTHREAD_PROCESS_SHARED {
        count(Count::SharedRwlocks);
        // SAFETY: forwarded.
        return unsafe { next::pthread_rwlock_init(l.cast(), attr) };
    }
    // SAFETY: the caller's memory, which nobody else uses yet; zeroed, it is a free lock.
    let lock = unsafe {
        l.write_bytes(0, 1);
        &*l
    };
    lock.kind.store(kind.cast_unsigned(), Relaxed);
    if !lock.is_chosen(site) {
        return 0;
    }
    lock.met.store(era::met(era::current()), Relaxed);
    count(Count::Rwlocks);
    0
}

/// `pthread_rwlock_destroy`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn destroy(l: *mut RwLock) -> c_int {
    // SAFETY: the caller's lock.
    if unsafe { &*l }.is_forwarded() {
        // SAFETY: forwarded.
        return unsafe { next::pthread_rwlock_destroy(l.cast()) };
    }
    0
}

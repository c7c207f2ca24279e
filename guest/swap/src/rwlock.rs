//! Reader-writer locks, in the C library's 56 bytes. They run on one lock whichever is chosen for
//! mutexes: an exclusive lock would keep readers from each other.
//!
//! ```text
//!    0  the lock, 8 bytes (`lockwright::preference_rwlock`)
//!    8  nothing
//!   12  the mark of a lock that has been met in this era
//!   16  nothing of ours: a tool that watches locks notes there which one this is
//!   24  the thread id of the writer, 0: none
//!   28  not 0: shared with other processes, and the C library's
//!   36  where patterns choose the locks that are replaced: whether this one is
//!   40  nothing of ours, as above
//!   48  2: writers go first; else readers do, and a thread may read again while a writer waits
//! ```

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, ETIMEDOUT, timespec};
use lockwright::preference_rwlock::{Mode, Preference, RawPreferenceRwLock, Refused};

use crate::bad_unlock::write_as_found;
use crate::counts::{Count, count};
use crate::deadline::Deadline;
use crate::platform::Futexes;
use crate::{era, next, os, selection};

/// A reader-writer lock in the program's memory.
#[repr(C)]
pub struct RwLock {
    lock: RawPreferenceRwLock<Futexes>,
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

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`.
const PREFERS_WRITERS: u32 = 2;

/// A pattern chooses the lock: it is replaced.
const CHOSEN: u32 = 1;
/// None does: it stays the C library's.
const LEFT: u32 = 2;

/// How long a thread waits.
#[derive(Clone, Copy)]
enum Patience<'a> {
    Endless,
    None,
    Until(&'a Deadline),
}

impl RwLock {
    fn preference(&self) -> Preference {
        match self.kind.load(Relaxed) {
            PREFERS_WRITERS => Preference::Writers,
            _ => Preference::Readers,
        }
    }

    /// Whether the lock is replaced; then it is marked.
    #[inline(always)]
    fn is_ours(&self, site: usize) -> bool {
        let era = era::current();
        self.met.load(Relaxed) == era::met(era) || self.mark_slow(era, site)
    }

    /// Whether it is the C library's.
    fn is_forwarded(&self) -> bool {
        self.shared.load(Relaxed) != 0 || self.choice.load(Relaxed) == LEFT
    }

    /// Marks the lock, if it is replaced. If it was marked before a fork, its marks of waiting
    /// threads are another process's.
    #[cold]
    fn mark_slow(&self, era: u32, site: usize) -> bool {
        if self.is_forwarded() || !self.is_chosen(site) {
            return false;
        }
        let mark = era::met(era);
        let seen = self.met.load(Relaxed);
        // Nobody of this era waits before the lock is marked.
        let dead = self.lock.waiters();
        if seen == mark || self.met.compare_exchange(seen, mark, Relaxed, Relaxed).is_err() {
            return true;
        }
        if era::is_mark(seen) {
            self.lock.forget(dead);
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
        // If several threads come here first, one decides for all.
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
    fn acquire(&self, mode: Mode, patience: Patience<'_>) -> c_int {
        let me = era::thread();
        let is_writer = self.writer.load(Relaxed) == me;
        let preference = self.preference();
        let taken = match patience {
            Patience::None if is_writer => return EBUSY,
            _ if is_writer => return EDEADLK,
            Patience::None => self.lock.try_lock(mode, preference),
            Patience::Endless => self.lock.lock(mode, preference, None),
            Patience::Until(deadline) => self.lock.lock(mode, preference, Some(deadline)),
        };
        match taken {
            Err(Refused::Held) => EBUSY,
            Err(Refused::TooMany) => EAGAIN,
            Err(Refused::TooLate) => ETIMEDOUT,
            Ok(()) => {
                if mode == Mode::Write {
                    self.writer.store(me, Relaxed);
                }
                0
            }
        }
    }

    /// Releases the lock, whichever thread holds it. Not of this era: nobody of this process waits
    /// for it.
    fn release(&self, of_this_era: bool) -> c_int {
        let Some(mode) = self.lock.holder() else {
            // A fault of the program's.
            write_as_found(&self.writer);
            return 0;
        };
        if mode == Mode::Write {
            self.writer.store(0, Relaxed);
        }
        // SAFETY: it is held so, and the releaser acts for the holder. From here on
        // the lock may be gone.
        unsafe {
            if of_this_era {
                self.lock.unlock(mode, self.preference());
            } else {
                self.lock.unlock_inherited(mode);
            }
        }
        0
    }
}

/// Takes the lock so by the deadline. None: it is the C library's.
///
/// # Safety
/// `l` points to a reader-writer lock.
pub unsafe fn lock_until(
    l: *mut RwLock,
    mode: Mode,
    deadline: &Deadline,
    site: usize,
) -> Option<c_int> {
    // As the C library, before a look at the lock.
    if !deadline.has_clock() || !deadline.is_valid() {
        return Some(EINVAL);
    }
    // SAFETY: `l` points to the caller's lock, which stays for this call; only its atomics are
    // used.
    let lock = unsafe { &*l };
    lock.is_ours(site).then(|| lock.acquire(mode, Patience::Until(deadline)))
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
            // SAFETY: the program's call names the time, or none.
            let deadline: Option<Deadline> = unsafe { $deadline };
            // As the C library, before a look at the lock.
            if deadline.as_ref().is_some_and(|time| !time.has_clock() || !time.is_valid()) {
                return EINVAL;
            }
            // SAFETY: `l` points to the caller's lock, which stays for this call; only its atomics
            // are used.
            let lock = unsafe { &*l };
            if !lock.is_ours(site) {
                // SAFETY: the next function gets the program's own arguments unchanged, as without
                // us.
                return unsafe { next::$next(l.cast() $(, $arg)*) };
            }
            match &deadline {
                Some(deadline) => lock.acquire($want, Patience::Until(deadline)),
                None => lock.acquire($want, Patience::Endless),
            }
        }
    )* };
}

acquire! {
    rdlock() pthread_rwlock_rdlock, Mode::Read, None;
    wrlock() pthread_rwlock_wrlock, Mode::Write, None;
    timedrdlock(t: *const timespec) pthread_rwlock_timedrdlock, Mode::Read, Deadline::given(libc::CLOCK_REALTIME, t);
    timedwrlock(t: *const timespec) pthread_rwlock_timedwrlock, Mode::Write, Deadline::given(libc::CLOCK_REALTIME, t);
    clockrdlock(c: c_int, t: *const timespec) pthread_rwlock_clockrdlock, Mode::Read, Deadline::given(c, t);
    clockwrlock(c: c_int, t: *const timespec) pthread_rwlock_clockwrlock, Mode::Write, Deadline::given(c, t);
}

/// `pthread_rwlock_tryrdlock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn tryrdlock(l: *mut RwLock, site: usize) -> c_int {
    // SAFETY: `l` points to the caller's lock, which stays for this call; only its atomics are
    // used.
    let lock = unsafe { &*l };
    if !lock.is_ours(site) {
        // SAFETY: the next `pthread_rwlock_tryrdlock` gets the program's own arguments unchanged,
        // as without us.
        return unsafe { next::pthread_rwlock_tryrdlock(l.cast()) };
    }
    lock.acquire(Mode::Read, Patience::None)
}

/// `pthread_rwlock_trywrlock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn trywrlock(l: *mut RwLock, site: usize) -> c_int {
    // SAFETY: `l` points to the caller's lock, which stays for this call; only its atomics are
    // used.
    let lock = unsafe { &*l };
    if !lock.is_ours(site) {
        // SAFETY: the next `pthread_rwlock_trywrlock` gets the program's own arguments unchanged,
        // as without us.
        return unsafe { next::pthread_rwlock_trywrlock(l.cast()) };
    }
    lock.acquire(Mode::Write, Patience::None)
}

/// `pthread_rwlock_unlock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn unlock(l: *mut RwLock) -> c_int {
    // SAFETY: `l` points to the caller's lock, which stays for this call; only its atomics are
    // used.
    let lock = unsafe { &*l };
    let of_this_era = lock.met.load(Relaxed) == era::met(era::glance());
    if !of_this_era && lock.is_forwarded() {
        // SAFETY: the next `pthread_rwlock_unlock` gets the program's own arguments unchanged, as
        // without us.
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
        // SAFETY: the next `pthread_rwlock_init` gets the program's own arguments unchanged, as
        // without us.
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
    // The C library does not look.
    // SAFETY: `can_read` found memory at `l`, which is the program's own lock.
    if os::can_read(l) && unsafe { &*l }.is_forwarded() {
        // SAFETY: the next `pthread_rwlock_destroy` gets the program's own arguments unchanged, as
        // without us.
        return unsafe { next::pthread_rwlock_destroy(l.cast()) };
    }
    0
}

//! The functions that take and release locks, for processes in which threads can be cancelled
//! asynchronously: at any instruction, also while they are in a lock's queue.
//!
//! Such a thread defers its cancellation for as long as it is in a lock. It waits in slices, and can
//! be cancelled between two of them, when it is in no queue. A thread that is cancelled while it takes
//! a lock does not keep the lock: where the C library's thread dies waiting, ours releases first.
//! Other threads of the process take and release as ever.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU32;

use libc::{ETIMEDOUT, timespec};
use lockwright::preference_rwlock::Mode;

use crate::cancel;
use crate::deadline::Deadline;
use crate::mutex::{self, Mutex};
use crate::rwlock::{self, RwLock};
use crate::spin;
use crate::table::Choice;

/// How long a thread waits at most until it notices that it was cancelled: 10 ms. It is short for a
/// person, and long compared with leaving a queue and joining it again.
const SLICE: i64 = 10_000_000;

/// A lock that the thread takes, and how to release it.
struct Taken<T> {
    object: *mut T,
    release: unsafe extern "C-unwind" fn(*mut T) -> c_int,
}

impl<T> Taken<T> {
    /// Ends the deferral after an attempt with this outcome, which it returns.
    fn finish(&self, error: c_int) -> c_int {
        /// Releases the lock of a thread that was cancelled before it could know that it has it.
        ///
        /// # Safety
        /// `taken` points to a live `Taken<T>`, whose lock the calling thread has.
        unsafe extern "C" fn give_back<T>(taken: *mut c_void) {
            // SAFETY: `finish` passes itself, and the thread has the lock.
            unsafe {
                let taken = &*taken.cast::<Taken<T>>();
                (taken.release)(taken.object);
            }
        }
        if error == 0 {
            // SAFETY: this record outlives the call, and the thread has its lock.
            unsafe {
                cancel::resume_or(give_back::<T>, core::ptr::from_ref(self).cast_mut().cast())
            };
        } else {
            cancel::resume();
        }
        error
    }

    /// Takes the lock by `limit`, if there is one, with `attempt`. None: it is the C library's.
    fn take(
        &self,
        limit: Option<Deadline>,
        attempt: impl Fn(Deadline) -> Option<c_int>,
    ) -> Option<c_int> {
        loop {
            // An invalid limit is the attempt's to refuse.
            let is_near = |limit: &Deadline| {
                !limit.has_clock() || !limit.is_valid() || limit.comes_within(SLICE.unsigned_abs())
            };
            let last = limit.filter(is_near);
            match attempt(last.unwrap_or_else(|| Deadline::after(SLICE))) {
                Some(ETIMEDOUT) if last.is_none() => {
                    cancel::resume();
                    cancel::defer();
                }
                Some(error) => return Some(self.finish(error)),
                None => {
                    cancel::resume();
                    return None;
                }
            }
        }
    }
}

/// Functions that wait for a lock: as they are for other threads, until when they wait, what to try
/// in a slice, and how to release the lock.
macro_rules! waiting {
    ($($name:ident($object:ident: *mut $of:ty $(, $arg:ident: $ty:ty)*):
        $plain:path, $limit:expr, $attempt:expr, $release:path;)*) => { $(
        #[doc = concat!("`pthread_", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As the function itself.
        pub unsafe extern "C-unwind" fn $name<L: Choice>(
            $object: *mut $of
            $(, $arg: $ty)*
        ) -> c_int {
            if cancel::defer() {
                let taken = Taken { object: $object, release: $release };
                #[allow(unused_unsafe, reason = "some have no time to read")]
                // SAFETY: the program's call names the time, or none.
                let limit: Option<Deadline> = unsafe { $limit };
                if let Some(error) = taken.take(limit, $attempt) {
                    return error;
                }
            }
            // SAFETY: the caller promises the contract of the function itself, and `$plain` gets
            // its arguments unchanged.
            unsafe { $plain($object $(, $arg)*) }
        }
    )* };
}

/// Functions that try to take a lock.
macro_rules! trying {
    ($($name:ident($object:ident: *mut $of:ty $(, $arg:ident: $ty:ty)*): $plain:path, $release:path;)*) => { $(
        #[doc = concat!("`pthread_", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As the function itself.
        pub unsafe extern "C-unwind" fn $name<L: Choice>(
            $object: *mut $of
            $(, $arg: $ty)*
        ) -> c_int {
            let is_deferred = cancel::defer();
            // SAFETY: the caller promises the contract of the function itself, and `$plain` gets
            // its arguments unchanged.
            let error = unsafe { $plain($object $(, $arg)*) };
            if is_deferred {
                return Taken { object: $object, release: $release }.finish(error);
            }
            error
        }
    )* };
}

/// Functions that are over soon, and that a cancelled thread completes; also waits that a thread can
/// be cancelled in anyway.
macro_rules! completed {
    ($($(#[$attribute:meta])* $name:ident $(<$l:ident>)? ($($arg:ident: $ty:ty),*): $plain:path;)*) => { $(
        #[doc = concat!("`pthread_", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As the function itself.
        pub unsafe extern "C-unwind" fn $name $(<$l: $crate::table::Choice>)? ($($arg: $ty),*) -> core::ffi::c_int {
            let is_deferred = $crate::cancel::defer();
            // SAFETY: the caller promises the contract of the function itself, and `$plain` gets
            // its arguments unchanged.
            let error = unsafe { $plain($($arg),*) };
            if is_deferred {
                $crate::cancel::resume();
            }
            error
        }
    )* };
}
pub(crate) use completed;

/// The attempt to take a mutex.
fn mutex_attempt<L: Choice>(m: *mut Mutex, site: usize) -> impl Fn(Deadline) -> Option<c_int> {
    // SAFETY: `m` is the mutex of the program's own call, which stays until that returns.
    move |until| unsafe { mutex::lock_until::<L::Mutex>(m, Some(until), site) }
}

/// The attempt to take a reader-writer lock.
fn rwlock_attempt(l: *mut RwLock, mode: Mode, site: usize) -> impl Fn(Deadline) -> Option<c_int> {
    // SAFETY: `l` is the lock of the program's own call, which stays until that returns.
    move |until| unsafe { rwlock::lock_until(l, mode, &until, site) }
}

/// The attempt to take a spinlock.
fn spin_attempt<L: Choice>(s: *mut AtomicU32) -> impl Fn(Deadline) -> Option<c_int> {
    move |until| {
        // SAFETY: `s` is the lock of the program's own call, which stays until that returns.
        let attempt = |at| unsafe { spin::lock_until::<L::Spin>(s, at) };
        let mut found = None;
        until.attempt(|at| {
            found = attempt(at);
            found != Some(false)
        });
        found.map(|is_taken| if is_taken { 0 } else { ETIMEDOUT })
    }
}

waiting! {
    mutex_lock(m: *mut Mutex, site: usize):
        mutex::lock::<L::Mutex>, None, mutex_attempt::<L>(m, site), mutex::unlock::<L::Mutex>;
    mutex_timedlock(m: *mut Mutex, t: *const timespec, site: usize):
        mutex::timedlock::<L::Mutex>, Deadline::given(libc::CLOCK_REALTIME, t), mutex_attempt::<L>(m, site), mutex::unlock::<L::Mutex>;
    mutex_clocklock(m: *mut Mutex, c: c_int, t: *const timespec, site: usize):
        mutex::clocklock::<L::Mutex>, Deadline::given(c, t), mutex_attempt::<L>(m, site), mutex::unlock::<L::Mutex>;
    rwlock_rdlock(l: *mut RwLock, site: usize):
        rwlock::rdlock, None, rwlock_attempt(l, Mode::Read, site), rwlock::unlock;
    rwlock_wrlock(l: *mut RwLock, site: usize):
        rwlock::wrlock, None, rwlock_attempt(l, Mode::Write, site), rwlock::unlock;
    rwlock_timedrdlock(l: *mut RwLock, t: *const timespec, site: usize):
        rwlock::timedrdlock, Deadline::given(libc::CLOCK_REALTIME, t), rwlock_attempt(l, Mode::Read, site), rwlock::unlock;
    rwlock_timedwrlock(l: *mut RwLock, t: *const timespec, site: usize):
        rwlock::timedwrlock, Deadline::given(libc::CLOCK_REALTIME, t), rwlock_attempt(l, Mode::Write, site), rwlock::unlock;
    rwlock_clockrdlock(l: *mut RwLock, c: c_int, t: *const timespec, site: usize):
        rwlock::clockrdlock, Deadline::given(c, t), rwlock_attempt(l, Mode::Read, site), rwlock::unlock;
    rwlock_clockwrlock(l: *mut RwLock, c: c_int, t: *const timespec, site: usize):
        rwlock::clockwrlock, Deadline::given(c, t), rwlock_attempt(l, Mode::Write, site), rwlock::unlock;
    spin_lock(s: *mut AtomicU32):
        spin::lock::<L::Spin>, None, spin_attempt::<L>(s), spin::unlock::<L::Spin>;
}

trying! {
    mutex_trylock(m: *mut Mutex, site: usize): mutex::trylock::<L::Mutex>, mutex::unlock::<L::Mutex>;
    rwlock_tryrdlock(l: *mut RwLock, site: usize): rwlock::tryrdlock, rwlock::unlock;
    rwlock_trywrlock(l: *mut RwLock, site: usize): rwlock::trywrlock, rwlock::unlock;
    spin_trylock(s: *mut AtomicU32): spin::trylock::<L::Spin>, spin::unlock::<L::Spin>;
}

completed! {
    mutex_unlock<L>(m: *mut Mutex): mutex::unlock::<L::Mutex>;
    rwlock_unlock<L>(l: *mut RwLock): rwlock::unlock;
    spin_unlock<L>(s: *mut AtomicU32): spin::unlock::<L::Spin>;
}

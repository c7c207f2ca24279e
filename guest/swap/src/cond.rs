//! Condition variables, in the C library's 48 bytes: a queue of those who wait, in the order in
//! which they came, each with a record on its own stack.
//!
//! ```text
//!    0  the lock of the queue
//!    4  the mark of a condition variable that has been met in this era
//!    8  the first waiter
//!   16  the last
//!   24  the words of which the C library has one for its flags: that at 36, or since 2.41 that at
//!       28 (`layout`). 1: shared with other processes, and the C library's; 2: waits are by
//!       CLOCK_MONOTONIC; 4: destroyed
//! ```
//!
//! A waiter joins the queue before it releases the mutex. So a signal wakes an earlier waiter,
//! never a later one. A signal or broadcast takes the waiters off the queue under its lock and
//! wakes them after it has released the lock. After that, a woken thread touches
//! only its own record, and the waker only the waiters' records. So the object can be destroyed as
//! soon as every waiter was woken, also by one of them.
//!
//! A waiter that gives up (its deadline has come, or it is cancelled) marks its record first, and
//! takes itself off the queue. A later signal passes it by. An earlier one is its own: then it was
//! signalled in time, or, if cancelled, it passes the signal on.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

use libc::{EINVAL, EOWNERDEAD, ETIMEDOUT, timespec};
use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright_glibc::table::cond;
use lockwright_glibc::table::wrefs::{DESTROYED, MONOTONIC, SHARED};

use crate::counts::{Count, count};
use crate::deadline::Deadline;
use crate::exclusive::Exclusive;
use crate::lock_choice::{self, NO_SITE};
use crate::mutex::Mutex;
use crate::os::{self, Slept};
use crate::platform::{Guest, Plain};
use crate::{cancel, era, layout, next};

/// A condition variable in the program's memory.
#[repr(C)]
pub struct Cond {
    lock: AtomicU32,
    met: AtomicU32,
    /// Also looked at without the lock.
    first: AtomicPtr<Waiter>,
    last: Cell<*const Waiter>,
    /// One of them: [`Cond::flags`].
    words: [AtomicU32; layout::WORDS],
}

const _: () = assert!(size_of::<Cond>() == cond::OBJECT.size);
const _: () = assert!(offset_of!(Cond, words) == layout::FIRST);

/// A waiter. The queue's lock guards its links; once it is `CLAIMED`, they belong to the claimer.
struct Waiter {
    next: Cell<*const Waiter>,
    prev: Cell<*const Waiter>,
    state: AtomicU32,
    cond: *const Cond,
    mutex: *mut Mutex,
    /// It remains a user of the mutex while it waits.
    is_user: bool,
    deadline: Option<Deadline>,
    timed_out: Cell<bool>,
}

/// It waits, in the queue.
const WAITING: u32 = 0;
/// It gives up, and will take itself off the queue.
const LEAVING: u32 = 1;
/// It has been taken off the queue, and will be woken.
const CLAIMED: u32 = 2;
/// It has been signalled.
const SIGNALLED: u32 = 3;
/// It was there when all were woken.
const BROADCAST: u32 = 4;

/// The lock of the queue.
type Lock = RawHybridMutex<Guest<Plain>>;

impl Cond {
    /// The content of such a word, the C library's and ours: bits of [`wrefs`].
    #[inline]
    fn flags(&self) -> &AtomicU32 {
        // The place is below the number of words.
        self.words.get(layout::flags_word()).unwrap_or(&self.words[0])
    }

    /// Whether it is the C library's. If it is not, it has been marked after this.
    #[inline(always)]
    fn is_forwarded(&self) -> bool {
        let era = era::current();
        if self.met.load(Relaxed) == era::met(era) {
            return false;
        }
        self.flags().load(Relaxed) & SHARED != 0 || {
            self.mark_slow(era);
            false
        }
    }

    /// Marks it. Waiters from before a fork are threads of another process.
    #[cold]
    fn mark_slow(&self, era: u32) {
        let mark = era::met(era);
        era::alone(|| {
            let seen = self.met.load(Relaxed);
            if seen == mark {
                return;
            }
            if era::is_mark(seen) {
                self.lock.store(0, Relaxed);
                self.first.store(ptr::null_mut(), Relaxed);
                self.last.set(ptr::null());
            } else {
                count(Count::Conditions);
            }
            self.met.store(mark, Relaxed);
        });
    }

    /// Calls `f` with the queue locked. The object may be gone once it is unlocked.
    fn locked<T>(this: *const Self, f: impl FnOnce(&Self) -> T) -> T {
        // SAFETY: the object is there until its queue is unlocked; the word is such a lock.
        unsafe {
            let lock = &raw const (*this).lock;
            <Lock as Exclusive>::lock(lock);
            let result = f(&*this);
            <Lock as Exclusive>::unlock(lock);
            result
        }
    }

    /// Appends a waiter.
    fn push(&self, waiter: &Waiter) {
        let last = self.last.replace(waiter);
        waiter.prev.set(last);
        waiter.next.set(ptr::null());
        // SAFETY: a waiter leaves the queue before its record's life ends, and this one is in the
        // queue.
        match unsafe { last.as_ref() } {
            Some(last) => last.next.set(waiter),
            None => self.first.store(ptr::from_ref(waiter).cast_mut(), Relaxed),
        }
    }

    /// Takes a waiter off.
    fn remove(&self, waiter: &Waiter) {
        let (next, prev) = (waiter.next.get(), waiter.prev.get());
        // SAFETY: a waiter leaves the queue before its record's life ends, and this one is in the
        // queue.
        match unsafe { prev.as_ref() } {
            Some(prev) => prev.next.set(next),
            None => self.first.store(next.cast_mut(), Relaxed),
        }
        // SAFETY: a waiter leaves the queue before its record's life ends, so a neighbour's record
        // is alive.
        match unsafe { next.as_ref() } {
            Some(next) => next.prev.set(prev),
            None => self.last.set(prev),
        }
    }

    /// Takes up to `most` waiters off that do not give up. They wait until they are woken; the
    /// first of them leads to the others.
    fn claim(&self, most: usize) -> *const Waiter {
        let (mut claimed, mut end) = (ptr::null(), ptr::null::<Waiter>());
        let mut left = most;
        let mut at = self.first.load(Relaxed).cast_const();
        // SAFETY: a waiter in the queue is alive, and a claimed one stays until it is woken.
        while let Some(waiter) = unsafe { at.as_ref() } {
            at = waiter.next.get();
            // Acquire and Relaxed: all that is read of it is under the lock.
            if waiter.state.compare_exchange(WAITING, CLAIMED, Acquire, Relaxed).is_err() {
                continue;
            }
            self.remove(waiter);
            waiter.next.set(ptr::null());
            // SAFETY: `end` is null or the waiter claimed last, and a claimed one stays until it is
            // woken.
            match unsafe { end.as_ref() } {
                Some(end) => end.next.set(waiter),
                None => claimed = waiter,
            }
            end = waiter;
            left -= 1;
            if left == 0 {
                break;
            }
        }
        claimed
    }

    /// Wakes up to `most`, in the order in which they came.
    fn wake(this: *const Self, most: usize, state: u32) {
        // SAFETY: the object lives until every waiter is woken. Relaxed: an earlier waiter joined
        // the queue before it released the mutex, so a thread that can know about it sees it here.
        if unsafe { &*this }.first.load(Relaxed).is_null() {
            return;
        }
        let mut at = Self::locked(this, |cond| cond.claim(most));
        while !at.is_null() {
            // SAFETY: claimed above, so it is there until it is woken.
            let (next, word) = unsafe { ((*at).next.get(), &raw const (*at).state) };
            // SAFETY: the waiter was claimed above. Release: pairs with the Acquire in `sleep`.
            // From here on it may be gone.
            unsafe { (*word).store(state, Release) };
            os::futex_wake(word, 1, os::ANY);
            at = next;
        }
    }
}

impl Waiter {
    /// Whether it has been told.
    fn is_told(&self) -> bool {
        // Acquire: pairs with the Release in `wake`.
        self.state.load(Acquire) >= SIGNALLED
    }

    /// Gives up. False: it has been claimed.
    fn leave(&self) -> bool {
        if self.state.compare_exchange(WAITING, LEAVING, Relaxed, Relaxed).is_err() {
            return false;
        }
        // The thread that destroys the object waits until the queue is empty.
        Cond::locked(self.cond, |cond| cond.remove(self));
        true
    }

    /// Waits for the wake-up of a claimed waiter.
    fn await_told(&self) {
        while !self.is_told() {
            os::futex_wait(&raw const self.state, CLAIMED, os::ANY, libc::CLOCK_MONOTONIC, None);
        }
    }

    /// Takes the mutex again that it held.
    fn relock(&self) -> c_int {
        // SAFETY: `self.mutex` is the mutex of the program's own wait, which stays until that
        // returns.
        let error = unsafe { lock_choice::mutex_lock(self.mutex, NO_SITE) };
        if self.is_user && matches!(error, 0 | EOWNERDEAD) {
            // SAFETY: `self.mutex` is the mutex of the program's own wait, which stays until that
            // returns.
            unsafe { &*self.mutex }.end_user();
        }
        error
    }

    /// Waits for a wake-up, or for its deadline.
    fn sleep(&self) {
        let (clock, time) = match &self.deadline {
            Some(deadline) => (deadline.clock, Some(&deadline.time)),
            None => (libc::CLOCK_MONOTONIC, None),
        };
        let has_come = self.deadline.as_ref().is_some_and(Deadline::is_negative);
        while !self.is_told() {
            let slept = cancel::cancellable(|| match has_come {
                true => Slept::TooLate,
                false => os::futex_wait(&raw const self.state, WAITING, os::ANY, clock, time),
            });
            match slept {
                Slept::TooLate if self.leave() => {
                    self.timed_out.set(true);
                    return;
                }
                Slept::TooLate | Slept::Changed => return self.await_told(),
                Slept::Woken => {}
            }
        }
    }
}

/// [`Waiter::sleep`] as [`cancel::guarded`] wants it.
///
/// # Safety
/// `waiter` points to the `Waiter` in the frame of `wait`, which waits for this.
unsafe extern "C" fn sleep(waiter: *mut c_void) {
    // SAFETY: `wait` passes its own record, which stays in its frame until the sleep is over.
    unsafe { &*waiter.cast::<Waiter>() }.sleep();
}

/// The cleanup of a cancelled waiter: it leaves nothing in the queue, its signal to another, the
/// mutex held.
///
/// # Safety
/// `waiter` points to the `Waiter` in the frame of `wait`, which is not yet unwound.
unsafe extern "C" fn cancelled(waiter: *mut c_void) {
    // SAFETY: the record lies in a frame that the unwinder has yet to come to.
    let waiter = unsafe { &*waiter.cast::<Waiter>() };
    if !waiter.leave() {
        waiter.await_told();
        // A waiter woken by a broadcast has nothing to pass on, and the object may be gone.
        if waiter.state.load(Relaxed) == SIGNALLED {
            Cond::wake(waiter.cond, 1, SIGNALLED);
        }
    }
    waiter.relock();
}

/// Waits.
///
/// # Safety
/// `c` and `m` point to the caller's objects, which are both ours and stay for this call.
unsafe fn wait(c: *const Cond, m: *mut Mutex, deadline: Option<Deadline>) -> c_int {
    let waiter = Waiter {
        next: Cell::new(ptr::null()),
        prev: Cell::new(ptr::null()),
        state: AtomicU32::new(WAITING),
        cond: c,
        mutex: m,
        // SAFETY: `m` is the mutex of the program's own wait, which stays until that returns.
        is_user: unsafe { (*m).keep_user() },
        deadline,
        timed_out: Cell::new(false),
    };
    Cond::locked(c, |cond| cond.push(&waiter));
    // SAFETY: `m` is the mutex of the program's own wait, which stays until that returns.
    let error = unsafe { lock_choice::mutex_unlock(m) };
    if error != 0 {
        // It is not the owner's, so nobody has become its user.
        if !waiter.leave() {
            waiter.await_told();
            Cond::wake(c, 1, SIGNALLED);
        }
        return error;
    }
    let argument = (&raw const waiter).cast_mut().cast();
    // SAFETY: the record outlives the call; `sleep` has nothing to drop.
    unsafe { cancel::guarded(sleep, argument, cancelled) };
    match waiter.relock() {
        0 if waiter.timed_out.get() => ETIMEDOUT,
        error => error,
    }
}

/// A wait on an object that is the C library's. Its functions must not see a mutex that is not.
///
/// # Safety
/// `m` points to the caller's mutex; `wait` may be called if that is the C library's.
unsafe fn forward(m: *mut Mutex, wait: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: `m` is the mutex of the program's own wait, and it is made of atomics.
    if unsafe { &*m }.is_replaced() { EINVAL } else { wait() }
}

/// `pthread_cond_wait`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn wait_endless(c: *mut Cond, m: *mut Mutex) -> c_int {
    // SAFETY: `c` and `m` are the program's own objects; the C library's function gets them if `c`
    // is not ours.
    unsafe {
        if (*c).is_forwarded() {
            return forward(m, || next::pthread_cond_wait(c.cast(), m.cast()));
        }
        wait(c, m, None)
    }
}

/// `pthread_cond_timedwait`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn timedwait(
    c: *mut Cond,
    m: *mut Mutex,
    time: *const timespec,
) -> c_int {
    // SAFETY: `time` is the deadline of the program's own call, as `Deadline::new` asks.
    let deadline = unsafe { Deadline::new(libc::CLOCK_REALTIME, time) };
    // As the C library, before a look at the objects.
    if !deadline.is_valid() {
        return EINVAL;
    }
    // SAFETY: `c` and `m` are the program's own objects; the C library's function gets them if `c`
    // is not ours.
    unsafe {
        if (*c).is_forwarded() {
            return forward(m, || next::pthread_cond_timedwait(c.cast(), m.cast(), time));
        }
        let is_monotonic = (*c).flags().load(Relaxed) & MONOTONIC != 0;
        let clock = if is_monotonic { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME };
        wait(c, m, Some(Deadline { clock, ..deadline }))
    }
}

/// `pthread_cond_clockwait`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn clockwait(
    c: *mut Cond,
    m: *mut Mutex,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: `time` is the deadline of the program's own call, as `Deadline::new` asks.
    let deadline = unsafe { Deadline::new(clock, time) };
    // As the C library, before a look at the objects.
    if !deadline.is_valid() || !deadline.has_clock() {
        return EINVAL;
    }
    // SAFETY: `c` and `m` are the program's own objects; the C library's function gets them if `c`
    // is not ours.
    unsafe {
        if (*c).is_forwarded() {
            return forward(m, || next::pthread_cond_clockwait(c.cast(), m.cast(), clock, time));
        }
        wait(c, m, Some(deadline))
    }
}

/// `pthread_cond_signal`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn signal(c: *mut Cond) -> c_int {
    // SAFETY: `c` is the program's own condition variable, which says itself whether it is
    // forwarded.
    if unsafe { (*c).is_forwarded() } {
        // SAFETY: the next `pthread_cond_signal` gets the program's own arguments unchanged, as
        // without us.
        return unsafe { next::pthread_cond_signal(c.cast()) };
    }
    Cond::wake(c, 1, SIGNALLED);
    0
}

/// `pthread_cond_broadcast`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn broadcast(c: *mut Cond) -> c_int {
    // SAFETY: `c` is the program's own condition variable, which says itself whether it is
    // forwarded.
    if unsafe { (*c).is_forwarded() } {
        // SAFETY: the next `pthread_cond_broadcast` gets the program's own arguments unchanged, as
        // without us.
        return unsafe { next::pthread_cond_broadcast(c.cast()) };
    }
    Cond::wake(c, usize::MAX, BROADCAST);
    0
}

unsafe extern "C" {
    fn pthread_condattr_getpshared(attr: *const c_void, pshared: *mut c_int) -> c_int;
    fn pthread_condattr_getclock(attr: *const c_void, clock: *mut c_int) -> c_int;
}

/// Makes one that waits by the clock.
///
/// # Safety
/// `c` points to memory of that size that nobody else uses.
pub unsafe fn make(c: *mut Cond, clock: c_int) {
    // SAFETY: the caller promises memory of that size that nobody else uses; zeroed, nobody waits.
    let cond = unsafe {
        c.write_bytes(0, 1);
        &*c
    };
    let flags = if clock == libc::CLOCK_MONOTONIC { MONOTONIC } else { 0 };
    // Relaxed: the program orders this with other threads' use when it shares the object.
    cond.flags().store(flags, Relaxed);
    cond.met.store(era::met(era::current()), Relaxed);
    count(Count::Conditions);
}

/// `pthread_cond_init`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn init(c: *mut Cond, attr: *const c_void) -> c_int {
    let (mut pshared, mut clock) = (0, libc::CLOCK_REALTIME);
    if !attr.is_null() {
        // SAFETY: the caller's attributes; each writes one number.
        unsafe {
            pthread_condattr_getpshared(attr, &raw mut pshared);
            pthread_condattr_getclock(attr, &raw mut clock);
        }
    }
    if pshared == libc::PTHREAD_PROCESS_SHARED {
        count(Count::SharedConditions);
        // SAFETY: the next `pthread_cond_init` gets the program's own arguments unchanged, as
        // without us.
        return unsafe { next::pthread_cond_init(c.cast(), attr) };
    }
    // SAFETY: `c` is the memory that the program initialises, which nobody else uses yet.
    unsafe { make(c, clock) };
    0
}

/// `pthread_cond_destroy`: waits for those who have been woken, or have given up, to be off the
/// queue.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn destroy(c: *mut Cond) -> c_int {
    // SAFETY: `c` is the program's own condition variable; the C library's function gets it if it
    // is not ours.
    unsafe {
        if (*c).is_forwarded() {
            return next::pthread_cond_destroy(c.cast());
        }
        while !Cond::locked(c, |cond| cond.first.load(Relaxed).is_null()) {
            os::sched_yield();
        }
        (*c).met.store(0, Relaxed);
        (*c).flags().fetch_or(DESTROYED, Relaxed);
    }
    0
}

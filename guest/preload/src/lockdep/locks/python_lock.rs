//! CPython's `_thread.lock`, which threading's locks are: since 3.13.1 a byte of its own that waiters park at. It begins free,
//! and any thread may release it: a semaphore that begins at 1, as it was before, and is a lock until it shows that it is none
//! ([`super::semaphore`]).

use core::ffi::c_int;

use lockwright_engines::lockdep::{Acquire, Core, Ident, ThreadState};
use lockwright_ledger::rows::event;
use lockwright_ledger::rows::meter::blocking_call;

use super::no_lock::{
    BLOCKING, about_to_post, hand_over, posted_by_other, wait_for_event, wait_for_post,
};
use crate::lock_id::by_address::{PythonLock, PythonRecursiveLock};
use crate::lock_id::identity;
use crate::lock_id::python_calls::{self, Call};
use crate::lock_id::unstamped;
use crate::lockdep::watch;
use crate::lockdep::{cond, handed_on, handovers, left_held, release};
use crate::recorder::measured::{Short, measured_short};
use crate::recorder::state;

/// The lock has been made.
pub fn begins(lock: *const PythonLock) {
    if state::status() != state::ACTIVE {
        return;
    }
    measured_short(|| {
        handovers::semaphore_begins(lock as u64, Some(1));
        cond::forget_kept(lock as u64);
        // SAFETY: CPython's own new lock, which nobody has used yet; it is known by its address.
        unsafe { identity::begin_unless(lock, Core::takes_for_none) };
    });
}

/// The recursive lock has been made.
pub fn recursive_begins(lock: *const PythonRecursiveLock) {
    if state::status() == state::ACTIVE {
        // SAFETY: CPython's own new lock; it is known by its address.
        measured_short(|| unsafe { identity::begin(lock) });
    }
}

/// The lock's life ends.
pub fn ends(lock: *const PythonLock) {
    if identity::is_known_by_address(lock as u64) {
        give_up(lock);
    }
}

/// The lock is free again, in a forked child: the thread that forked may have had it, or any other.
pub fn is_free_in_child(lock: *const PythonLock) {
    if watch::thread().is_some_and(|thread| thread.find(lock as u64).is_some()) {
        give_up(lock);
    }
    ends(lock);
}

fn give_up(lock: *const PythonLock) {
    let thread = watch::thread();
    state::with_core(|core| {
        core.give_up(thread, lock as u64);
        // SAFETY: a lock that is known by its address.
        unsafe { identity::withdraw(core, lock) };
    });
}

/// The lock is about to be taken by `method`, which says whether it was. `is_taken`: it will have to wait.
///
/// # Safety
/// The call has not returned.
pub unsafe fn acquire(call: &Call, is_taken: bool, method: impl FnOnce() -> bool) {
    let mut part = Short::begin();
    // SAFETY: the caller promises that the call has not returned.
    unsafe { acquire_in(&mut part, call, is_taken, method) };
    part.end();
}

/// As [`acquire`], as a part that is timed now and then. The method is the program's.
///
/// # Safety
/// As for [`acquire`].
#[inline(always)]
unsafe fn acquire_in(part: &mut Short, call: &Call, is_taken: bool, method: impl FnOnce() -> bool) {
    let Some((thread, ident)) = subject(call) else {
        return wait_for_release(part, call, is_taken, method);
    };
    if call.levels.is_some() && thread.find(call.lock).is_some() {
        // It has it already, and does not wait.
        if part.outside(|| python_calls::during(call, method))
            && let Some(thread) = watch::own()
        {
            thread.recurse(call.lock);
        }
        return;
    }
    if is_taken && !call.tries() && thread.find(call.lock).is_some() {
        // SAFETY: a lock that is known by its address.
        unsafe { wait_for_post(thread, call.lock as *const PythonLock, ident) };
        return wait_for_release(part, call, is_taken, method);
    }
    if !part.outside(|| python_calls::during(call, method))
        || unstamped::find(call.lock) != Some(ident)
    {
        return;
    }
    // A handler of the program's may have run meanwhile.
    let Some(thread) = watch::own() else { return };
    if thread.find(call.lock).is_some() {
        // It was released where nobody saw it.
        // SAFETY: a lock that is known by its address.
        return unsafe {
            hand_over(Some(thread), call.lock as *const PythonLock, call.lock, ident)
        };
    }
    // SAFETY: the caller promises that the call has not returned.
    if unsafe { reserve(part, thread, call, ident) } {
        thread.acquired(call.lock);
        match call.levels {
            None => thread.did(event::SEMAPHORE),
            Some(levels) => {
                for _ in 1..levels.min(MOST_LEVELS) {
                    thread.recurse(call.lock);
                }
            }
        }
    }
}

/// Levels of a recursive lock that are counted when it is taken again after a condition wait.
const MOST_LEVELS: u64 = 1 << 16;

/// The thread and the lock, if it is one. In a forked child it may have been made before.
fn subject(call: &Call) -> Option<(&'static mut ThreadState, Ident)> {
    // First of all: a forked child has its parent's identities until its ledger begins.
    watch::thread()?;
    // SAFETY: locks that are known by their address.
    let ident = unsafe {
        match call.levels {
            None => identity::unstamped_or_inherited(call.lock as *const PythonLock),
            Some(_) => identity::unstamped_or_inherited(call.lock as *const PythonRecursiveLock),
        }
    }?;
    Some((watch::own()?, ident))
}

/// Reserves the entry of the lock `ident`, which `call` takes. False: it goes unwatched.
///
/// # Safety
/// The call has not returned.
unsafe fn reserve(part: &mut Short, thread: &mut ThreadState, call: &Call, ident: Ident) -> bool {
    let lock = Acquire { addr: call.lock, ident, mode: call.mode, site: call.site };
    let is_reserved = thread.reserve_known(ident, call.mode, call.site)
        // SAFETY: the caller promises that the call has not returned.
        || unsafe { watch::before_past_in(part, thread, lock, call.back) };
    if is_reserved {
        // A recursive one, too: a thread that has it waits for the interpreter's lock now and then.
        thread.mark_semaphore();
    }
    is_reserved
}

/// As [`acquire`], of what is no lock.
fn wait_for_release(part: &mut Short, call: &Call, is_taken: bool, method: impl FnOnce() -> bool) {
    let since = handed_on::now();
    if is_taken && !call.tries() {
        left_held::idles(const { blocking_call("sem_wait") }, call.site);
    }
    if part.outside(|| python_calls::during(call, method)) && call.mode == 0 {
        handovers::semaphore_waited(call.lock, 0);
        if is_taken && since != handed_on::now() {
            handed_on::granted(call.lock, since);
        }
    }
}

/// The thread is about to wait by `block` in the call that it has under way.
///
/// # Safety
/// The call has not returned.
pub unsafe fn parks(call: &Call, block: impl FnOnce() -> c_int) -> c_int {
    let (Some(ident), Some(thread)) = (unstamped::find(call.lock), watch::thread()) else {
        return wait_for_event((call.lock, true), call.mode, call.site, block);
    };
    // It has the interpreter's lock no more, and the next time that it looks the lock may be taken again.
    let mut part = Short::begin();
    // SAFETY: the caller promises that the call has not returned.
    let is_reserved = unsafe { reserve(&mut part, thread, call, ident) };
    part.end();
    if !is_reserved {
        return block();
    }
    let result = watch::wait_for_reserved(thread, call.lock, BLOCKING, block);
    thread.abandon();
    result
}

/// The lock, which is taken, is about to be released by `method`, which says whether it was. `has_waiters`: for them.
pub fn release(call: &Call, has_waiters: bool, method: impl FnOnce() -> bool) {
    let mut part = Short::begin();
    release_in(&mut part, call, has_waiters, method);
    part.end();
}

/// As [`release`], as a part that is timed now and then.
#[inline(always)]
fn release_in(part: &mut Short, call: &Call, has_waiters: bool, method: impl FnOnce() -> bool) {
    let lock = call.lock;
    let Some((thread, ident)) = subject(call) else {
        about_to_post(lock, has_waiters);
        part.outside(|| python_calls::during(call, method));
        return;
    };
    if !thread.releases_semaphore(lock) {
        // SAFETY: a lock that is known by its address.
        unsafe { posted_by_other(Some(thread), lock as *const PythonLock, ident) };
        part.outside(|| python_calls::during(call, method));
    } else if part.outside(|| python_calls::during(call, method)) {
        // It may be gone once it is released: only its address is used.
        release::any_held(thread, lock);
    }
}

/// The recursive lock, which is taken, is about to be released by `method`, which says whether it was.
pub fn release_recursive(call: &Call, method: impl FnOnce() -> bool) {
    if !python_calls::during(call, method) {
        return;
    }
    let Some(thread) = watch::own() else { return };
    // Only its owner can release it: what it does not hold was taken where nobody saw it.
    while thread.find(call.lock).is_some() {
        watch::released(thread, call.lock, None);
        if call.levels != Some(0) {
            break;
        }
    }
}

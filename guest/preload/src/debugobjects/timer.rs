//! POSIX timers. A `timer_t` is a number: the kernel's, or, of a timer that calls a function, one
//! that glibc makes of where it keeps it. The kernel refuses a number that is no timer's, and does
//! not give one out again for long. What glibc does with one of its own that was deleted is
//! anybody's guess, and the next timer may have it at once.
//!
//! glibc before 2.34 keeps every timer in a block of its own, and a `timer_t` is the block's address.
//!
//! To programs linked with a glibc before 2.3.3 a `timer_t` is an int, and the functions are others
//! of the same names: the calls of those programs are forwarded, and nothing is recorded.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use lockwright_engines::debugobjects::State;

use crate::debugobjects::lifetime::{self, Before};
use crate::debugobjects::types::{self, ATTR, TIMER};
use crate::debugobjects::uses;
use crate::libc::real::{self, clockid_t, itimerspec, timer_t};
use crate::os::{loader, timers};

/// The version of the functions to which a `timer_t` is an int.
const OLD: &CStr = c"GLIBC_2.2.5";

/// What was found of call sites: the address, doubled, and whether it is one; 0: nothing yet.
static KNOWN: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];

/// Other code may come to lie where some lay.
pub fn forget_sites() {
    // Relaxed: as in `is_old`.
    KNOWN.iter().for_each(|known| known.store(0, Relaxed));
}

/// The caller, which returns to `site`, was linked with such functions.
fn is_old(site: u64) -> bool {
    let site = site as usize;
    let known = &KNOWN[site % KNOWN.len()];
    // Relaxed: a word that says all by itself.
    let word = known.load(Relaxed);
    if word >> 1 == site {
        return word & 1 != 0;
    }
    // No program has both.
    let is_old = loader::is_linked_with(site, c"timer_create", OLD) == Some(true);
    known.store(site << 1 | usize::from(is_old), Relaxed);
    is_old
}

/// The function of that name to which a `timer_t` is an int. (In registers there is no difference.)
fn old(name: &CStr) -> impl Fn(usize, usize, usize, usize) -> c_int {
    type Function = unsafe extern "C" fn(usize, usize, usize, usize) -> c_int;
    let at = loader::address(name, Some(OLD));
    move |a, b, c, d| match at.is_null() {
        true => -1,
        // SAFETY: a function of up to four arguments, none of them larger than a register.
        false => unsafe { core::mem::transmute::<*mut c_void, Function>(at)(a, b, c, d) },
    }
}

/// A number that glibc made. Those of the kernel are ints from 0 on.
fn is_glibcs(timer: timer_t) -> bool {
    timer as u64 > c_int::MAX as u64
}

/// Forgets the attributes in the block of a timer that was created. glibc before 2.34 initialises them by a call that any
/// program could have made, and never destroys them.
fn forget_attributes_of(timer: timer_t) {
    /// Where they lie in the block.
    const ATTRIBUTES: u64 = 24;
    if is_glibcs(timer) && timer as i64 > 0 {
        lifetime::forget(&ATTR, timer as u64 + ATTRIBUTES);
    }
}

/// The call that failed with `result` did so because there is no such timer. Only for a number of
/// the kernel's.
fn is_refused(timer: timer_t, result: c_int) -> bool {
    // SAFETY: `__errno_location` gives the address of this thread's own errno, which lives as long
    // as the thread.
    let failed = || unsafe { *libc::__errno_location() == libc::EINVAL };
    // The call has other reasons to fail, so the timer is probed by another call.
    // SAFETY: the number is one of the kernel's, which answers EINVAL for a timer that does not
    // exist.
    result == -1 && failed() && unsafe { real::timer_getoverrun(timer) } == -1 && failed()
}

/// In a forked child, which has none of its parent's timers.
pub fn forked() {
    if timers::forked() {
        lifetime::forget_all(&TIMER);
    }
}

/// The process ends: which timers are armed yet? What was not to be repeated may be over.
pub fn at_exit() {
    if timers::were_made() {
        lifetime::deactivate_idle(&TIMER, |key| is_idle(types::timer(key)));
    }
}

fn is_idle(number: u64) -> bool {
    // SAFETY: an `itimerspec` is made of integers, for which zero is a valid value.
    let mut left: itimerspec = unsafe { core::mem::zeroed() };
    // SAFETY: one that was not deleted, as far as we heard.
    let result = unsafe { real::timer_gettime(number as timer_t, &raw mut left) };
    result != 0 || left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0
}

/// Reports, and keeps errno for the program.
fn keeping_errno(tell: impl FnOnce()) {
    // SAFETY: `__errno_location` gives the address of this thread's own errno, which lives as long
    // as the thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: `errno` is the address of this thread's own errno, which no other thread writes.
    let before = unsafe { *errno };
    tell();
    // SAFETY: `errno` is the address of this thread's own errno, which no other thread writes.
    unsafe { *errno = before };
}

/// A call that uses the timer.
#[inline]
fn uses(timer: timer_t, call: impl FnOnce() -> c_int) -> c_int {
    let key = types::timer(timer as u64);
    if is_glibcs(timer) {
        keeping_errno(|| uses::used_copied(&TIMER, key));
        return call();
    }
    let result = call();
    keeping_errno(|| {
        if is_refused(timer, result) {
            uses::used(&TIMER, key);
        }
    });
    result
}

/// # Safety
/// The arguments keep the contract of `timer_create`; the stub passes `site`.
pub unsafe extern "C-unwind" fn create(
    clock: clockid_t,
    event: *mut c_void,
    timer: *mut timer_t,
    site: u64,
) -> c_int {
    if is_old(site) {
        return old(c"timer_create")(clock as usize, event as usize, timer as usize, 0);
    }
    // SAFETY: the next `timer_create` gets the program's own arguments unchanged, as without us.
    let result = unsafe { real::timer_create(clock, event, timer) };
    if result == 0 {
        timers::made();
        // SAFETY: `timer_create` succeeded, so it has stored a timer at the program's `timer`.
        let timer = unsafe { *timer };
        keeping_errno(|| {
            // The number's former timer is gone, whether we saw its end or not.
            lifetime::initialised(&TIMER, types::timer(timer as u64), Before::Over, None);
            forget_attributes_of(timer);
        });
    }
    result
}

/// # Safety
/// The arguments keep the contract of `timer_delete`; the stub passes `site`.
pub unsafe extern "C-unwind" fn delete(timer: timer_t, site: u64) -> c_int {
    if is_old(site) {
        return old(c"timer_delete")(timer as usize, 0, 0, 0);
    }
    let key = types::timer(timer as u64);
    // SAFETY: the next `timer_delete` gets the program's own `timer` unchanged, as without us.
    let delete = || unsafe { real::timer_delete(timer) };
    let end = || {
        let before = lifetime::destroys(&TIMER, key, None);
        lifetime::destroyed(&TIMER, key, before, None);
    };
    if is_glibcs(timer) {
        // Before it is: from within the call on, the number may be another's.
        if uses::state(&TIMER, key).is_some() {
            keeping_errno(end);
        }
        return delete();
    }
    let result = delete();
    keeping_errno(|| match uses::state(&TIMER, key) {
        // It has come again without our hearing of it.
        Some(State::Destroyed) if result == 0 => lifetime::forget(&TIMER, key),
        Some(State::Destroyed) if is_refused(timer, result) => end(),
        Some(_) if result == 0 => end(),
        None if is_refused(timer, result) => uses::used(&TIMER, key),
        _ => {}
    });
    result
}

/// # Safety
/// The arguments keep the contract of `timer_settime`; the stub passes `site`.
pub unsafe extern "C-unwind" fn settime(
    timer: timer_t,
    flags: c_int,
    value: *const itimerspec,
    before: *mut itimerspec,
    site: u64,
) -> c_int {
    if is_old(site) {
        let (timer, flags) = (timer as usize, flags as usize);
        return old(c"timer_settime")(timer, flags, value as usize, before as usize);
    }
    // SAFETY: the next `timer_settime` gets the program's own arguments unchanged, as without us.
    let result = uses(timer, || unsafe { real::timer_settime(timer, flags, value, before) });
    if result == 0 {
        // SAFETY: `timer_settime` succeeded, so it has read the program's `value`.
        let first = unsafe { (*value).it_value };
        let is_armed = first.tv_sec != 0 || first.tv_nsec != 0;
        keeping_errno(|| lifetime::set_active(&TIMER, types::timer(timer as u64), is_armed));
    }
    result
}

/// # Safety
/// The arguments keep the contract of `timer_gettime`; the stub passes `site`.
pub unsafe extern "C-unwind" fn gettime(
    timer: timer_t,
    value: *mut itimerspec,
    site: u64,
) -> c_int {
    if is_old(site) {
        return old(c"timer_gettime")(timer as usize, value as usize, 0, 0);
    }
    // SAFETY: the next `timer_gettime` gets the program's own `timer` and `value` unchanged, as
    // without us.
    uses(timer, || unsafe { real::timer_gettime(timer, value) })
}

/// # Safety
/// The arguments keep the contract of `timer_getoverrun`; the stub passes `site`.
pub unsafe extern "C-unwind" fn getoverrun(timer: timer_t, site: u64) -> c_int {
    if is_old(site) {
        return old(c"timer_getoverrun")(timer as usize, 0, 0, 0);
    }
    // SAFETY: the next `timer_getoverrun` gets the program's own `timer` unchanged, as without us.
    uses(timer, || unsafe { real::timer_getoverrun(timer) })
}

//! A semaphore that begins above 1: so many threads at most are between their waits and their posts, as long as every post is
//! by a thread that has taken it. So it keeps that many threads and one more from a deadlock that needs them all at once.
//!
//! It is recorded as held, and as nothing that anybody waits for: a wait for it remains one for any thread's post. It carries
//! a stamp that is not for the fast path, and loses it like a semaphore that begins at 1 ([`super::semaphore`]).

use core::ffi::c_int;

use libc::sem_t;
use lockwright_engines::lockdep::{Acquire, Ident};
use lockwright_ledger::rows::{event, mode};

use super::no_lock::hand_over;
use crate::callsite::Return;
use crate::libc::real;
use crate::lock_id::identity;
use crate::lockdep::{cond, handovers, release, watch};
use crate::recorder::measured::Short;
use crate::recorder::state;

/// What a semaphore may begin with, and is watched. No cycle of locks has more steps than that.
pub const SEATS: core::ops::RangeInclusive<u32> = 2..=16;

/// The identity of the semaphore, if it is one of these.
///
/// # Safety
/// `s` points to a semaphore.
pub unsafe fn ident(s: *const sem_t) -> Option<Ident> {
    // SAFETY: the caller promises a semaphore.
    unsafe {
        match identity::stamped_plain(s) {
            Some(_) => None,
            None => identity::stamped(s),
        }
    }
}

/// What stands for the semaphore among the held locks. Semaphores are aligned, so it is no other lock's address, and
/// [`super::semaphore::post`] does not take it for a lock.
pub fn held_as(s: *const sem_t) -> u64 {
    s as u64 | 1
}

/// The semaphore, which has just been given its identity, begins with so many.
///
/// # Safety
/// `s` points to a semaphore.
pub unsafe fn begins(s: *const sem_t, seats: u32) {
    // SAFETY: the caller promises a semaphore.
    if let Some(ident) = unsafe { ident(s) } {
        state::with_core(|core| core.has_seats(ident.class(), seats));
    }
}

/// The semaphore has been taken, by a call that returns to `site`.
///
/// # Safety
/// `s` points to a semaphore, and the call to which `back` belongs has not returned.
pub unsafe fn taken(s: *mut sem_t, site: u64, back: Return) {
    // SAFETY: the caller promises a semaphore.
    let Some(ident) = (unsafe { ident(s) }) else { return };
    let mut part = Short::begin();
    // SAFETY: the caller promises a semaphore, and a call that has not returned.
    unsafe { taken_in(&mut part, s, ident, site, back) };
    part.end();
}

/// As [`taken`] of the semaphore that has that identity, as a part that is timed now and then.
///
/// # Safety
/// As for [`taken`].
#[inline(always)]
unsafe fn taken_in(part: &mut Short, s: *mut sem_t, ident: Ident, site: u64, back: Return) {
    let Some(thread) = watch::thread() else { return };
    let lock = Acquire { addr: held_as(s), ident, mode: mode::READ | mode::TRY, site };
    if thread.find(lock.addr).is_some() {
        // It takes several seats: which of its posts gives which back is not known.
        // SAFETY: the caller promises a semaphore.
        return unsafe { hand_over(Some(thread), s, lock.addr, ident) };
    }
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    if !unsafe { watch::before_past_in(part, thread, lock, back) } {
        return;
    }
    thread.mark_semaphore();
    thread.acquired(lock.addr);
    thread.did(event::SEMAPHORE);
    // Another thread may have posted it meanwhile.
    // SAFETY: the caller promises a semaphore.
    if unsafe { self::ident(s) } != Some(ident) {
        thread.release(lock.addr);
    }
}

/// Posts the semaphore, which has that identity.
///
/// # Safety
/// `s` is the semaphore of the program's call of `sem_post`.
pub unsafe fn post(s: *mut sem_t, ident: Ident) -> c_int {
    handovers::shares_by_post();
    cond::posts(s as u64);
    handovers::semaphore_posts(s as u64);
    let held_as = held_as(s);
    let thread = watch::thread();
    let Some(thread) = thread.filter(|thread| thread.releases_semaphore(held_as)) else {
        // SAFETY: the caller promises its semaphore.
        unsafe { hand_over(watch::thread(), s, held_as, ident) };
        // SAFETY: the next `sem_post` gets the program's own `s` unchanged, as without us.
        return unsafe { real::sem_post(s) };
    };
    // SAFETY: the next `sem_post` gets the program's own `s` unchanged, as without us.
    let result = unsafe { real::sem_post(s) };
    if result == 0 {
        release::any_held(thread, held_as);
    }
    result
}

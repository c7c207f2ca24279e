//! Semaphores that are locks: those that begin at 1, as long as each post is by the thread that has taken it. They
//! carry a stamp, which is taken away when one proves to be none; its class counts those.

use core::ffi::c_int;

use libc::{EAGAIN, EBUSY, ETIMEDOUT, sem_t};
use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::MeterThread;

use super::attached::thread;
use super::meter::prepare;
use super::spots::spot_in;
use super::target::{Spot, Target};
use super::wait::{self, Contended, Owner};
use super::{hold, posts, record, timeline, tls};
use crate::callsite::Return;
use crate::libc::real;
use crate::lock_id::{identity, known_births};
use crate::os::sys;
use crate::recorder::measured::Short;
use crate::recorder::state;

type Semaphore = *mut sem_t;

/// A semaphore that is a lock and is about to be taken.
pub struct Taking {
    thread: &'static mut MeterThread,
    target: Target,
    spot: Spot,
}

/// A call that is about to take the semaphore takes a lock. `withdraws`: one that the thread has already is none from
/// now on; else another decides that.
///
/// # Safety
/// The caller's semaphore; `site` and `back` are as the stub passes them.
#[inline(always)]
pub unsafe fn taking(
    part: &mut Short,
    s: Semaphore,
    site: u64,
    back: Return,
    withdraws: bool,
) -> Option<Taking> {
    // SAFETY: the caller promises its semaphore, whose memory may have a stamp.
    let ident = unsafe { identity::stamped_plain(s) };
    let is_had = held(s).is_some();
    if is_had {
        forget(s);
    }
    let ident = ident?;
    if is_had {
        if withdraws {
            // SAFETY: the caller promises its semaphore.
            unsafe { withdraw(s, ident) };
        }
        return None;
    }
    let thread = thread()?;
    let target = Target { addr: s as u64, ident, mode: 0, site, back, has_lines: true };
    let spot = spot_in(part, thread, &target)?;
    Some(Taking { thread, target, spot })
}

/// As an error number: what a function of semaphores answers.
fn error_of(result: c_int) -> c_int {
    if result == 0 { 0 } else { sys::errno() }
}

/// As a function of semaphores answers: an error number.
fn answer(error: c_int) -> c_int {
    match error {
        0 => 0,
        error => {
            sys::set_errno(error);
            -1
        }
    }
}

impl Taking {
    fn semaphore(&self) -> Semaphore {
        self.target.addr as Semaphore
    }

    /// Takes it, by `block` where it has to be waited for.
    #[inline(always)]
    pub fn take(self, part: &mut Short, block: impl FnOnce() -> c_int) -> c_int {
        let s = self.semaphore();
        let ident = self.target.ident;
        // A wait acts upon a cancellation that is pending even if it need not wait; trying does not.
        // SAFETY: it takes no arguments, and nothing is under way that unwinding would leave behind.
        part.outside(|| unsafe { real::pthread_testcancel() });
        let errno = sys::errno();
        self.spot.cell.begin();
        hold::begin(self.thread, self.target.addr, self.spot, false);
        // SAFETY: the program asked to take its own semaphore, and a trywait needs of it no more than that.
        let error = match unsafe { real::sem_trywait(s) } {
            0 => 0,
            _ => {
                sys::set_errno(errno);
                hold::cancel(self.thread, false);
                let unknown = Contended { owner: Owner::Unknown, spins: false, shared: false };
                let block = || error_of(block());
                part.outside(|| wait::lock(self.thread, &self.target, self.spot, unknown, block))
            }
        };
        if error == 0 {
            // SAFETY: the caller's semaphore, just taken.
            unsafe { has(s, ident) };
        }
        answer(error)
    }

    /// Takes it by `take`, a wrapper that waits out of sight.
    #[inline(always)]
    pub fn take_by(mut self, part: &mut Short, take: impl FnOnce() -> c_int) -> c_int {
        let (s, ident) = (self.semaphore(), self.target.ident);
        prepare(self.thread);
        self.spot.cell.begin();
        self.thread.expect_wait(self.target.addr, self.spot.cell);
        let result = part.outside(take);
        let errno = sys::errno();
        self.taken(result, errno);
        if result == 0 {
            // SAFETY: the caller's semaphore, just taken.
            unsafe { has(s, ident) };
        }
        sys::set_errno(errno);
        result
    }

    /// Counts what [`Self::take_by`] did. By a function of its own: the wait takes much of a stack, and `take` needs that, too.
    #[inline(never)]
    fn taken(&mut self, result: c_int, errno: c_int) {
        let waited = self.thread.take_wait();
        match result {
            0 => {
                let addr = self.target.addr;
                wait::held_after(self.thread, waited.as_ref(), addr, self.spot, false);
            }
            _ if errno == ETIMEDOUT => {
                self.spot.cell.time_out();
                if let Some(waited) = waited {
                    record::wait(self.thread, &waited);
                }
            }
            _ => self.spot.cell.take_back(),
        }
    }

    /// Tries for it by `attempt`.
    #[inline(always)]
    fn attempt(self, part: &mut Short, attempt: impl FnOnce() -> c_int) -> c_int {
        let (s, ident) = (self.semaphore(), self.target.ident);
        self.spot.cell.begin();
        hold::begin(self.thread, self.target.addr, self.spot, false);
        let result = part.outside(attempt);
        let error = error_of(result);
        match error {
            // SAFETY: the caller's semaphore, just taken.
            0 => unsafe { has(s, ident) },
            _ => hold::cancel(self.thread, error == EAGAIN || error == EBUSY),
        }
        result
    }
}

/// Tries for the semaphore by `attempt`. `withdraws` is as for [`taking`].
///
/// # Safety
/// As for [`taking`].
pub unsafe fn try_take(
    s: Semaphore,
    site: u64,
    back: Return,
    withdraws: bool,
    attempt: impl FnOnce() -> c_int,
) -> c_int {
    let mut part = Short::begin();
    // SAFETY: the caller promises its semaphore, and the stub's `site` and `back`.
    let result = unsafe { try_take_in(&mut part, s, site, back, withdraws, attempt) };
    part.end();
    result
}

/// As [`try_take`], as a part that is timed now and then. The attempt may be lockdep's.
///
/// # Safety
/// As for [`try_take`].
#[inline(always)]
unsafe fn try_take_in(
    part: &mut Short,
    s: Semaphore,
    site: u64,
    back: Return,
    withdraws: bool,
    attempt: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller promises its semaphore, whose memory may have a stamp.
    let (ident, thread) = (unsafe { identity::stamped_plain(s) }, held(s));
    let (Some(ident), Some(thread)) = (ident, thread) else {
        // SAFETY: the caller promises its semaphore, and the stub's `site` and `back`.
        return match unsafe { taking(part, s, site, back, withdraws) } {
            Some(taking) => taking.attempt(part, attempt),
            None => part.outside(attempt),
        };
    };
    // The thread has it already.
    let target = Target { addr: s as u64, ident, mode: 0, site, back, has_lines: true };
    let spot = spot_in(part, thread, &target);
    let result = part.outside(attempt);
    if result != 0 {
        if let Some(spot) = spot {
            spot.cell.begin();
            spot.cell.reject();
        }
        return result;
    }
    // Another thread has posted it.
    forget(s);
    if withdraws {
        // SAFETY: the caller promises its semaphore.
        unsafe { withdraw(s, ident) };
    }
    result
}

/// The thread has taken the semaphore. If another has posted it meanwhile, it is none of its locks.
///
/// # Safety
/// The caller's semaphore.
unsafe fn has(s: Semaphore, ident: Ident) {
    // SAFETY: the caller promises its semaphore.
    if unsafe { identity::stamped_plain(s) } != Some(ident) {
        forget(s);
    }
}

/// The calling thread, if it has taken the semaphore as a lock.
fn held(s: Semaphore) -> Option<&'static mut MeterThread> {
    tls::own_with(|meter| meter.entry_of(s as u64)).map(|(thread, _)| thread)
}

/// The calling thread has the semaphore no more, without having posted it.
#[cold]
fn forget(s: Semaphore) {
    if let Some((thread, entry)) = tls::own_with(|meter| meter.entry_of(s as u64)) {
        thread.remove(s as u64);
        record::kept(thread, &entry);
    }
}

/// The semaphore is no lock.
///
/// # Safety
/// The caller's semaphore.
#[cold]
unsafe fn withdraw(s: Semaphore, ident: Ident) {
    state::with_core(|core| {
        // SAFETY: the caller promises its semaphore.
        unsafe { identity::withdraw(core, s) };
        // How many of the class are locks decides about the next.
        known_births::withdraw(core, ident.class());
        core.hand_over(None, s as u64, ident);
    });
}

/// Posts the semaphore by `post`. `withdraws`: one that the thread has not taken is no lock from now on; else `post` decides that.
///
/// # Safety
/// The caller's semaphore.
pub unsafe fn post(s: Semaphore, withdraws: bool, post: impl FnOnce() -> c_int) -> c_int {
    let mut part = Short::begin();
    // SAFETY: the caller promises its semaphore.
    let result = unsafe { post_in(&mut part, s, withdraws, post) };
    part.end();
    result
}

/// As [`post`], as a part that is timed now and then. The post itself may wake a thread, or be lockdep's.
///
/// # Safety
/// As for [`post`].
#[inline(always)]
unsafe fn post_in(
    part: &mut Short,
    s: Semaphore,
    withdraws: bool,
    post: impl FnOnce() -> c_int,
) -> c_int {
    let post = || part.outside(post);
    // SAFETY: the caller promises its semaphore, whose memory may have a stamp.
    match (unsafe { identity::stamped_plain(s) }, held(s).is_some()) {
        (Some(_), true) => return hold::release_around(s as u64, post),
        (None, true) => forget(s),
        // SAFETY: the caller promises its semaphore.
        (Some(ident), false) if withdraws => unsafe { withdraw(s, ident) },
        // SAFETY: the same.
        (None, false) if timeline::is_wanted() => unsafe { posts::note(s) },
        _ => {}
    }
    post()
}

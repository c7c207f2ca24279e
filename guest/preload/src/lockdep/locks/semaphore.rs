//! sem_*: a semaphore that begins at 1 is a lock until it shows that it is none; one that begins above is a lock with so many
//! seats ([`super::counting`]); any other may hand something over ([`crate::lockdep::handovers`]).
//!
//! A lock carries a stamp, and loses it when it proves to be none: a post by a thread that does not
//! hold it (in a handler: that did not take it there), or a wait by the one that does.
//!
//! One that processes share is known by its address ([`shared`]), in the process that has initialised it, and in those that this
//! forks. It is a lock as long as it is used as one in each of them.

use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::sem_t;
use lockwright_engines::lockdep::{Acquire, Core, Ident, ThreadState};
use lockwright_ledger::rows::meter::blocking_call;
use lockwright_ledger::rows::{event, mode};

use super::counting;
use super::no_lock::{
    BLOCKING, about_to_post, hand_over, posted_by_other, wait_for_event, wait_for_post,
};
use crate::callsite::Return;
use crate::libc::real;
use crate::lock_id::by_address::shared_semaphore;
use crate::lock_id::first_use;
use crate::lock_id::identity;
use crate::lock_id::python_calls;
use crate::lockdep::watch;
use crate::lockdep::{
    are_semaphores_wanted, cond, fast_path, handed_on, handovers, is_wanted, left_held,
    python_lock, release, trylocks,
};
use crate::os::sys;
use crate::recorder::measured::{Short, measured_short};
use crate::recorder::state;
use crate::stack::modules;
use crate::stack::unwind::Frame;

type Semaphore = *mut sem_t;

/// There has been a lock that processes share, in this process or in one that it was forked from.
static ARE_SHARED: AtomicBool = AtomicBool::new(false);

/// A semaphore has been initialised. Where, if that is known.
///
/// # Safety
/// The caller's semaphore, which nobody has used yet. `call`, if it is known, has not returned; its frame pointer may be
/// anything.
pub unsafe fn begins(
    s: Semaphore,
    shared: c_int,
    value: c_uint,
    call: Option<Frame>,
) -> Option<u32> {
    if state::status() != state::ACTIVE || python_calls::of_byte().is_some() {
        return None;
    }
    measured_short(|| {
        // What is called shared need not be where others can reach it.
        let is_shared = shared != 0 && modules::is_shared(s as u64);
        // Posts of other processes would not be seen.
        handovers::semaphore_begins(s as u64, (!is_shared).then_some(value));
        cond::forget_kept(s as u64);
        // lockmeter knows those with several seats by where they are waited for.
        let is_counting = counting::SEATS.contains(&value) && is_wanted();
        if is_shared && value == 1 && is_wanted() {
            // Relaxed: others can use the semaphore only after they have heard of it.
            ARE_SHARED.store(true, Relaxed);
            // SAFETY: `sem_init` has just initialised `s`.
            return unsafe { identity::begin(shared_semaphore(s)) };
        }
        let may_be_lock = !is_shared
            && (value == 1 || is_counting)
            && identity::can_stamp()
            && are_semaphores_wanted();
        // SAFETY: `sem_init` has just initialised `s`, and nobody has used it yet. The caller promises that `call` has not
        // returned.
        may_be_lock.then(|| unsafe {
            let place = identity::begin_as_known(s, call, None)
                .or_else(|| identity::begin_unless(s, Core::takes_for_none));
            if is_counting {
                counting::begins(s, value);
            }
            place
        })?
    })
}

/// A lock's life ends, if there was one: the thread that took it will not post it.
///
/// # Safety
/// The caller's memory, large enough for a semaphore.
pub unsafe fn end(s: Semaphore) {
    // SAFETY: the caller's memory, of a semaphore's size; what it says is checked or only a hint.
    unsafe {
        if identity::stamped(s).is_none() {
            if shared(s).is_some() {
                let thread = watch::thread();
                state::with_core(|core| {
                    core.give_up(thread, s as u64);
                    identity::forget_unstamped(s as u64);
                });
            }
            return;
        }
        let is_counting = counting::ident(s).is_some();
        identity::take_stamp(s);
        if is_counting || identity::is_taken(s) {
            let thread = watch::thread();
            let held_as = if is_counting { counting::held_as(s) } else { s as u64 };
            state::with_core(|core| core.give_up(thread, held_as));
        }
    }
}

/// The thread and the semaphore, if that is a lock.
#[inline(always)]
fn lock(s: Semaphore) -> Option<(&'static mut ThreadState, Ident)> {
    // SAFETY: wrappers pass the semaphore of the program's own call, whose memory may have a stamp.
    let ident = unsafe { identity::stamped_plain(s) }.or_else(|| shared(s))?;
    Some((watch::thread()?, ident))
}

/// The identity of the semaphore, if it is a lock that processes share.
#[inline(always)]
fn shared(s: Semaphore) -> Option<Ident> {
    #[cold]
    #[inline(never)]
    fn by_address(s: Semaphore) -> Option<Ident> {
        // In a forked child, a ledger begins with this: until then the parent's identities are here.
        watch::thread()?;
        // SAFETY: such a semaphore is known by its address alone, so its memory is not touched.
        unsafe { identity::unstamped_or_inherited(shared_semaphore(s)) }
    }
    // Relaxed: a thread that uses the semaphore has heard of it after this was set.
    if ARE_SHARED.load(Relaxed) { by_address(s) } else { None }
}

/// The semaphore is still the lock `ident`.
///
/// # Safety
/// The caller's semaphore.
unsafe fn is_lock(s: Semaphore, ident: Ident) -> bool {
    // SAFETY: the caller promises a semaphore, whose memory may have a stamp.
    unsafe { identity::stamped(s) }.or_else(|| shared(s)) == Some(ident)
}

/// # Safety
/// The arguments keep the contract of `sem_post`.
pub unsafe extern "C-unwind" fn post(s: Semaphore, _site: u64) -> c_int {
    let mut part = Short::begin();
    // SAFETY: the caller promises its semaphore.
    let result = unsafe { post_in(&mut part, s) };
    part.end();
    result
}

/// As [`post`], as a part that is timed now and then.
///
/// # Safety
/// As for [`post`].
#[inline(always)]
unsafe fn post_in(part: &mut Short, s: Semaphore) -> c_int {
    let holder = fast_path::holder(s as u64);
    let Some(thread) = holder.filter(|thread| thread.in_signal() == 0) else {
        // SAFETY: the program's own `s` goes on unchanged, as `sem_post` would get it.
        return unsafe { post_slow(part, s) };
    };
    // SAFETY: the next `sem_post` gets the program's own `s` unchanged, as without us.
    let result = part.outside(|| unsafe { real::sem_post(s) });
    // It may be gone by now, even from the entry: a handler, too, may have posted it.
    if result == 0 && !thread.release_innermost(s as u64) {
        release::any_held(thread, s as u64);
    }
    result
}

/// The slow path of [`post`]: the thread does not hold the semaphore as its innermost lock, or runs a
/// handler.
///
/// # Safety
/// `s` is the semaphore of the program's call of `sem_post`.
#[inline(never)]
unsafe fn post_slow(part: &mut Short, s: Semaphore) -> c_int {
    if python_calls::of_byte().is_some() {
        // SAFETY: the next `sem_post` gets the program's own `s` unchanged, as without us.
        return part.outside(|| unsafe { real::sem_post(s) });
    }
    // SAFETY: the program passed `s` to this call, so it points to its semaphore.
    if let Some(ident) = unsafe { counting::ident(s) } {
        // SAFETY: the same.
        return part.outside(|| unsafe { counting::post(s, ident) });
    }
    // SAFETY: the program passed `s` to this call, so it points to its semaphore, as `stamped`
    // asks.
    let Some(ident) = (unsafe { identity::stamped(s) }).or_else(|| shared(s)) else {
        // SAFETY: `s` points to the program's semaphore, whose memory tells its kind.
        unsafe { first_use::tell(s) };
        // SAFETY: `s` points to the program's semaphore.
        about_to_post(s as u64, unsafe { identity::has_waiters(s) });
        // SAFETY: the next `sem_post` gets the program's own `s` unchanged, as without us.
        return part.outside(|| unsafe { real::sem_post(s) });
    };
    match watch::thread() {
        Some(thread) if thread.releases_semaphore(s as u64) => {
            // SAFETY: the next `sem_post` gets the program's own `s` unchanged, as without us.
            let result = part.outside(|| unsafe { real::sem_post(s) });
            if result == 0 {
                release::any_held(thread, s as u64);
            }
            result
        }
        thread => {
            // SAFETY: `s` points to the program's semaphore.
            unsafe { posted_by_other(thread, s, ident) };
            // SAFETY: the next `sem_post` gets the program's own `s` unchanged, as without us.
            part.outside(|| unsafe { real::sem_post(s) })
        }
    }
}

/// Takes the semaphore, by `block` where it has to be waited for. `mode` is [`mode::TIMED`] if that
/// ends by itself, else 0.
///
/// # Safety
/// The caller's semaphore; `site` and `back` are as the stub passes them.
///
/// [`mode::TIMED`]: lockwright_ledger::rows::mode::TIMED
#[inline(always)]
pub unsafe fn take(
    s: Semaphore,
    mode: u16,
    site: u64,
    back: Return,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let mut part = Short::begin();
    // SAFETY: the caller promises its semaphore, and the stub's `site` and `back`.
    let result = unsafe { take_in(&mut part, s, mode, site, back, block) };
    part.end();
    result
}

/// As [`take`], as a part that is timed now and then.
///
/// # Safety
/// As for [`take`].
#[inline(always)]
unsafe fn take_in(
    part: &mut Short,
    s: Semaphore,
    mode: u16,
    site: u64,
    back: Return,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let Some((thread, ident)) = lock(s) else {
        if let Some(call) = python_calls::of_byte() {
            // SAFETY: it has not returned, as this function was called by it.
            return part.outside(|| unsafe { python_lock::parks(call, block) });
        }
        // SAFETY: `s` points to the program's semaphore, whose memory tells its kind.
        unsafe { first_use::tell(s) };
        left_held::idles(const { blocking_call("sem_wait") }, site);
        let since = handed_on::now();
        // A thread that finds an unused post does not wait.
        // SAFETY: the caller promises its semaphore, as `is_taken` asks.
        let is_taken = unsafe { identity::is_taken(s) };
        let block = || part.outside(block);
        let result = granted(s, mode, wait_for_event((s as u64, is_taken), mode, site, block));
        if result == 0 {
            if since != handed_on::now() {
                handed_on::granted(s as u64, since);
            }
            // SAFETY: the caller promises its semaphore, and a call that has not returned.
            part.outside(|| unsafe { counting::taken(s, site, back) });
        }
        return result;
    };
    // A wait acts upon a cancellation that is pending even if it need not wait; trying does not.
    // SAFETY: it takes no arguments, and nothing is under way that unwinding would leave behind.
    part.outside(|| unsafe { real::pthread_testcancel() });
    let lock = Acquire { addr: s as u64, ident, mode, site };
    if trylocks::is_pending(thread) {
        trylocks::waits(thread, &lock);
    }
    if !thread.is_idle() && thread.find(lock.addr).is_some() {
        // SAFETY: the caller promises its semaphore.
        unsafe { wait_for_post(thread, s, ident) };
        let block = || part.outside(block);
        return granted(s, mode, wait_for_event((s as u64, true), mode, site, block));
    }
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    if !unsafe { reserve(part, thread, lock, back) } {
        return part.outside(block);
    }
    thread.mark_semaphore();
    let errno = sys::errno();
    // SAFETY: the program asked to take its own `s`, and a trywait needs of it no more than that.
    if unsafe { real::sem_trywait(s) } == 0 {
        // SAFETY: the trywait has just taken the caller's semaphore, whose entry is reserved.
        unsafe { taken(thread, s, ident) };
        return 0;
    }
    sys::set_errno(errno);
    // SAFETY: the caller promises its semaphore, and its entry was just reserved.
    unsafe { contended(thread, s, ident, || part.outside(block)) }
}

/// A wait for a semaphore that is no lock ended with `result`. One that ends by itself follows no post: the thread may go on
/// without.
fn granted(s: Semaphore, mode: u16, result: c_int) -> c_int {
    match mode & mode::TIMED {
        0 => handovers::semaphore_waited(s as u64, result),
        _ => result,
    }
}

/// Records the acquisition if it is new, and reserves its entry. False: it goes unwatched.
///
/// # Safety
/// The call to which `back` belongs has not returned.
#[inline(always)]
unsafe fn reserve(part: &mut Short, thread: &mut ThreadState, lock: Acquire, back: Return) -> bool {
    thread.reserve_known(lock.ident, lock.mode, lock.site)
        // SAFETY: the caller promises that the call to which `back` belongs has not returned.
        || unsafe { watch::before_past_in(part, thread, lock, back) }
}

/// The reserved entry's semaphore has been taken.
///
/// # Safety
/// `s` is the caller's semaphore, just taken, whose entry `thread` has reserved.
#[inline(always)]
unsafe fn taken(thread: &mut ThreadState, s: Semaphore, ident: Ident) {
    thread.acquired(s as u64);
    thread.did(event::SEMAPHORE);
    // Another thread, or a handler, may have posted it meanwhile.
    // SAFETY: the caller promises its semaphore, just taken, whose memory may have a stamp.
    if !unsafe { is_lock(s, ident) } {
        thread.release(s as u64);
    }
}

/// # Safety
/// `s` is the caller's semaphore, whose entry `thread` has reserved; `block` waits for it.
#[cold]
#[inline(never)]
unsafe fn contended(
    thread: &mut ThreadState,
    s: Semaphore,
    ident: Ident,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let result = watch::wait_for_reserved(thread, s as u64, BLOCKING, block);
    if result == 0 {
        // SAFETY: `block` has just taken the caller's semaphore, whose entry is reserved.
        unsafe { taken(thread, s, ident) };
    } else {
        thread.abandon();
    }
    result
}

/// # Safety
/// The arguments keep the contract of `sem_trywait`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn trywait(s: Semaphore, site: u64, back: Return) -> c_int {
    let mut part = Short::begin();
    // SAFETY: the caller promises its semaphore, and the stub's `site` and `back`.
    let result = unsafe { trywait_in(&mut part, s, site, back) };
    part.end();
    result
}

/// As [`trywait`], as a part that is timed now and then: with the attempt itself, which is short.
///
/// # Safety
/// As for [`trywait`].
#[inline(always)]
unsafe fn trywait_in(part: &mut Short, s: Semaphore, site: u64, back: Return) -> c_int {
    let Some((thread, ident)) = lock(s) else {
        // SAFETY: `s` points to the program's semaphore, whose memory tells its kind.
        unsafe { first_use::tell(s) };
        // SAFETY: the next `sem_trywait` gets the program's own `s` unchanged, as without us.
        let result = handovers::semaphore_waited(s as u64, unsafe { real::sem_trywait(s) });
        if result == 0 {
            // SAFETY: the program's semaphore, and the stub passed a call that has not returned.
            part.outside(|| unsafe { counting::taken(s, site, back) });
        }
        return result;
    };
    // SAFETY: the next `sem_trywait` gets the program's own `s` unchanged, as without us.
    let result = unsafe { real::sem_trywait(s) };
    let held = !thread.is_idle() && thread.find(s as u64).is_some();
    match (result, held) {
        // SAFETY: `s` points to the program's semaphore.
        (0, true) => unsafe { hand_over(Some(thread), s, s as u64, ident) },
        (0, false) => {
            let mode =
                python_calls::current().map_or_else(|| trylocks::mode_at(site), |call| call.mode);
            let lock = Acquire { addr: s as u64, ident, mode, site };
            // SAFETY: the stub passed `back`, and the call that it belongs to has not returned.
            if unsafe { reserve(part, thread, lock, back) } {
                thread.mark_semaphore();
                // SAFETY: the trywait has just taken the program's semaphore, whose entry is
                // reserved.
                unsafe { taken(thread, s, ident) };
            }
        }
        _ if python_calls::current().is_some() => {}
        _ => trylocks::failed(thread, s as u64, held, site),
    }
    result
}

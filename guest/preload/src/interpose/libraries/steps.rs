//! Reports a library's lock to the running engines: in the steps of a user-defined one. Its
//! identity is its address.

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use libc::{pthread_cond_t, pthread_mutex_t};
use lockwright_engines::lockdep::Ident;

use crate::callsite::Return;
use crate::lock_id::by_address::{UserLock, flag};
use crate::lock_id::side_table::SideTable;
use crate::lock_id::unstamped;
use crate::lockdep::annotate::user_locks;
use crate::lockdep::cond;
use crate::lockmeter::cond::Ends;
use crate::recorder::state;
use crate::{lockdep, lockmeter};

/// An acquisition, as a wrapper is called for it.
#[derive(Clone, Copy)]
pub struct Call {
    pub lock: u64,
    /// Bits of [`flag`].
    pub flags: u32,
    /// As the stub passes them.
    pub site: u64,
    pub back: Return,
}

/// Tells a step to each engine that runs.
macro_rules! tell {
    ($step:ident($($arg:expr),*)) => {
        // SAFETY: a lock that is known by its address; what the stub passed.
        unsafe {
            if lockdep::is_wanted() {
                user_locks::$step($($arg),*);
            }
            if lockmeter::is_wanted() {
                lockmeter::user_locks::$step($($arg),*);
            }
        }
    };
}

/// Takes a lock: by `attempt`, which says whether it got the lock at once, else by `block`.
pub fn take(call: Call, attempt: impl FnOnce() -> bool, block: impl FnOnce()) {
    let Call { lock, flags, site, back } = call;
    if is_announced(lock) {
        if !attempt() {
            block();
        }
        return;
    }
    let mut attempt = Some(attempt);
    let mut tries = || attempt.take().is_some_and(|attempt| attempt());
    // If a try succeeds all the same, the library has released it out of our sight.
    let is_had = is_held_alone(call) && tries();
    if is_had {
        release(lock, site);
    }
    tell!(acquire(lock, flags, site, back));
    if !is_had && !tries() {
        tell!(contended(lock, site));
        block();
    }
    tell!(acquired(lock, site));
}

/// The lock has been taken, at once, by code that reports nothing before.
pub fn taken(call: Call) {
    let Call { lock, flags, site, back } = call;
    if is_held_alone(call) {
        // It was released out of our sight.
        release(lock, site);
    }
    tell!(acquire(lock, flags, site, back));
    tell!(acquired(lock, site));
}

/// As [`taken`], for lockmeter alone, where lockdep knows of it.
#[cold]
pub fn taken_metered(call: Call) {
    let Call { lock, flags, site, back } = call;
    // SAFETY: a lock that is known by its address; what the stub passed.
    unsafe {
        if flags & (flag::RECURSIVE | flag::READ) == 0 && lockmeter::user_locks::is_held(lock) {
            lockmeter::user_locks::release(lock, site);
        }
        lockmeter::user_locks::acquire(lock, flags, site, back);
        lockmeter::user_locks::acquired(lock, site);
    }
}

/// The lock is about to be taken, by code that says later whether it was. It may be free.
pub fn wants(call: Call) {
    let Call { lock, flags, site, back } = call;
    tell!(acquire(lock, flags, site, back));
}

/// The lock is not free: the thread is about to wait for it, if it has not said so before ([`wants`]).
pub fn waits(call: Call) {
    if !is_announced(call.lock) {
        wants(call);
    }
    tell!(contended(call.lock, call.site));
}

/// The lock has been taken, after [`wants`] or [`waits`].
pub fn got(lock: u64, site: u64) {
    tell!(acquired(lock, site));
}

/// The lock was not taken, after [`wants`] or [`waits`].
pub fn gave_up(lock: u64, site: u64) {
    tell!(abandoned(lock, site));
}

/// This thread holds the lock as far as is known, in a way in which nobody, itself included, can have it a second time.
fn is_held_alone(call: Call) -> bool {
    call.flags & (flag::RECURSIVE | flag::READ) == 0 && is_held(call.lock)
}

/// The program is about to take the lock and has said so itself ([`lockdep::annotate`]).
fn is_announced(lock: u64) -> bool {
    match lockdep::is_wanted() {
        true => user_locks::is_announced(lock),
        false => lockmeter::user_locks::is_announced(lock),
    }
}

/// Takes a lock by `block`, which waits for something else, too.
pub fn take_some_time(call: Call, block: impl FnOnce()) {
    take(
        call,
        || {
            block();
            true
        },
        || {},
    );
}

/// Takes a lock by `take` within so many milliseconds, of which a negative number is no limit.
/// Says whether it was taken.
pub fn take_within(call: Call, ms: c_int, mut take: impl FnMut(c_int) -> bool) -> bool {
    let Call { lock, flags, site, back } = call;
    if ms == 0 {
        let had = take(0);
        tried(call, had);
        return had;
    }
    let timed = if ms > 0 { flag::TIMED } else { 0 };
    tell!(acquire(lock, flags | timed, site, back));
    let had = take(0) || {
        tell!(contended(lock, site));
        take(ms)
    };
    match had {
        true => tell!(acquired(lock, site)),
        false => tell!(abandoned(lock, site)),
    }
    had
}

/// The calling thread holds the lock, as far as is known.
pub fn is_held(lock: u64) -> bool {
    match lockdep::is_wanted() {
        true => cond::is_held(lock),
        false => lockmeter::user_locks::is_held(lock),
    }
}

/// The lock was tried for.
pub fn tried(call: Call, had: bool) {
    let Call { lock, flags, site, back } = call;
    let flags = flags | flag::TRY | if had { 0 } else { flag::FAILED };
    tell!(acquire(lock, flags, site, back));
}

/// The lock is about to be given up. One that was taken where nobody saw it is none of ours.
pub fn release(lock: u64, site: u64) {
    release_checked(lock, site, || false);
}

/// As [`release`]. `is_free` says that no thread at all holds the lock, and is asked if this thread
/// does not as far as is known.
pub fn release_checked(lock: u64, site: u64, is_free: impl FnOnce() -> bool) {
    if lockdep::is_wanted() && !user_locks::release_if_held(lock) && is_free() {
        user_locks::release_of_free(lock);
    }
    if lockmeter::is_wanted() {
        // SAFETY: the lock is known by its address alone, so its memory is not touched.
        unsafe { lockmeter::user_locks::release(lock, site) };
    }
}

/// As [`release`], of a lock that another thread may have taken by right.
pub fn release_by_any(lock: u64, site: u64) {
    if lockdep::is_wanted() {
        user_locks::release_by_any(lock);
    }
    if lockmeter::is_wanted() {
        // SAFETY: the lock is known by its address alone, so its memory is not touched.
        unsafe { lockmeter::user_locks::release(lock, site) };
    }
}

/// The lock begins its life.
pub fn init(lock: u64, site: u64) {
    // SAFETY: without a name nothing is read.
    unsafe { user_locks::init(lock, core::ptr::null::<c_char>(), 0, site) };
}

/// The lock goes by that name, from its first use on.
pub fn name(lock: u64, name: &'static str) {
    if unstamped::find(lock).is_none() {
        // SAFETY: known by its address; the text.
        unsafe { user_locks::init(lock, name.as_ptr().cast(), name.len(), 0) };
    }
}

/// The lock's life is over.
pub fn destroy(lock: u64, site: u64) {
    // SAFETY: `destroy` uses the lock as an address in a table, so its memory is not touched.
    unsafe { user_locks::destroy(lock, site) };
}

/// A condition wait by `block`, which gives `lock` up and takes it again. `timed` is as for
/// [`cond::wait`].
pub fn wait(condition: u64, lock: u64, site: u64, timed: u16, block: impl FnOnce()) {
    let by_lockdep = || {
        match lockdep::is_wanted() && cond::is_held(lock) {
            // SAFETY: of a mutex that is held only the address is used.
            true => unsafe {
                let (condition, mutex) =
                    (condition as *mut pthread_cond_t, lock as *mut pthread_mutex_t);
                cond::wait(condition, mutex, site, timed, |_| {
                    block();
                    // Whether its time was over is not known.
                    if timed == 0 { 0 } else { libc::ETIMEDOUT }
                });
            },
            false => block(),
        }
        0
    };
    match lockmeter::is_wanted() {
        // SAFETY: a `UserLock` is known by its address alone, so `around` does not touch its
        // memory.
        true => unsafe {
            let ends = if timed == 0 { Ends::Never } else { Ends::Sometime };
            lockmeter::cond::around(condition, lock as *mut UserLock, site, ends, by_lockdep);
        },
        false => {
            by_lockdep();
        }
    }
}

/// As [`wait`], by a `block` that waits for a condition variable of the C library: its own wrapper
/// reports that wait.
pub fn wait_by_other(lock: u64, site: u64, block: impl FnOnce()) {
    if !is_held(lock) {
        return block();
    }
    release(lock, site);
    block();
    tell!(acquire(lock, 0, site, Return::UNKNOWN));
    tell!(acquired(lock, site));
}

/// A condition variable is about to be signalled, `to_all` who wait or to one.
pub fn signal(condition: u64, site: u64, to_all: bool) {
    if lockdep::is_wanted() {
        cond::signalled(condition as *mut pthread_cond_t, site, to_all);
    }
    lockmeter::cond::signalled(condition, site, to_all);
}

/// A condition variable's life begins, or is over.
pub fn forget(condition: u64) {
    if lockdep::is_wanted() {
        cond::forget(condition as *mut pthread_cond_t);
    }
}

/// How many have or want a lock that cannot be tried for, by address.
static TAKERS: SideTable = SideTable::new();

/// Takes a lock by `block`, which cannot be tried for: whether it has to be waited for is asked of
/// those who took it here.
pub fn take_untried(call: Call, block: impl FnOnce()) {
    let is_told = begin_untried(call);
    block();
    if is_told {
        had_untried(call);
    }
}

/// The first step of [`take_untried`]. Says whether [`had_untried`] is to follow.
pub fn begin_untried(call: Call) -> bool {
    let takers = takers(call.lock);
    // Relaxed: a number that says nothing about other memory.
    let is_free = takers.is_none_or(|takers| takers.fetch_add(1, Relaxed) == 0);
    let Call { lock, flags, site, back } = call;
    if is_announced(lock) {
        return false;
    }
    tell!(acquire(lock, flags, site, back));
    if !is_free {
        tell!(contended(lock, site));
    }
    true
}

/// The thread has taken the lock that [`begin_untried`] was called for.
pub fn had_untried(call: Call) {
    tell!(acquired(call.lock, call.site));
}

/// A lock that [`take_untried`] took is about to be given up.
pub fn give_back(lock: u64, site: u64) {
    if let Some(takers) = TAKERS.word(lock) {
        // Relaxed: as above. It may have been taken where nobody saw it.
        let _ = takers.fetch_update(Relaxed, Relaxed, |takers| takers.checked_sub(1));
    }
    release(lock, site);
}

fn takers(lock: u64) -> Option<&'static AtomicU64> {
    TAKERS.word(lock).or_else(|| {
        state::with_core(|_| {
            if TAKERS.word(lock).is_none() {
                TAKERS.insert(lock, Ident(0));
            }
            TAKERS.word(lock)
        })?
    })
}

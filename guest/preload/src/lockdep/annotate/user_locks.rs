//! User-defined locks: the program reports each acquisition in its steps, as the kernel's locks do.

use core::ffi::{c_char, c_int};

use lockwright_engines::lockdep::{Acquire, ThreadState};
use lockwright_ledger::rows::{finding_kind, mode};

use super::{is_off, rename, sort, text, with_stack};
use crate::callsite::Return;
use crate::lock_id::by_address::{UserLock, flag};
use crate::lock_id::identity::{self, Birth};
use crate::lock_id::unstamped;
use crate::lockdep::watch::{self, Blocking};
use crate::lockdep::{fast_path, misuse};
use crate::os::tls;
use crate::recorder::state;

const fn mode_of(flags: u32) -> u16 {
    // Without FAIR we do not know whether a waiting writer holds new readers up. So we record no
    // dependency that could be a false alarm.
    let read = if flags & flag::FAIR != 0 { mode::READ } else { mode::READ | mode::READ_RECURSIVE };
    let mut mode = 0;
    if flags & flag::READ != 0 {
        mode |= read;
    }
    if flags & flag::TRY != 0 {
        mode |= mode::TRY;
    }
    if flags & flag::TIMED != 0 {
        mode |= mode::TIMED;
    }
    if flags & flag::UPGRADABLE != 0 {
        mode |= mode::UPGRADABLE;
    }
    mode
}

/// The modes of all flags.
static MODES: [u16; 128] = {
    let mut modes = [0; 128];
    let mut flags = 0;
    while flags < modes.len() {
        modes[flags] = mode_of(flags as u32);
        flags += 1;
    }
    modes
};

/// # Safety
/// `name` is null or points to `len` bytes; `lock` is used as an address only.
pub unsafe extern "C-unwind" fn init(
    lock: u64,
    name: *const c_char,
    len: usize,
    _site: u64,
) -> c_int {
    if lock == 0 || is_off() {
        return 0;
    }
    // SAFETY: the text has `len` bytes or is null, and a lock of the program's own kind is only an
    // address.
    unsafe {
        if_held(lock, finding_kind::HELD_INITIALISED);
        let this = lock as *const UserLock;
        let name = text(name, len);
        if name.is_empty() {
            identity::identify(this, Birth::Init);
        } else {
            rename(lock, sort::ANY, |core, kind, _| {
                with_stack(core, |core, frames| core.name_lock(None, kind, name, frames))
            });
        }
    }
    0
}

/// # Safety
/// None: `lock` is used as an address only.
pub unsafe extern "C-unwind" fn destroy(lock: u64, _site: u64) -> c_int {
    if unstamped::find(lock).is_some() {
        if_held(lock, finding_kind::HELD_DESTROYED);
        // SAFETY: known by address; its memory is not looked at.
        unsafe { identity::forget(lock as *const UserLock, None) };
    }
    0
}

fn if_held(lock: u64, kind: u8) {
    if unstamped::find(lock).is_some()
        && let Some(thread) = watch::thread()
    {
        misuse::if_held(thread, kind, lock, lock + 1);
    }
}

/// # Safety
/// `lock` is used as an address only; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn acquire(lock: u64, flags: u32, site: u64, back: Return) -> c_int {
    // What never waited and came to nothing orders nothing.
    if lock == 0 || flags & flag::FAILED != 0 {
        return 0;
    }
    let Some((thread, ident)) = watch::subject(lock as *const UserLock) else { return 0 };
    if flags & flag::RECURSIVE != 0 && thread.recurse(lock) {
        return 0;
    }
    let mode = mode_of(flags);
    let acquire = Acquire { addr: lock, ident, mode, site };
    // SAFETY: the program's call, which the stub came from, has not returned.
    unsafe {
        if flags & flag::TRY != 0 {
            watch::tried_past(thread, acquire, back);
        } else if !thread.reserve_known(ident, mode, site) {
            // Without room it goes unwatched: `acquired` will find nothing.
            let _ = watch::before_past(thread, acquire, back);
        }
    }
    0
}

/// The lock has been taken at once, for which nothing has to be found out: it is known, the thread does not hold it, and it has
/// taken it there before. False: nothing was done.
///
/// # Safety
/// The call that returns to `site` by way of `back` has not returned.
#[inline(always)]
pub unsafe fn taken_known(lock: u64, flags: u32, site: u64, back: Return) -> bool {
    let era = unstamped::era();
    let Some(ident) = unstamped::find(lock) else { return false };
    let mode = MODES[flags as usize % MODES.len()];
    let Some((thread, chain)) = fast_path::chain(ident, mode) else { return false };
    if !thread.is_idle() && thread.find(lock).is_some() {
        return false;
    }
    match thread.known(chain, site) {
        Some(probe) => {
            thread.reserve_in(chain, ident, mode, site, probe);
            thread.acquired(lock);
            thread.keep_repeated(era);
        }
        None => {
            let acquire = Acquire { addr: lock, ident, mode, site };
            // SAFETY: the caller promises a call that has not returned.
            if !unsafe { watch::before_past(thread, acquire, back) } {
                return false;
            }
            thread.acquired(lock);
        }
    }
    true
}

/// The lock is about to be released, and is the innermost that the calling thread holds. False: nothing was done.
#[inline(always)]
pub fn releases_innermost(lock: u64) -> bool {
    fast_path::holder(lock).is_some_and(ThreadState::release_top)
}

/// # Safety
/// None: `lock` is used as an address only.
pub unsafe extern "C-unwind" fn contended(lock: u64, _site: u64) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return 0 };
    if thread.is_waiting_for(lock) {
        return 0;
    }
    if let Some((acquire, node)) = under_way(thread, lock) {
        let holds = thread.is_obstacle(1);
        let blocking = Blocking { relock_fails: false, owner: 0 };
        watch::begin_wait(thread, &acquire, node, holds, blocking);
    }
    0
}

/// The calling thread has announced the lock's acquisition.
pub fn is_announced(lock: u64) -> bool {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let thread = unsafe { tls::get().as_ref() };
    thread.is_some_and(|thread| under_way(thread, lock).is_some())
}

/// The acquisition of `lock` that this thread has reserved an entry for, if it is the innermost.
fn under_way(thread: &ThreadState, lock: u64) -> Option<(Acquire, u32)> {
    let ident = unstamped::find(lock)?;
    let (acquire, node) = thread.reserved(lock);
    (acquire.ident == ident && thread.has_reserved(ident.inst())).then_some((acquire, node))
}

/// # Safety
/// None: `lock` is used as an address only.
pub unsafe extern "C-unwind" fn acquired(lock: u64, _site: u64) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return 0 };
    end_wait(thread, lock);
    // A recursive acquisition or a trylock has no step under way.
    if let Some(ident) = unstamped::find(lock) {
        thread.acquired_reserved(lock, ident.inst());
    }
    0
}

/// # Safety
/// None: `lock` is used as an address only.
pub unsafe extern "C-unwind" fn abandoned(lock: u64, _site: u64) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return 0 };
    end_wait(thread, lock);
    if let Some(ident) = unstamped::find(lock) {
        thread.abandon_reserved(ident.inst());
    }
    0
}

/// The wait for `lock` is over, if one was announced.
pub fn end_wait(thread: &mut ThreadState, lock: u64) {
    if thread.is_waiting_for(lock) {
        thread.wait_end();
    }
}

/// As [`release`], of a lock that may have been acquired where nobody announced it. False: the
/// thread does not hold it, as far as is known.
pub fn release_if_held(lock: u64) -> bool {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let mut thread = unsafe { tls::get().as_mut() };
    if thread.is_none() && state::status() == state::FORKED {
        // What the forking thread held is what this one does, once it has begun.
        thread = watch::thread();
    }
    let held = thread.filter(|thread| thread.is_innermost(lock) || thread.find(lock).is_some());
    held.map(|thread| watch::released(thread, lock, None)).is_some()
}

/// The thread unlocks a lock that nobody holds.
#[cold]
pub fn release_of_free(lock: u64) {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() }
        && let Some(ident) = unstamped::find(lock)
    {
        misuse::bad_unlock(thread, lock, ident, false);
    }
}

/// As [`release_if_held`], of a lock that a thread may release which another has taken: then that
/// one holds it no more.
pub fn release_by_any(lock: u64) {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let own = unsafe { tls::get().as_ref() };
    if own.is_some_and(|thread| thread.find(lock).is_some()) {
        release_if_held(lock);
    } else if let Some(ident) = unstamped::find(lock) {
        state::with_core(|core| core.released_by_other(lock, ident));
    }
}

/// # Safety
/// None: `lock` is used as an address only.
pub unsafe extern "C-unwind" fn release(lock: u64, _site: u64) -> c_int {
    if releases_innermost(lock) {
        return 0;
    }
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return 0 };
    if thread.find(lock).is_some() {
        watch::released(thread, lock, None);
    } else if let Some(ident) = unstamped::find(lock) {
        // Every acquisition is announced: what nobody holds was not acquired.
        misuse::bad_unlock(thread, lock, ident, false);
    }
    0
}

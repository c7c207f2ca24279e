//! Calls that wait with another signal mask instead of the thread's: the signals that they let
//! through may arrive while the thread holds all its locks.

use core::ffi::c_int;

use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec};
use lockwright_ledger::rows::meter::blocking_call;

use crate::libc::real;
use crate::lockdep::left_held;
use crate::lockdep::signal::waits_with;
use crate::os::readable;

/// The return address of a call whose arguments leave no register for it.
const NO_SITE: u64 = 0;

/// A time to wait, null for as long as it takes, is more than none.
///
/// # Safety
/// `timeout` is null or the address of the program's time: it is read only where there is memory.
unsafe fn takes_time(timeout: *const timespec) -> bool {
    // SAFETY: `timeout` is the program's time, which `value` reads only where there is memory.
    let time = || unsafe { readable::value(timeout) };
    timeout.is_null() || time().is_some_and(|time| time.tv_sec != 0 || time.tv_nsec != 0)
}

/// As [`waits_with`], for a mask that is not given (null), or of which the kernel has 8 bytes.
///
/// # Safety
/// `mask` is null or the address of the program's mask: it is read only where there is memory.
unsafe fn waits(mask: *const sigset_t) {
    if !left_held::holds_any() {
        return;
    }
    // Where there is none the call fails.
    // SAFETY: `mask` is the program's, of which `value` reads 8 bytes only where there is memory.
    if let Some(mask) = unsafe { readable::value(mask.cast::<u64>()) } {
        waits_with(mask);
    }
}

/// # Safety
/// The arguments keep the contract of `sigsuspend`; the stub passes `site`.
pub unsafe extern "C-unwind" fn sigsuspend(mask: *const sigset_t, site: u64) -> c_int {
    left_held::idles(const { blocking_call("sigsuspend") }, site);
    // SAFETY: `sigsuspend` gets the program's own `mask` unchanged; `waits` reads it only where
    // there is memory.
    unsafe {
        waits(mask);
        real::sigsuspend(mask)
    }
}

/// BSD's, with the mask of the first 32 signals.
///
/// # Safety
/// The arguments keep the contract of `sigpause`; the stub passes `site`.
pub unsafe extern "C-unwind" fn sigpause(mask: c_int, site: u64) -> c_int {
    left_held::idles(const { blocking_call("sigpause") }, site);
    waits_with(u64::from(mask as u32));
    // SAFETY: the next `sigpause` gets the program's own `mask` unchanged, as without us.
    unsafe { real::sigpause(mask) }
}

/// X/Open's: the thread's own mask without `signal`.
///
/// # Safety
/// The arguments keep the contract of `__xpg_sigpause`; the stub passes `site`.
pub unsafe extern "C-unwind" fn xpg_sigpause(signal: c_int, site: u64) -> c_int {
    left_held::idles(const { blocking_call("sigpause") }, site);
    if (1..=64).contains(&signal) {
        waits_with(crate::os::sys::signal_mask() & !(1 << (signal - 1)));
    }
    // SAFETY: the next `__xpg_sigpause` gets the program's own `signal` unchanged, as without us.
    unsafe { real::__xpg_sigpause(signal) }
}

/// # Safety
/// The arguments keep the contract of `pselect`.
pub unsafe extern "C-unwind" fn pselect(
    n: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: `takes_time` reads the program's own time only where there is memory.
    if left_held::holds_any() && unsafe { takes_time(timeout) } {
        left_held::idles(const { blocking_call("pselect") }, NO_SITE);
    }
    // SAFETY: `pselect` gets the program's own arguments unchanged; `waits` reads `mask` where
    // there is memory.
    unsafe {
        waits(mask);
        real::pselect(n, read, write, except, timeout, mask)
    }
}

/// # Safety
/// The arguments keep the contract of `ppoll`; the stub passes `site`.
pub unsafe extern "C-unwind" fn ppoll(
    fds: *mut pollfd,
    n: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    site: u64,
) -> c_int {
    // SAFETY: `takes_time` reads the program's own time only where there is memory.
    if left_held::holds_any() && unsafe { takes_time(timeout) } {
        left_held::idles(const { blocking_call("ppoll") }, site);
    }
    // SAFETY: `ppoll` gets the program's own arguments unchanged; `waits` reads `mask` where there
    // is memory.
    unsafe {
        waits(mask);
        real::ppoll(fds, n, timeout, mask)
    }
}

/// What fortified programs call.
///
/// # Safety
/// The arguments keep the contract of `__ppoll_chk`; the stub passes `site`.
pub unsafe extern "C-unwind" fn ppoll_chk(
    fds: *mut pollfd,
    n: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    len: usize,
    site: u64,
) -> c_int {
    // SAFETY: `takes_time` reads the program's own time only where there is memory.
    if left_held::holds_any() && unsafe { takes_time(timeout) } {
        left_held::idles(const { blocking_call("ppoll") }, site);
    }
    // SAFETY: `__ppoll_chk` gets the program's own arguments unchanged; `waits` reads `mask` where
    // there is memory.
    unsafe {
        waits(mask);
        real::__ppoll_chk(fds, n, timeout, mask, len)
    }
}

/// # Safety
/// The arguments keep the contract of `epoll_pwait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    n: c_int,
    timeout: c_int,
    mask: *const sigset_t,
    site: u64,
) -> c_int {
    if timeout != 0 {
        left_held::idles(const { blocking_call("epoll_pwait") }, site);
    }
    // SAFETY: `epoll_pwait` gets the program's own arguments unchanged; `waits` reads `mask` where
    // there is memory.
    unsafe {
        waits(mask);
        real::epoll_pwait(epoll, events, n, timeout, mask)
    }
}

/// # Safety
/// The arguments keep the contract of `epoll_pwait2`; the stub passes `site`.
pub unsafe extern "C-unwind" fn epoll_pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    n: c_int,
    timeout: *const timespec,
    mask: *const sigset_t,
    site: u64,
) -> c_int {
    // SAFETY: `takes_time` reads the program's own time only where there is memory.
    if left_held::holds_any() && unsafe { takes_time(timeout) } {
        left_held::idles(const { blocking_call("epoll_pwait2") }, site);
    }
    // SAFETY: `epoll_pwait2` gets the program's own arguments unchanged; `waits` reads `mask` where
    // there is memory.
    unsafe {
        waits(mask);
        real::epoll_pwait2(epoll, events, n, timeout, mask)
    }
}

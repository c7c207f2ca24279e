//! Waits for children. A process that is killed by a signal cannot say so in its ledger; its parent can.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use libc::{CLD_DUMPED, CLD_KILLED, WIFSIGNALED, siginfo_t};

use super::may_sleep;
use crate::libc::real;
use crate::lockdep::watch;
use crate::os::{readable, time};
use crate::recorder::state;

/// Killed children that are recorded.
const MOST: u32 = 1024;

/// How many have been.
static KILLED: AtomicU32 = AtomicU32::new(0);

/// Bit of a status: there is a core file.
const DUMPED: c_int = 0x80;

/// `waitpid`.
///
/// # Safety
/// The arguments keep the contract of `waitpid`; the stub passes `site`.
pub unsafe extern "C-unwind" fn waitpid(p: c_int, s: *mut c_int, o: c_int, site: u64) -> c_int {
    // SAFETY: the caller promises the arguments, and the stub's `site`.
    unsafe { with_status(s, |s| may_sleep::waitpid(p, s, o, site)) }
}

/// `wait`.
///
/// # Safety
/// The argument keeps the contract of `wait`.
pub unsafe extern "C-unwind" fn wait(s: *mut c_int, _site: u64) -> c_int {
    // SAFETY: the caller promises the argument.
    unsafe { with_status(s, |s| real::wait(s)) }
}

/// `wait3`.
///
/// # Safety
/// The arguments keep the contract of `wait3`.
pub unsafe extern "C-unwind" fn wait3(s: *mut c_int, o: c_int, r: *mut c_void, _: u64) -> c_int {
    // SAFETY: the caller promises the arguments.
    unsafe { with_status(s, |s| real::wait3(s, o, r)) }
}

/// `wait4`.
///
/// # Safety
/// The arguments keep the contract of `wait4`.
pub unsafe extern "C-unwind" fn wait4(
    p: c_int,
    s: *mut c_int,
    o: c_int,
    r: *mut c_void,
    _site: u64,
) -> c_int {
    // SAFETY: the caller promises the arguments.
    unsafe { with_status(s, |s| real::wait4(p, s, o, r)) }
}

/// `waitid`.
///
/// # Safety
/// The arguments keep the contract of `waitid`.
pub unsafe extern "C-unwind" fn waitid(
    t: c_int,
    p: u32,
    i: *mut c_void,
    o: c_int,
    _site: u64,
) -> c_int {
    // SAFETY: the caller promises the arguments.
    let result = unsafe { real::waitid(t, p, i, o) };
    if result == 0 {
        // SAFETY: what the call has filled in is the program's siginfo_t, if there is memory.
        if let Some(info) = unsafe { readable::value(i.cast::<siginfo_t>()) } {
            let dumped = if info.si_code == CLD_DUMPED { DUMPED } else { 0 };
            // SAFETY: of a child, as waitid(2) says; of nothing, all is 0.
            let (pid, signal) = unsafe { (info.si_pid(), info.si_status()) };
            if pid > 0 && [CLD_KILLED, CLD_DUMPED].contains(&info.si_code) {
                killed(pid as u32, signal | dumped);
            }
        }
    }
    result
}

/// Waits by `call`, with a status of our own if the program wants none.
///
/// # Safety
/// `status` is null, or what the program passed for the status.
unsafe fn with_status(status: *mut c_int, call: impl FnOnce(*mut c_int) -> c_int) -> c_int {
    let mut own = 0;
    let is_wanted = !status.is_null();
    let child = call(if is_wanted { status } else { &raw mut own });
    if child > 0 {
        if is_wanted {
            // SAFETY: the call has written a status there. What another thread does with the memory since is only looked at
            // where there is memory.
            own = unsafe { readable::value(status) }.unwrap_or(0);
        }
        if WIFSIGNALED(own) {
            killed(child as u32, own);
        }
    }
    child
}

/// The child was killed by a signal, as its status says.
#[cold]
fn killed(pid: u32, status: c_int) {
    // Relaxed: a bound.
    if KILLED.fetch_add(1, Relaxed) < MOST {
        let thread = watch::thread().map_or(0, |thread| thread.id());
        let now = time::now_ns();
        state::with_core(|core| core.child_was_killed(thread, pid, status as u32, now));
    }
}

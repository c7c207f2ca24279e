//! Signals that may interrupt a thread: those that have a handler, and that the thread does not block.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_engines::lockdep::ThreadState;

use crate::os::sys;
use crate::recorder::state;

/// Signals that have had a handler: bit `n - 1`. They only become more: the kernel's usage, too, is
/// of what was seen at any time.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Signals that a correct handler cannot be interrupted by in the middle of lock code of its own
/// thread: they are raised by what the thread itself does wrong.
const SYNCHRONOUS: u64 = 1 << (libc::SIGSEGV - 1)
    | 1 << (libc::SIGBUS - 1)
    | 1 << (libc::SIGFPE - 1)
    | 1 << (libc::SIGILL - 1)
    | 1 << (libc::SIGTRAP - 1)
    | 1 << (libc::SIGABRT - 1)
    | 1 << (libc::SIGSYS - 1);

/// The thread raises this signal by what it does itself.
pub fn is_synchronous(signal: u32) -> bool {
    SYNCHRONOUS >> (signal - 1) & 1 != 0
}

/// The open signals of a thread that blocks `mask`.
pub fn open_with(mask: u64) -> u64 {
    HANDLED.load(Relaxed) & !mask & !SYNCHRONOUS
}

/// A signal has got a handler: threads that do not block it have it open from now on.
pub fn now_handled(signal: c_int) {
    let bit = 1 << (signal - 1);
    if HANDLED.fetch_or(bit, Relaxed) & bit != 0 || bit & SYNCHRONOUS != 0 {
        return;
    }
    state::with_core(|core| {
        core.signals_changed(bit);
    });
}

/// At a thread's begin: the mask is its creator's.
pub fn inherit_mask(thread: &mut ThreadState) {
    let mask = sys::signal_mask();
    thread.set_blocked_signals(mask);
    thread.set_open_signals(open_with(mask));
}

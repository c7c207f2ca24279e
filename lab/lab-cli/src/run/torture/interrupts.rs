//! Signals that end torture with its statistics, as the kernel's ends when its module is removed.

use std::mem::MaybeUninit;
use std::ptr;

/// From construction to drop these signals are blocked in this thread, and in those that it starts.
pub struct Interrupts {
    set: libc::sigset_t,
    before: libc::sigset_t,
}

impl Interrupts {
    /// Begins to take them.
    pub fn take() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: it writes to the set, which is ours and large enough.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: `sigemptyset` has initialised all of it just now.
        let mut set: libc::sigset_t = unsafe { set.assume_init() };
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: a valid set and signal number.
            unsafe { libc::sigaddset(&mut set, signal) };
        }
        let mut before = MaybeUninit::uninit();
        // SAFETY: a valid set and room for the old one; with these arguments it cannot fail.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, before.as_mut_ptr()) };
        // SAFETY: filled in by the call.
        Self { set, before: unsafe { before.assume_init() } }
    }

    /// Whether one has come.
    pub fn pending(&self) -> bool {
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a valid set and time; nobody wants to know more of the signal.
        unsafe { libc::sigtimedwait(&self.set, ptr::null_mut(), &at_once) > 0 }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // SAFETY: a valid set; the old one is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

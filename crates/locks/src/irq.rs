//! Keeps signals away from a thread for a while: the kernel's `local_irq_save`. In user space a
//! signal's handler is what interrupts a thread.
//!
//! A fault (SIGSEGV and the like) while signals are blocked ends the process, handler or not.

use core::mem::MaybeUninit;
use core::ptr;

/// The signals that a thread blocked before it blocked all.
#[must_use = "signals stay blocked until they are restored"]
#[derive(Clone, Copy)]
pub struct IrqFlags(libc::sigset_t);

impl IrqFlags {
    /// Those that are in a set.
    pub const fn from_set(set: libc::sigset_t) -> Self {
        Self(set)
    }

    /// As a set.
    pub const fn set(&self) -> &libc::sigset_t {
        &self.0
    }
}

/// Blocks all signals that can be in the calling thread. Returns those that were.
pub fn local_irq_save() -> IrqFlags {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: fills the one, reads it, and writes the other; it cannot fail with these arguments.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
        IrqFlags(before.assume_init())
    }
}

/// Blocks in the calling thread the signals that were blocked before [`local_irq_save`], and lets
/// in those that came meanwhile.
pub fn local_irq_restore(flags: IrqFlags) {
    // SAFETY: reads a set that is valid; it cannot fail with these arguments.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, flags.set(), ptr::null_mut()) };
}

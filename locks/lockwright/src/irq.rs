//! Keeps signals away from a thread for a while: the kernel's `local_irq_save`. In user space a
//! signal's handler is what interrupts a thread.
//!
//! A fault (SIGSEGV and the like) while signals are blocked ends the process, handler or not.

use core::mem::MaybeUninit;
use core::ptr;

const _: () = assert!(size_of::<libc::sigset_t>() >= size_of::<u64>());

/// The signals that a thread blocked before it blocked all.
#[must_use = "signals stay blocked until they are restored"]
#[derive(Clone, Copy)]
pub struct IrqFlags(libc::sigset_t);

impl IrqFlags {
    /// As one word, as the kernel's are: it is no more than a thread's mask has signals.
    pub fn to_bits(self) -> u64 {
        // SAFETY: a set is larger, made of integers, and signals 1 to 64 are its beginning.
        unsafe { ptr::from_ref(&self.0).cast::<u64>().read_unaligned() }
    }

    /// The flags in a word from [`IrqFlags::to_bits`].
    pub fn from_bits(bits: u64) -> Self {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: a set is larger than a word, made of integers, and signals 1 to 64 are its
        // beginning; zeros are a set without signals.
        unsafe {
            set.as_mut_ptr().cast::<u64>().write_unaligned(bits);
            Self(set.assume_init())
        }
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
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &flags.0, ptr::null_mut()) };
}

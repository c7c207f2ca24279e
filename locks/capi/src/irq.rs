//! Locks with signals blocked: what the functions do that end in `_irqsave` and `_irqrestore`,
//! written once for all of them; and the two that block signals alone.

use core::ffi::c_int;

use locks::irq::{IrqFlags, local_irq_restore, local_irq_save};

/// Takes a lock by `take` with all signals blocked. Returns what that does; if that is not 0, the
/// mask is as it was, and `flags` as they were.
///
/// # Safety
/// `flags` has room.
#[inline(always)]
pub unsafe fn irqsave(flags: *mut u64, take: impl FnOnce() -> c_int) -> c_int {
    let before = local_irq_save();
    let error = take();
    match error {
        // SAFETY: by this function's contract `flags` points to memory for the flags.
        0 => unsafe { flags.write(before.to_bits()) },
        _ => local_irq_restore(before),
    }
    error
}

/// Releases a lock by `give`, and lets in the signals that came meanwhile. Returns what that does;
/// if that is not 0, the mask stays as it is.
#[inline(always)]
pub fn irqrestore(flags: u64, give: impl FnOnce() -> c_int) -> c_int {
    let error = give();
    if error == 0 {
        local_irq_restore(IrqFlags::from_bits(flags));
    }
    error
}

/// Blocks all signals that can be in this thread, and says in `flags` which were. Returns 0.
///
/// - The caller must restore the flags in the same thread, and nested flags in the reverse order.
/// - The caller must not cause a fault (SIGSEGV and the like): it would end the process, even
///   with a handler.
///
/// # Safety
/// Memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_local_irq_save(flags: *mut u64) -> c_int {
    // SAFETY: `flags` points to memory for the flags, as locks.h requires.
    unsafe { irqsave(flags, || 0) }
}

/// Blocks in this thread the signals that were blocked before, and lets in those that came
/// meanwhile. Returns 0.
///
/// - The flags must be those of the last lw_local_irq_save of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn lw_local_irq_restore(flags: u64) -> c_int {
    irqrestore(flags, || 0)
}

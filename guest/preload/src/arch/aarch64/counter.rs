//! The processor's counter of time.

use core::arch::asm;

/// The virtual counter. It may be some tens of nanoseconds coarse.
#[inline(always)]
pub fn counter() -> u64 {
    let counter: u64;
    // SAFETY: the kernel lets programs read the counter, and the instruction touches no memory. Without `nomem` it stays between
    // the accesses around it.
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) counter, options(nostack, preserves_flags)) };
    counter
}

/// The counter runs at one rate, in all sleep states: the architecture says so.
pub fn is_counter_even() -> bool {
    true
}

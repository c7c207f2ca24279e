//! The processor's counter of time.

use core::arch::x86_64::{__cpuid, _rdtsc};

/// The time-stamp counter.
#[inline(always)]
pub fn counter() -> u64 {
    // SAFETY: the instruction reads a counter that each x86-64 processor has, and touches no
    // memory.
    unsafe { _rdtsc() }
}

/// The counter runs at one rate, in all sleep states (CPUID 0x8000_0007, EDX bit 8).
pub fn is_counter_even() -> bool {
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & 1 << 8 != 0
}

//! x86-64. The lowest byte of a word is changed alone: by instructions, because Rust has no word that is accessed in two sizes.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

/// A fence of SeqCst after an atomic exchange or arithmetic: a locked instruction is one (Intel's manual 3A, 9.2.3.9; AMD's 2,
/// 7.4.2).
#[inline(always)]
#[cfg_attr(not(feature = "std"), allow(dead_code, reason = "of the platform of std"))]
pub fn fence_after_atomic() {
    compiler_fence(Ordering::SeqCst);
}

/// Stores 0: one plain store, which is a release on this architecture.
#[inline(always)]
pub fn clear_byte(word: &AtomicU32, _order: Ordering) {
    // SAFETY: the lowest byte of a live word; the compiler moves no access to memory over it.
    unsafe {
        asm!(
            "mov byte ptr [{word}], 0",
            word = in(reg) word.as_ptr(),
            options(nostack, preserves_flags)
        );
    }
}

/// Stores `value` and returns what was there. A full barrier.
#[inline(always)]
pub fn swap_byte(word: &AtomicU32, value: u8, _order: Ordering) -> u8 {
    let mut byte = value;
    // SAFETY: the byte is the lowest of a live word, and the compiler moves no access to memory
    // over the instruction.
    unsafe {
        asm!(
            "xchg byte ptr [{word}], {byte}",
            word = in(reg) word.as_ptr(),
            byte = inout(reg_byte) byte,
            options(nostack, preserves_flags)
        );
    }
    byte
}

/// Stores `new` if `current` is there. A full barrier.
///
/// # Errors
/// The byte found, if it is not `current`.
#[inline(always)]
pub fn compare_exchange_byte(
    word: &AtomicU32,
    current: u8,
    new: u8,
    _order: Ordering,
) -> Result<u8, u8> {
    let found: u8;
    // SAFETY: the byte is the lowest of a live word, and the compiler moves no access to memory
    // over the instruction.
    unsafe {
        asm!(
            "lock cmpxchg byte ptr [{word}], {new}",
            word = in(reg) word.as_ptr(),
            new = in(reg_byte) new,
            inout("al") current => found,
            options(nostack)
        );
    }
    if found == current { Ok(found) } else { Err(found) }
}

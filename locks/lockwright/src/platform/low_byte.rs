//! The lowest byte of a word, changed alone. As instructions, because Rust has no word that is
//! accessed in two sizes. Elsewhere than on x86-64, [`Word`](super::Word)'s own ways do.

use core::arch::asm;
use core::sync::atomic::AtomicU32;

/// Stores 0: one plain store, which is a release on this architecture.
#[inline(always)]
pub fn clear(word: &AtomicU32) {
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
pub fn swap(word: &AtomicU32, value: u8) -> u8 {
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
pub fn compare_exchange(word: &AtomicU32, current: u8, new: u8) -> Result<u8, u8> {
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

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn the_other_bytes_stay() {
        let word = AtomicU32::new(0xabcd_ef01);
        assert_eq!(compare_exchange(&word, 2, 3), Err(1));
        assert_eq!(compare_exchange(&word, 1, 3), Ok(1));
        assert_eq!(swap(&word, 7), 3);
        assert_eq!(word.load(Relaxed), 0xabcd_ef07);
        clear(&word);
        assert_eq!(word.load(Relaxed), 0xabcd_ef00);
    }
}

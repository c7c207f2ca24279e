//! x86-64: one instruction each.

use core::arch::asm;

/// Adds to a number that only this thread and its signal handlers change, `OFFSET` bytes into a row.
///
/// # Safety
/// `row` is mapped, and this thread's; `OFFSET` is aligned and lies within it.
#[inline(always)]
pub unsafe fn add<const OFFSET: usize>(row: *mut impl Sized, by: u64) {
    // SAFETY: the caller passes a mapped row of its own, within which `OFFSET` lies.
    unsafe {
        asm!("add qword ptr [{} + {}], {}", in(reg) row, const OFFSET, in(reg) by,
             options(nostack));
    }
}

/// [`add`] of 1, which needs no register.
///
/// # Safety
/// As for [`add`].
#[inline(always)]
pub unsafe fn increment<const OFFSET: usize>(row: *mut impl Sized) {
    // SAFETY: the caller passes a mapped row of its own, within which `OFFSET` lies.
    unsafe {
        asm!("add qword ptr [{} + {}], 1", in(reg) row, const OFFSET, options(nostack));
    }
}

/// Compares a value with the word at a base and an offset, and returns false from the function if the jump `$no` is taken.
///
/// It is unsafe: the word is mapped and aligned. An aligned load of eight bytes is atomic here.
macro_rules! compare {
    ($value:expr, $base:expr, $at:expr, $no:literal) => {
        asm!(
            "cmp {value}, qword ptr [{base} + {at}]",
            concat!($no, " {no}"),
            value = in(reg) $value,
            base = in(reg) $base,
            at = const $at,
            no = label { return false },
            options(nostack, readonly),
        )
    };
}

/// `value` is below the word at `base + AT`.
///
/// # Safety
/// The word is mapped and aligned; others write it atomically only.
#[inline(always)]
pub unsafe fn is_below<const AT: usize>(value: u64, base: *const impl Sized) -> bool {
    // SAFETY: the caller passes a mapped, aligned word.
    unsafe { compare!(value, base, AT, "jae") };
    true
}

/// `value` is equal to the word at `base + AT`.
///
/// # Safety
/// The word is mapped and aligned; others write it atomically only.
#[inline(always)]
pub unsafe fn is_equal<const AT: usize>(value: u64, base: *const impl Sized) -> bool {
    // SAFETY: the caller passes a mapped, aligned word.
    unsafe { compare!(value, base, AT, "jne") };
    true
}

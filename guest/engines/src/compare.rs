//! Comparisons with a word that another thread may write meanwhile, by one instruction.
//!
//! They are what a relaxed atomic load and a comparison are. The compiler makes two instructions of
//! those, since it folds no atomic load into another instruction, and on the fast path each counts.

/// `value` is below the word at `base + AT`.
///
/// # Safety
/// The word is mapped and aligned; others write it atomically only.
#[inline(always)]
pub unsafe fn is_below<const AT: usize>(value: u64, base: *const impl Sized) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: the caller passes a mapped, aligned word. An aligned load of eight bytes is
        // atomic here.
        unsafe {
            core::arch::asm!(
                "cmp {value}, qword ptr [{base} + {at}]",
                "jae {no}",
                value = in(reg) value,
                base = in(reg) base,
                at = const AT,
                no = label { return false },
                options(nostack, readonly),
            );
        }
        true
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        // SAFETY: the caller passes a mapped, aligned word that others write atomically only, as
        // `relaxed` demands.
        value < unsafe { relaxed(base.byte_add(AT).cast()) }
    }
}

/// `value` is the word at `base + AT`.
///
/// # Safety
/// As [`is_below`].
#[inline(always)]
pub unsafe fn is_equal<const AT: usize>(value: u64, base: *const impl Sized) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: the caller passes a mapped, aligned word. An aligned load of eight bytes is
        // atomic here.
        unsafe {
            core::arch::asm!(
                "cmp {value}, qword ptr [{base} + {at}]",
                "jne {no}",
                value = in(reg) value,
                base = in(reg) base,
                at = const AT,
                no = label { return false },
                options(nostack, readonly),
            );
        }
        true
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        // SAFETY: the caller passes a mapped, aligned word that others write atomically only, as
        // `relaxed` demands.
        value == unsafe { relaxed(base.byte_add(AT).cast()) }
    }
}

/// What the two are made of where there is no such instruction.
///
/// # Safety
/// As [`is_below`].
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn relaxed(word: *const u64) -> u64 {
    // SAFETY: the caller passes a mapped, aligned word, and all other threads write it atomically.
    unsafe { core::sync::atomic::AtomicU64::from_ptr(word.cast_mut()) }
        .load(core::sync::atomic::Ordering::Relaxed)
}

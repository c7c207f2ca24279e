//! Jump buffers of glibc's.

use core::ffi::c_void;

/// Offset of glibc's `__mask_was_saved` in a jump buffer, after 22 registers.
pub const MASK_WAS_SAVED: usize = 176;
/// Offset of the saved mask.
pub const MASK: usize = 184;

/// The stack pointer in a jump buffer. glibc mangles it with what only it knows here, so no frame counts as left: 0.
///
/// # Safety
/// `to` points to a `jmp_buf` that a setjmp of glibc's has filled.
pub unsafe fn jumps_to(_to: *const c_void) -> u64 {
    0
}

//! The calling thread's state pointer, in initial-exec TLS: two instructions to read, no call into
//! the loader (`thread_local!` in a shared library goes through `__tls_get_addr`, which may allocate
//! and lock).
//!
//! Null: the thread is not attached (yet, or because nothing is watched).

use core::arch::{asm, global_asm};

use lockwright_engines::lockdep::ThreadState;

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".type lockwright_thread, @object",
    ".size lockwright_thread, 16",
    "lockwright_thread:",
    ".zero 16",
    ".text",
);

/// The state of the calling thread.
#[inline(always)]
pub fn get() -> *mut ThreadState {
    let state: *mut ThreadState;
    // SAFETY: reads this thread's word of the symbol above, through the offset that the loader put
    // into the GOT.
    unsafe {
        asm!("mov {0}, qword ptr [rip + lockwright_thread@GOTTPOFF]", "mov {0}, qword ptr fs:[{0}]",
             out(reg) state, options(nostack, readonly, preserves_flags));
    }
    state
}

/// Sets it.
pub fn set(state: *mut ThreadState) {
    // SAFETY: writes this thread's word of the symbol above.
    unsafe {
        asm!("mov {0}, qword ptr [rip + lockwright_thread@GOTTPOFF]", "mov qword ptr fs:[{0}], {1}",
             out(reg) _, in(reg) state, options(nostack, preserves_flags));
    }
}

/// The second word: not 0 once the thread's exit has been recorded, or attaching it failed; it stays
/// unwatched then.
pub fn is_closed() -> bool {
    let word: u64;
    // SAFETY: as in `get`, 8 bytes further.
    unsafe {
        asm!("mov {0}, qword ptr [rip + lockwright_thread@GOTTPOFF]", "mov {0}, qword ptr fs:[{0} + 8]",
             out(reg) word, options(nostack, readonly, preserves_flags));
    }
    word != 0
}

/// Sets the second word.
pub fn set_closed(closed: bool) {
    // SAFETY: as in `set`, 8 bytes further.
    unsafe {
        asm!("mov {0}, qword ptr [rip + lockwright_thread@GOTTPOFF]", "mov qword ptr fs:[{0} + 8], {1}",
             out(reg) _, in(reg) u64::from(closed), options(nostack, preserves_flags));
    }
}

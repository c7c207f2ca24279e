//! The calling thread's words, in initial-exec TLS: two instructions to read, no call into the
//! loader (`thread_local!` in a shared library goes through `__tls_get_addr`, which may allocate
//! and lock).
//!
//! The number has the era in its upper half in which it was given: a forked child has none yet.

use core::arch::{asm, global_asm};

use lockwright_glibc::table::thread;

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    // Global, since code in any compilation unit refers to it; hidden, since nobody else may.
    ".globl lockwright_swap_thread",
    ".hidden lockwright_swap_thread",
    ".type lockwright_swap_thread, @object",
    ".size lockwright_swap_thread, 16",
    "lockwright_swap_thread:",
    ".zero 16",
    ".text",
);

/// No number.
pub const NONE: u32 = u32::MAX;

/// The word `AT` bytes into the thread's words.
#[inline(always)]
fn get<const AT: usize>() -> u64 {
    let word: u64;
    // SAFETY: reads this thread's words of the symbol above, through the offset that the loader
    // put into the GOT; callers stay within them.
    unsafe {
        asm!("mov {0}, qword ptr [rip + lockwright_swap_thread@GOTTPOFF]",
             "mov {0}, qword ptr fs:[{0} + {at}]",
             out(reg) word, at = const AT, options(nostack, readonly, preserves_flags));
    }
    word
}

/// Sets it.
fn set<const AT: usize>(word: u64) {
    // SAFETY: it writes this thread's own word of the symbol, `AT` bytes further; callers stay
    // within it.
    unsafe {
        asm!("mov {0}, qword ptr [rip + lockwright_swap_thread@GOTTPOFF]",
             "mov qword ptr fs:[{0} + {at}], {1}",
             out(reg) _, in(reg) word, at = const AT, options(nostack, preserves_flags));
    }
}

/// The thread's id where glibc keeps it: `tid` of its `struct pthread`, which has been there for as
/// long as x86-64 has been one of its machines. Whether it is so, `era` checks at start.
#[inline(always)]
pub fn librarys_id() -> u32 {
    let id: u32;
    // SAFETY: reads within the C library's own structure of this thread, which is longer.
    unsafe {
        asm!("mov {0:e}, dword ptr fs:[{at}]", out(reg) id, at = const thread::TID.always(),
             options(nostack, readonly, preserves_flags));
    }
    id
}

/// The thread's id, 0 as long as it has not been asked for.
#[inline(always)]
pub fn id() -> u32 {
    get::<0>() as u32
}

/// Sets it.
pub fn set_id(id: u32) {
    set::<0>(id.into());
}

/// The thread's number, plus 1, if it was given in this era; [`NONE`]: it is to have none.
#[inline(always)]
pub fn number(era: u32) -> Option<u32> {
    let word = get::<8>();
    ((word >> 32) as u32 == era).then_some(word as u32)
}

/// Sets it.
pub fn set_number(era: u32, number: u32) {
    set::<8>((u64::from(era) << 32) | u64::from(number));
}

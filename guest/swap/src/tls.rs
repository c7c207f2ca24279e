//! The calling thread's words, in initial-exec TLS: a few instructions to read, no call into the
//! loader (`thread_local!` in a shared library goes through `__tls_get_addr`, which may allocate
//! and lock).
//!
//! The number has the era in its upper half in which it was given: a forked child has none yet.

use core::arch::global_asm;

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
    // SAFETY: reads this thread's words of the symbol above, through the offset that the loader
    // put into the GOT; callers stay within them.
    unsafe { own_word!("lockwright_swap_thread", AT) }
}

/// Sets it.
fn set<const AT: usize>(word: u64) {
    // SAFETY: it writes this thread's own word of the symbol, `AT` bytes further; callers stay
    // within it.
    unsafe { set_own_word!("lockwright_swap_thread", AT, word) };
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

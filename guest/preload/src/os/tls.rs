//! The calling thread's state pointer, in initial-exec TLS: two instructions to read, no call into
//! the loader (`thread_local!` in a shared library goes through `__tls_get_addr`, which may
//! allocate and lock).
//!
//! A thread that is not attached (yet, or because nothing is watched) has the detached state:
//! nothing is held there and there is room for nothing, so that the fast paths fail on it without a
//! check.

use core::arch::global_asm;
use core::mem::{offset_of, size_of};

use lockwright_engines::lockdep::ThreadState;
use lockwright_ledger::rows::{Held, Thread};

const _: () = assert!(offset_of!(Thread, held.top) == 8);
const _: () = assert!(offset_of!(Thread, held.limit) == 16);
const _: () = assert!(offset_of!(Thread, held.base) == 24);

global_asm!(
    ".section .tdata,\"awT\",@progbits",
    ".balign 8",
    // Global, since code in any compilation unit refers to them; hidden, since nobody else may.
    ".globl lockwright_thread",
    ".hidden lockwright_thread",
    ".globl lockwright_detached",
    ".hidden lockwright_detached",
    ".type lockwright_thread, @object",
    ".size lockwright_thread, 96",
    "lockwright_thread:",
    ".quad lockwright_detached",
    ".quad 0",
    ".quad 0",
    ".quad 0",
    ".quad 0",
    ".quad 0",
    ".quad 0",
    ".quad 0",
    ".quad 0",
    ".quad 0",
    ".quad 0",
    ".quad 0",
    ".data",
    ".balign 64",
    "lockwright_detached:",
    ".zero 8",
    ".quad lockwright_nothing_held", // top
    ".quad 0",                       // limit
    ".quad lockwright_nothing_held", // base
    ".zero {rest}",
    ".balign 16",
    "lockwright_nothing_held:",
    ".zero {held}",
    ".text",
    rest = const size_of::<Thread>() - 32,
    held = const size_of::<Held>(),
);

/// The state of the calling thread, or the detached one, which is never written to.
#[inline(always)]
pub fn raw() -> *mut ThreadState {
    // SAFETY: reads this thread's word of the symbol above, through the offset that the loader put
    // into the GOT.
    (unsafe { own_word!("lockwright_thread", 0) }) as *mut ThreadState
}

fn detached() -> *mut ThreadState {
    // SAFETY: the address of the object above.
    (unsafe { address_of!("lockwright_detached") }) as *mut ThreadState
}

/// The state of the calling thread, null if it is detached.
#[inline(always)]
pub fn get() -> *mut ThreadState {
    let state = raw();
    if state == detached() { core::ptr::null_mut() } else { state }
}

/// Whether the calling thread runs a signal's handler. `None`: it is detached, so that nobody knows.
pub fn in_handler() -> Option<bool> {
    // SAFETY: the thread's own state, which stays while the thread runs; only read, and not kept.
    let thread = unsafe { get().as_ref() }?;
    Some(thread.in_signal() != 0)
}

/// Detaches the calling thread.
pub fn detach() {
    set(detached());
}

/// Sets it.
pub fn set(state: *mut ThreadState) {
    // SAFETY: writes this thread's word of the symbol above.
    unsafe { set_own_word!("lockwright_thread", 0, state) };
}

/// The word `AT` bytes into the thread's copy of `lockwright_thread`.
fn word<const AT: usize>() -> u64 {
    // SAFETY: it reads this thread's own word of the symbol, `AT` bytes from its start; callers
    // stay within it.
    unsafe { own_word!("lockwright_thread", AT) }
}

/// Sets the word `AT` bytes into it.
fn set_word<const AT: usize>(value: u64) {
    // SAFETY: it writes this thread's own word of the symbol, `AT` bytes from its start; callers
    // stay within it.
    unsafe { set_own_word!("lockwright_thread", AT, value) };
}

/// The second word: not 0 once the thread's exit has been recorded, or attaching it failed; it
/// stays unwatched then.
pub fn is_closed() -> bool {
    word::<8>() != 0
}

/// Sets the second word.
pub fn set_closed(closed: bool) {
    set_word::<8>(closed.into());
}

/// The third word: not 0 where the thread would be killed for a system call of ours.
pub fn is_barred() -> bool {
    word::<16>() != 0
}

/// Sets the third word.
pub fn set_barred(barred: bool) {
    set_word::<16>(barred.into());
}

/// The fourth word: not 0 while the thread forks, and what it leaves to its child is written down.
pub fn leaves() -> bool {
    word::<24>() != 0
}

/// Sets the fourth word.
pub fn set_leaves(leaves: bool) {
    set_word::<24>(leaves.into());
}

/// The fifth word: the round of the thread's destructors that is to come, from 1; 0 if its end is
/// not to be heard of yet (`threads/lifetime.rs`).
pub fn exit_round() -> u64 {
    word::<32>()
}

/// Sets the fifth word.
pub fn set_exit_round(round: u64) {
    set_word::<32>(round);
}

/// The sixth word: the innermost call of `pthread_once` that is under way (`interpose/locks/once.rs`). It
/// means nothing once that has called its routine.
pub fn once_call() -> u64 {
    word::<40>()
}

/// Sets the sixth word.
pub fn set_once_call(call: u64) {
    set_word::<40>(call);
}

/// The seventh word: an address in the frame of the slow path's part that the thread is in, 0 if it
/// is in none (`recorder/slow_cost.rs`).
pub fn slow_frame() -> u64 {
    word::<48>()
}

/// Sets the seventh word.
pub fn set_slow_frame(frame: u64) {
    set_word::<48>(frame);
}

/// The eighth word: how many short parts of the slow path the thread has been in.
pub fn short_parts() -> u64 {
    word::<56>()
}

/// Sets the eighth word.
pub fn set_short_parts(parts: u64) {
    set_word::<56>(parts);
}

/// The ninth word: adds 1 to it, and answers what it was. A handler that comes between adds to it before or after that.
pub fn add_number() -> u64 {
    // SAFETY: it adds to this thread's own word of the symbol. No handler divides it, and no other thread uses the word.
    unsafe { count_own_word!("lockwright_thread", 64) }
}

/// Sets the ninth word.
pub fn set_numbers(numbers: u64) {
    set_word::<64>(numbers);
}

/// The tenth word: the innermost call of a method of one of CPython's locks that is under way, an address in the frame of its
/// wrapper; 0 if there is none (`lock_id/python_calls.rs`).
pub fn python_call() -> u64 {
    word::<72>()
}

/// Sets the tenth word.
pub fn set_python_call(call: u64) {
    set_word::<72>(call);
}

/// Where in the thread's copy of `lockwright_thread` the eleventh word is.
pub const ROOMS: usize = 80;

/// The eleventh word: in how many parts of findings that are avoided the thread is (`steering/apart.rs`).
pub fn rooms() -> u64 {
    word::<ROOMS>()
}

/// Sets the eleventh word.
pub fn set_rooms(rooms: u64) {
    set_word::<ROOMS>(rooms);
}

/// The twelfth word: the lock that the thread was about to take when it was last at a place of a plan (`steering/meeting.rs`).
pub fn steered() -> u64 {
    word::<88>()
}

/// Sets the twelfth word.
pub fn set_steered(lock: u64) {
    set_word::<88>(lock);
}

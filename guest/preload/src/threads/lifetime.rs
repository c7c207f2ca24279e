//! A thread's life, which is the same for all engines: when it may begin to be watched, and when it
//! has ended.

use core::ffi::c_void;
use core::ptr;

use super::{keys, unnoticed_ends};
use crate::hosts;
use crate::os::tls;
use crate::recorder::state;

/// How often the C library calls destructors of a value that is set again and again:
/// PTHREAD_DESTRUCTOR_ITERATIONS.
const ROUNDS: u64 = 4;

/// Hears of threads' ends from now on. At start, before any thread.
pub fn start() {
    if !keys::EXIT.make(destructor) {
        unnoticed_ends::end_unnoticed();
    }
}

/// The calling thread may begin to be watched: there is a ledger. A forked child gets its own here,
/// and engines whose hosts attach are attached then.
pub fn may_begin() -> bool {
    if state::status() == state::FORKED {
        state::begin_child();
    }
    let may_begin = state::status() == state::ACTIVE;
    if may_begin {
        unnoticed_ends::look();
    }
    may_begin
}

/// Has the engines hear of the calling thread's end, all at once. False: they have heard of it.
pub fn hear_of_end() -> bool {
    let round = tls::exit_round();
    if round == 0 {
        begin_round(1);
    }
    round <= ROUNDS
}

/// Has [`destructor`] called, for the `round`th time.
fn begin_round(round: u64) {
    tls::set_exit_round(round);
    keys::EXIT.set(ptr::without_provenance(round as usize));
}

/// Destructors of other keys may still use locks: we go last, in the last of the rounds.
///
/// # Safety
/// The C library calls it at the end of a thread, as the key's destructor.
unsafe extern "C" fn destructor(_value: *mut c_void) {
    // Not the value: it was ours, but the program may have meant another key by that number.
    match tls::exit_round() {
        // It is the program's, of a thread that nobody watches.
        0 => {}
        round if round < ROUNDS => begin_round(round + 1),
        _ => {
            tls::set_exit_round(ROUNDS + 1);
            hosts::each_backwards(|host| (host.thread_ended)());
        }
    }
}

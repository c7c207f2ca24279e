//! System V's and BSD's ways to change handlers and masks: in glibc they do it past our other
//! wrappers.

use core::ffi::c_int;

use lockwright_engines::lockdep::MaskCall;

use crate::libc::real;
use crate::lockdep::signal::{self, SIGNALS};

/// `SIG_HOLD`: not a handler but "block it".
const SIG_HOLD: usize = 2;

/// # Safety
/// The arguments keep the contract of `sigset`.
pub unsafe extern "C-unwind" fn sigset(signal: c_int, handler: usize, _site: u64) -> usize {
    // SAFETY: the next `sigset` gets the program's own `signal` and `handler` unchanged, as without
    // us.
    let call = |handler| unsafe { real::sigset(signal, handler) };
    if !(1..SIGNALS as c_int).contains(&signal) {
        return call(handler);
    }
    let old = match handler {
        SIG_HOLD => signal::translate(signal, call(handler)),
        _ => signal::replace(signal, handler, call),
    };
    // Blocked, or open from here on.
    let call = if handler == SIG_HOLD { MaskCall::Block } else { MaskCall::Unblock };
    signal::mask_changed(call);
    old
}

/// `name(argument)`, and what it asks for: forwarded, after which the mask is another.
macro_rules! changes_mask {
    ($($name:ident($argument:ident) $call:ident;)*) => { $(
        /// # Safety
        /// The arguments keep the contract of the row's function.
        pub unsafe extern "C-unwind" fn $name($argument: c_int, _site: u64) -> c_int {
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            let result = unsafe { real::$name($argument) };
            signal::mask_changed(MaskCall::$call);
            result
        }
    )* };
}

changes_mask! {
    sighold(signal) Block;
    sigrelse(signal) Unblock;
    sigblock(mask) Block;
    sigsetmask(mask) Set;
}

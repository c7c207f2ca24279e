//! System V's and BSD's ways to change handlers and masks: in glibc they do it past our other
//! wrappers.

use core::ffi::c_int;

use super::signal::{self, SIGNALS};
use crate::libc::real;

/// `SIG_HOLD`: not a handler but "block it".
const SIG_HOLD: usize = 2;

pub unsafe extern "C-unwind" fn sigset(signal: c_int, handler: usize, _site: u64) -> usize {
    // SAFETY: forwarded.
    let call = |handler| unsafe { real::sigset(signal, handler) };
    if !(1..SIGNALS as c_int).contains(&signal) {
        return call(handler);
    }
    let old = match handler {
        SIG_HOLD => signal::translate(signal, call(handler)),
        _ => signal::replace(signal, handler, call),
    };
    // Blocked, or open from here on.
    signal::mask_changed();
    old
}

/// `name(argument)`: forwarded, after which the mask is another.
macro_rules! changes_mask {
    ($($name:ident($argument:ident);)*) => { $(
        pub unsafe extern "C-unwind" fn $name($argument: c_int, _site: u64) -> c_int {
            // SAFETY: forwarded.
            let result = unsafe { real::$name($argument) };
            signal::mask_changed();
            result
        }
    )* };
}

changes_mask! {
    sighold(signal);
    sigrelse(signal);
    sigblock(mask);
    sigsetmask(mask);
}

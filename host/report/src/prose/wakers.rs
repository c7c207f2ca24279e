//! What wakes the waiters of a condition or futex.

use super::words::number;
use lockwright_analysis::lockmeter::model::{Waker, WakerKind};

/// The calls, before the place where they are: of a futex nothing, as the place is named alone.
pub fn calls(waker: &Waker) -> String {
    let what = match waker.kind {
        WakerKind::Wake => return String::new(),
        WakerKind::Routine => return "the end of the routine that ran in ".to_owned(),
        WakerKind::Signal => "signal",
        WakerKind::Broadcast => "broadcast",
    };
    let plural = if waker.calls == 1 { "" } else { "s" };
    format!("{} {what}{plural} in ", number(waker.calls))
}

/// How many of the woken threads waited again at once, if any did.
pub fn in_vain(waker: &Waker) -> String {
    match waker.in_vain {
        0 => String::new(),
        in_vain => format!(", {} of them in vain", number(in_vain)),
    }
}

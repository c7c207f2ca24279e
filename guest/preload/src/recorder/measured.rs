//! Parts of the slow path that use the shared state several times, or not at all: each counts as one entry.

use lockwright_ledger::Header;

use super::slow_cost::{Timed, begin_outermost, enter, inside, is_inside, leave, sampled};
use super::state;
use crate::os::tls;

/// One of so many short parts of a thread is timed.
pub(super) const SHORT_SAMPLE: u64 = 64;

/// As [`SHORT_SAMPLE`], once a thread has had [`MANY`]: their mean is known to some percent by then, and the clock would be
/// an eighth of what they take.
pub(super) const SHORT_SAMPLE_OF_MANY: u64 = 512;
const MANY: u64 = 1 << 14;

/// Runs a part of the slow path and counts it as one entry.
pub fn measured<R>(part: impl FnOnce() -> R) -> R {
    let Some(header) = outermost() else { return part() };
    let timed = begin_outermost(header);
    let result = inside(part);
    if let Some(timed) = timed {
        timed.end(header, 0);
    }
    result
}

/// As [`measured`], for a part that is short and frequent: no line is written to that threads share, except where it
/// is timed.
#[inline(always)]
pub fn measured_short<R>(part: impl FnOnce() -> R) -> R {
    let short = Short::begin();
    let result = part();
    short.end();
    result
}

/// A part that is short and frequent, of the function that begins it. Not a closure: such a part is mostly inlined then.
#[must_use]
pub struct Short {
    /// `None`: it is part of another, or nothing is watched.
    header: Option<&'static Header>,
    timed: Option<Timed>,
}

impl Short {
    /// The part begins.
    #[inline(always)]
    pub fn begin() -> Self {
        let header = outermost();
        let stands_for = if header.is_some() { next_short() } else { 0 };
        let timed = if stands_for == 0 { None } else { Timed::begin_short(stands_for) };
        if header.is_some() {
            enter();
        }
        Self { header, timed }
    }

    /// Runs `other` as no part of this: what the program asked for, or what is long and counts as an entry of its own.
    #[inline(always)]
    pub fn outside<R>(&mut self, other: impl FnOnce() -> R) -> R {
        core::mem::replace(self, Self { header: None, timed: None }).end();
        let result = other();
        *self = Self::begin();
        result
    }

    /// The part ends, in the function that has begun it.
    #[inline(always)]
    pub fn end(self) {
        if let Some(header) = self.header {
            leave();
            if let Some(timed) = self.timed {
                timed.end_short(header);
            }
        }
    }
}

/// How many the short part that begins now stands for, 0 if it is not timed.
#[inline(always)]
fn next_short() -> u64 {
    let number = tls::short_parts();
    tls::set_short_parts(number + 1);
    // Threads with few parts each must not all begin with one that is timed.
    let of = if number < MANY { SHORT_SAMPLE } else { SHORT_SAMPLE_OF_MANY };
    sampled(number ^ tls::raw() as u64, of)
}

/// The header, if an entry that begins now is to be counted.
#[inline(always)]
fn outermost() -> Option<&'static Header> {
    if tls::is_barred() || is_inside() {
        return None;
    }
    // A forked child without a ledger does not touch the page that says whether it is here: it would
    // read it now and write to it later, which are two page faults instead of one.
    state::header().filter(|_| state::is_here())
}

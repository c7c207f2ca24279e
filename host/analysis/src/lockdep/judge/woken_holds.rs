//! What a thread did in a hold that it already had when it woke another thread, which has had the lock since then. In this
//! run, that was over:
//!
//! ```text
//! T1: L(A) CS(c) L(B) U(B) U(A)                signals within its hold of A, then takes B
//! T2: (woken by c) L(A) U(A) L(B) L(A) ...     has had A since, so T1 is done with B
//! ```
//!
//! The mutex of the condition wait counts as had: the wait ends with it.

use lockwright_ledger::rows::Node;

use super::precedence::Precedence;
use crate::model::{HandOn, Model};
use crate::view::occurrence::Acquisition;

/// The signal by which `a` was over, within such a hold, when `b` began.
pub fn over(
    model: &Model<'_>,
    precedence: &Precedence,
    a: &Acquisition,
    b: &Acquisition,
) -> Option<HandOn> {
    if a.segment == 0 || b.segment == 0 || model.handed_on.is_empty() {
        return None;
    }
    let mut signals = model.handed_on.before(&model.order, b.segment);
    let signal = signals.find(|signal| {
        let is_before = signal.from == a.thread && signal.last < a.segment;
        let mut held = model.trie.held(a.context.acquired).map(|(_, node)| node);
        is_before && held.any(|lock| was_had(model, precedence, signal, a, b, lock))
    });
    signal.copied()
}

/// The thread of `a` held the lock when it signalled, and the woken thread has had it before `b`.
fn was_had(
    model: &Model<'_>,
    precedence: &Precedence,
    signal: &HandOn,
    a: &Acquisition,
    b: &Acquisition,
    lock: &Node,
) -> bool {
    let begin = precedence.begin(model, a.segment, lock);
    if lock.inst == 0 || begin.is_none_or(|begin| begin > signal.last) {
        return false;
    }
    lock.inst == signal.mutex
        || precedence.is_taken_between(model, lock, (signal.to, signal.first), b)
}

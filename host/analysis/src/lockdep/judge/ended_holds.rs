//! Events that must be over before the threads of a cycle can all be in it, though nothing
//! orders it before any of them.
//!
//! A hold that has begun by then, and whose lock one of the threads holds, has ended for it; and all
//! that comes before that end is over, too. So further holds have begun, and so on:
//!
//! ```text
//! T2: L(B) OB(O) L(A) ...                    T2 runs the routine of O within B
//! T0: L(B) F(T1) L(C) U(B) OC(O) U(C)        T1's creator has had B, so C, so O's routine is over:
//! T1: L(C) L(A) OC(O) ...                    T1 with C held does not meet T2 in it
//! ```

use std::collections::HashMap;

use lockwright_ledger::rows::Hold;

use super::holds_around::{Enclosure, excludes};
use crate::model::Model;
use crate::view::occurrence::Acquisition;

/// One of `acquisitions` that would be over: the step whose lock says so, the step that is over, and
/// that lock with the thread whose hold of it has ended.
pub fn over(model: &Model<'_>, acquisitions: &[Acquisition]) -> Option<(usize, usize, Enclosure)> {
    let order = &model.order;
    let known = || acquisitions.iter().enumerate().filter(|(_, it)| it.segment != 0);
    let has_ended = |hold: &&Hold| hold.last != 0;
    // Holds whose lock a step's thread holds, with the step.
    let mut holds: Vec<(usize, &Hold)> = Vec::new();
    for (step, acquisition) in known() {
        for (_, node) in model.trie.held(acquisition.context.acquired) {
            let of_lock = order.holds(node.inst).iter().filter(has_ended);
            let of_others = of_lock.filter(|hold| excludes(model, hold, acquisition));
            holds.extend(of_others.map(|hold| (step, hold)));
        }
    }
    if holds.is_empty() {
        return None;
    }
    // The last segment of each thread that is over.
    let mut ended: HashMap<u32, u32> = HashMap::new();
    for (_, acquisition) in known() {
        for (&thread, &segment) in order.past(acquisition.segment).iter() {
            let is_own = thread == acquisition.thread;
            let last = if is_own { acquisition.segment - 1 } else { segment };
            end(&mut ended, thread, last);
        }
    }
    loop {
        let has_begun = |&(_, hold): &(usize, &Hold)| {
            ended.get(&hold.thread).is_some_and(|&latest| latest >= hold.first)
        };
        let (step, hold) = holds.swap_remove(holds.iter().position(has_begun)?);
        let before = order.past(hold.last);
        let is_over =
            |it: &Acquisition| before.get(&it.thread).is_some_and(|&latest| latest >= it.segment);
        if let Some((late, _)) = known().find(|(_, it)| is_over(it)) {
            return Some((step, late, Enclosure::of(hold)));
        }
        for (&thread, &last) in before.iter() {
            end(&mut ended, thread, last);
        }
    }
}

/// A thread's segments are over up to `last`.
fn end(ended: &mut HashMap<u32, u32>, thread: u32, last: u32) {
    let latest = ended.entry(thread).or_default();
    *latest = last.max(*latest);
}

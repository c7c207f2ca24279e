//! A waiter of a paravirtual spinlock halts, and is kicked (`pv_wait`, `pv_kick`): its virtual CPU
//! in a guest, its thread here. A node has a kick of its own, as a signal handler may halt in a
//! thread that has halted.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::event::Event;
use crate::platform::{Atomic, Platform, Word};
use crate::qnode::Node;

/// Not kicked. Other values: kicked, at this time if it is counted.
const NONE: u32 = 0;

/// Halts as long as `condition` holds, until kicked. May return early; the caller looks again.
pub(crate) fn wait<P: Platform>(node: &Node<P::Word>, condition: impl FnOnce() -> bool) {
    // Earlier kicks may have been for an earlier wait, and late. One that comes
    // from here on stays. Acquire: pairs with the Release in `kick`: if this takes the kick that
    // was for us, the condition holds no more.
    node.kick.swap(NONE, Acquire);
    if !condition() {
        return;
    }
    node.kick.wait(NONE, None);
    if P::COUNTS {
        // Relaxed: a statistic.
        let kicked = node.kick.load(Relaxed);
        if kicked != NONE {
            P::count(Event::PvKickWake, 1);
            P::count(Event::PvLatencyWake, (P::now() as u32).wrapping_sub(kicked) as usize);
        }
    }
}

/// Lets the one who halts, or is about to, at this node look again. The caller has ended its
/// condition.
pub(crate) fn kick<P: Platform>(node: &Node<P::Word>) {
    let begin = if P::COUNTS { P::now() } else { 0 };
    // Release: pairs with the Acquire in `wait`.
    node.kick.store(begin as u32 | 1, Release);
    P::Word::wake(&raw const node.kick, 1);
    if P::COUNTS {
        P::count(Event::PvLatencyKick, P::now().saturating_sub(begin) as usize);
    }
}

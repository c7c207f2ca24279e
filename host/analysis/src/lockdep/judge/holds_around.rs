//! Acquisitions within another thread's hold of a lock. A thread that is created and joined while
//! its creator holds C runs while C is held, though it does not hold C itself. So it cannot meet a
//! thread that holds C.

use lockwright_ledger::rows::{self, Hold};

use crate::model::{LockRef, Model};
use crate::view::occurrence::Acquisition;

/// Why two parts of a cycle never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enclosure {
    /// The lock.
    pub lock: LockRef,
    /// The thread that holds it around one of the two.
    pub holder: u32,
}

impl Enclosure {
    pub(crate) fn of(hold: &Hold) -> Self {
        let lock = LockRef { class: hold.class, inst: hold.inst, row: 0 };
        Self { lock, holder: hold.thread }
    }
}

/// A hold that encloses all of `a` and excludes `b`, or the other way round.
pub fn apart(model: &Model<'_>, a: &Acquisition, b: &Acquisition) -> Option<Enclosure> {
    let around_a = model.order.enclosing(a.segment);
    let around_b = model.order.enclosing(b.segment);
    let first = || around_a.iter().find(|hold| excludes(model, hold, b));
    let second = || around_b.iter().find(|hold| excludes(model, hold, a));
    let both = || {
        around_a.iter().find(|x| {
            let is_other = |y: &Hold| !is_one(x, y) && y.inst == x.inst;
            around_b.iter().any(|y| is_other(y) && rows::excludes(x.shared as u16, y.shared as u16))
        })
    };
    first().or_else(second).or_else(both).map(Enclosure::of)
}

/// Whether holds that overlap enclose all of `a` together and each exclude `b`, or the other way
/// round: their holder has one of them at any time, and what needs all of them waits meanwhile.
pub fn apart_by_several(model: &Model<'_>, a: &Acquisition, b: &Acquisition) -> bool {
    let encloses = |a: &Acquisition, b: &Acquisition| {
        model.order.enclosing_together(a.segment, |hold| excludes(model, hold, b))
    };
    encloses(a, b) || encloses(b, a)
}

fn is_one(a: &Hold, b: &Hold) -> bool {
    (a.inst, a.thread, a.first) == (b.inst, b.thread, b.first)
}

/// Whether what `acquisition` holds cannot be held during the hold.
pub(crate) fn excludes(model: &Model<'_>, hold: &Hold, acquisition: &Acquisition) -> bool {
    acquisition.thread != hold.thread
        && model.trie.held(acquisition.context.acquired).any(|(_, node)| {
            node.inst == hold.inst && rows::excludes(node.mode, hold.shared as u16)
        })
}

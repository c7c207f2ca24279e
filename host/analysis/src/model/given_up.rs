//! Where condition waits ended holds that others come after: such a wait takes its mutex again in the
//! segment that begins then, which nobody comes after on that account.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Hold, Segment, segment_kind};

/// The ends of one process's holds.
pub struct GivenUp {
    /// The thread, the lock, and the last segment of the hold.
    holds: HashSet<(u32, u32, u32)>,
    /// By segment: the next, where that begins with the end of a hold.
    next: HashMap<u32, u32>,
}

impl GivenUp {
    /// The recorded ones.
    pub fn new(ledger: &Ledger) -> Self {
        let holds = ledger.rows::<Hold>().map(|(_, hold)| (hold.thread, hold.inst, hold.last));
        let ended = ledger.rows::<Segment>().filter(|(_, row)| row.kind == segment_kind::RELEASED);
        Self { holds: holds.collect(), next: ended.map(|(id, row)| (row.prev, id)).collect() }
    }

    /// The segment in which a wait of `thread` ends that gave up the mutex `inst` in `segment`.
    pub fn after(&self, thread: u32, inst: u32, segment: u32) -> u32 {
        match self.holds.contains(&(thread, inst, segment)) {
            true => self.next.get(&segment).copied().unwrap_or(segment),
            false => segment,
        }
    }
}

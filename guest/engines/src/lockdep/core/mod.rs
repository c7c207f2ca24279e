//! The slow path: what one lock of the host guards. Every method of [`Core`] runs at most once per
//! new thing (class, context, segment, thread), or when a thread is about to block.
//!
//! The core owns the recorder and the checks, and calls them in order. It decides nothing else: what is
//! recorded is in `recorder/`, and what is checked in `checks/`. Uses go one way, from the core to the
//! checks, from those to the recorder, and from that to its tables.

mod acquisitions;
mod children;
mod locks;
mod misuses;
mod modules;
mod monitors;
mod orders;
mod shared;
mod stacks;
mod threads;

use lockwright_ledger::Writer;

use super::checks::abandoned::Abandoned;
use super::checks::dead_owners::DeadOwners;
use super::checks::declared_orders::DeclaredOrders;
use super::checks::handed_on::HandedOn;
use super::checks::left_held::LeftHolds;
use super::checks::monitors::Monitors;
use super::checks::usage::Usages;
use super::checks::wait_context::WaitContexts;
use super::checks::wakeup::Wakeups;
use super::holds::Holds;
use super::reclaim::Reclaim;
use super::recorder::Recorder;

/// lockdep's shared state. See the module.
pub struct Core {
    recorder: Recorder,
    abandoned: Abandoned,
    dead_owners: DeadOwners,
    declared_orders: DeclaredOrders,
    handed_on: HandedOn,
    holds: Holds,
    left: LeftHolds,
    monitors: Monitors,
    reclaim: Reclaim,
    usages: Usages,
    wait_contexts: WaitContexts,
    wakeups: Wakeups,
}

impl Core {
    /// Starts on an empty ledger.
    pub const fn new(writer: Writer) -> Self {
        Self {
            recorder: Recorder::new(writer),
            abandoned: Abandoned::new(),
            dead_owners: DeadOwners::new(),
            declared_orders: DeclaredOrders::new(),
            handed_on: HandedOn::new(),
            holds: Holds::new(),
            left: LeftHolds::new(),
            monitors: Monitors::new(),
            reclaim: Reclaim::new(),
            usages: Usages::new(),
            wait_contexts: WaitContexts::new(),
            wakeups: Wakeups::new(),
        }
    }

    /// The ledger, for what the host writes itself (modules, header).
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.recorder.writer
    }

    /// The ledger, to read.
    pub fn ledger(&self) -> &Writer {
        &self.recorder.writer
    }

    /// In a forked child: the program need not annotate its classes again.
    pub fn inherit(&mut self, parent: &Self) {
        if self.wait_contexts.inherit(&parent.wait_contexts) {
            self.recorder.inherit_wait_types(&parent.recorder);
        }
    }
}

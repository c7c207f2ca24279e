//! The slow path: what one lock of the host guards. Every method of [`Core`] runs at most once per
//! new thing (class, context, segment, thread), or when a thread is about to block.
//!
//! What it keeps has owners, each with its indexes to itself and a file of its name, which also has
//! the methods of the core that are about it.

use lockwright_ledger::Writer;

use super::annotate::Annotations;
use super::classes::Classes;
use super::contexts::Contexts;
use super::holds::Holds;
use super::interpreted::Interpreted;
use super::left_held::LeftHolds;
use super::misuse::Misuses;
use super::order::Syncs;
use super::reclaim::Reclaim;
use super::stacks::Stacks;
use super::threads::Threads;
use super::usage::Usages;
use super::wakeup::Wakeups;
use crate::capture::{Capture, MAX_FRAMES};

/// lockdep's shared state. See the module.
pub struct Core {
    pub(super) writer: Writer,
    pub(super) stacks: Stacks,
    pub(super) classes: Classes,
    pub(super) contexts: Contexts,
    pub(super) threads: Threads,
    pub(super) misuses: Misuses,
    pub(super) usages: Usages,
    pub(super) annotations: Annotations,
    pub(super) syncs: Syncs,
    pub(super) holds: Holds,
    pub(super) wakeups: Wakeups,
    pub(super) left: LeftHolds,
    pub(super) interpreted: Interpreted,
    pub(super) reclaim: Reclaim,
}

impl Core {
    /// Starts on an empty ledger.
    pub const fn new(writer: Writer) -> Self {
        Self {
            writer,
            stacks: Stacks::new(),
            classes: Classes::new(),
            contexts: Contexts::new(),
            threads: Threads::new(),
            misuses: Misuses::new(),
            usages: Usages::new(),
            annotations: Annotations::new(),
            syncs: Syncs::new(),
            holds: Holds::new(),
            wakeups: Wakeups::new(),
            left: LeftHolds::new(),
            interpreted: Interpreted::new(),
            reclaim: Reclaim::new(),
        }
    }

    /// The ledger, for what the host writes itself (modules, header).
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// The ledger, to read.
    pub fn ledger(&self) -> &Writer {
        &self.writer
    }

    pub(super) fn captured(&mut self, capture: Capture<'_>) -> u32 {
        let mut frames = [0; MAX_FRAMES];
        let n = capture(&mut frames).min(MAX_FRAMES);
        let n = self.with_interpreted(&mut frames, n);
        self.stack(&frames[..n])
    }
}

//! The table of barriers and semaphores.

use lockwright_ledger::Writer;
use lockwright_ledger::layout::bounded;
use lockwright_ledger::rows::{Sync, sync_kind};

use crate::index::{Index, hash};
use crate::lockdep::acquire::Ident;
use crate::lockdep::bounds::{MOST_SYNCS, reached};

/// A barrier's round that a thread has arrived in: [`crate::lockdep::Core::barrier_passed`] wants it back.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    pub(crate) sync: u32,
    pub(crate) round: u32,
    pub(crate) is_kept: bool,
}

impl Round {
    /// What a thread waits for that waits for the others of the round.
    pub fn ident(self) -> Ident {
        Ident::new(self.round.wrapping_add(1), self.sync)
    }
}

/// See the module.
pub(super) struct Syncs {
    /// By address.
    index: Index,
}

impl Syncs {
    pub(super) const fn new() -> Self {
        Self { index: Index::new() }
    }

    /// A barrier or semaphore begins its life.
    pub(super) fn init(&mut self, writer: &mut Writer, kind: u32, addr: u64, size: u32) {
        let before = self.index.get(writer, hash(&[addr]));
        let row = Sync { kind, addr, size, ..Sync::default() };
        if let Some(id) = before
            && writer.get::<Sync>(id).is_some_and(is_untouched)
        {
            // Nothing refers to it.
            let change = |old: &mut Sync| (old.kind, old.size, old.shared) = (kind, size, 0);
            return writer.update::<Sync>(id, change);
        }
        if writer.count_of::<Sync>() >= MOST_SYNCS {
            reached(writer, bounded::SYNCS);
            return self.index.remove(writer, hash(&[addr]));
        }
        if let Some(id) = writer.push(row) {
            self.index.insert(writer, hash(&[addr]), id);
        }
    }

    /// The row of the barrier or semaphore at `addr`, if its beginning was recorded.
    pub(super) fn find(&self, writer: &Writer, kind: u32, addr: u64) -> Option<(u32, Sync)> {
        let id = self.index.get(writer, hash(&[addr]))?;
        let row = *writer.get::<Sync>(id)?;
        (row.kind == kind && row.addr == addr).then_some((id, row))
    }

    /// Threads of this process are still to come in the round that a thread waits in, according to
    /// [`Round::ident`].
    pub(super) fn is_round_open(&self, writer: &Writer, addr: u64, ident: Ident) -> bool {
        self.find(writer, sync_kind::BARRIER, addr).is_some_and(|(id, row)| {
            let round = Round { sync: id, round: row.rounds, is_kept: false };
            row.shared == 0 && round.ident() == ident
        })
    }
}

/// No thread has come to it yet.
fn is_untouched(row: &Sync) -> bool {
    (row.rounds, row.arrived, row.head, row.waits) == (0, 0, 0, 0)
}

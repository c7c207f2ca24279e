//! Orders of locks that a program declares. The ledger's reader compares them with what was recorded.

use lockwright_ledger::rows::Order;

use crate::index::{Index, hash};
use crate::lockdep::key::text_hash;
use crate::lockdep::recorder::Recorder;

/// The declared orders.
pub(crate) struct DeclaredOrders {
    index: Index,
}

impl DeclaredOrders {
    pub(crate) const fn new() -> Self {
        Self { index: Index::new() }
    }

    /// The program declares that locks named `before` are taken before those named `after`.
    pub(crate) fn declare(
        &mut self,
        recorder: &mut Recorder,
        before: &[u8],
        after: &[u8],
        frames: &[u64],
    ) {
        let key = hash(&[text_hash(before), text_hash(after)]);
        if self.index.get(&recorder.writer, key).is_some() {
            return;
        }
        let stack = recorder.stack(frames);
        let (before, after) = (recorder.writer.text(before), recorder.writer.text(after));
        if let Some(id) = recorder.writer.push(Order { stack, before, after, ..Order::default() }) {
            self.index.insert(&mut recorder.writer, key, id);
        }
    }
}

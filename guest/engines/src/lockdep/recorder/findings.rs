//! The recorded misuses.

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{Finding, finding_kind};

use crate::index::{Index, hash};

/// See the module.
pub(super) struct Findings {
    recorded: Index,
}

impl Findings {
    pub(super) const fn new() -> Self {
        Self { recorded: Index::new() }
    }

    /// Records a misuse, or that it was met again. Returns its row, 0 if there is no room.
    pub(super) fn push(&mut self, writer: &mut Writer, row: Finding) -> u32 {
        // A function may handle several signals, and a tail call has the return address of another
        // call.
        let what = match row.kind {
            finding_kind::UNSAFE_CALL | finding_kind::SLEEPS => row.detail,
            _ => 0,
        };
        let key = hash(&[
            u64::from(row.kind) << 32 | u64::from(row.class),
            u64::from(row.stack) << 32 | u64::from(row.other_stack),
            what,
            // A read hold that is released is no write hold that is.
            u64::from(row.mode),
        ]);
        if let Some(id) = self.recorded.get(writer, key) {
            writer.update::<Finding>(id, |row| row.repeats = row.repeats.saturating_add(1));
            return id;
        }
        let Some(id) = writer.push(row) else { return 0 };
        self.recorded.insert(writer, key, id);
        id
    }
}

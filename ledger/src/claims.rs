//! Rows that claim the same bytes of a ledger over and over. A process writes each text, each step
//! of a deadlock and each stack of held locks in a place of its own; in a forged file twenty
//! thousand rows may name one megabyte, and a reader that trusts it makes twenty gigabytes of it.
//! So all rows together, in their order, may claim no more than the file has. The claims of a row
//! beyond that are left out.

use std::mem::{offset_of, size_of};
use std::vec::Vec;

use crate::TableId;
use crate::reader::Ledger;
use crate::rows::object::ObjectType;
use crate::rows::{Class, Finding, Held, Interpreted, Module, Order, Row, Text, Thread};

/// Texts up to this length may be shared: they are not much more than the row that names them.
const SHORT_TEXT: u64 = 256;

/// What there is of something, and how much of it is claimed so far.
struct Budget(u64);

impl Budget {
    fn allows(&mut self, claim: u64) -> bool {
        let left = self.0.checked_sub(claim);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

impl Ledger {
    /// Leaves out what is claimed too often, and returns the number of such rows.
    pub(crate) fn settle_claims(&mut self) -> u64 {
        // Where in which row four bytes are to be zero: the length of a text, or the row's state.
        let mut refused: Vec<(TableId, u32, u64, usize)> = Vec::new();
        let mut texts = Budget(self.table_len(TableId::Bytes));
        self.texts_of::<Module>(
            &[offset_of!(Module, path), offset_of!(Module, build_id)],
            &mut texts,
            &mut refused,
        );
        self.texts_of::<Class>(&[offset_of!(Class, name)], &mut texts, &mut refused);
        self.texts_of::<Order>(
            &[offset_of!(Order, before), offset_of!(Order, after)],
            &mut texts,
            &mut refused,
        );
        self.texts_of::<Interpreted>(
            &[offset_of!(Interpreted, file), offset_of!(Interpreted, function)],
            &mut texts,
            &mut refused,
        );
        self.texts_of::<ObjectType>(&[offset_of!(ObjectType, name)], &mut texts, &mut refused);

        let mut steps = Budget(self.table_len(TableId::Steps));
        for (id, row) in self.rows::<Finding>() {
            if !steps.allows(row.steps.into()) {
                refused.push((TableId::Findings, id, size_of::<Finding>() as u64, 0));
            }
        }
        let mut held = Budget(self.bytes().len() as u64 / size_of::<Held>() as u64);
        for (id, row) in self.rows::<Thread>() {
            if !held.allows(row.held.depth::<Held>()) {
                refused.push((
                    TableId::Threads,
                    id,
                    size_of::<Thread>() as u64,
                    offset_of!(Thread, held.capacity),
                ));
            }
        }
        let count = refused.len() as u64;
        for (table, id, row_bytes, offset) in refused {
            self.clear_word(table, id, row_bytes, offset);
        }
        count
    }

    fn texts_of<R: Row>(
        &self,
        fields: &[usize],
        budget: &mut Budget,
        refused: &mut Vec<(TableId, u32, u64, usize)>,
    ) {
        for (id, _) in self.rows::<R>() {
            for &field in fields {
                let len =
                    self.word(R::TABLE, id, size_of::<R>() as u64, field + offset_of!(Text, len));
                let len = u64::from(len);
                if len > SHORT_TEXT && !budget.allows(len) {
                    refused.push((
                        R::TABLE,
                        id,
                        size_of::<R>() as u64,
                        field + offset_of!(Text, len),
                    ));
                }
            }
        }
    }
}

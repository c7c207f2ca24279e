//! Which place of the report each row of sites of a ledger is.

use super::at::At;

/// By row. Rows lie close together, and there may be millions of them.
#[derive(Debug, Default)]
pub struct SiteTable(Vec<At>);

impl SiteTable {
    /// Row `row` is at `at`.
    pub fn insert(&mut self, row: u32, at: At) {
        let rows = self.0.len().max(row as usize + 1);
        self.0.resize(rows, At::Unknown);
        self.0[row as usize] = at;
    }

    /// Where it is; unknown for rows that are not there.
    pub fn get(&self, row: u32) -> At {
        self.0.get(row as usize).copied().unwrap_or(At::Unknown)
    }
}

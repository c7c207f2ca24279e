//! What several runs and processes make together.

use std::io::{self, Write};

use lockwright_analysis::merge::Merged;
use lockwright_analysis::model::Symbolise;
use lockwright_console::plain;
use lockwright_console::sink::styles;
use lockwright_ledger::Ledger;

use super::{Findings, Look, Report};
use crate::verdict::Judged;
use crate::{html, json, listing};

/// The report of `lockwright merge`.
pub struct Merge<'r> {
    /// The findings, with the verdicts of the user's files.
    pub judged: &'r Judged<'r>,
    /// All grades are shown.
    pub all: bool,
    /// The same findings, and the runs.
    pub merged: &'r Merged,
    /// The ledgers of all runs.
    pub ledgers: &'r [Ledger],
    /// The names in each.
    pub symbols: &'r [&'r dyn Symbolise],
}

impl Report for Merge<'_> {
    fn text(&self, look: Look) -> String {
        Findings::new(self.judged, self.all).text(look)
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let document = json::render_merged(self.judged, self.merged);
        out.write_all(plain::text(&document, styles(false)).as_bytes())
    }

    fn html(&self) -> Option<String> {
        Some(html::render(&html::Run {
            found: Some(self.judged),
            all: self.all,
            metered: None,
            every_wait: &[],
            graphs: &listing::lock_graphs(self.ledgers, self.symbols),
            runs: &self.merged.runs,
        }))
    }
}

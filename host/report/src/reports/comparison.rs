//! Measurements before and after.

use std::io::{self, Write};

use lockwright_analysis::lockmeter::diff::Comparison;

use super::{Look, Report};
use crate::html;
use crate::lockmeter::diff::{Judged, json, text};

/// The report of `lockwright diff`.
pub struct Compared<'r> {
    /// The changes.
    pub comparison: &'r Comparison,
    /// The user's conditions on them.
    pub judged: &'r [Judged],
    /// So many locks are in the text; 0: all.
    pub top: usize,
}

impl Report for Compared<'_> {
    fn text(&self, _: Look) -> String {
        text::render(self.comparison, self.judged, self.top)
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write(self.comparison, self.judged, out)
    }

    fn html(&self) -> Option<String> {
        Some(html::render_diff(self.comparison, self.judged))
    }
}

//! What was found in a run and measured in it, or what several runs make together.

use std::io::{self, Write};

use lockwright_analysis::finding::Finding;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::merge::Run;
use lockwright_analysis::model::Symbolise;
use lockwright_analysis::under_way::LongWait;
use lockwright_ledger::Ledger;

use super::{Look, Report};
use crate::prose::words::count;
use crate::verdict::Judged;
use crate::{html, json, listing, text};

/// The report of `lockwright check`. With a measurement it is the report of `lockwright run`, whose
/// text is another one. With runs it is that of `lockwright merge`.
pub struct Findings<'r> {
    judged: &'r Judged<'r>,
    all: bool,
    is_told: &'r dyn Fn(&Finding) -> bool,
    goes_on: bool,
    alone: bool,
    before: u64,
    long_waits: Option<&'r [LongWait]>,
    measured: Option<&'r MeterReport>,
    runs: Option<&'r [Run]>,
    ledgers: &'r [Ledger],
    symbols: &'r [&'r dyn Symbolise],
}

impl<'r> Findings<'r> {
    /// Those of a report; `all` grades are shown, or those alone that are not only counted.
    pub fn new(judged: &'r Judged<'r>, all: bool) -> Self {
        Self {
            judged,
            all,
            is_told: &|_| true,
            goes_on: false,
            alone: false,
            before: 0,
            long_waits: None,
            measured: None,
            runs: None,
            ledgers: &[],
            symbols: &[],
        }
    }

    /// The same, with the ledgers that a page shows the dependencies of. `symbols` are those of the
    /// report, which has looked up most of the names already.
    #[must_use]
    pub fn of(self, ledgers: &'r [Ledger], symbols: &'r [&'r dyn Symbolise]) -> Self {
        Self { ledgers, symbols, ..self }
    }

    /// The same, with what was measured.
    #[must_use]
    pub fn with(self, measured: Option<&'r MeterReport>) -> Self {
        Self { measured, ..self }
    }

    /// The same, of these runs together.
    #[must_use]
    pub fn of_runs(self, runs: &'r [Run]) -> Self {
        Self { runs: Some(runs), ..self }
    }

    /// The same, of which the text tells those alone of which `is_told` is true. Others have been
    /// shown before, if it `goes_on`.
    #[must_use]
    pub fn telling(self, is_told: &'r dyn Fn(&Finding) -> bool, goes_on: bool) -> Self {
        Self { is_told, goes_on, ..self }
    }

    /// The same, with the waits that lasted long, if they were looked for.
    #[must_use]
    pub fn with_long_waits(self, long_waits: Option<&'r [LongWait]>) -> Self {
        Self { long_waits, ..self }
    }

    /// The same, after so many findings that were shown while the program ran.
    #[must_use]
    pub fn after(self, before: u64) -> Self {
        Self { before, ..self }
    }

    /// The same, of which the text has the findings alone: the program goes on.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { alone: true, ..self }
    }
}

impl Report for Findings<'_> {
    fn text(&self, Look { colour, width }: Look) -> String {
        let options = text::TextOptions { colour, all: self.all, width };
        if self.alone {
            return text::findings(&self.judged.shown(self.is_told), &options);
        }
        let mut remarks = text::Remarks { goes_on: self.goes_on, ..self.judged.remarks(self.all) };
        if self.before > 0 {
            let before = count(self.before, "finding");
            remarks.parts.push(format!("{before} shown while the program ran"));
        }
        text::render_with(&self.judged.shown(self.is_told), remarks, &options)
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let besides =
            json::Besides { metered: self.measured, runs: self.runs, long_waits: self.long_waits };
        json::write_judged(self.judged, besides, out)
    }

    fn html(&self) -> Option<String> {
        Some(html::render(&html::Run {
            found: Some(self.judged),
            all: self.all,
            metered: self.measured,
            every_wait: &[],
            graphs: &listing::lock_graphs(self.ledgers, self.symbols),
            runs: self.runs.unwrap_or(&[]),
        }))
    }
}

//! The report of a command about findings, and the tool's own messages: where they go, and what
//! counts of the findings.

pub mod baseline_file;
mod browser;
pub mod exports;
pub mod sinks;
pub mod step_summary;
pub mod verdicts;

use std::ops::{Deref, DerefMut};

use lockwright_ledger::Ledger;

use self::sinks::Sinks;
use self::verdicts::{After, Verdicts};
use crate::args::{OutputArgs, PageArgs, VerdictArgs};
use lockwright_analysis::finding::{Finding, Report};
use lockwright_console::error::Result;
use lockwright_console::sink::Sink;
use lockwright_report::listing::{self, Listing};
use lockwright_report::reports::Findings;
use lockwright_report::verdict::Judged;

/// Where the report goes, and the user's options about findings.
#[derive(Debug)]
pub struct Output {
    /// Where it goes.
    pub sinks: Sinks,
    /// What counts.
    pub verdicts: Verdicts,
}

impl Deref for Output {
    type Target = Sinks;

    fn deref(&self) -> &Sinks {
        &self.sinks
    }
}

impl DerefMut for Output {
    fn deref_mut(&mut self) -> &mut Sinks {
        &mut self.sinks
    }
}

impl Output {
    /// Opens the files.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn open(args: &OutputArgs, page: &PageArgs) -> Result<Self> {
        let sinks = Sinks::open(args)?.with_page(page)?;
        Ok(Self { sinks, verdicts: Verdicts::default() })
    }

    /// Shows as much of the findings as is asked for.
    ///
    /// # Errors
    /// If a file that says something of findings is not what it should be.
    pub fn of(self, args: &VerdictArgs) -> Result<Self> {
        Ok(Self { verdicts: Verdicts::open(args)?, ..self })
    }

    /// The verdicts of the user's files on a report.
    pub fn judge<'r>(&'r self, report: &'r Report) -> Judged<'r> {
        self.verdicts.judge(report)
    }

    /// Shows the report, and overwrites what a file had before: the findings that count and are
    /// `told`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn show(&mut self, report: &Report, told: impl Fn(&Finding) -> bool) -> Result<()> {
        let judged = self.verdicts.judge(report);
        self.sinks.show(&Findings::new(&judged, self.verdicts.all).telling(&told, false))
    }

    /// Adds the counters to what was shown, if they were asked for, and writes what else is made of
    /// the findings.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(&mut self, report: &Report, ledgers: &[Ledger]) -> [Result<()>; 2] {
        let stats = match self.verdicts.stats {
            true => {
                let stats = listing::render(Listing::Stats, ledgers);
                self.sinks.text.add(&format!("\n{stats}"))
            }
            false => Ok(()),
        };
        [stats, self.write_verdicts(report)]
    }

    fn write_verdicts(&mut self, report: &Report) -> Result<()> {
        let (After { rules, commands }, written) = self.verdicts.write(report);
        let added = match rules.as_str() {
            "" => Ok(()),
            rules => self.sinks.text.add(&format!("\n{rules}")),
        };
        // Nobody looks for commands in a file.
        let commanded = match &mut self.sinks.text {
            _ if commands.is_empty() => Ok(()),
            Sink::File(..) => {
                self.begin_line(false);
                Sink::Stderr.add(&commands)
            }
            sink => sink.add(&commands),
        };
        self.all([written, added, commanded])
    }
}

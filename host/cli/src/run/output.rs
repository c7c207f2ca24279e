//! Where the report and the tool's own messages go.

use std::ops::{Deref, DerefMut};

use lockwright_ledger::Ledger;

use super::verdicts::{After, Verdicts};
use crate::args::{OutputArgs, PageArgs, VerdictArgs};
use lockwright_analysis::finding::Instances;
use lockwright_analysis::finding::{Finding, Report};
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::merge::{Merged, Run};
use lockwright_analysis::model::Symbolise;
use lockwright_analysis::symbolize::debuginfod;
use lockwright_analysis::traced::EveryWait;
use lockwright_console::error::{Error, Result};
use lockwright_console::sink::Sink;
use lockwright_console::streams::Streams;
use lockwright_report::listing::{self, Listing};
use lockwright_report::lockmeter;
use lockwright_report::lockmeter::view::{Compat, View};
use lockwright_report::verdict::Judged;
use lockwright_report::{html, json, text};

/// Width of a report that nobody reads on a terminal.
const FILE_WIDTH: usize = 100;

/// The streams of a command that reports on a program, and how it reports.
#[derive(Debug)]
pub struct Output {
    streams: Streams,
    page: Option<Sink>,
    verdicts: Verdicts,
    stats: bool,
}

impl Deref for Output {
    type Target = Streams;

    fn deref(&self) -> &Streams {
        &self.streams
    }
}

impl DerefMut for Output {
    fn deref_mut(&mut self) -> &mut Streams {
        &mut self.streams
    }
}

impl Output {
    /// Opens the files.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn open(args: &OutputArgs) -> Result<Self> {
        let output = Self {
            streams: Streams::open(args)?,
            page: None,
            verdicts: Verdicts::default(),
            stats: false,
        };
        if debuginfod::is_client_missing() {
            let why = Error::new(
                "DEBUGINFOD_URLS names servers, but there is no debuginfod-find in PATH",
            );
            output.warn(&why.help("install Debian's package debuginfod, or unset the variable"));
        }
        Ok(output)
    }

    /// Also writes a page, if it is asked for.
    ///
    /// # Errors
    /// If its file cannot be created.
    pub fn with_page(mut self, args: &PageArgs) -> Result<Self> {
        self.page =
            args.html.as_deref().map(|path| Sink::create(path, "--html FILE")).transpose()?;
        Ok(self)
    }

    /// Shows as much of the findings as is asked for.
    ///
    /// # Errors
    /// If a file that says something of findings is not what it should be.
    pub fn of(mut self, args: &VerdictArgs) -> Result<Self> {
        self.verdicts = Verdicts::open(args)?;
        self.stats = args.stats;
        Ok(self)
    }

    /// What findings that are the same to a reader become.
    pub fn instances(&self) -> Instances {
        self.verdicts.instances
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
        self.show_after(report, told, false)
    }

    /// As [`Self::show`], where others of its findings have been shown before, if `goes_on`.
    ///
    /// # Errors
    /// As there.
    pub fn show_after(
        &mut self,
        report: &Report,
        told: impl Fn(&Finding) -> bool,
        goes_on: bool,
    ) -> Result<()> {
        self.begin_report();
        let all = self.verdicts.all;
        let options = text::TextOptions {
            colour: self.streams.colour,
            all,
            width: self.streams.text.width().unwrap_or(FILE_WIDTH),
        };
        let judged = self.verdicts.judge(report);
        let remarks = text::Remarks { goes_on, ..judged.remarks(all) };
        let text = text::render_with(&judged.shown(told), remarks, &options);
        self.streams.text.put_styled(&text, self.streams.colour)
    }

    /// Writes what else is made of the findings, some of it after the report.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write_verdicts(&mut self, report: &Report) -> Result<()> {
        let (After { rules, commands }, written) = self.verdicts.write(report);
        let added = match rules.as_str() {
            "" => Ok(()),
            rules => self.streams.text.add(&format!("\n{rules}")),
        };
        // Nobody looks for commands in a file.
        let commanded = match &mut self.streams.text {
            _ if commands.is_empty() => Ok(()),
            Sink::File(..) => {
                self.begin_line(false);
                Sink::Stderr.add(&commands)
            }
            sink => sink.add(&commands),
        };
        self.all([written, added, commanded])
    }

    /// Shows a measurement, after what was shown before.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn show_meter(&mut self, report: &MeterReport, view: View) -> Result<()> {
        self.begin_report();
        let text = match view.compat {
            Some(Compat::Lockmeter) => lockmeter::compat::render(report, &view.into()),
            Some(Compat::LockStat) => lockmeter::compat::render_lock_stat(report, &view.into()),
            None => {
                let options = lockmeter::text::TextOptions { colour: self.streams.colour, view };
                lockmeter::text::render(report, &options)
            }
        };
        self.streams.text.add_styled(&text, self.streams.colour)
    }

    /// Adds the counters to what was shown, if they were asked for.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn add_stats(&mut self, ledgers: &[Ledger]) -> Result<()> {
        if !self.stats {
            return Ok(());
        }
        self.streams.text.add(&format!("\n{}", listing::render(Listing::Stats, ledgers)))
    }

    /// Writes the JSON, if it was asked for: of what was found, what was measured, or both.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_json(
        &mut self,
        found: Option<&Report>,
        metered: Option<&MeterReport>,
    ) -> Result<()> {
        let Some(sink) = &mut self.streams.json else { return Ok(()) };
        match (found, metered) {
            (Some(found), metered) => {
                let judged = self.verdicts.judge(found);
                sink.put_by(|out| json::write_judged(&judged, metered, out))
            }
            (None, Some(metered)) => sink.put_by(|out| lockmeter::json::write(metered, out)),
            (None, None) => Ok(()),
        }
    }

    /// Writes the page, if it was asked for: of what was found, what was measured, or both.
    /// `symbols` are those of the report, which has looked up most of the names already.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_page(
        &mut self,
        found: Option<&Report>,
        metered: Option<&MeterReport>,
        ledgers: &[Ledger],
        symbols: &[&dyn Symbolise],
    ) -> Result<()> {
        self.write_page_of(found, metered, &[], ledgers, symbols)
    }

    /// Writes the page of what was measured with all waits, the kernel's included, if it was asked
    /// for.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_page_with(
        &mut self,
        metered: &MeterReport,
        every_wait: &[EveryWait<'_>],
    ) -> Result<()> {
        let Some(sink) = &mut self.page else { return Ok(()) };
        sink.put(&html::render(&html::Run {
            found: None,
            all: self.verdicts.all,
            metered: Some(metered),
            every_wait,
            graphs: &[],
            runs: &[],
        }))
    }

    /// Writes the page of what several runs make together, if it was asked for.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_merged_page(
        &mut self,
        merged: &Merged,
        ledgers: &[Ledger],
        symbols: &[&dyn Symbolise],
    ) -> Result<()> {
        self.write_page_of(Some(&merged.report), None, &merged.runs, ledgers, symbols)
    }

    fn write_page_of(
        &mut self,
        found: Option<&Report>,
        metered: Option<&MeterReport>,
        runs: &[Run],
        ledgers: &[Ledger],
        symbols: &[&dyn Symbolise],
    ) -> Result<()> {
        let Some(sink) = &mut self.page else { return Ok(()) };
        let judged = found.map(|report| self.verdicts.judge(report));
        let graphs = judged.as_ref().map(|_| listing::lock_graphs(ledgers, symbols));
        sink.put(&html::render(&html::Run {
            found: judged.as_ref(),
            all: self.verdicts.all,
            metered,
            every_wait: &[],
            graphs: graphs.as_deref().unwrap_or_default(),
            runs,
        }))
    }

    /// Writes the page of a comparison, if it was asked for.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_page_text(&mut self, page: impl FnOnce() -> String) -> Result<()> {
        self.page.as_mut().map_or(Ok(()), |sink| sink.put(&page()))
    }

    /// Writes the JSON of what several runs make together, if it was asked for.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_merged(&mut self, merged: &Merged) -> Result<()> {
        let Some(sink) = &mut self.streams.json else { return Ok(()) };
        sink.put(&json::render_merged(&self.verdicts.judge(&merged.report), merged))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(failure) = debuginfod::failure() {
            let warning = format!("a server of DEBUGINFOD_URLS failed: {}", failure.why);
            let note = match failure.is_last {
                true => "no server was asked after that; names and sources may be missing",
                false => "names and sources may be missing",
            };
            self.warn(&Error::new(warning).note(note));
        }
    }
}

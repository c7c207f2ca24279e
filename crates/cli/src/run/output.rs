//! Where the report and the tool's own messages go.

use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use lockwright_ledger::Ledger;

use super::fresh_line;
use super::sink::Sink;
use super::verdicts::{After, Verdicts};
use crate::args::{Colour, OutputArgs, PageArgs, VerdictArgs};
use lockwright_analysis::finding::Instances;
use lockwright_analysis::finding::{Finding, Report};
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::merge::{Merged, Run};
use lockwright_analysis::model::Symbolise;
use lockwright_analysis::symbolize::debuginfod;
use lockwright_analysis::traced::EveryWait;
use lockwright_report::error::{Error, Result, Severity};
use lockwright_report::listing::{self, Listing};
use lockwright_report::lockmeter;
use lockwright_report::lockmeter::view::{Compat, View};
use lockwright_report::verdict::Judged;
use lockwright_report::{html, json, plain, text};

/// Width of a report that nobody reads on a terminal.
const FILE_WIDTH: usize = 100;

/// Opened before the program runs, so that a wrong path is reported before an hour's run, not
/// after.
#[derive(Debug)]
pub struct Output {
    text: Sink,
    json: Option<Sink>,
    page: Option<Sink>,
    verdicts: Verdicts,
    stats: bool,
    /// Colours for the report.
    colour: bool,
    /// The user's choice of colours.
    choice: Colour,
    /// Colours for messages on standard error.
    message_colour: bool,
    /// A program has written to the same streams since this last did.
    after_program: Cell<bool>,
    /// Notes and warnings that go to the report's file: standard error is the program's then. They
    /// are added at the end.
    remarks: RefCell<String>,
}

impl Output {
    /// Opens the files.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn open(args: &OutputArgs) -> Result<Self> {
        let text = args
            .output
            .as_deref()
            .map_or(Ok(Sink::Stderr), |path| Sink::create(path, "-o FILE"))?;
        let json =
            args.json.as_deref().map(|path| Sink::create(path, "--json FILE")).transpose()?;
        let output = Self {
            colour: coloured(args.color, text.is_terminal()),
            choice: args.color,
            message_colour: coloured(args.color, io::stderr().is_terminal()),
            text,
            json,
            page: None,
            verdicts: Verdicts::default(),
            stats: false,
            after_program: Cell::new(false),
            remarks: RefCell::default(),
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

    /// A program was started that writes to the same streams: what is said next begins a line of
    /// its own.
    pub fn program_started(&self) {
        self.after_program.set(true);
    }

    /// Ends the program's last line on standard output or error, if it may have no end.
    pub fn begin_line(&self, stdout: bool) {
        if !self.after_program.take() {
            return;
        }
        match stdout {
            true if fresh_line::is_due(io::stdout().as_fd()) => {
                let _ = io::stdout().write_all(b"\n");
            }
            false if fresh_line::is_due(io::stderr().as_fd()) => tell("\n", false),
            _ => {}
        }
    }

    /// As above, before the report.
    fn begin_report(&self) {
        match self.text {
            Sink::Stderr => self.begin_line(false),
            Sink::Stdout => self.begin_line(true),
            Sink::File(..) => {}
        }
    }

    /// Whether standard error is the program's alone, as the report goes to a file.
    pub fn is_in_file(&self) -> bool {
        matches!(self.text, Sink::File(..))
    }

    /// Whether the report shares standard error with the tool's messages.
    pub fn is_on_stderr(&self) -> bool {
        matches!(self.text, Sink::Stderr)
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
            colour: self.colour,
            all,
            width: self.text.width().unwrap_or(FILE_WIDTH),
        };
        let judged = self.verdicts.judge(report);
        let remarks = text::Remarks { goes_on, ..judged.remarks(all) };
        let text = text::render_with(&judged.shown(told), remarks, &options);
        self.text.put_styled(&text, self.colour)
    }

    /// Writes what else is made of the findings, some of it after the report.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write_verdicts(&mut self, report: &Report) -> Result<()> {
        let (After { rules, commands }, written) = self.verdicts.write(report);
        let added = match rules.as_str() {
            "" => Ok(()),
            rules => self.text.add(&format!("\n{rules}")),
        };
        // Nobody looks for commands in a file.
        let commanded = match &mut self.text {
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
                let options = lockmeter::text::TextOptions { colour: self.colour, view };
                lockmeter::text::render(report, &options)
            }
        };
        self.text.add_styled(&text, self.colour)
    }

    /// Shows a text that is made by whether it is to be coloured, after what was shown before.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn show_text(&mut self, text: impl FnOnce(bool) -> String) -> Result<()> {
        self.begin_report();
        self.text.add_styled(&text(self.colour), self.colour)
    }

    /// As [`Self::show_text`], over the moment before if a user watches at a terminal.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn show_moment(&mut self, text: impl FnOnce(bool) -> String) -> Result<()> {
        if self.text.is_terminal() {
            self.begin_report();
            self.text.add_bytes(b"\x1b[H\x1b[2J")?;
        }
        self.show_text(|colour| format!("{}\n", text(colour)))
    }

    /// Writes a JSON document of another report, if one was asked for.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_json_of(&mut self, document: impl FnOnce() -> String) -> Result<()> {
        self.json.as_mut().map_or(Ok(()), |sink| sink.put(&plain::json(document())))
    }

    /// Whether what [`Self::list`] shows is to be coloured.
    pub fn colours_lists(&self) -> bool {
        match &self.text {
            Sink::Stderr if self.stdout_is_free() => {
                coloured(self.choice, Sink::Stdout.is_terminal())
            }
            _ => self.colour,
        }
    }

    /// Whether standard output is free for what is no JSON.
    const fn stdout_is_free(&self) -> bool {
        !matches!(self.json, Some(Sink::Stdout))
    }

    /// Shows a listing instead of a report: it is what was asked for, so it goes to standard
    /// output, unless the JSON does.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn list(&mut self, text: &str) -> Result<()> {
        let is_free = self.stdout_is_free();
        let colour = self.colours_lists();
        match &mut self.text {
            Sink::Stderr if is_free => Sink::Stdout.put_styled(text, colour),
            sink => sink.put_styled(text, colour),
        }
    }

    /// Adds the counters to what was shown, if they were asked for.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn add_stats(&mut self, ledgers: &[Ledger]) -> Result<()> {
        if !self.stats {
            return Ok(());
        }
        self.text.add(&format!("\n{}", listing::render(Listing::Stats, ledgers)))
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
        let Some(sink) = &mut self.json else { return Ok(()) };
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
        let Some(sink) = &mut self.json else { return Ok(()) };
        sink.put(&json::render_merged(&self.verdicts.judge(&merged.report), merged))
    }

    /// Writes JSON that is there already, if it was asked for.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_json_text(&mut self, text: &str) -> Result<()> {
        self.json.as_mut().map_or(Ok(()), |sink| sink.put(&plain::json(text.to_owned())))
    }

    /// Writes JSON as `write` makes it, if it was asked for.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_json_by(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        self.json.as_mut().map_or(Ok(()), |sink| sink.put_by(write))
    }

    /// Reports all failed outputs but the last, and returns that one: all other outputs have been
    /// written meanwhile.
    ///
    /// # Errors
    /// If something was not written.
    pub fn all(&self, written: impl IntoIterator<Item = Result<()>>) -> Result<()> {
        let mut failed = None;
        for error in written.into_iter().filter_map(Result::err) {
            if let Some(before) = failed.replace(error) {
                self.warn(&before);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Tells an error that does not stop the tool.
    pub fn warn(&self, error: &Error) {
        self.remark(error, Severity::Warning);
    }

    /// Tells something worth knowing.
    pub fn note(&self, error: &Error) {
        self.remark(error, Severity::Note);
    }

    fn remark(&self, error: &Error, severity: Severity) {
        if self.is_in_file() {
            return self.remarks.borrow_mut().push_str(&error.render(severity, false));
        }
        self.begin_line(false);
        tell(&error.render(severity, self.message_colour), self.message_colour);
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
        let remarks = self.remarks.take();
        if !remarks.is_empty() && self.text.add(&remarks).is_err() {
            // They must be shown somewhere.
            tell(&remarks, false);
        }
    }
}

/// Writes to standard error; if that is closed, nobody wants to know.
fn tell(text: &str, colour: bool) {
    let _ = Sink::Stderr.add_styled(text, colour);
}

/// Tells an error that stops the tool.
pub fn fail(error: &Error, choice: Colour) {
    let colour = coloured(choice, io::stderr().is_terminal());
    tell(&error.render(Severity::Error, colour), colour);
}

fn coloured(choice: Colour, terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match choice {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

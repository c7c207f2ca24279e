//! The streams and files that a command writes to: what was asked for, and its own messages.

use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use crate::args::{Colour, OutputArgs};
use crate::error::{Error, Result, Severity};
use crate::sink::Sink;
use crate::{fresh_line, plain};

/// Opened before the work begins, so that a wrong path is reported before an hour's run, not after.
#[derive(Debug)]
pub struct Streams {
    /// Where the report goes.
    pub text: Sink,
    /// Where JSON goes, if it was asked for.
    pub json: Option<Sink>,
    /// Colours for the report.
    pub colour: bool,
    /// When the user wants colours.
    choice: Colour,
    /// Colours for messages on standard error.
    message_colour: bool,
    /// A program has written to the same streams since this last did.
    after_program: Cell<bool>,
    /// Notes and warnings that go to the report's file: standard error is the program's then. They
    /// are added at the end.
    remarks: RefCell<String>,
}

impl Streams {
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
        Ok(Self {
            colour: coloured(args.color, text.is_terminal()),
            choice: args.color,
            message_colour: coloured(args.color, io::stderr().is_terminal()),
            text,
            json,
            after_program: Cell::new(false),
            remarks: RefCell::default(),
        })
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
    pub fn begin_report(&self) {
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

    /// What another thread says something with; `None` if that belongs to the report's file, as
    /// [`Self::warn`] and [`Self::note`] put it there.
    pub fn voice(&self) -> Option<Voice> {
        (!self.is_in_file()).then_some(Voice { colour: self.message_colour })
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

impl Drop for Streams {
    fn drop(&mut self) {
        let remarks = self.remarks.take();
        if !remarks.is_empty() && self.text.add(&remarks).is_err() {
            // The remarks must not get lost.
            tell(&remarks, false);
        }
    }
}

/// Writes to standard error; if that is closed, nobody wants to know.
/// Says something on standard error, from any thread.
#[derive(Clone, Copy, Debug)]
pub struct Voice {
    colour: bool,
}

impl Voice {
    /// An error that does not stop the tool.
    pub fn warn(self, error: &Error) {
        tell(&error.render(Severity::Warning, self.colour), self.colour);
    }

    /// Something worth knowing.
    pub fn note(self, error: &Error) {
        tell(&error.render(Severity::Note, self.colour), self.colour);
    }
}

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

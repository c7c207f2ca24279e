//! Where the report and the tool's own messages go.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use lockwright_ledger::Ledger;

use crate::args::{Colour, OutputArgs};
use crate::error::{Error, Result, Severity};
use crate::finding::Report;
use crate::listing::{self, Listing};
use crate::report::{json, text};

/// Width of a report that nobody reads on a terminal.
const FILE_WIDTH: usize = 100;

/// Opened before the program runs, so that a wrong path is told before an hour's run, not after.
#[derive(Debug)]
pub struct Output {
    text: Sink,
    json: Option<Sink>,
    all: bool,
    stats: bool,
    /// Colours for the report.
    colour: bool,
    /// Colours for messages on standard error.
    message_colour: bool,
}

#[derive(Debug)]
enum Sink {
    Stderr,
    Stdout,
    File(File, String),
}

impl Output {
    /// Opens the files.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn open(args: &OutputArgs) -> Result<Self> {
        let text =
            args.output.as_deref().map_or(Ok(Sink::Stderr), |path| Sink::create(path, "-o"))?;
        let json = args.json.as_deref().map(|path| Sink::create(path, "--json")).transpose()?;
        Ok(Self {
            colour: coloured(args.color, text.is_terminal()),
            message_colour: coloured(args.color, io::stderr().is_terminal()),
            text,
            json,
            all: args.all,
            stats: args.stats,
        })
    }

    /// Whether the report shares standard error with the tool's messages.
    pub fn is_on_stderr(&self) -> bool {
        matches!(self.text, Sink::Stderr)
    }

    /// Shows the report, in place of what a file had before.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn show(&mut self, report: &Report) -> Result<()> {
        let options = text::TextOptions {
            colour: self.colour,
            all: self.all,
            width: self.text.width().unwrap_or(FILE_WIDTH),
        };
        self.text.put(&text::render(report, &options))
    }

    /// Shows a listing in place of a report: it is what was asked for, so it goes to standard output.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn list(&mut self, text: &str) -> Result<()> {
        match &mut self.text {
            Sink::Stderr => Sink::Stdout.put(text),
            sink => sink.put(text),
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
        let text = format!("\n{}", listing::render(Listing::Stats, ledgers));
        match &mut self.text {
            Sink::File(file, path) => {
                file.write_all(text.as_bytes()).map_err(|error| unwritable(path, &error))
            }
            sink => sink.put(&text),
        }
    }

    /// Writes the JSON, if it was asked for.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_json(&mut self, report: &Report) -> Result<()> {
        let Some(sink) = &mut self.json else { return Ok(()) };
        let mut json = json::render(report);
        if !json.ends_with('\n') {
            json.push('\n');
        }
        sink.put(&json)
    }

    /// Tells an error that does not stop the tool.
    pub fn warn(&self, error: &Error) {
        tell(&error.render(Severity::Warning, self.message_colour));
    }

    /// Tells something worth knowing.
    pub fn note(&self, error: &Error) {
        tell(&error.render(Severity::Note, self.message_colour));
    }
}

/// Writes to standard error; if that is closed, nobody wants to know.
fn tell(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Tells an error that stops the tool.
pub fn fail(error: &Error) {
    let colour = coloured(Colour::Auto, io::stderr().is_terminal());
    tell(&error.render(Severity::Error, colour));
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

impl Sink {
    fn create(path: &Path, option: &str) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let shown = path.display().to_string();
        match File::create(path) {
            Ok(file) => Ok(Self::File(file, shown)),
            Err(error) => Err(Error::new(format!("cannot write {shown}: {error}"))
                .help(format!("name a writable file: {option} FILE"))),
        }
    }

    fn is_terminal(&self) -> bool {
        match self {
            Self::Stderr => io::stderr().is_terminal(),
            Self::Stdout => io::stdout().is_terminal(),
            Self::File(..) => false,
        }
    }

    /// Columns of the terminal, if it is one.
    fn width(&self) -> Option<usize> {
        let fd = match self {
            Self::Stderr => io::stderr().as_raw_fd(),
            Self::Stdout => io::stdout().as_raw_fd(),
            Self::File(..) => return None,
        };
        let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: room for the answer; fails harmlessly where it is no terminal.
        let known = unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &mut size) } == 0;
        (known && size.ws_col > 0).then_some(size.ws_col.into())
    }

    fn put(&mut self, text: &str) -> Result<()> {
        match self {
            Self::Stderr => tell(text),
            Self::Stdout => {
                let mut out = io::stdout().lock();
                // As with standard error.
                let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            }
            Self::File(file, path) => {
                replace(file, text).map_err(|error| unwritable(path, &error))?;
            }
        }
        Ok(())
    }
}

fn unwritable(path: &str, error: &io::Error) -> Error {
    Error::new(format!("cannot write {path}: {error}"))
        .help("with --keep the ledgers stay, for `lockwright report`")
}

/// Makes `text` the contents of the file; of a pipe or device, adds it.
fn replace(file: &mut File, text: &str) -> io::Result<()> {
    use io::Seek;
    if file.metadata()?.is_file() {
        file.set_len(0)?;
        file.rewind()?;
    }
    file.write_all(text.as_bytes())
}

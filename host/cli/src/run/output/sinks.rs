//! Where the report of a command goes, in each form that the user asks for.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use super::browser;
use crate::args::{OutputArgs, PageArgs};
use lockwright_analysis::symbolize::debuginfod;
use lockwright_console::error::{Error, Result, exit};
use lockwright_console::sink::Sink;
use lockwright_console::streams::Streams;
use lockwright_report::reports::{Look, Report};

/// Width of a report that nobody reads on a terminal.
const FILE_WIDTH: usize = 100;

/// The streams of a command that reports on a program.
#[derive(Debug)]
pub struct Sinks {
    streams: Streams,
    page: Option<Sink>,
    /// The page's file, if it is to be opened in the end.
    opens: Option<PathBuf>,
    /// There is a page in it.
    has_page: bool,
}

impl Deref for Sinks {
    type Target = Streams;

    fn deref(&self) -> &Streams {
        &self.streams
    }
}

impl DerefMut for Sinks {
    fn deref_mut(&mut self) -> &mut Streams {
        &mut self.streams
    }
}

impl Sinks {
    /// Opens the files.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn open(args: &OutputArgs) -> Result<Self> {
        let sinks =
            Self { streams: Streams::open(args)?, page: None, opens: None, has_page: false };
        if debuginfod::is_client_missing() {
            let why = Error::new(
                "DEBUGINFOD_URLS names servers, but there is no debuginfod-find in PATH",
            );
            sinks.warn(&why.help("install Debian's package debuginfod, or unset the variable"));
        }
        Ok(sinks)
    }

    /// Also writes a page, if it is asked for.
    ///
    /// # Errors
    /// If its file cannot be created.
    pub fn with_page(mut self, args: &PageArgs) -> Result<Self> {
        let mut path = args.html.clone();
        if args.open {
            if path.as_deref().is_some_and(|path| path == Path::new("-")) {
                let error =
                    "--open needs the page in a file, and --html - writes it to standard output";
                return Err(Error::with_code(exit::USAGE, error).help("name a file: --html FILE"));
            }
            path = path.map_or_else(|| browser::new_file().map(Some), |path| Ok(Some(path)))?;
            self.opens.clone_from(&path);
        }
        self.page = path.as_deref().map(|path| Sink::create(path, "--html FILE")).transpose()?;
        Ok(self)
    }

    /// Shows a report, and overwrites what a file had before.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn show(&mut self, report: &dyn Report) -> Result<()> {
        self.begin_report();
        let text = report.text(self.look());
        let colour = self.streams.colour;
        self.streams.text.put_styled(&text, colour)
    }

    /// Shows a report after what was shown before.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn add(&mut self, report: &dyn Report) -> Result<()> {
        let look = self.look();
        self.streams.show_text(|_| report.text(look))
    }

    /// Shows a report that is what was asked for as a listing is, so it goes to standard output.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn list_report(&mut self, report: &dyn Report) -> Result<()> {
        let look = Look { colour: self.colours_lists(), ..self.look() };
        self.streams.list(&report.text(look))
    }

    /// Writes the JSON and the page of a report, if they were asked for.
    pub fn write_files(&mut self, report: &dyn Report) -> [Result<()>; 2] {
        let json = self.streams.write_json_by(|out| report.json(out));
        let page = match &mut self.page {
            Some(sink) => report.html().map_or(Ok(()), |page| sink.put(&page)),
            None => Ok(()),
        };
        self.has_page = self.page.is_some() && page.is_ok();
        [json, page]
    }

    fn look(&self) -> Look {
        let width = self.streams.text.width().unwrap_or(FILE_WIDTH);
        Look { colour: self.streams.colour, width }
    }
}

impl Drop for Sinks {
    fn drop(&mut self) {
        if let Some(page) = self.opens.take() {
            match self.has_page {
                true => match browser::open(&page) {
                    Ok(()) => self.note(&Error::new(format!("the page is {}", page.display()))),
                    Err(error) => self.note(&error),
                },
                // What is empty was made for the page.
                false if page.metadata().is_ok_and(|meta| meta.len() == 0) => {
                    let _ = std::fs::remove_file(&page);
                }
                false => {}
            }
        }
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

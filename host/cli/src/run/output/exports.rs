//! The measurement in formats for other tools, each to a file of its own.

use crate::args::ViewArgs;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_console::error::Result;
use lockwright_report::lockmeter::timeline;
use lockwright_report::lockmeter::{folded, openmetrics, pprof};

use lockwright_console::sink::Sink;

/// Makes a format of a report.
type Making<T> = Box<dyn Fn(&MeterReport) -> T>;

/// What makes a format.
enum Render {
    Text(Making<String>),
    Bytes(Making<Vec<u8>>),
}

/// Files that were asked for; opened before the program runs, as the report's.
pub struct Exports {
    files: Vec<(Sink, Render)>,
}

impl Exports {
    /// Opens the files.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn open(args: &ViewArgs) -> Result<Self> {
        let mut files: Vec<(Sink, Render)> = Vec::new();
        for (what, path) in &args.folded {
            let what = *what;
            let render = Render::Text(Box::new(move |report| folded::render(report, what)));
            files.push((Sink::create(path, "--folded WHAT=FILE")?, render));
        }
        if let Some(path) = &args.pprof {
            files.push((
                Sink::create(path, "--pprof FILE")?,
                Render::Bytes(Box::new(pprof::render)),
            ));
        }
        if let Some(path) = &args.openmetrics {
            let render = Render::Text(Box::new(openmetrics::render));
            files.push((Sink::create(path, "--openmetrics FILE")?, render));
        }
        for (format, path) in &args.timeline {
            let (format, name) = (*format, path.to_string_lossy().into_owned());
            let render =
                Render::Bytes(Box::new(move |report| timeline::render(report, format, &name)));
            files.push((Sink::create(path, "--timeline FILE")?, render));
        }
        Ok(Self { files })
    }

    /// Writes them all.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn write(&mut self, report: &MeterReport) -> Result<()> {
        // All are tried.
        let write = |(sink, render): &mut (Sink, Render)| match render {
            Render::Text(render) => sink.put(&render(report)),
            Render::Bytes(render) => sink.put_bytes(&render(report)),
        };
        let done: Vec<_> = self.files.iter_mut().map(write).collect();
        done.into_iter().collect()
    }
}

//! `lockwright-lab bench`: the lab's measurements of locks.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use lockwright_lab::bench::peers::{Axes, Choice};
use lockwright_lab::bench::{self, Options, Plot};
use lockwright_lab::parts::Parts;
use lockwright_lab::tables;

use crate::args::{Bench, BenchArgs, BenchLocksArgs, BenchTablesArgs, Hog, SweepOver};
use lockwright_console::error::{Error, Result, exit};
use lockwright_console::status::Status;
use lockwright_console::streams::Streams;
use lockwright_console::whole_file::WholeFile;

/// Exit code where figures are not to be believed.
const FAULT: u8 = 101;

/// Rounds of a comparison: as few as give an interval of 95 % confidence.
const ROUNDS: u16 = 7;
/// Rounds of the whole sweep.
const FULL_ROUNDS: u16 = 10;

/// Runs the command.
///
/// # Errors
/// If nothing is called so, figures are not to be believed, or a file cannot be written.
pub fn run(args: &BenchArgs) -> Result<u8> {
    match &args.what {
        Bench::Locks(args) => locks(args),
        Bench::Tables(args) => tables(args),
    }
}

fn locks(args: &BenchLocksArgs) -> Result<u8> {
    let mut output = Streams::open(&args.output)?;
    let is_full = args.sweep.sweep == SweepOver::Full;
    let lengths = if args.smoke {
        Options::smoke()
    } else {
        Options {
            rounds: args.rounds.unwrap_or(if is_full { FULL_ROUNDS } else { ROUNDS }).into(),
            interval: Duration::from_secs_f64(args.interval),
            ..Options::default()
        }
    };
    let peers = choice(args);
    let plots = args.sweep.plot.as_deref().map(PlotDir::make).transpose()?;
    let options = Options { only: args.only.clone(), events: args.events, peers, ..lengths };
    let status = Status::new();
    let report = bench::locks(&options, |what| status.show(what));
    drop(status);
    let report = report.map_err(|fault| no_figures(&fault))?;
    if report.sections.is_empty() {
        let only = args.only.as_deref().unwrap_or_default();
        return Err(Error::with_code(
            exit::USAGE,
            format!("nothing that is measured is called `{only}`"),
        )
        .help("without --only all is measured, and its names are seen"));
    }
    output.write_json_text(&format!("{:#}\n", report.json()))?;
    output.list(&report.text())?;
    if let Some(plots) = plots {
        report.plots.iter().try_for_each(|plot| plots.write(plot))?;
    }
    if args.sweep.complete
        && let Some(why) = report.missing.first()
    {
        let missing = report.missing.len();
        return Err(Error::new(format!(
            "{missing} libraries of locks are missing; the first: {why}"
        )));
    }
    Ok(0)
}

/// Where plots go.
struct PlotDir<'d>(&'d Path);

impl<'d> PlotDir<'d> {
    /// Made before anything is measured, so that a wrong path is reported at once.
    fn make(dir: &'d Path) -> Result<Self> {
        match fs::create_dir_all(dir) {
            Ok(()) => Ok(Self(dir)),
            Err(error) => Err(Self::not_written(dir, &error)),
        }
    }

    fn write(&self, plot: &Plot) -> Result<()> {
        let path = self.0.join(&plot.name);
        let written = WholeFile::open(&path).and_then(|mut file| file.put(plot.svg.as_bytes()));
        written.map_err(|error| Self::not_written(&path, &error))
    }

    fn not_written(path: &Path, error: &io::Error) -> Error {
        Error::new(format!("cannot write {}: {error}", path.display()))
            .help("name a directory that can be written: --plot DIR")
    }
}

/// What mutexes and rwlocks are swept over.
fn choice(args: &BenchLocksArgs) -> Choice {
    let BenchLocksArgs { smoke, sweep: args, .. } = args;
    let numbers = |chosen: &Option<Vec<u16>>| {
        chosen.as_ref().map(|numbers| numbers.iter().copied().map(usize::from).collect())
    };
    let hogs = args.hog.map(|hog| match hog {
        Hog::No => vec![false],
        Hog::Yes => vec![true],
        Hog::Both => vec![false, true],
    });
    let axes = Axes {
        threads: numbers(&args.threads),
        sections: args.sections.clone(),
        gaps: args.gaps.clone(),
        locks: numbers(&args.locks),
        reads: args.reads.clone(),
        hogs,
    };
    Choice {
        is_full: args.sweep == SweepOver::Full,
        is_smoke: *smoke,
        plots: args.plot.is_some(),
        axes,
        cells: args.cells.map(usize::from),
        seed: args.seed,
        locks: args.among.clone(),
        libraries: Parts::new(args.peers.clone(), bench::peers::LIBRARIES_COMMAND),
    }
}

fn tables(args: &BenchTablesArgs) -> Result<u8> {
    let mut output = Streams::open(&args.output)?;
    let tool = args.lockwright.clone().map_or_else(next_to_this_program, Ok)?;
    let plots = args.plot.as_deref().map(PlotDir::make).transpose()?;
    let smoke = Options::smoke();
    let options = tables::Options {
        rounds: if args.smoke { smoke.rounds } else { args.rounds.into() },
        interval: if args.smoke { smoke.interval } else { Duration::from_secs_f64(args.interval) },
        smoke: args.smoke,
        only: args.only,
        tool,
        parts: Parts::new(args.parts.clone(), tables::PARTS_COMMAND),
    };
    let status = Status::new();
    let page = tables::measure(&options, &mut |what| status.show(what));
    drop(status);
    let page = page.map_err(|why| no_figures(&why))?;
    output.write_json_text(&format!("{:#}\n", page.json()))?;
    output.list(&page.markdown())?;
    if let Some(plots) = plots {
        page.plots().iter().try_for_each(|plot| plots.write(plot))?;
    }
    let missing: Vec<_> = page.missing().collect();
    if args.complete
        && let Some((document, why)) = missing.first()
    {
        return Err(Error::new(format!(
            "{} figures are missing; the first, of document {document}: {why}",
            missing.len()
        )));
    }
    if let Some((_, why)) = missing.first()
        && !page.has_figures()
    {
        return Err(Error::new(format!("nothing was measured: {why}")));
    }
    Ok(0)
}

/// The `lockwright` in the directory of this program, where an installation has both. Tables that run it say so where
/// it is missing.
fn next_to_this_program() -> Result<PathBuf> {
    match std::env::current_exe() {
        Ok(own) => Ok(own.with_file_name("lockwright")),
        Err(error) => Err(Error::new(format!("the file of lockwright-lab is not known: {error}"))
            .help("name the command that measures: --lockwright FILE")),
    }
}

/// Something was measured that cannot be.
fn no_figures(why: &dyn Display) -> Error {
    Error::with_code(FAULT, why.to_string())
        .help("the figures would say nothing; a fault of lockwright, of the compiler or of this machine: report it")
}

//! `lockwright-lab bench tables`: compares the published figures of five sets of kernel patches with
//! this machine's.
//!
//! Each document is a module. What it measures that is not in this process (preload libraries with
//! patches undone, programs) are [`Parts`], which `cargo xtask bench tables` builds; where one is
//! missing, its rows say so.

mod bkl;
mod debugobjects;
mod instructions;
mod kernels;
mod later;
mod lockdep;
mod page;
mod plot;
mod programs;
mod publication;
mod pvqspinlock;
mod pvqspinlock_builds;
mod rwsem_trylock;
mod workload;

use std::path::PathBuf;
use std::time::Duration;

pub use bkl::published as bkl_published;
pub use page::Page;
pub use publication::{Block, Comparison, Here, Publication, Row, Unit, Verdict, is_below};

use crate::bench;
use crate::parts::Parts;

/// What builds the parts.
pub const PARTS_COMMAND: &str = "cargo xtask bench tables";

/// How long and how often is measured, and with what.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds of each comparison; within a round all its arms take turns.
    pub rounds: usize,
    /// How long threads lock where that is a matter of time, in one round.
    pub interval: Duration,
    /// Just enough to see that everything runs: the figures mean nothing.
    pub smoke: bool,
    /// Only this document.
    pub only: Option<u8>,
    /// The `lockwright` that measures where lockmeter is wanted.
    pub tool: PathBuf,
    /// What else is run.
    pub parts: Parts,
}

impl Options {
    /// The same for what `lockwright-lab bench locks` measures.
    fn of_locks(&self) -> bench::Options {
        bench::Options { rounds: self.rounds, interval: self.interval, ..bench::Options::default() }
    }
}

/// Told what is being measured.
pub type Progress<'p> = &'p mut dyn FnMut(&str);

/// Measures one document.
type Measure = fn(&Options, Progress<'_>) -> Result<Publication, String>;

/// Every document by its number.
const DOCUMENTS: [(u8, Measure); 5] = [
    (0, lockdep::measure),
    (1, debugobjects::measure),
    (2, bkl::measure),
    (3, rwsem_trylock::measure),
    (4, pvqspinlock::measure),
];

/// The author, subject and year of a document, by which pages name it.
pub fn name(document: u8) -> &'static str {
    match document {
        0 => "Long's lockdep patches (2018)",
        1 => "Long's debugobjects patches (2019)",
        2 => "Hansen's BKL patches (2002)",
        3 => "Song's rwsem patch (2021)",
        4 => "Long's hybrid pvqspinlock (2017)",
        _ => "a publication",
    }
}

/// The subject of a document, by which its files are named.
fn subject(document: u8) -> &'static str {
    match document {
        0 => "lockdep",
        1 => "debugobjects",
        2 => "bkl",
        3 => "rwsem-trylock",
        4 => "pvqspinlock",
        _ => "publication",
    }
}

/// Measures what is wanted.
///
/// # Errors
/// If something that is there does not run to its end, or its figures are not to be believed.
pub fn measure(options: &Options, progress: Progress<'_>) -> Result<Page, String> {
    let wanted =
        DOCUMENTS.iter().filter(|(number, _)| options.only.is_none_or(|only| only == *number));
    let documents = wanted
        .map(|(number, measure)| {
            let mut told = |what: &str| progress(&format!("{}: {what}", name(*number)));
            measure(options, &mut told).map_err(|why| format!("{}: {why}", name(*number)))
        })
        .collect::<Result<_, _>>()?;
    Ok(Page::new(options, documents))
}

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
mod options;
mod page;
mod plot;
mod programs;
mod publication;
mod publications;
mod pvqspinlock;
mod pvqspinlock_builds;
mod rwsem_trylock;
mod unit;
mod verdict;
mod workload;

pub use bkl::published as bkl_published;
pub use options::{Options, Progress};
pub use page::Page;
pub use publication::{Block, Comparison, Here, Publication, Row};
pub use publications::name;
pub use unit::Unit;
pub use verdict::{Outcome, Verdict};

/// What builds the parts.
pub const PARTS_COMMAND: &str = "cargo xtask bench tables";

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

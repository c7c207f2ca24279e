//! `lockwright-lab bench locks`: the locks of this family compared with others, and with published
//! figures of the kernel's.

mod exclusion;
mod fault;
mod glibc;
pub(crate) mod over_commit;
pub mod peers;
mod protected;
pub mod published;
mod report;
mod rounds;
pub(crate) mod trylock;
mod uncontended;
mod workers;

use std::time::Duration;

pub use fault::Fault;
pub(crate) use report::grouped_signed;
pub use report::{Plot, Report, Section, grouped};

/// How long and how often is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds of each section; within a round all its arms take turns.
    pub rounds: usize,
    /// How long the threads of the over-commit section lock, in one round.
    pub interval: Duration,
    /// Only sections and rows whose name contains this.
    pub only: Option<String>,
    /// Also the lock events of what counts them.
    pub events: bool,
    /// What is swept over, with which locks.
    pub peers: peers::Choice,
}

impl Default for Options {
    /// The published microbenchmark's five seconds; as many rounds as give an interval of 95 %
    /// confidence, and few enough to wait for.
    fn default() -> Self {
        Self {
            rounds: 7,
            interval: Duration::from_secs(5),
            only: None,
            events: false,
            peers: peers::Choice::default(),
        }
    }
}

impl Options {
    /// Just enough to see that everything runs: the figures mean nothing.
    pub fn smoke() -> Self {
        Self {
            rounds: 2,
            interval: Duration::from_millis(50),
            peers: peers::Choice { is_smoke: true, ..peers::Choice::default() },
            ..Self::default()
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }
}

/// Measures; `progress` gets the name of each measurement.
///
/// # Errors
/// If figures are not to be believed: one of the locks does not exclude, or a time is shorter than
/// the CPUs can do.
pub fn locks(options: &Options, mut progress: impl FnMut(&str)) -> Result<Report, Fault> {
    let mut sections = Vec::new();
    progress(uncontended::NAME);
    sections.extend(uncontended::measure(options)?);
    let swept = peers::measure(options, &mut progress)?;
    sections.extend(swept.sections);
    if options.wants(over_commit::NAME) {
        sections.extend(over_commit::measure(options, &mut progress)?.sections);
    }
    if options.wants(trylock::NAME) {
        sections
            .extend(trylock::measure(options, &mut progress)?.into_iter().map(|kind| kind.section));
    }
    Ok(Report {
        machine: lockwright_measure::machine::describe(peers::PACKAGES),
        rounds: options.rounds,
        sections,
        missing: swept.missing,
        plots: swept.plots,
    })
}

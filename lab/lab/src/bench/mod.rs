//! `lockwright-lab bench locks`: the locks of this family compared with others, and with published
//! figures of the kernel's.

mod exclusion;
mod fault;
mod glibc;
mod options;
pub(crate) mod over_commit;
pub mod peers;
mod protected;
pub mod published;
mod report;
mod rounds;
pub(crate) mod trylock;
mod uncontended;
mod workers;

pub use fault::Fault;
pub use options::Options;
pub(crate) use report::grouped_signed;
pub use report::{Plot, Report, Section, grouped};

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

//! A reader-writer lock whose readers never overlap: a mutex would do, and costs less.

use super::confidence::Confidence;
use super::rule::{Advised, Asks, Case, Evidence, Rule, Threshold, Unit, part};
use lockwright_analysis::lockmeter::model::Mode;

/// Fewest read acquisitions: fewer may have missed one another by chance.
const READS: u64 = 100;

/// The rule.
pub const RULE: Rule = Rule {
    name: "readers never overlap",
    thresholds: &[Threshold { what: "read acquisitions", value: "100" }],
    advise: Asks::Lock(advise),
};

fn advise(case: &Case<'_>) -> Option<Advised> {
    let reads = case.lock.of_mode(Mode::Read);
    let readers = case.lock.readers.as_ref()?;
    if readers.most != 1 || reads.readers_max > 1 || reads.acquisitions < READS {
        return None;
    }
    let threads: u64 = case.report.processes.iter().map(|process| process.threads).sum();
    if threads < 2 {
        return None;
    }
    // Had they come at random, readers that hold it for this part of the time would have met so
    // often.
    let busy = part(readers.busy.total_ns, case.lock.measured_ns as f64);
    let chances = reads.acquisitions as f64 * busy;
    Some(Advised {
        text: "use a mutex: no two readers ever held it at once, so its readers gain nothing"
            .into(),
        evidence: vec![
            Evidence::new("most readers at once", readers.most as f64, Unit::Count),
            Evidence::new("read acquisitions", reads.acquisitions as f64, Unit::Count),
            Evidence::new(
                "meetings to expect of readers that come at random",
                chances,
                Unit::Count,
            ),
        ],
        // They had few chances to meet, so they may well meet one day.
        confidence: Confidence::new(chances / (chances + 3.0), reads.acquisitions),
        supposed: None,
    })
}

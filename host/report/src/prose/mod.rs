//! Every sentence about a finding, made from what the analysis found.

pub mod action;
mod confirmed;
pub mod coverage;
pub mod doing;
pub mod futexes;
pub mod kernel_locks;
pub mod lost_waits;
mod misuse;
mod object;
mod order;
mod sentences;
pub mod short_names;
#[cfg(test)]
mod testing;
pub mod waited;
pub mod wakers;
pub mod words;

use lockwright_analysis::finding::{Details, Finding, Grade};
use sentences::Sentences;
use words::plain;

/// A finding in sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// One line naming the locks.
    pub title: String,
    /// Why this grade: sentences without a final full stop.
    pub evidence: Vec<String>,
    /// The next steps, likewise.
    pub help: Vec<String>,
}

impl Told {
    /// Why this grade, in plain lines: the evidence, or what the grade means where there is none.
    pub fn why(&self, grade: Grade) -> Vec<String> {
        match self.evidence.as_slice() {
            [] => vec![words::meaning(grade).to_owned()],
            lines => lines.iter().map(|line| plain(line)).collect(),
        }
    }
}

/// The sentences about a finding.
pub fn told(finding: &Finding) -> Told {
    let sentences: &dyn Sentences = match &finding.details {
        Details::Misuse(misuse) => misuse::sentences(misuse),
        Details::Object(fault) => fault,
        Details::Order(fault) => fault,
    };
    let evidence = match finding.confirmation.as_deref() {
        // What made it likely does not matter any more.
        Some(it) if it.deadlocked > 0 => confirmed::lines(finding, it),
        Some(it) => [confirmed::lines(finding, it), sentences.evidence(finding)].concat(),
        None => sentences.evidence(finding),
    };
    Told { title: sentences.title(finding), evidence, help: sentences.help(finding) }
}

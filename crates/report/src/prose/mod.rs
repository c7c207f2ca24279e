//! Every sentence about a finding, made from what the analysis found.

pub mod action;
pub mod coverage;
mod misuse;
mod object_words;
mod objects;
mod order;
pub mod words;

use lockwright_analysis::finding::{Details, Finding};

/// A finding in sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// One line naming the locks.
    pub title: String,
    /// Why this grade: sentences without a final full stop.
    pub evidence: Vec<String>,
    /// What to do next, likewise.
    pub help: Vec<String>,
}

/// What is said of a finding.
pub fn told(finding: &Finding) -> Told {
    match &finding.details {
        Details::Misuse(what) => misuse::told(finding, what),
        Details::Object(fault) => objects::told(finding, fault),
        Details::Order(fault) => order::told(finding, fault),
    }
}

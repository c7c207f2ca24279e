//! Every sentence about a finding, made from what the analysis found.

pub mod action;
mod misuse;
mod object_words;
mod objects;
pub mod words;

use lockwright_analysis::finding::{Details, Finding, Told};

/// What is said of a finding.
pub fn told(finding: &Finding) -> Told {
    match &finding.details {
        Details::Misuse(what) => misuse::told(finding, what),
        Details::Object(fault) => objects::told(finding, fault),
        Details::Told(told) => told.clone(),
    }
}

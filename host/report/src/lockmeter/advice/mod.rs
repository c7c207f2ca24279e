//! Advice that follows from the numbers: one rule per file, each a function of the model.
//!
//! A rule says what it saw, in numbers, and how sure it is; docs/advice.md has the rules and their
//! thresholds in words.

mod batch;
mod confidence;
mod convoy;
mod disjoint;
mod dominated;
mod estimates;
mod herd;
mod lone_readers;
mod rule;
mod saturated;
mod sleeping;
mod words;
mod writers;

pub use confidence::Confidence;
pub use estimates::{Estimated, estimates, reason};
use lockwright_analysis::lockmeter::model::MeterReport;
use rule::{Advised, Case};
pub use rule::{Evidence, Rule, Supposed, Threshold, Unit};

/// One suggestion.
#[derive(Clone, Debug)]
pub struct Advice {
    /// Name of the rule, as in docs/advice.md.
    pub rule: &'static str,
    /// The lock it is about: index into [`MeterReport::locks`].
    pub lock: usize,
    /// The remedy and its reason, in one sentence without a full stop.
    pub text: String,
    /// The figures that it rests on.
    pub evidence: Vec<Evidence>,
    /// How sure it is.
    pub confidence: Confidence,
    /// What is supposed to change for an estimate of what following it would bring.
    pub supposed: Option<Supposed>,
}

/// All rules, in the order in which suggestions of one lock are shown.
pub const RULES: &[Rule] = &[
    sleeping::RULE,
    dominated::RULE,
    saturated::RULE,
    writers::RULE,
    convoy::RULE,
    herd::RULE,
    lone_readers::RULE,
    disjoint::RULE,
    batch::RULE,
];

/// The thresholds of all rules that want less waiting.
pub const COMMON: &[Threshold] =
    &[Threshold { what: "wait for the lock, of the measured time", value: "1 %" }];

/// The rules' advice on all locks, those with the longest waits first.
pub fn advise(report: &MeterReport) -> Vec<Advice> {
    let mut all = Vec::new();
    for (index, lock) in report.locks.iter().enumerate() {
        let case = Case { report, index, lock };
        for rule in RULES {
            if let Some(Advised { text, evidence, confidence, supposed }) = (rule.advise)(&case) {
                let rule = rule.name;
                all.push(Advice { rule, lock: case.index, text, evidence, confidence, supposed });
            }
        }
    }
    all
}

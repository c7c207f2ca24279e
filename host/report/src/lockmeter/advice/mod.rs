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
mod woken;
mod words;
mod writers;

pub use confidence::Confidence;
pub use estimates::{Estimated, estimates, reason};
use lockwright_analysis::lockmeter::model::MeterReport;
use rule::{Advised, Asks, Case};
pub use rule::{Evidence, Rule, Supposed, Threshold, Unit};

/// One suggestion.
#[derive(Clone, Debug)]
pub struct Advice {
    /// Name of the rule, as in docs/advice.md.
    pub rule: &'static str,
    /// The lock or wait it is about.
    pub about: About,
    /// The remedy and its reason, in one sentence without a full stop.
    pub text: String,
    /// The figures that it rests on.
    pub evidence: Vec<Evidence>,
    /// How sure it is.
    pub confidence: Confidence,
    /// What is supposed to change for an estimate of what following it would bring.
    pub supposed: Option<Supposed>,
}

/// What a suggestion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// Index into [`MeterReport::locks`].
    Lock(usize),
    /// Index into [`MeterReport::waits`].
    Wait(usize),
}

impl Advice {
    /// The lock that it is about, if it is about one.
    pub fn lock(&self) -> Option<usize> {
        match self.about {
            About::Lock(lock) => Some(lock),
            About::Wait(_) => None,
        }
    }
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
    woken::RULE,
];

/// The thresholds of all rules that want less waiting.
pub const COMMON: &[Threshold] =
    &[Threshold { what: "wait for the lock, of the measured time", value: "1 %" }];

/// The rules' advice on all locks, those with the longest waits first, and then on waits that are for no lock.
pub fn advise(report: &MeterReport) -> Vec<Advice> {
    let locks = report.locks.iter().enumerate().flat_map(|(index, lock)| {
        let case = Case { report, index, lock };
        let advised = move |rule: &Rule| match rule.advise {
            Asks::Lock(advise) => Some(piece(rule, About::Lock(index), advise(&case)?)),
            Asks::Wait(_) => None,
        };
        RULES.iter().filter_map(advised)
    });
    let waits = report.waits.iter().enumerate().flat_map(|(index, wait)| {
        let advised = move |rule: &Rule| match rule.advise {
            Asks::Wait(advise) => Some(piece(rule, About::Wait(index), advise(report, wait)?)),
            Asks::Lock(_) => None,
        };
        RULES.iter().filter_map(advised)
    });
    locks.chain(waits).collect()
}

fn piece(rule: &Rule, about: About, advised: Advised) -> Advice {
    let Advised { text, evidence, confidence, supposed } = advised;
    Advice { rule: rule.name, about, text, evidence, confidence, supposed }
}

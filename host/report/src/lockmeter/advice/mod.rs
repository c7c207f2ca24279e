//! Advice that follows from the numbers: one rule per file, each a function of the model.
//!
//! A rule says what it saw, in numbers, and how sure it is; docs/advice.md has the rules and their
//! thresholds in words.

mod batch;
mod confidence;
mod convoy;
mod disjoint;
mod dominated;
mod herd;
mod lone_readers;
mod saturated;
mod sleeping;
mod words;
mod writers;

use std::fmt;

pub use confidence::Confidence;

use super::text::format::{percent, time};
use crate::prose::words::number;
use lockwright_analysis::lockmeter::model::{Lock, MeterReport};

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
}

/// A number that a suggestion rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The name of the figure.
    pub what: String,
    /// How much.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

impl Evidence {
    fn new(what: impl Into<String>, value: f64, unit: Unit) -> Self {
        Self { what: what.into(), value, unit }
    }
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Part of a whole, 0 to 1.
    Part,
    /// Nanoseconds.
    Ns,
    /// Times a second.
    PerSecond,
    /// One number as a multiple of another.
    Times,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, value, unit } = self;
        match unit {
            Unit::Count => write!(f, "{what} {}", number(*value as u64)),
            Unit::Part => write!(f, "{what} {}%", percent(*value)),
            Unit::Ns => write!(f, "{what} {}", time(*value)),
            Unit::PerSecond => write!(f, "{what} {}/s", number(*value as u64)),
            Unit::Times => write!(f, "{what} {value:.1}"),
        }
    }
}

/// A number that decides whether a rule speaks.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// The quantity that it is the least, or greatest, of.
    pub what: &'static str,
    /// As docs/advice.md writes it.
    pub value: &'static str,
}

/// A rule: what it is called, its thresholds, and what it makes of one lock.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// The rule's own thresholds, besides [`COMMON`].
    pub thresholds: &'static [Threshold],
    advise: fn(&Case<'_>) -> Option<Advised>,
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

/// Least wait for a lock, as a part of the measured time, for a rule to speak that wants less of
/// it.
const LEAST_WAIT: f64 = 0.01;

/// The thresholds of all rules that want less waiting.
pub const COMMON: &[Threshold] =
    &[Threshold { what: "wait for the lock, of the measured time", value: "1 %" }];

/// A lock and what it is part of.
struct Case<'r> {
    report: &'r MeterReport,
    index: usize,
    lock: &'r Lock,
}

impl Case<'_> {
    /// Its waits are worth anybody's while.
    fn matters(&self) -> bool {
        self.wait_part() >= LEAST_WAIT
    }

    /// The sum of its waits, as a part of the measured time: threads that wait on average.
    fn wait_part(&self) -> f64 {
        part(self.lock.total.wait.total_ns, self.lock.measured_ns as f64)
    }

    fn waited(&self) -> Evidence {
        Evidence::new("waits in all", self.lock.total.wait.total_ns, Unit::Ns)
    }
}

/// A rule's advice on a lock.
struct Advised {
    text: String,
    evidence: Vec<Evidence>,
    confidence: Confidence,
}

/// The rules' advice on all locks, those with the longest waits first.
pub fn advise(report: &MeterReport) -> Vec<Advice> {
    let mut all = Vec::new();
    for (index, lock) in report.locks.iter().enumerate() {
        let case = Case { report, index, lock };
        for rule in RULES {
            if let Some(Advised { text, evidence, confidence }) = (rule.advise)(&case) {
                let rule = rule.name;
                all.push(Advice { rule, lock: case.index, text, evidence, confidence });
            }
        }
    }
    all
}

fn part(of: f64, whole: f64) -> f64 {
    if whole > 0.0 { of / whole } else { 0.0 }
}

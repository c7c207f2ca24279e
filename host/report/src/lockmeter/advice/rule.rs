//! A rule of advice: what it is given, and what it answers.

use std::fmt;

use super::confidence::Confidence;
use crate::lockmeter::text::format::{percent, time};
use crate::prose::words::number;
use lockwright_analysis::lockmeter::model::{Lock, MeterReport, Wait};
use lockwright_analysis::lockmeter::what_if::Remedy;

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
    pub(super) fn new(what: impl Into<String>, value: f64, unit: Unit) -> Self {
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
    /// The rule's own thresholds, besides [`super::COMMON`].
    pub thresholds: &'static [Threshold],
    pub(super) advise: Asks,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asks {
    /// A lock.
    Lock(fn(&Case<'_>) -> Option<Advised>),
    /// A wait that is for no lock.
    Wait(fn(&MeterReport, &Wait) -> Option<Advised>),
}

/// Least wait for a lock, as a part of the measured time, for a rule to speak that wants less of
/// it.
pub const LEAST_WAIT: f64 = 0.01;

/// A lock and what it is part of.
pub struct Case<'r> {
    pub report: &'r MeterReport,
    pub index: usize,
    pub lock: &'r Lock,
}

impl Case<'_> {
    /// Its waits are worth anybody's while.
    pub fn matters(&self) -> bool {
        self.wait_part() >= LEAST_WAIT
    }

    /// The sum of its waits, as a part of the measured time: threads that wait on average.
    pub fn wait_part(&self) -> f64 {
        part(self.lock.total.wait.total_ns, self.lock.measured_ns as f64)
    }

    pub fn waited(&self) -> Evidence {
        Evidence::new("waits in all", self.lock.total.wait.total_ns, Unit::Ns)
    }
}

/// A rule's advice on a lock.
pub struct Advised {
    pub text: String,
    pub evidence: Vec<Evidence>,
    pub confidence: Confidence,
    pub supposed: Option<Supposed>,
}

/// A change of the program that follows the advice, whose effect can be estimated.
#[derive(Clone, Debug)]
pub struct Supposed {
    /// The change, as the clause after "if", in which "it" is the lock.
    pub text: String,
    /// The same for the model.
    pub remedy: Remedy,
}

pub fn part(of: f64, whole: f64) -> f64 {
    if whole > 0.0 { of / whole } else { 0.0 }
}

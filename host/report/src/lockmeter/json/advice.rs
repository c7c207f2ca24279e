//! Advice that follows from the numbers, for machines.

use serde::Serialize;

use super::values::ns;
use crate::lockmeter::advice::{Advice, Confidence, Evidence, Unit};

#[derive(Serialize)]
pub struct AdviceOut {
    rule: &'static str,
    lock: usize,
    text: String,
    confidence: &'static str,
    evidence: Vec<EvidenceOut>,
}

#[derive(Serialize)]
struct EvidenceOut {
    what: String,
    value: f64,
    unit: &'static str,
}

pub fn advice(advice: Advice) -> AdviceOut {
    let Advice { rule, lock, text, evidence, confidence } = advice;
    AdviceOut {
        rule,
        lock,
        text,
        confidence: match confidence {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        },
        evidence: evidence.into_iter().map(one).collect(),
    }
}

fn one(evidence: Evidence) -> EvidenceOut {
    let Evidence { what, value, unit } = evidence;
    EvidenceOut {
        what,
        value: ns(value),
        unit: match unit {
            Unit::Count => "count",
            Unit::Part => "part",
            Unit::Ns => "ns",
            Unit::PerSecond => "per_second",
            Unit::Times => "times",
        },
    }
}

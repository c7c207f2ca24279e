//! Advice that follows from the numbers, for machines.

use serde::Serialize;

use super::values::ns;
use crate::lockmeter::advice::{
    About, Advice, Confidence, Estimated, Evidence, Unit, advise, estimates, reason,
};
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::lockmeter::what_if::Change;

/// A piece of advice.
#[derive(Serialize)]
pub struct AdviceOut {
    rule: &'static str,
    /// The lock that it is about: index into the report's; `None` if it is about a wait.
    pub lock: Option<usize>,
    /// The wait that it is about, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait: Option<usize>,
    text: String,
    confidence: &'static str,
    evidence: Vec<EvidenceOut>,
    estimate: Option<EstimateOut>,
}

#[derive(Serialize)]
struct EstimateOut {
    supposed: String,
    waits: Option<ChangeOut>,
    throughput: Option<ChangeOut>,
    simulated_waits: Option<f64>,
    why_none: Option<String>,
}

#[derive(Serialize)]
struct ChangeOut {
    likely: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct EvidenceOut {
    what: String,
    value: f64,
    unit: &'static str,
}

/// The rules' advice, the first of it with estimates.
pub fn all(report: &MeterReport) -> Vec<AdviceOut> {
    let advice = advise(report);
    let estimated = estimates(report, &advice);
    advice.into_iter().zip(estimated).map(|(of, estimated)| one(of, estimated)).collect()
}

fn one(advice: Advice, estimated: Option<Estimated>) -> AdviceOut {
    let (lock, wait) = match advice.about {
        About::Lock(lock) => (Some(lock), None),
        About::Wait(wait) => (None, Some(wait)),
    };
    let Advice { rule, text, evidence, confidence, .. } = advice;
    AdviceOut {
        rule,
        lock,
        wait,
        text,
        confidence: match confidence {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        },
        evidence: evidence.into_iter().map(figure).collect(),
        estimate: estimated.map(estimate),
    }
}

fn estimate(of: Estimated) -> EstimateOut {
    let Estimated { supposed, result } = of;
    let why_none = result.as_ref().err().map(|&why| reason(why));
    let known = result.ok();
    EstimateOut {
        supposed,
        waits: known.map(|known| change(known.waits)),
        throughput: known.and_then(|known| known.throughput).map(change),
        simulated_waits: known.map(|known| known.simulated_waits),
        why_none,
    }
}

fn change(Change { likely, low, high }: Change) -> ChangeOut {
    ChangeOut { likely, low, high }
}

fn figure(evidence: Evidence) -> EvidenceOut {
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

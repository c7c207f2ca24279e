//! What the first pieces of advice would bring.

use std::cmp::Reverse;

use super::Advice;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::lockmeter::what_if::{Change, Estimate, Why, estimate};

/// Pieces of advice with an estimate: each takes some tenths of a second, once for a report.
const FIRST: usize = 3;

/// An estimate, or why there is none.
#[derive(Clone, Debug)]
pub struct Estimated {
    /// The change that is supposed: a clause after "if".
    pub supposed: String,
    /// Its effect.
    pub result: Result<Estimate, Why>,
}

/// The estimates for pieces of advice, in their order: for the first that name a change whose effect can be estimated, by waits
/// for the lock and then by confidence.
pub fn estimates(report: &MeterReport, advice: &[Advice]) -> Vec<Option<Estimated>> {
    let mut order: Vec<usize> = (0..advice.len()).collect();
    order.retain(|&index| advice[index].supposed.is_some());
    order.sort_by_key(|&index| (advice[index].about, Reverse(advice[index].confidence)));
    order.truncate(FIRST);
    let estimated = |(index, of): (usize, &Advice)| {
        let supposed = of.supposed.as_ref().filter(|_| order.contains(&index))?;
        let result = estimate(report, of.lock()?, supposed.remedy);
        Some(Estimated { supposed: supposed.text.clone(), result })
    };
    advice.iter().enumerate().map(estimated).collect()
}

impl Estimated {
    /// As a sentence without a full stop.
    pub fn text(&self) -> String {
        match &self.result {
            Ok(Estimate { waits, throughput, .. }) => {
                let throughput = throughput.as_ref().map_or_else(
                    || "throughput not known, as its threads wait for each other in other ways, too".to_owned(),
                    |change| format!("throughput {}", percent(change)),
                );
                format!("if {}: waits {}, {throughput}", self.supposed, percent(waits))
            }
            Err(why) => format!("no estimate: {}", reason(*why)),
        }
    }
}

/// Why there is no estimate.
pub fn reason(why: Why) -> String {
    match why {
        Why::HoldsNotTimed => "holds were not timed".to_owned(),
        Why::FewWaits => "there are too few waits".to_owned(),
        Why::ThreadsUnknown => "fewer than two threads are known to take it".to_owned(),
        Why::ManyThreads => "too many threads take it".to_owned(),
        Why::NotReproduced { waits, rate } => format!(
            "the model misses what was measured (waits {waits:.2} times as long, {rate:.2} times the acquisitions)"
        ),
    }
}

/// A change with its interval.
fn percent(change: &Change) -> String {
    let percent = |part: f64| {
        let rounded = (part * 100.0).round();
        // Not "-0".
        if rounded == 0.0 { "0".to_owned() } else { format!("{rounded:+}") }
    };
    format!("{} % ({} to {})", percent(change.likely), percent(change.low), percent(change.high))
}

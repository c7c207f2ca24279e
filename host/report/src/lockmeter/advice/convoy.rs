//! Short holds, long waits: threads queue up, and each waits for many holds of the others.

use super::confidence::{Confidence, way};
use super::rule::{Advised, Asks, Case, Evidence, Rule, Threshold, Unit, part};
use super::words;

/// Least median wait, in median holds: the length of the queue.
const QUEUE: f64 = 4.0;
/// Longest median hold that is short, ns: less than what waking a thread takes on a busy machine.
const SHORT_NS: f64 = 50_000.0;
/// Least part of acquisitions that wait.
const CONTENDED: f64 = 0.2;
/// Fewest waits.
const WAITS: u64 = 100;

/// The rule.
pub const RULE: Rule = Rule {
    name: "convoy",
    thresholds: &[
        Threshold { what: "median wait, in median holds", value: "4" },
        Threshold { what: "median hold, at most", value: "50 us" },
        Threshold { what: "part of the acquisitions that wait", value: "20 %" },
        Threshold { what: "waits", value: "100" },
    ],
    advise: Asks::Lock(advise),
};

pub(super) fn advise(case: &Case<'_>) -> Option<Advised> {
    let numbers = &case.lock.total;
    // Readers that hold it together are not waited for one after the other.
    if !case.matters() || case.lock.is_rwlock() {
        return None;
    }
    let (hold, wait) = (numbers.hold.percentile_ns(50.0)?, numbers.wait.percentile_ns(50.0)?);
    let queue = part(wait, hold);
    let contended = numbers.contended_part();
    if queue < QUEUE || hold > SHORT_NS || contended < CONTENDED || numbers.contended < WAITS {
        return None;
    }
    // A few long holds explain long waits without any queue.
    let long = numbers.hold.percentile_ns(99.0)?;
    if long >= wait {
        return None;
    }
    Some(Advised {
        text: "threads queue up for it: its holds are short already, so take it less often, or divide what \
               it protects"
            .into(),
        evidence: vec![
            Evidence::new("median wait, in median holds", queue, Unit::Times),
            Evidence::new("median hold", hold, Unit::Ns),
            Evidence::new("99 % of the holds under", long, Unit::Ns),
            Evidence::new("contended", contended, Unit::Part),
            case.waited(),
        ],
        confidence: Confidence::new(
            0.5 * way(queue, QUEUE / 2.0, 4.0 * QUEUE) + 0.5 * way(contended, 0.0, 0.6),
            numbers.contended,
        ),
        supposed: Some(words::divided()),
    })
}

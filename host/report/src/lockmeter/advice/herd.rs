//! Threads that a condition wakes together queue up for its mutex.

use super::confidence::{Confidence, way};
use super::rule::{Advised, Case, Evidence, Rule, Threshold, Unit, part};
use super::words;
use lockwright_analysis::lockmeter::model::{Numbers, WaitKind};

/// Least part of the woken that have to wait for the mutex.
const CONTENDED: f64 = 0.5;
/// Least part of these waits in all waits for the mutex.
const SHARE: f64 = 0.25;
/// Least mean of these waits, in mean holds: others were woken, too, and come first.
const QUEUE: f64 = 2.0;
/// Fewest of these waits.
const WAITS: u64 = 50;

/// The rule.
pub const RULE: Rule = Rule {
    name: "thundering herd",
    thresholds: &[
        Threshold { what: "part of the woken that wait for the mutex", value: "50 %" },
        Threshold { what: "their part of all waits for the mutex", value: "25 %" },
        Threshold { what: "their mean wait, in mean holds", value: "2" },
        Threshold { what: "their waits", value: "50" },
    ],
    advise,
};

fn advise(case: &Case<'_>) -> Option<Advised> {
    if !case.matters() {
        return None;
    }
    let mut woken = Numbers::default();
    let sites = case.lock.sites.iter().filter(|site| site.cond_reacquire);
    sites.for_each(|site| woken.add(&site.numbers));
    let contended = woken.contended_part();
    let share = part(woken.wait.total_ns, case.lock.total.wait.total_ns);
    let queue = part(woken.wait.mean_ns()?, case.lock.total.hold.mean_ns()?);
    if contended < CONTENDED || share < SHARE || queue < QUEUE || woken.contended < WAITS {
        return None;
    }
    let slept_here = |kind, lock| kind == WaitKind::Condition && lock == Some(case.index);
    let at = case.report.waits.iter().find(|wait| slept_here(wait.kind, wait.lock));
    let place = at.map_or_else(String::new, |wait| format!(" in {}", words::place(&wait.stack)));
    Some(Advised {
        text: format!(
            "wake one thread, not all: those that wait for its condition{place} are woken together and queue \
             up for it"
        ),
        evidence: vec![
            Evidence::new("of the woken wait for it again", contended, Unit::Part),
            Evidence::new("their part of its waits", share, Unit::Part),
            Evidence::new("their mean wait, in mean holds", queue, Unit::Times),
            case.waited(),
        ],
        confidence: Confidence::new(
            0.5 * way(contended, 0.0, 1.0) + 0.5 * way(queue, QUEUE / 2.0, 4.0 * QUEUE),
            woken.contended,
        ),
    })
}

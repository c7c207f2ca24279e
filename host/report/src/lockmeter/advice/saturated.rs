//! The lock is held nearly all the time, by the only place that takes it: threads go through there
//! one by one.

use super::confidence::{Confidence, way};
use super::rule::{Advised, Asks, Case, Evidence, Rule, Threshold, Unit, part};
use super::{convoy, sleeping, words};

/// Least part of the measured time in which a lock of the class is held.
const HELD: f64 = 0.8;
/// Least wait for the lock, as a part of the measured time: threads that wait for it on average.
const WAITERS: f64 = 0.5;
/// Fewest waits.
const WAITS: u64 = 10;

/// The rule.
pub const RULE: Rule = Rule {
    name: "one saturated place",
    thresholds: &[
        Threshold { what: "part of the measured time in which it is held", value: "80 %" },
        Threshold { what: "threads that wait for it on average", value: "0.5" },
        Threshold { what: "waits", value: "10" },
    ],
    advise: Asks::Lock(advise),
};

fn advise(case: &Case<'_>) -> Option<Advised> {
    let lock = case.lock;
    let mut taking = lock.sites.iter().filter(|site| site.numbers.acquisitions > 0);
    // Several places are another rule's, and so are readers.
    let (Some(site), None) = (taking.next(), taking.next()) else { return None };
    let held = part(lock.utilisation(), lock.locks.max(1) as f64);
    let waiters = part(case.wait_part(), lock.locks.max(1) as f64);
    let is_saturated = held >= HELD && waiters >= WAITERS && lock.total.contended >= WAITS;
    if lock.readers.is_some() || !is_saturated {
        return None;
    }
    // Holds that are short already, or that are spent asleep, have advice of their own.
    if convoy::advise(case).is_some() || sleeping::advise(case).is_some() {
        return None;
    }
    Some(Advised {
        text: format!(
            "do less under it in {}, or divide what it protects: it is held there nearly all the time, and threads \
             go through one by one",
            words::site(site)
        ),
        evidence: vec![
            Evidence::new("held, of the measured time", held, Unit::Part),
            Evidence::new("threads that wait on average", waiters, Unit::Times),
            Evidence::new("mean hold", site.numbers.hold.mean_ns().unwrap_or(0.0), Unit::Ns),
            case.waited(),
        ],
        confidence: Confidence::new(
            0.5 * way(held, HELD - 0.1, 0.95) + 0.5 * way(waiters, 0.0, 1.0),
            lock.total.contended,
        ),
        supposed: Some(words::divided()),
    })
}

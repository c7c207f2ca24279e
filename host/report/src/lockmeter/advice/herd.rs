//! A broadcast wakes all that wait for a condition, and most of them find that there is nothing for them.

use super::confidence::{Confidence, way};
use super::rule::{Advised, Asks, Case, Evidence, Rule, Threshold, Unit, part};
use super::words;
use crate::prose::words::plain;
use lockwright_analysis::lockmeter::model::{Numbers, Wait, WaitKind, Waker, WakerKind};

/// Least part of the woken that are woken in vain.
const IN_VAIN: f64 = 0.5;
/// Least threads that a broadcast wakes on average.
const WOKEN: f64 = 2.0;
/// Fewest threads woken in vain, and fewest a second.
const COUNT: u64 = 50;
const PER_SECOND: f64 = 100.0;

/// The rule.
pub const RULE: Rule = Rule {
    name: "thundering herd",
    thresholds: &[
        Threshold {
            what: "part of the threads woken by a broadcast that are woken in vain",
            value: "50 %",
        },
        Threshold { what: "threads that a broadcast wakes on average", value: "2" },
        Threshold { what: "threads woken in vain", value: "50" },
        Threshold { what: "threads woken in vain a second", value: "100" },
    ],
    advise: Asks::Lock(advise),
};

fn advise(case: &Case<'_>) -> Option<Advised> {
    let (wait, waker) = herd(case)?;
    let in_vain = part(waker.in_vain as f64, waker.count as f64);
    let woken = part(waker.count as f64, waker.calls as f64);
    let seconds = case.lock.measured_ns as f64 / 1e9;
    let a_second = part(waker.in_vain as f64, seconds);
    if in_vain < IN_VAIN || woken < WOKEN || waker.in_vain < COUNT || a_second < PER_SECOND {
        return None;
    }
    let mut again = Numbers::default();
    let sites = case.lock.sites.iter().filter(|site| site.cond_reacquire);
    sites.for_each(|site| again.add(&site.numbers));
    Some(Advised {
        text: format!(
            "wake as many threads as can go on: the broadcast{} in {} wakes all that wait in {}, and most of them \
             wait again at once",
            wait.name.as_ref().map_or_else(String::new, |name| format!(" on `{}`", plain(name))),
            words::place(&waker.stack),
            words::place(&wait.stack),
        ),
        evidence: vec![
            Evidence::new("woken in vain", in_vain, Unit::Part),
            Evidence::new("that is", a_second, Unit::PerSecond),
            Evidence::new("broadcasts", waker.calls as f64, Unit::Count),
            Evidence::new("woken by each", woken, Unit::Times),
            Evidence::new("waits for the lock after that", again.wait.total_ns, Unit::Ns),
        ],
        confidence: Confidence::new(
            0.5 * way(in_vain, 0.25, 1.0) + 0.5 * way(woken, 1.0, 2.0 * WOKEN),
            waker.in_vain,
        ),
        supposed: None,
    })
}

/// The broadcast that wakes the most threads in vain, of those that use the lock.
fn herd<'r>(case: &Case<'r>) -> Option<(&'r Wait, &'r Waker)> {
    let waits = case.report.waits.iter();
    let of_lock =
        waits.filter(|wait| wait.kind == WaitKind::Condition && wait.lock == Some(case.index));
    let wakers = of_lock.flat_map(|wait| wait.wakers.iter().map(move |waker| (wait, waker)));
    wakers
        .filter(|(_, waker)| waker.kind == WakerKind::Broadcast)
        .max_by_key(|(_, waker)| waker.in_vain)
}

//! The lock is held while its holder sleeps: in I/O, a poll, a sleep, or a wait that is for no
//! lock.

use super::confidence::{Confidence, way};
use super::rule::{Advised, Asks, Case, Evidence, Rule, Supposed, Threshold, Unit, part};
use super::words;
use lockwright_analysis::lockmeter::model::{At, Nested, Site, Wait, WaitKind};
use lockwright_analysis::lockmeter::what_if::Remedy;

/// Least part of the place's holds that is spent asleep.
const ASLEEP: f64 = 0.1;

/// The rule.
pub const RULE: Rule = Rule {
    name: "lock held across a sleep",
    thresholds: &[Threshold { what: "part of a place's holds spent asleep", value: "10 %" }],
    advise: Asks::Lock(advise),
};

pub(super) fn advise(case: &Case<'_>) -> Option<Advised> {
    if !case.matters() {
        return None;
    }
    let sleeps = case.lock.sites.iter().enumerate().flat_map(|(index, site)| {
        site.nested.iter().filter_map(move |nested| Some((index, nested, slept(case, nested)?)))
    });
    let (index, nested, wait) = sleeps.max_by(|a, b| a.1.ns.total_cmp(&b.1.ns))?;
    let site = case.lock.sites.get(index)?;
    let share = part(nested.ns, held(site));
    if share < ASLEEP {
        return None;
    }
    Some(Advised {
        text: format!(
            "release it before {} in {}: it is held there while its holder sleeps",
            what(wait),
            words::place(&wait.stack)
        ),
        evidence: vec![
            Evidence::new(
                format!("share of the hold time spent asleep by {}", words::site(site)),
                share,
                Unit::Part,
            ),
            Evidence::new("total sleep while holding it", nested.ns, Unit::Ns),
            Evidence::new("sleeps", nested.count as f64, Unit::Count),
            case.waited(),
        ],
        confidence: Confidence::new(way(share, 0.0, 0.5), nested.count),
        supposed: Some(Supposed {
            text: format!("{} did not hold it during {}", words::site(site), what(wait)),
            remedy: Remedy::SleepOutside { site: index, at: nested.at },
        }),
    })
}

/// How long the site held the lock; with holds untimed, what its sleeps took at least.
fn held(site: &Site) -> f64 {
    let nested: f64 = site.nested.iter().map(|nested| nested.ns).sum();
    site.numbers.hold_ns.max(nested)
}

/// The wait that a holder of the lock slept in, if it kept the lock meanwhile.
fn slept<'r>(case: &Case<'r>, nested: &Nested) -> Option<&'r Wait> {
    let At::Wait(wait) = nested.at else { return None };
    let wait = case.report.waits.get(wait)?;
    let gives_it_up = wait.kind == WaitKind::Condition && wait.lock == Some(case.index);
    (!gives_it_up).then_some(wait)
}

fn what(wait: &Wait) -> String {
    let what = match (wait.kind, wait.call) {
        (WaitKind::Condition, _) => "the condition wait",
        (WaitKind::Semaphore, _) => "the semaphore wait",
        (WaitKind::Barrier, _) => "the barrier",
        (WaitKind::Join, _) => "the join",
        (WaitKind::Once, _) => "the call for a routine that is run once",
        (WaitKind::Call, Some(call)) => return format!("the call of `{call}`"),
        (WaitKind::Call, None) => "the call that sleeps",
        (WaitKind::Futex, _) => "the wait at a futex",
        (WaitKind::Other, _) => "the wait",
    };
    what.to_owned()
}

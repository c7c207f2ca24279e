//! Threads that are woken at a semaphore or futex, and sleep again: there was nothing for them.

use super::confidence::{Confidence, way};
use super::rule::{Advised, Asks, Evidence, Rule, Threshold, Unit, part};
use super::words;
use crate::prose::words::plain;
use lockwright_analysis::lockmeter::model::{MeterReport, Wait, WaitKind};

/// Least part of the woken that are woken in vain.
const IN_VAIN: f64 = 0.5;
/// Fewest threads woken in vain, and fewest a second.
const COUNT: u64 = 50;
const PER_SECOND: f64 = 100.0;

/// The rule.
pub const RULE: Rule = Rule {
    name: "woken in vain",
    thresholds: &[
        Threshold { what: "part of the woken threads that are woken in vain", value: "50 %" },
        Threshold { what: "threads woken in vain at the futex or semaphore", value: "50" },
        Threshold { what: "threads woken there in vain a second", value: "100" },
    ],
    advise: Asks::Wait(advise),
};

/// Threads that were woken in vain, of how many, and what to do about it.
struct Found {
    in_vain: u64,
    woken: u64,
    text: String,
}

fn advise(report: &MeterReport, wait: &Wait) -> Option<Advised> {
    let Found { in_vain, woken, text } = match wait.kind {
        WaitKind::Futex => at_futex(wait)?,
        WaitKind::Semaphore => at_semaphore(wait),
        _ => return None,
    };
    let vain = part(in_vain as f64, woken as f64);
    let a_second = part(in_vain as f64, report.elapsed_ns as f64 / 1e9);
    if vain < IN_VAIN || in_vain < COUNT || a_second < PER_SECOND {
        return None;
    }
    Some(Advised {
        text,
        evidence: vec![
            Evidence::new("woken in vain", vain, Unit::Part),
            Evidence::new("that is", a_second, Unit::PerSecond),
            Evidence::new("waits there in all", wait.wait.total_ns, Unit::Ns),
        ],
        confidence: Confidence::new(way(vain, 0.25, 1.0), in_vain),
        supposed: None,
    })
}

/// The call that wakes the most threads in vain.
fn at_futex(wait: &Wait) -> Option<Found> {
    let waker = wait.wakers.iter().max_by_key(|waker| waker.in_vain)?;
    let text = format!(
        "wake as many threads as can go on: the call in {} wakes several of those that wait in {}, and most of them wait again at once",
        words::place(&waker.stack),
        words::place(&wait.stack),
    );
    Some(Found { in_vain: waker.in_vain, woken: waker.count, text })
}

/// A thread that is woken and finds nothing sleeps again within its wait, so each wait has one sleep more.
fn at_semaphore(wait: &Wait) -> Found {
    let name = wait.name.as_ref().map_or_else(String::new, |name| format!(" `{}`", plain(name)));
    let text = format!(
        "do not take the semaphore{name} again right after a post: most threads that a post wakes in {} find that another has taken it, \
         and sleep again",
        words::place(&wait.stack),
    );
    Found { in_vain: wait.in_vain, woken: wait.blocked.saturating_add(wait.in_vain), text }
}

//! Most of the time that the lock is held, it is held by one of several places, and that is what
//! others wait for.

use super::confidence::{Confidence, way};
use super::rule::{Advised, Asks, Case, Evidence, Rule, Threshold, Unit, part};
use super::words;
use lockwright_analysis::lockmeter::model::Mode;

/// Least part of the holds that the place has.
const HOLD: f64 = 0.8;
/// Least part of the waits that the place is to blame for, where that is known: as much as chance
/// would give it of four.
const BLAME: f64 = 0.25;
/// Fewest places that take the lock.
const SITES: usize = 2;

/// The rule.
pub const RULE: Rule = Rule {
    name: "hold dominated by one place",
    thresholds: &[
        Threshold { what: "part of one place in the time that the lock is held", value: "80 %" },
        Threshold { what: "its part of the waits, where that is known", value: "25 %" },
        Threshold { what: "places that take the lock", value: "2" },
    ],
    advise: Asks::Lock(advise),
};

fn advise(case: &Case<'_>) -> Option<Advised> {
    let lock = case.lock;
    let taking = lock.sites.iter().filter(|site| site.numbers.acquisitions > 0).count();
    if !case.matters() || taking < SITES {
        return None;
    }
    // Readers hold it together: the sum of their holds says nothing about how long it is held, the
    // time from the first in to the last out does.
    let holds = || lock.sites.iter().enumerate().filter(|(_, site)| site.mode != Mode::Read);
    let shared = lock.readers.as_ref().map_or(0.0, |readers| readers.busy.total_ns);
    let all: f64 = shared + holds().map(|(_, site)| site.numbers.hold_ns).sum::<f64>();
    let (index, site) =
        holds().max_by(|(_, a), (_, b)| a.numbers.hold_ns.total_cmp(&b.numbers.hold_ns))?;
    let share = part(site.numbers.hold_ns, all);
    if share < HOLD {
        return None;
    }
    let blamed: f64 = lock.blame.iter().map(|blame| blame.ns).sum();
    let by_it = lock.blame.iter().filter(|blame| blame.holder == Some(index)).map(|blame| blame.ns);
    let blame = part(by_it.sum(), blamed);
    let mut evidence = vec![
        Evidence::new("its part of the holds", share, Unit::Part),
        Evidence::new("its holds' mean", site.numbers.hold.mean_ns().unwrap_or(0.0), Unit::Ns),
        case.waited(),
    ];
    let mut strength = way(share, HOLD - 0.1, 1.0);
    if blamed > 0.0 {
        if blame < BLAME {
            return None;
        }
        evidence.insert(1, Evidence::new("its part of the waits", blame, Unit::Part));
        // The waiters' blame is the better witness.
        strength = 0.3 * strength + 0.7 * blame;
    }
    Some(Advised {
        text: format!(
            "do less under it in {}, which holds it most of the time that it is held",
            words::site(site)
        ),
        evidence,
        confidence: Confidence::new(strength, site.numbers.acquisitions.min(lock.total.contended)),
        supposed: Some(words::half(index, site)),
    })
}

//! One place takes the lock very often for very little.

use super::confidence::{Confidence, way};
use super::rule::{Advised, Asks, Case, Evidence, Rule, Threshold, Unit, part};
use super::words;

/// Least rate of acquisitions at the place, per second of measured time: at some 40 ns for a lock
/// and an unlock, 0.4 % of a processor.
const RATE: f64 = 100_000.0;
/// Longest median hold that is tiny, ns: a few times what taking and releasing costs.
const TINY_NS: f64 = 300.0;

/// The rule.
pub const RULE: Rule = Rule {
    name: "many short acquisitions",
    thresholds: &[
        Threshold { what: "acquisitions a second at one place", value: "100,000" },
        Threshold { what: "median hold there, at most", value: "300 ns" },
    ],
    advise: Asks::Lock(advise),
};

fn advise(case: &Case<'_>) -> Option<Advised> {
    let seconds = case.lock.measured_ns as f64 / 1e9;
    let site = case.lock.sites.iter().max_by_key(|site| site.numbers.acquisitions)?;
    let rate = part(site.numbers.acquisitions as f64, seconds);
    let hold = site.numbers.hold.percentile_ns(50.0)?;
    if rate < RATE || hold > TINY_NS {
        return None;
    }
    let contended = site.numbers.contended_part();
    Some(Advised {
        text: format!(
            "take it once for several things in {}: it is taken there very often, and held for hardly longer \
             than taking it costs",
            words::site(site)
        ),
        evidence: vec![
            Evidence::new("acquisitions", rate, Unit::PerSecond),
            Evidence::new("median hold", hold, Unit::Ns),
            Evidence::new("contended", contended, Unit::Part),
        ],
        // Whether things come several at a time the numbers do not say: rate and waits are all
        // there is.
        confidence: Confidence::new(
            0.6 * way(rate.log10(), RATE.log10() - 0.5, RATE.log10() + 1.5)
                + 0.4 * way(contended, 0.0, 0.2),
            site.numbers.acquisitions,
        ),
        supposed: None,
    })
}

//! Writers of a reader-writer lock wait for its readers, which may come in before the last one is
//! out.

use super::confidence::{Confidence, way};
use super::rule::{Advised, Asks, Case, Evidence, LEAST_WAIT, Rule, Threshold, Unit, part};
use super::words;
use lockwright_analysis::lockmeter::model::Mode;

/// Least part of the writers' waits for which readers are to blame.
const BLAME: f64 = 0.5;
/// Writers' mean wait, in readers' mean holds, from which on readers overlap: more than for the
/// longest of those that hold it already.
const OVERLAP: f64 = 4.0;

/// The rule.
pub const RULE: Rule = Rule {
    name: "writers wait for readers",
    thresholds: &[
        Threshold { what: "writers' wait for the lock, of the measured time", value: "1 %" },
        Threshold { what: "part of that for which readers are to blame", value: "50 %" },
    ],
    advise: Asks::Lock(advise),
};

fn advise(case: &Case<'_>) -> Option<Advised> {
    let lock = case.lock;
    let (writers, readers) = (lock.of_mode(Mode::Write), lock.of_mode(Mode::Read));
    if part(writers.wait.total_ns, lock.measured_ns as f64) < LEAST_WAIT {
        return None;
    }
    let is = |site: usize, mode| lock.sites.get(site).is_some_and(|site| site.mode == mode);
    let waits = || lock.blame.iter().filter(|blame| is(blame.waiter, Mode::Write));
    // For each place that reads, what writers waited for it.
    let for_readers = || {
        waits().filter_map(|blame| Some((blame.holder.filter(|&at| is(at, Mode::Read))?, blame.ns)))
    };
    let blamed: f64 = for_readers().map(|(_, ns)| ns).sum();
    let share = part(blamed, writers.wait.total_ns);
    if share < BLAME {
        return None;
    }
    let worst = (0..lock.sites.len())
        .map(|at| (at, for_readers().filter(|(of, _)| *of == at).map(|(_, ns)| ns).sum::<f64>()))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let reads_in = words::site(lock.sites.get(worst.0)?);
    let hold = readers.hold.mean_ns();
    let wait = writers.wait.mean_ns()?;
    let holds = hold.map_or(0.0, |hold| part(wait, hold));
    let text = if holds >= OVERLAP {
        format!(
            "hold it for less time in {reads_in}, or let writers go first \
             (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP): writers wait until no reader is left, and new readers \
             come in meanwhile"
        )
    } else {
        format!("hold it for less time in {reads_in}: writers wait for its readers")
    };
    let mut evidence = vec![
        Evidence::new("writers' waits", writers.wait.total_ns, Unit::Ns),
        Evidence::new("of that for readers", share, Unit::Part),
        Evidence::new("writers' longest wait", writers.wait.max_ns, Unit::Ns),
    ];
    if let Some(hold) = hold {
        evidence.push(Evidence::new("readers' mean hold", hold, Unit::Ns));
    }
    if let Some(readers) = &lock.readers {
        evidence.push(Evidence::new("most readers at once", readers.most as f64, Unit::Count));
    }
    Some(Advised {
        text,
        evidence,
        confidence: Confidence::new(
            0.5 * way(share, BLAME - 0.1, 1.0) + 0.5 * way(holds, 0.0, 2.0 * OVERLAP),
            // One wait that goes on and on is as much as many: what counts is how many readers it
            // saw out.
            hold.map_or(writers.contended, |hold| part(blamed, hold) as u64),
        ),
        supposed: lock.sites.get(worst.0).map(|site| words::half(worst.0, site)),
    })
}

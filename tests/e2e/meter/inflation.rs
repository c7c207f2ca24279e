//! A meter must not lengthen the holds that it measures: what it does between a lock's acquisition
//! and its release is seen by others as a longer hold.

use super::run::repeatedly;
use crate::harness::{Job, build, native, under};

/// Runs of each kind, interleaved. Each gives a median of thousands of holds, and on a machine that
/// does other things, too, all of a run's holds may take longer: never less. So the least of the
/// runs counts, natively and metered.
const ROUNDS: usize = 5;

/// Median hold as seen by another thread, in nanoseconds, and what a pair of calls costs, if that
/// was measured. `None` where the two threads had no processor each.
fn seen(job: Job) -> Option<(f64, Option<f64>)> {
    let run = job.run();
    let hold = run.text().trim().strip_prefix("hold=")?.parse::<f64>().ok()? / 100.0;
    Some((hold, run.json.is_some().then(|| run.report()["cost"]["pair_ns"].as_f64()).flatten()))
}

fn least(values: &[f64]) -> Result<f64, String> {
    if values.len() <= ROUNDS / 2 {
        return Err("too few runs in which both threads had a processor".into());
    }
    Ok(values.iter().copied().fold(f64::INFINITY, f64::min))
}

#[test]
fn no_hold_is_longer_than_by_what_a_pair_costs() {
    let program = build("meter_inflation.c", &["-O2"]);
    repeatedly(|| {
        let (mut plain, mut metered, mut pairs, mut planted) = (vec![], vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            plain.extend(seen(native(&program)).map(|(hold, _)| hold));
            let (hold, pair) = seen(under("meter", &[] as &[&str], &program)).unzip();
            metered.extend(hold);
            pairs.extend(pair.flatten());
            // What a meter that recorded holds before it lets go would do to them.
            let Some(pair) = pairs.last() else { continue };
            let longer = native(&program).arg(format!("{:.0}", 2.0 * pair));
            planted.extend(seen(longer).map(|(hold, _)| hold));
        }
        let (plain, metered) = (least(&plain)?, least(&metered)?);
        let (pair, planted) = (least(&pairs)?, least(&planted)?);
        let said = format!("native {plain:.0} ns, metered {metered:.0} ns, a pair {pair:.1} ns");
        // A pair reads the clock twice, and that is not had in so little time: the machine was too busy when it was measured,
        // which is kept.
        if pair < 4.0 {
            println!("{said}: what a pair costs is not known");
            return Ok(());
        }
        if planted - plain < 1.25 * pair {
            return Err(format!("{said}: holds longer by two pairs are not seen: {planted:.0} ns"));
        }
        // Nearer to one pair than to two: the medians are those of a histogram, whose steps are a pair's cost, too.
        match metered - plain <= 1.5 * pair {
            true => Ok(()),
            false => Err(said),
        }
    });
}

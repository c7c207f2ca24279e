//! A meter must not lengthen the holds that it measures: what it does between a lock's acquisition and its
//! release is seen by others as a longer hold.

use super::run::thrice;
use crate::harness::{Job, build, native, under};

/// Median hold as seen by another thread, in nanoseconds, and what a pair of calls costs, if that was measured.
fn seen(job: Job) -> Result<(f64, Option<f64>), String> {
    let run = job.run();
    let text = run.text();
    let hold = text.trim().strip_prefix("hold=").ok_or_else(|| text.to_string())?;
    let hold = hold.parse::<f64>().map_err(|e| e.to_string())? / 100.0;
    Ok((hold, run.json.is_some().then(|| run.report()["cost"]["pair_ns"].as_f64()).flatten()))
}

/// Not met yet: holds are seen 40 to 160 ns longer, a pair is calibrated at 30 to 43 ns.
#[test]
#[ignore = "not met: run it with --ignored to see by how much"]
fn no_hold_is_longer_than_by_what_a_pair_costs() {
    let program = build("meter_inflation.c", &["-O2"]);
    thrice(|| {
        let (plain, _) = seen(native(&program))?;
        let (metered, pair) = seen(under("meter", &[] as &[&str], &program))?;
        let pair = pair.ok_or("no cost in the report")?;
        let said = format!("native {plain:.0} ns, metered {metered:.0} ns, a pair {pair:.1} ns");
        // What a meter that recorded holds before it lets go would do to them: this is seen.
        let (planted, _) = seen(native(&program).arg(format!("{:.0}", 2.0 * pair)))?;
        if planted - plain < 1.25 * pair {
            return Err(format!("{said}: holds longer by two pairs are not seen: {planted:.0} ns"));
        }
        match metered - plain <= 1.25 * pair {
            true => Ok(()),
            false => Err(said),
        }
    });
}

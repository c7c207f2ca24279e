//! `lockwright-lab torture ww`: the kernel's tests of wound/wait mutexes.

use std::fmt::Write;
use std::time::Duration;

use serde_json::json;

use super::verdict::{Verdict, end};
use crate::args::TortureArgs;
use lockwright_console::status::Status;
use lockwright_lab::torture::ww::{Outcome, Parameters};

pub const NAME: &str = "ww";

/// The cases with a lock that is none.
pub const BUSTED: &str = "ww_busted";

/// How long a case of stress is in the kernel.
const STRESS: Duration = Duration::from_secs(2);

/// One of the lab's runs of the cases.
type Cases = fn(&Parameters, &mut dyn FnMut(&str)) -> Vec<Outcome>;

/// Runs the cases.
pub fn run(args: &TortureArgs, seed: u64, run: Cases) -> Verdict {
    let parameters = Parameters {
        stress: args.extent.shutdown_secs.unwrap_or(STRESS),
        acquisitions: args.extent.acquisitions,
        seed,
        cpus: std::thread::available_parallelism().map_or(2, usize::from).max(2),
    };
    let status = Status::new();
    let outcomes = run(&parameters, &mut |case| status.show(&format!("ww: {case}")));
    drop(status);
    let ok = outcomes.iter().all(|outcome| outcome.faults.is_empty());
    Verdict {
        ok,
        text: text(&args.torture_type, &outcomes, seed) + &end(&args.torture_type, ok),
        json: json!({
            "torture_type": args.torture_type, "parameters": parameters, "cases": outcomes, "ok": ok,
        }),
    }
}

fn text(name: &str, outcomes: &[Outcome], seed: u64) -> String {
    let mut out = format!("{name}-torture:--- Start of test: seed={seed}\n");
    for outcome in outcomes {
        let faults = if outcome.faults.is_empty() {
            "ok".to_owned()
        } else {
            format!("{} !!!", outcome.faults.join("; "))
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{:<28} {faults}", outcome.case);
    }
    out
}

//! Long's 2018 lockdep patches: a build under lockdep, on one socket and on four.

use super::{Claim, Runner, Source, Truth};

const DOCUMENT: Source = Source::Document(0);

/// One run's length as a part of the others': locks are taken often.
const PART: f64 = 0.1;

/// A machine: its threads, and how much longer the document's builds took below lockdep, before and
/// after the patches.
const MACHINES: [(&str, u32, [f64; 2]); 2] =
    [("skylake-22", 44, [1.461, 1.407]), ("broadwell-72", 144, [1.830, 1.360])];
/// What constants were fitted to: all of this machine's, and of the other this one.
const FITTED: &str = "skylake-22";
const FITTED_TOO: (&str, usize) = ("broadwell-72", 0);

pub fn run(runner: &mut Runner, truth: &mut Truth) {
    for (machine, threads, published) in MACHINES {
        let [unchecked, before, after] = ["unchecked", "before", "after"]
            .map(|name| runner.run(machine, "checked", name, threads, false, PART).rate());
        let simulated = [unchecked / before, unchecked / after];
        let of = format!("{threads} threads of {machine}");
        for at in [0, 1] {
            let what = format!(
                "time of a checked build over unchecked, {}, {of}",
                ["before", "after"][at]
            );
            let is_fitted = machine == FITTED || (machine, at) == FITTED_TOO;
            truth.ratio(DOCUMENT, what, published[at], simulated[at], is_fitted);
        }
        let what = format!("time after the patches over before, {of}");
        let ratio = |of: [f64; 2]| of[1] / of[0];
        truth.ratio(DOCUMENT, what, ratio(published), ratio(simulated), machine == FITTED);
        let speeds = [
            ("unchecked", 1.0, 1.0),
            ("after", 1.0 / published[1], 1.0 / simulated[1]),
            ("before", 1.0 / published[0], 1.0 / simulated[0]),
        ];
        truth.claims.push(Claim::ranking(DOCUMENT, format!("builds, {of}"), &speeds));
    }
}

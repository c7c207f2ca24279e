//! A futex mutex with looks before its waiters sleep and without: zio's change 576, which took them out. Its machine is not
//! named; here it is one socket.

use super::{Claim, Runner, Source, Truth};

const SOURCE: Source = Source::Zio;
const MACHINE: &str = "skylake-22";
/// Threads, and how long each number of them takes for 100,000 operations each, in ms: with looks, and without.
const POINTS: [(u32, [f64; 2]); 3] = [(2, [11.6, 7.7]), (4, [24.3, 14.2]), (8, [68.6, 28.4])];
/// A run's length as a part of the others': operations are short.
const PART: f64 = 0.25;

pub fn run(runner: &mut Runner, truth: &mut Truth) {
    for (threads, [with, without]) in POINTS {
        let [std, glibc] = ["std", "glibc"]
            .map(|lock| runner.run(MACHINE, "micro", lock, threads, false, PART).rate());
        let what = format!("operations without looks over those with, {threads} threads");
        truth.ratio(SOURCE, what, with / without, glibc / std, false);
        let claim = format!("operations, {threads} threads");
        let order = [("without looks", 1.0 / without, glibc), ("with", 1.0 / with, std)];
        truth.claims.push(Claim::ranking(SOURCE, claim, &order));
    }
}

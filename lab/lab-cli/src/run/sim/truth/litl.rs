//! Locks below SPLASH's radiosity on one to four sockets: LiTL's data, `paper/multicore_locks/datasets/I-48.csv`, of which
//! these are the medians.

use super::{Claim, Runner, Source, Truth};

const SOURCE: Source = Source::Litl;
const MACHINE: &str = "e7-4830v3";
/// Cores of a socket, each with a thread.
const CORES: u32 = 12;
/// The locks: as they are called there, and here.
const LOCKS: [(&str, &str); 4] =
    [("mcs_spin", "mcs"), ("posix", "glibc"), ("ticket", "ticket"), ("ttas", "tas")];
/// Sockets, and each lock's operations, in thousands a second.
const POINTS: [(u32, [f64; 4]); 4] = [
    (1, [249.5, 134.7, 144.5, 187.9]),
    (2, [287.1, 128.5, 112.9, 110.1]),
    (3, [283.9, 129.3, 102.0, 92.3]),
    (4, [289.3, 128.5, 97.5, 86.4]),
];
/// Up to so many sockets the MCS lock's operations were fitted to: what a task computes, and how often it locks.
const FITTED: u32 = 2;

pub fn run(runner: &mut Runner, truth: &mut Truth) {
    for (sockets, published) in POINTS {
        let threads = sockets * CORES;
        let on = format!("{sockets} socket{}", if sockets == 1 { "" } else { "s" });
        let rates = LOCKS.map(|(_, lock)| {
            runner.run_on(MACHINE, threads, "radiosity", lock, threads, 1.0).rate() / 1e3
        });
        let what = format!("radiosity, mcs_spin, thousands of operations/s, {on}");
        truth.amount(SOURCE, what, published[0], rates[0], sockets <= FITTED);
        for at in 1..LOCKS.len() {
            let what = format!("radiosity, operations of {} over mcs_spin, {on}", LOCKS[at].0);
            truth.ratio(SOURCE, what, published[at] / published[0], rates[at] / rates[0], false);
        }
        let order = [0, 1, 2, 3].map(|at| (LOCKS[at].0, published[at], rates[at]));
        let claim = format!("radiosity, operations, {on}");
        truth.claims.push(Claim::ranking(SOURCE, claim, &order));
    }
}

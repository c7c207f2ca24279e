//! parking_lot's collapse, compared with Rust's mutex and glibc's: the tables of its change 419, before that change.
//! The machine is that of issue 418, by the same author, as the change names none.

use super::{Claim, Runner, Source, Truth};

const SOURCE: Source = Source::ParkingLot;
const MACHINE: &str = "xeon-8580";
const LOCKS: [&str; 3] = ["parking_lot", "std", "glibc"];
/// Threads, and the average of each lock's, in thousands of operations a second and thread.
const POINTS: [(u32, [f64; 3]); 4] = [
    (9, [363.574, 699.105, 1_125.346]),
    (18, [26.346, 353.564, 529.260]),
    (27, [17.232, 226.792, 315.459]),
    (36, [12.920, 167.901, 221.542]),
];
/// A run's length as a part of the others': operations are short.
const PART: f64 = 0.25;
/// What counts as a collapse: so much less than Rust's does.
const COLLAPSE: f64 = 0.25;

pub fn run(runner: &mut Runner, truth: &mut Truth) {
    let mut collapse = Vec::new();
    let mut first: Option<[f64; 3]> = None;
    for (threads, published) in POINTS {
        let rates =
            LOCKS.map(|lock| runner.run(MACHINE, "parking_lot", lock, threads, false, PART).rate());
        let [parking_lot, std, glibc] = [0, 1, 2].map(|at| (LOCKS[at], published[at], rates[at]));
        for (of, beside) in [(parking_lot, std), (glibc, std)] {
            let what = format!("operations of {} over {}, {threads} threads", of.0, beside.0);
            truth.ratio(SOURCE, what, of.1 / beside.1, of.2 / beside.2, false);
        }
        let claim = format!("operations, {threads} threads");
        truth.claims.push(Claim::ranking(SOURCE, claim, &[parking_lot, std, glibc]));
        collapse.push((
            u64::from(threads),
            published[0] < published[1] * COLLAPSE,
            rates[0] < rates[1] * COLLAPSE,
        ));
        let first = *first.get_or_insert(rates);
        if threads == POINTS[POINTS.len() - 1].0 {
            for (at, lock) in LOCKS.iter().enumerate() {
                // Published are averages of threads, simulated are sums.
                let more = f64::from(threads) / f64::from(POINTS[0].0);
                let what = format!("operations of {lock}, {threads} threads over {}", POINTS[0].0);
                let published = published[at] / POINTS[0].1[at] * more;
                truth.ratio(SOURCE, what, published, rates[at] / first[at], false);
            }
        }
    }
    let claim = "from so many threads parking_lot does a quarter of what Rust's does".to_owned();
    truth.claims.push(Claim::crossover(SOURCE, claim, &collapse));
}

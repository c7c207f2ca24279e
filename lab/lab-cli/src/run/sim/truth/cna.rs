//! CNA as the queue of the queued spinlock, compared with the spinlock's own queue, on four
//! sockets.

use super::{Claim, Runner, Source, Truth};

const CNA: Source = Source::Cna;
const MACHINE: &str = "e7-8895v3";
/// The operations of locktorture with CNA over those with the stock lock, by threads.
const RATIOS: [(u32, f64); 2] = [(8, 1.167), (142, 1.595)];
/// Up to which numbers of threads nothing was gained, and from which something was.
const STEPS: [(u32, bool); 5] = [(2, false), (4, false), (8, true), (32, true), (142, true)];
/// What counts as a gain.
const GAIN: f64 = 1.05;
/// A run's length as a part of the others': there are many of them, and operations are short.
const PART: f64 = 0.1;

pub fn run(runner: &mut Runner, truth: &mut Truth) {
    let mut steps = Vec::new();
    for (threads, gains) in STEPS {
        let [stock, cna] = ["qspinlock", "cna_qspinlock"]
            .map(|lock| runner.run(MACHINE, "locktorture", lock, threads, false, PART).rate());
        let ratio = cna / stock;
        if let Some((_, published)) = RATIOS.iter().find(|point| point.0 == threads) {
            let what = format!("locktorture, operations of CNA over stock, {threads} threads");
            truth.ratio(CNA, what, *published, ratio, false);
        }
        steps.push((u64::from(threads), gains, ratio > GAIN));
        if threads == 142 {
            let claim = format!("locktorture, {threads} threads");
            let published = RATIOS[RATIOS.len() - 1].1;
            truth.claims.push(Claim::ranking(
                CNA,
                claim,
                &[("CNA", published, cna), ("stock", 1.0, stock)],
            ));
        }
    }
    let claim = "from so many threads CNA gains 5 % in locktorture".to_owned();
    truth.claims.push(Claim::crossover(CNA, claim, &steps));
}

//! Long's 2021 rwsem patch: page faults that take an rwsem by a trylock.

use lockwright_lab::bench::published::{TRYLOCK, Trylock};

use super::{Claim, Runner, Source, Truth};

const DOCUMENT: Source = Source::Document(3);

/// One run's length as a part of the others': pages are touched often.
const PART: f64 = 0.1;

pub fn run(runner: &mut Runner, truth: &mut Truth) {
    let shapes = ["assume-free", "load-first"];
    let mut before = Vec::new();
    for point in &TRYLOCK {
        let Trylock { threads, assume_free, load_first } = point;
        let simulated = shapes.map(|shape| {
            let threads = *threads as u32;
            runner.run("e5-2650", "pages", shape, threads, false, PART)
        });
        let [free, first] = simulated.each_ref().map(|figures| figures.rate());
        let published = load_first.ms as f64 / assume_free.ms as f64;
        let what = format!("time of load first over assume free, {threads} threads");
        truth.ratio(DOCUMENT, what, published, free / first, false);
        for ((shape, published), figures) in
            shapes.iter().zip([assume_free, load_first]).zip(&simulated)
        {
            if !published.exchanges.is_empty() {
                let what = format!("exchanges a success, {shape}, {threads} threads");
                truth.amount(DOCUMENT, what, published.mean_exchanges(), figures.more[0].1, false);
            }
        }
        if !assume_free.exchanges.is_empty() {
            let per_second = |ms: u64| 1.0 / ms as f64;
            truth.claims.push(Claim::ranking(
                DOCUMENT,
                format!("pages a second, {threads} threads"),
                &[
                    (shapes[0], per_second(assume_free.ms), free),
                    (shapes[1], per_second(load_first.ms), first),
                ],
            ));
        }
        before.push((*threads, assume_free.ms as f64, free));
    }
    for (threads, ms, rate) in before.iter().skip(1) {
        let what = format!("{threads} threads over one, assume free");
        truth.ratio(DOCUMENT, what, before[0].1 / ms, rate / before[0].2, false);
    }
}

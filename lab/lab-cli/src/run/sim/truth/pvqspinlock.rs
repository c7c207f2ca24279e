//! Long's 2017 pvqspinlock patch: the microbenchmark and the builds, with virtual CPUs.

use lockwright_lab::bench::published::{BUILDS, Build, OVER_COMMIT};
use lockwright_sim::Event;
use lockwright_sim::workload::Figures;

use super::{Claim, Runner, Source, Truth};

const DOCUMENT: Source = Source::Document(4);

/// The machine of the microbenchmark.
const MACHINE: &str = "e5-2699v3";
/// What constants were fitted to.
const FITTED: u64 = 36;
/// The document's interval.
const SECONDS: f64 = 5.0;
/// A build's run is so much longer: it locks seldom.
const BUILD: f64 = 5.0;
/// By how much a build must be faster to count.
const FASTER: f64 = 0.98;

pub fn run(runner: &mut Runner, truth: &mut Truth) {
    micro(runner, truth);
    builds(runner, truth);
}

fn micro(runner: &mut Runner, truth: &mut Truth) {
    for point in &OVER_COMMIT {
        let Some(published) = &point.operations else { continue };
        let (vcpus, is_fitted) = (point.vcpus, point.vcpus == FITTED);
        let mut rates = Vec::new();
        for (lock, [min, avg, max]) in [("hybrid", published.hybrid), ("unfair", published.unfair)]
        {
            let figures = runner.run(MACHINE, "micro", lock, vcpus as u32, true, 1.0);
            let rate = (avg * vcpus) as f64 / SECONDS / 1e6;
            let simulated = figures.rate() / 1e6;
            let what = format!("{lock}, M operations/s, {vcpus} virtual CPUs");
            truth.amount(DOCUMENT, what, rate, simulated, is_fitted);
            let (least, most) = figures.least_and_most();
            let fairness = least as f64 / most.max(1) as f64;
            let what = format!("{lock}, min/max, {vcpus} virtual CPUs");
            truth.amount(DOCUMENT, what, min as f64 / max as f64, fairness, false);
            rates.push((lock, rate, simulated));
        }
        let [hybrid, unfair] = [rates[0], rates[1]];
        let what = format!("hybrid over unfair, {vcpus} virtual CPUs");
        truth.ratio(DOCUMENT, what, hybrid.1 / unfair.1, hybrid.2 / unfair.2, is_fitted);
        let claim = format!("operations, {vcpus} virtual CPUs");
        truth.claims.push(Claim::ranking(DOCUMENT, claim, &rates));
    }
}

fn builds(runner: &mut Runner, truth: &mut Truth) {
    let mut faster = Vec::new();
    let mut unfair = Vec::new();
    for Build { cpus, vcpus, seconds, modes } in &BUILDS {
        let machine = if *cpus == 36 { MACHINE } else { "e5-2620v4" };
        let locks = ["pvqlock", "hybrid", "unfair"];
        let figures =
            locks.map(|lock| runner.run(machine, "build", lock, *vcpus as u32, true, BUILD));
        let times = figures.each_ref().map(|figures| 1.0 / figures.rate());
        let of = format!("{vcpus} virtual CPUs on {cpus}");
        for at in [1, 2] {
            let what = format!("build, time of {} over pvqlock, {of}", locks[at]);
            truth.ratio(DOCUMENT, what, seconds[at] / seconds[0], times[at] / times[0], false);
        }
        let speed = |at: usize| (locks[at], 1.0 / seconds[at], 1.0 / times[at]);
        let claim = format!("builds, {of}");
        truth.claims.push(Claim::ranking(DOCUMENT, claim, &[speed(0), speed(1), speed(2)]));
        if *cpus == 36 {
            let is_faster = |times: &[f64; 3]| times[1] < times[0] * FASTER;
            faster.push((*vcpus, is_faster(seconds), is_faster(&times)));
        }
        if let Some([queued, stolen]) = modes {
            let published = *stolen as f64 / (queued + stolen) as f64;
            let simulated = unfair_share(&figures[1]);
            let what = format!("build, part of contended acquisitions in unfair mode, {of}");
            // The number of them was fitted at 36, not how they divide.
            truth.amount(DOCUMENT, what, published, simulated, false);
            unfair.push((*vcpus, published > 0.5, simulated > 0.5));
        }
    }
    let claim = "from so many virtual CPUs hybrid builds are 2 % faster than pvqlock's".to_owned();
    truth.claims.push(Claim::crossover(DOCUMENT, claim, &faster));
    let claim = "from so many virtual CPUs most acquisitions are in unfair mode".to_owned();
    truth.claims.push(Claim::crossover(DOCUMENT, claim, &unfair));
}

fn unfair_share(figures: &Figures) -> f64 {
    let [queued, stolen] = [Event::LockSlowpath, Event::PvLockStealing]
        .map(|event| figures.outcome.count(event) as f64);
    stolen / (queued + stolen).max(1.0)
}

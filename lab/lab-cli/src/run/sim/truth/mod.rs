//! `lockwright-lab sim --truth`: compares simulated with published figures, and says whether they
//! agree.

mod bkl;
mod cna;
mod comparison;
mod debugobjects;
mod judgement;
mod litl;
mod lockdep;
mod parking_lot;
mod pvqspinlock;
mod runner;
mod rwsem_trylock;
mod zio;

pub use self::comparison::Truth;
use self::judgement::{Claim, Source};
use self::runner::Runner;

/// Compares all of it. The microbenchmark's runs are of so many virtual seconds each.
pub fn compare(seconds: f64, seed: u64) -> Truth {
    let mut truth = Truth { seconds, seed, ..Truth::default() };
    let mut runner = Runner::new(seconds, seed);
    lockdep::run(&mut runner, &mut truth);
    debugobjects::run(&mut runner, &mut truth);
    bkl::run(&mut runner, &mut truth);
    rwsem_trylock::run(&mut runner, &mut truth);
    pvqspinlock::run(&mut runner, &mut truth);
    cna::run(&mut runner, &mut truth);
    litl::run(&mut runner, &mut truth);
    parking_lot::run(&mut runner, &mut truth);
    zio::run(&mut runner, &mut truth);
    truth.failed = runner.failed;
    truth
}

//! Rows that are removed while a program runs change no finding.

use crate::generate::Extra;
use crate::observe::{Removal, after};
use crate::program::Run;
use crate::property::{generated, number};

/// What comes of programs with such a removal.
#[derive(Debug, Default)]
struct Outcome {
    /// Findings differ from those of the whole ledger.
    differ: u64,
    first: Option<String>,
    /// Holds of whole ledgers, and those that were left.
    holds: usize,
    left: usize,
}

impl Outcome {
    fn add(&mut self, name: &str, run: &Run, removal: Removal) {
        let (whole, holds) = after(run, Removal::Nothing);
        let (short, left) = after(run, removal);
        self.holds += holds;
        self.left += left;
        if whole != short {
            self.differ += 1;
            self.first.get_or_insert_with(|| {
                format!("{name}:\n{}whole: {whole:#?}\nshort: {short:#?}", run.story())
            });
        }
    }
}

fn outcome(removal: Removal, programs: u64) -> Outcome {
    let seed = number("LOCKWRIGHT_ORACLE_SEED", 1);
    let mut outcome = Outcome::default();
    for i in 0..programs {
        for extra in [Extra::Events, Extra::Once, Extra::Death] {
            let run = generated(seed, i, extra);
            outcome.add(&format!("program {i} of seed {seed}, {extra:?}"), &run, removal);
        }
    }
    outcome
}

#[test]
fn what_is_removed_changes_no_finding() {
    let count = number("LOCKWRIGHT_ORACLE_COUNT", 1000);
    let outcome = outcome(Removal::WhatIsNotNeeded, count);
    println!("{count} programs of each sort: {} of {} holds left", outcome.left, outcome.holds);
    let first = outcome.first.unwrap_or_default();
    assert_eq!(outcome.differ, 0, "{first}");
    assert!(count < 100 || outcome.left < outcome.holds, "none was removed");
}

/// The test above finds a removal of holds on which a verdict depends.
#[test]
fn a_removal_that_comes_too_early_is_noticed() {
    let outcome = outcome(Removal::TooEarly, 300);
    println!("{} differ; {} of {} holds left", outcome.differ, outcome.left, outcome.holds);
    assert!(outcome.differ > 0, "{outcome:?}");
}

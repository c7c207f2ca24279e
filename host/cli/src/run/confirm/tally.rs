//! What came of the runs in which the threads of one finding were held up.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::finding::confirmation::{Confirmation, SteeredPath};
use lockwright_analysis::finding::{Finding, Grade, Report};
use lockwright_analysis::model::{place_of, short_place};
use lockwright_ledger::Ledger;
use lockwright_ledger::rows::Node;
use lockwright_ledger::steering::{Path, Steering};

use super::places::Places;

/// The sums.
#[derive(Debug)]
pub struct Tally {
    sums: Confirmation,
    others: Vec<Finding>,
    /// The way of the last run, if it deadlocked.
    way: Option<u32>,
}

impl Tally {
    /// No run yet.
    pub fn new(places: &Places) -> Self {
        let path = |&step: &usize| SteeredPath { step, ..SteeredPath::default() };
        let paths = places.steps.iter().map(path).collect();
        Self {
            sums: Confirmation { paths, ..Confirmation::default() },
            others: Vec::new(),
            way: None,
        }
    }

    /// How many runs there were.
    pub fn runs(&self) -> u32 {
        self.sums.runs
    }

    /// In how many the threads deadlocked as the finding says.
    pub fn deadlocked(&self) -> u32 {
        self.sums.deadlocked
    }

    /// The way of the last run, if that deadlocked.
    pub fn way(&self) -> Option<u32> {
        self.way
    }

    /// All that is known, and deadlocks that are none of the finding.
    pub fn confirmation(self) -> (Confirmation, Vec<Finding>) {
        (self.sums, self.others)
    }

    /// Adds a run of that way in which threads were held up for so long at most, and says what came of it in a few words.
    pub fn add(
        &mut self,
        places: &Places,
        way: u32,
        counts: &Steering,
        report: &Report,
        ledgers: &[Ledger],
        longest: Duration,
    ) -> String {
        self.sums.runs += 1;
        self.way = None;
        for (sum, path) in self.sums.paths.iter_mut().zip(&counts.paths) {
            add(sum, path, longest);
            if let Some(waiter) = waiter(path, ledgers) {
                sum.waiter = Some(waiter);
            }
        }
        let deadlocks = || report.findings.iter().filter(|it| it.grade == Grade::Deadlocked);
        if deadlocks().any(|it: &Finding| places.are_of(it)) {
            self.sums.deadlocked += 1;
            self.way = Some(way);
            return "deadlocked".to_owned();
        }
        if deadlocks().next().is_some() {
            self.sums.other_deadlocks += 1;
            // The process was one of another run.
            self.others.extend(deadlocks().map(|it| Finding { process: None, ..it.clone() }));
            return "another deadlock came first".to_owned();
        }
        let unseen = counts.paths[..self.sums.paths.len()].iter();
        match unseen.filter(|path| path.arrivals.load(Relaxed) == 0).count() {
            0 => "no deadlock".to_owned(),
            1 => "no deadlock, and no thread came to one of the places".to_owned(),
            _ => "no deadlock, and no threads came to the places".to_owned(),
        }
    }
}

fn add(sum: &mut SteeredPath, path: &Path, longest: Duration) {
    let of = |word: &AtomicU32| u64::from(word.load(Relaxed));
    sum.arrivals += of(&path.arrivals);
    sum.pauses += of(&path.pauses);
    sum.met += of(&path.met);
    sum.timed_out += of(&path.timed_out);
    sum.in_the_way += of(&path.in_the_way);
    sum.elsewhere += of(&path.elsewhere);
    if of(&path.pauses) > 0 {
        sum.longest_ns = sum.longest_ns.max(u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX));
    }
}

/// Where somebody last waited for a lock of a thread that was held up there.
fn waiter(path: &Path, ledgers: &[Ledger]) -> Option<String> {
    let (pid, node) = (path.waiter_pid.load(Relaxed), path.waiter_node.load(Relaxed));
    let at = ledgers.iter().position(|ledger| ledger.header().pid == pid)?;
    let node: Node = ledgers[at].get(node)?;
    let symbols = AllSymbols::new(ledgers);
    let stack = symbols.each()[at].stack(node.stack);
    place_of(&stack).map(short_place)
}

//! Lockdep's findings in a run.

use std::collections::BTreeSet;

use lockwright_analysis::finding::lock_kind::Subject;
use lockwright_analysis::finding::{Finding, Grade, Kind, LockInfo, Report};
use lockwright_ledger::Ledger;
use lockwright_ledger::rows::Hold;

use crate::program::{Run, thread_name};
use crate::search::{Cycle, barrier_of, end_of};
use crate::story::{self, Story};
use crate::wakeups::{self, Kept};

/// Room for the ledger of a program as small as these.
const LEDGER_BYTES: usize = 4 << 20;

/// A finding about lock instances.
#[derive(Clone, Debug)]
pub struct Told {
    /// How sure.
    pub grade: Grade,
    /// Its locks, sorted.
    pub locks: Vec<usize>,
    /// Which thread would wait for what, sorted.
    pub cycle: Cycle,
    /// Classes of its locks, ends of threads left out, sorted, each once.
    pub classes: Vec<String>,
}

/// The findings on deadlocks in a run.
pub fn findings(run: &Run) -> Vec<Told> {
    let (report, addresses) = report(run);
    told(run, &report, &addresses)
}

/// The findings on waits that keep what the signaller takes.
pub fn waits(run: &Run) -> Vec<wakeups::Told> {
    let (report, addresses) = report(run);
    let number = |name: &str| (0..run.threads.len()).find(|&t| thread_name(t) == name);
    let told = |finding: &Finding| {
        let [waits, takes, ..] = &finding.steps[..] else { return None };
        let addr = finding.locks[takes.lock].addr;
        let lock = addresses.iter().position(|&a| Some(a) == addr)?;
        let waiter = number(&waits.thread.name)?;
        let kept = Kept { waiter, signaller: number(&takes.thread.name)?, lock };
        Some(wakeups::Told { grade: finding.grade, kept })
    };
    let found = report.findings.iter().filter(|f| f.kind == Kind::WaitWithLockHeld);
    found.filter_map(told).collect()
}

/// What is found of sleeping with a spinlock held: classes, of what sleeps and of what spins.
pub fn sleeps(run: &Run) -> BTreeSet<(String, String)> {
    let (report, _) = report(run);
    let found = report.findings.iter().filter(|f| f.kind == Kind::SleepWithSpinlockHeld);
    let class = |finding: &Finding, i: usize| finding.locks[i].class.text.clone();
    found.map(|finding| (class(finding, 0), class(finding, 1))).collect()
}

/// Which rows are removed from a ledger while the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// None.
    Nothing,
    /// Those that no verdict depends on, whenever a thread ends or is joined, and at the end.
    WhatIsNotNeeded,
    /// All holds that have ended, too: the planted fault.
    TooEarly,
}

/// The findings of a run, in short and sorted, and the number of holds that its ledger has.
pub fn after(run: &Run, removal: Removal) -> (Vec<String>, usize) {
    let tell = || {
        let mut story = Story::with_room(LEDGER_BYTES);
        match removal {
            Removal::Nothing => story.remove_nothing(),
            Removal::WhatIsNotNeeded => {}
            Removal::TooEarly => story.remove_holds_too_early(),
        }
        story.tell(&run.story());
        if removal != Removal::Nothing {
            story.remove_now();
        }
        story
    };
    // Which of several threads is the example differs from report to report.
    let mut findings = story::told(&tell().report());
    findings.sort_unstable();
    (findings, tell().ledger().rows::<Hold>().count())
}

fn report(run: &Run) -> (Report, Vec<u64>) {
    let mut story = Story::with_room(LEDGER_BYTES);
    // Locks are numbered as in the run.
    story.tell(&run.story());
    let addresses: Vec<u64> = run.locks.iter().map(|lock| story.address(&lock.name)).collect();
    (story.report(), addresses)
}

/// The ledger that a run leaves.
pub fn ledger(run: &Run) -> Ledger {
    Story::with_room(LEDGER_BYTES).tell(&run.story()).ledger()
}

fn told(run: &Run, report: &Report, addresses: &[u64]) -> Vec<Told> {
    let mut all = Vec::new();
    for finding in &report.findings {
        assert_ne!(finding.grade, Grade::Deadlocked, "the run came to its end:\n{}", run.story());
        if !matches!(
            finding.kind,
            Kind::CircularDependency | Kind::JoinWithLockHeld | Kind::RecursiveLocking
        ) {
            continue;
        }
        // Which lock of the run each of the finding's is; none for a class.
        let number = |lock: &LockInfo| match lock.kind {
            Subject::Thread => (0..run.threads.len())
                .find(|&t| lock.name.text.ends_with(&format!("({})", thread_name(t))))
                .map(|thread| end_of(run, thread)),
            // A run has one at most.
            Subject::Object(_) => Some(barrier_of(run, 0)),
            _ => addresses.iter().position(|&a| Some(a) == lock.addr),
        };
        let locks: Vec<Option<usize>> = finding.locks.iter().map(number).collect();
        let mut cycle: Cycle = Vec::new();
        for step in &finding.steps {
            let thread = (0..run.threads.len()).find(|&t| thread_name(t) == step.thread.name);
            if let (Some(thread), Some(lock)) = (thread, locks[step.lock]) {
                cycle.push((thread, lock));
            }
        }
        cycle.sort_unstable();
        let is_lock = |lock: &&LockInfo| matches!(lock.kind, Subject::Lock(_));
        let mut classes: Vec<String> =
            finding.locks.iter().filter(is_lock).map(|l| l.class.text.clone()).collect();
        classes.sort_unstable();
        classes.dedup();
        let mut locks: Vec<usize> = locks.into_iter().flatten().collect();
        locks.sort_unstable();
        all.push(Told { grade: finding.grade, locks, cycle, classes });
    }
    all
}

//! Faults in the order of locks, in words. A file has the titles, the evidence and the
//! remedies of one cause.

mod again;
mod barrier;
mod cycle;
mod deadlock;
mod declared;
mod doubt;
mod handler;
mod join;
mod kept_apart;
mod loader;
mod nesting;
mod once;
mod several;
#[cfg(test)]
mod testing;

use std::collections::HashSet;

use lockwright_analysis::finding::order::{Evidence, Fault, OrderFault, Remedy};
use lockwright_analysis::finding::{Finding, Name};

use super::Sentences;
use super::words::{join as and, locks, quote};

impl Sentences for OrderFault {
    fn title(&self, finding: &Finding) -> String {
        title(&Involved { finding }, &self.fault)
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let involved = Involved { finding };
        self.evidence.iter().flat_map(|evidence| evidence_lines(&involved, evidence)).collect()
    }

    fn help(&self, finding: &Finding) -> Vec<String> {
        let involved = Involved { finding };
        let mut help = Vec::new();
        for line in self.remedies.iter().flat_map(|remedy| remedy_lines(&involved, remedy)) {
            if !help.contains(&line) {
                help.push(line);
            }
        }
        help
    }
}

/// The title of the findings that come of one cause.
trait Title {
    fn title(&self, involved: &Involved<'_>) -> String;
}

/// Lines of evidence, or of a remedy.
trait Lines {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String>;
}

fn title(involved: &Involved<'_>, fault: &Fault) -> String {
    match fault {
        Fault::Cycle => cycle::title(involved),
        Fault::CycleAcross(apart) => several::title(involved, *apart),
        Fault::Deadlock => deadlock::title(involved),
        Fault::Again(fault) => fault.title(involved),
        Fault::Handler(fault) => fault.title(involved),
        Fault::Join(fault) => fault.title(involved),
        Fault::Barrier(fault) => fault.title(involved),
        Fault::Declared(fault) => fault.title(involved),
        Fault::NoFixedOrder { classes } => nesting::title(classes),
    }
}

fn evidence_lines(involved: &Involved<'_>, evidence: &Evidence) -> Vec<String> {
    match evidence {
        Evidence::Cycle(evidence) => evidence.lines(involved),
        Evidence::Doubt(evidence) => evidence.lines(involved),
        Evidence::KeptApart(evidence) => evidence.lines(involved),
        Evidence::Several(evidence) => evidence.lines(involved),
        Evidence::Deadlock(evidence) => evidence.lines(involved),
        Evidence::Again(what) => vec![again::again(what)],
        Evidence::Handler(evidence) => evidence.lines(involved),
        Evidence::Join(evidence) => evidence.lines(involved),
        Evidence::Barrier(evidence) => evidence.lines(involved),
        Evidence::HeldWhileInitialising { once } => {
            vec![once::held_while_initialising(involved, *once)]
        }
        Evidence::Loader(evidence) => evidence.lines(involved),
        Evidence::Declared(evidence) => evidence.lines(involved),
        Evidence::Nesting(evidence) => evidence.lines(involved),
    }
}

fn remedy_lines(involved: &Involved<'_>, remedy: &Remedy) -> Vec<String> {
    match remedy {
        Remedy::Cycle(remedy) => remedy.lines(involved),
        Remedy::KeptApart(remedy) => remedy.lines(involved),
        Remedy::KeepApart => vec![several::keep_apart()],
        Remedy::OneOrder => vec![deadlock::one_order()],
        Remedy::SplitFunction => again::split_function(),
        Remedy::Handler(remedy) => remedy.lines(involved),
        Remedy::JoinWithoutLock { end } => join::join_without_lock(involved, *end),
        Remedy::MeetWithoutLock { barrier, step } => {
            barrier::meet_without_lock(involved, *barrier, *step)
        }
        Remedy::Once(remedy) => remedy.lines(involved),
        Remedy::Loader(remedy) => remedy.lines(involved),
        Remedy::Declared(remedy) => remedy.lines(involved),
        Remedy::FixedOrder => vec![nesting::fixed_order()],
    }
}

/// Who and what a finding lists, as its sentences name them.
struct Involved<'a> {
    finding: &'a Finding,
}

impl Involved<'_> {
    /// How many steps there are.
    fn steps(&self) -> usize {
        self.finding.steps.len()
    }

    /// The name of a lock, counted round the cycle.
    fn name(&self, lock: usize) -> Option<&Name> {
        self.finding.locks.get(lock % self.finding.locks.len().max(1)).map(|lock| &lock.name)
    }

    /// The same, in a sentence.
    fn lock(&self, lock: usize) -> String {
        self.name(lock).map_or_else(|| "a lock".to_owned(), quote)
    }

    /// The lock that a step waits for.
    fn waited_for(&self, step: usize) -> String {
        let step = self.finding.steps.get(step);
        step.map_or_else(|| "a lock".to_owned(), |step| self.lock(step.lock))
    }

    /// All locks in a sentence.
    fn locks(&self) -> String {
        let names: Vec<Name> = self.finding.locks.iter().map(|lock| lock.name.clone()).collect();
        locks(&names)
    }

    /// The same, each once: a reader behind a writer waits for the same lock as the writer.
    fn distinct_locks(&self) -> String {
        let mut seen = HashSet::new();
        let names = self.finding.locks.iter().map(|lock| &lock.name);
        let names: Vec<Name> = names.filter(|name| seen.insert(&name.text)).cloned().collect();
        locks(&names)
    }

    /// Who did a step, counted round the cycle.
    fn thread(&self, step: usize) -> String {
        let step = self.finding.steps.get(step % self.steps().max(1));
        step.map_or_else(|| "a thread".to_owned(), |step| step.thread.to_string())
    }

    /// The threads of all steps.
    fn threads(&self) -> String {
        let threads: Vec<String> = (0..self.steps()).map(|step| self.thread(step)).collect();
        and(&threads)
    }

    /// The run and process of a step.
    fn origin(&self, step: usize) -> String {
        self.finding.origins.get(step).map_or_else(String::new, ToString::to_string)
    }
}

/// "both" or "all 3".
fn all(n: usize) -> String {
    if n == 2 { "both".to_owned() } else { format!("all {n}") }
}

/// "two" or "3".
fn number(n: usize) -> String {
    if n == 2 { "two".to_owned() } else { n.to_string() }
}

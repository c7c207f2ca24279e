//! What a finding lists, as the sentences about it name it.

use std::collections::HashSet;

use lockwright_analysis::finding::{Finding, Name};

use crate::prose::words::{join as and, locks, quote};

/// The title of the findings that come of one cause.
pub trait Title {
    fn title(&self, involved: &Involved<'_>) -> String;
}

/// Lines of evidence, or of a remedy.
pub trait Lines {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String>;
}

/// Who and what a finding lists, as its sentences name them.
pub struct Involved<'a> {
    pub finding: &'a Finding,
}

impl Involved<'_> {
    /// How many steps there are.
    pub fn steps(&self) -> usize {
        self.finding.steps.len()
    }

    /// The name of a lock, counted round the cycle.
    pub fn name(&self, lock: usize) -> Option<&Name> {
        self.finding.locks.get(lock % self.finding.locks.len().max(1)).map(|lock| &lock.name)
    }

    /// The same, in a sentence.
    pub fn lock(&self, lock: usize) -> String {
        self.name(lock).map_or_else(|| "a lock".to_owned(), quote)
    }

    /// The lock that a step waits for.
    pub fn waited_for(&self, step: usize) -> String {
        let step = self.finding.steps.get(step);
        step.map_or_else(|| "a lock".to_owned(), |step| self.lock(step.lock))
    }

    /// All locks in a sentence.
    pub fn locks(&self) -> String {
        let names: Vec<Name> = self.finding.locks.iter().map(|lock| lock.name.clone()).collect();
        locks(&names)
    }

    /// The same, each once: a reader behind a writer waits for the same lock as the writer.
    pub fn distinct_locks(&self) -> String {
        let mut seen = HashSet::new();
        let names = self.finding.locks.iter().map(|lock| &lock.name);
        let names: Vec<Name> = names.filter(|name| seen.insert(&name.text)).cloned().collect();
        locks(&names)
    }

    /// Who did a step, counted round the cycle.
    pub fn thread(&self, step: usize) -> String {
        let step = self.finding.steps.get(step % self.steps().max(1));
        step.map_or_else(|| "a thread".to_owned(), |step| step.thread.to_string())
    }

    /// The threads of all steps.
    pub fn threads(&self) -> String {
        let threads: Vec<String> = (0..self.steps()).map(|step| self.thread(step)).collect();
        and(&threads)
    }

    /// The run and process of a step.
    pub fn origin(&self, step: usize) -> String {
        self.finding.origins.get(step).map_or_else(String::new, ToString::to_string)
    }
}

/// "both" or "all 3".
pub fn all(n: usize) -> String {
    if n == 2 { "both".to_owned() } else { format!("all {n}") }
}

/// "two" or "3".
pub fn number(n: usize) -> String {
    if n == 2 { "two".to_owned() } else { n.to_string() }
}

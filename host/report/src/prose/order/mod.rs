//! Faults in the order of locks, in words.

mod evidence;
mod remedy;

use std::collections::HashSet;

use lockwright_analysis::finding::order::{Apart, Fault, OrderFault};
use lockwright_analysis::finding::{Finding, Name};
use lockwright_analysis::signal;

use super::Told;
use super::words::{join, locks, quote};

/// The sentences about a fault of order.
pub fn told(finding: &Finding, what: &OrderFault) -> Told {
    let involved = Involved { finding };
    let evidence = what.evidence.iter().flat_map(|evidence| evidence::lines(&involved, evidence));
    let help = what.remedies.iter().flat_map(|remedy| remedy::lines(&involved, remedy));
    let mut told =
        Told { title: title(&involved, &what.fault), evidence: evidence.collect(), help: vec![] };
    for line in help {
        if !told.help.contains(&line) {
            told.help.push(line);
        }
    }
    told
}

fn title(involved: &Involved<'_>, fault: &Fault) -> String {
    let lock = |i| involved.lock(i);
    match fault {
        Fault::Cycle => cycle(involved),
        Fault::CycleAcross(Apart::Runs) => format!("{}, in different runs", cycle(involved)),
        Fault::CycleAcross(Apart::Processes) => {
            format!("{}, in different processes", cycle(involved))
        }
        Fault::Deadlock => deadlock(involved.steps(), &involved.distinct_locks()),
        Fault::TakenAgain => format!("{} is taken again by the thread that holds it", lock(0)),
        Fault::TakenAgainInHandler { signal } => format!(
            "{} is taken in the handler of {} by the thread that holds it",
            lock(0),
            signal::name(*signal)
        ),
        Fault::TakenInHandler { signal } => {
            let signal = signal::name(*signal);
            format!("{} is taken in the handler of {signal}, and with {signal} open", lock(0))
        }
        Fault::PairWithHandler { step, signal } => {
            let signal = signal::name(*signal);
            format!(
                "{}, taken in the handler of {signal}, is held while {} is taken, which is held with {signal} open",
                lock(step + 1),
                lock(*step)
            )
        }
        Fault::CycleWithHandlers { signals } => {
            let mut signals: Vec<String> = signals.iter().map(|&s| signal::name(s)).collect();
            signals.dedup();
            format!("{} are taken in a cycle that {} may close", involved.locks(), join(&signals))
        }
        Fault::JoinedWithLockHeld { end } => format!(
            "{} is held while {} is joined, which takes it",
            lock(end + 1),
            involved.thread(*end)
        ),
        Fault::KeptAtBarrier { barrier, step } => format!(
            "{} is kept at {}, to which {} comes after taking it",
            lock(barrier + 1),
            lock(*barrier),
            involved.thread(*step)
        ),
        Fault::CycleAtBarrier { barrier } => {
            let names = (0..involved.steps()).filter(|lock| lock != barrier);
            let names: Vec<Name> = names.filter_map(|lock| involved.name(lock)).cloned().collect();
            format!("{} are taken in a cycle that {} may close", locks(&names), lock(*barrier))
        }
        Fault::CycleWithJoins { ends } => {
            let names = (0..involved.steps()).filter(|lock| !ends.contains(lock));
            let names: Vec<Name> = names.filter_map(|lock| involved.name(lock)).cloned().collect();
            let joined: Vec<String> = ends.iter().map(|&end| involved.thread(end)).collect();
            let verb = if names.len() == 1 { "is" } else { "are" };
            let what = if joined.len() == 1 { "the join" } else { "the joins" };
            format!(
                "{} {verb} taken in a cycle that {what} of {} may close",
                locks(&names),
                join(&joined)
            )
        }
        Fault::CompletedWithLockHeld { completion } => format!(
            "{} is held while waiting for {}, and by the thread that completes it",
            lock(completion + 1),
            lock(*completion)
        ),
        Fault::TakenInsideContext { context } => format!(
            "{} is taken inside {}, and held where that is entered",
            lock(context + 1),
            lock(*context)
        ),
        Fault::NoFixedOrder { classes } => match &classes[..] {
            [one] => {
                format!("two locks of one class are nested in no fixed order: {}", quote(one))
            }
            several => format!(
                "locks that one place takes are nested in no fixed order: {}",
                locks(several)
            ),
        },
        Fault::AgainstDeclaration => {
            format!("{} is taken inside {}, against the declared order", lock(1), lock(0))
        }
    }
}

fn deadlock(threads: usize, locks: &str) -> String {
    match threads {
        1 => format!("a thread waits for {locks} that cannot come"),
        2 => format!("two threads wait for each other: {locks}"),
        n => format!("{n} threads wait for each other in a cycle: {locks}"),
    }
}

fn cycle(involved: &Involved<'_>) -> String {
    match involved.steps() {
        2 => format!("{} are taken in both orders", involved.locks()),
        _ => format!("{} are taken in a cycle", involved.locks()),
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
        join(&threads)
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

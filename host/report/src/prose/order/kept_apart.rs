//! What keeps the steps of a cycle apart, in words.

use lockwright_analysis::finding::order::OrderedBy;
use lockwright_analysis::finding::order::kept_apart::{Crossing, Evidence, Remedy};

use super::super::words::quote;
use super::involved::{Involved, Lines, all};

impl Lines for Evidence {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let thread = |step| involved.thread(step);
        let n = involved.steps();
        let line = match self {
            Self::Gate { steps: [a, b], gate } => {
                return vec![
                    format!("{} and {} both hold {}", thread(*a), thread(*b), quote(gate)),
                    "the recorded paths never come without such a common lock".to_owned(),
                ];
            }
            Self::Seats { semaphore, seats } => {
                return vec![
                    format!("a deadlock needs {n} threads that each hold {}", quote(semaphore)),
                    format!("it begins at {seats}, and only threads that hold it post it"),
                ];
            }
            Self::Enclosed { steps: [a, b], gate, holder } => {
                let gate = quote(gate);
                return vec![
                    format!("{} and {} never meet: one needs {gate}", thread(*a), thread(*b)),
                    format!("the other begins and ends while {holder} holds it"),
                ];
            }
            Self::OverBefore { steps: [a, b], lock, holder } => {
                let (a, b, lock) = (thread(*a), thread(*b), quote(lock));
                return vec![
                    format!(
                        "{a} and {b} never meet: {a} needs {lock}, which {holder} takes before"
                    ),
                    format!("and {b} is done before {holder} releases it"),
                ];
            }
            Self::EachBefore { steps: [a, b], locks } => {
                let [first, second] = [&locks[0], &locks[1]].map(quote);
                let (a, b) = (thread(*a), thread(*b));
                return vec![
                    format!(
                        "{a} and {b} never meet: {a} has to take {first} before {b} takes {second}"
                    ),
                    format!("and {b} has to take {second} before {a} takes {first}"),
                ];
            }
            Self::New { step, lock } => {
                let (lock, maker) = (quote(lock), thread(*step));
                return vec![
                    format!("{lock} was new: never released since its creation by {maker}"),
                    format!("{maker} had released nothing since, so nobody else could know it"),
                ];
            }
            Self::Ordered { steps: [early, late], by } => format!(
                "{} is done before {} begins{}",
                thread(*early),
                thread(*late),
                by.as_ref().map(crossing).unwrap_or_default()
            ),
            Self::Scoped { inside, outside } => {
                let (inside, outside) = (thread(*inside), thread(*outside));
                return vec![
                    format!("{inside} runs only while {outside} is in std::thread::scope"),
                    format!("{outside} takes its step outside that call"),
                ];
            }
            Self::ScopeOver { early, late } => {
                return vec![
                    format!("{} runs only within a call of std::thread::scope", thread(*early)),
                    format!("{} is created after that call has returned", thread(*late)),
                ];
            }
            Self::OneThread { step, steps } if *steps == n => {
                format!("only {} took {} orders", thread(*step), all(n))
            }
            Self::OneThread { step, steps } => format!(
                "{} took {steps} of the {n} steps, a deadlock needs {n} threads",
                thread(*step)
            ),
        };
        vec![line]
    }
}

impl Lines for Remedy {
    fn lines(&self, _: &Involved<'_>) -> Vec<String> {
        let line = match self {
            Self::KeepGate(gate) => format!(
                "harmless while every path holds {}; one order would not need it",
                quote(gate)
            ),
            Self::KeepSeats { semaphore, seats } => format!(
                "harmless while every path holds {} and it has no more than {seats} places",
                quote(semaphore)
            ),
            Self::KeepEnclosing(gate) => format!(
                "harmless while {} is held around the other; one order would not need it",
                quote(gate)
            ),
            Self::KeepNew(lock) => format!(
                "harmless while nobody else learns of {} before it is first released",
                quote(lock)
            ),
            Self::KeepOrdered => "harmless while the threads stay ordered so".to_owned(),
            Self::KeepSingleThread => {
                "harmless while no second thread does the same at the same time".to_owned()
            }
        };
        vec![line]
    }
}

/// "thread creation, join or barrier".
fn crossing(crossing: &Crossing) -> String {
    let Crossing { by, from, to } = crossing;
    match by {
        OrderedBy::Creation => format!(": {from} creates {to}"),
        OrderedBy::Join => format!(": {from} is joined by {to}"),
        OrderedBy::Death => format!(": {to} takes a robust mutex with which {from} has died"),
        OrderedBy::Barrier => format!(": {to} passes a barrier after {from} has reached it"),
        OrderedBy::Post => format!(": {to} waits for a semaphore that {from} posts"),
        OrderedBy::Once => {
            format!(": {to} calls pthread_once after {from} has run its routine")
        }
        OrderedBy::Release => {
            format!(": {to} takes a lock after {from}, which held it before that")
        }
    }
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::Name;
    use lockwright_analysis::finding::order::{Evidence, Fault, Remedy, kept_apart};

    use crate::prose::order::testing::told_of;

    #[test]
    fn a_gate_is_named() {
        let told = told_of(
            Fault::Cycle,
            vec![Evidence::KeptApart(kept_apart::Evidence::Gate {
                steps: [0, 1],
                gate: Name::symbol("g"),
            })],
            vec![Remedy::KeptApart(kept_apart::Remedy::KeepGate(Name::symbol("g")))],
        );
        assert_eq!(
            told.evidence,
            [
                "thread 1 and thread 2 both hold `g`",
                "the recorded paths never come without such a common lock",
            ]
        );
        assert_eq!(told.help, ["harmless while every path holds `g`; one order would not need it"]);
    }
}

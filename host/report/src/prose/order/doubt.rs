//! What leaves open whether a cycle can deadlock, in words.

use lockwright_analysis::finding::order::doubt::Evidence;

use super::super::words::quote;
use super::involved::{Involved, Lines};

impl Lines for Evidence {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let thread = |step| involved.thread(step);
        let lock = |lock| involved.lock(lock);
        let line = match self {
            Self::Timeout { step } => {
                format!("{} can back out: it waits with a timeout", thread(*step))
            }
            Self::MoreThreads { step } => format!(
                "more threads took {} with {} held than were recorded",
                lock(step + 1),
                lock(*step)
            ),
            Self::MoreLocksHeld { step } => {
                format!(
                    "{} held more locks than were recorded: one of them may guard",
                    thread(*step)
                )
            }
            Self::OrderUnread => {
                "the ledger changed each time that it was read: something may order the threads"
                    .to_owned()
            }
            Self::OrderUnrecorded { step } => format!(
                "{} came after a bound of the ledger: something unrecorded may order the threads",
                thread(*step)
            ),
            Self::NoWriter { lock: of } => {
                format!("no recorded thread is sure to be able to write {} meanwhile", lock(*of))
            }
            Self::HandedOn { steps: [early, late], threads: [from, to], place } => {
                let at = place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
                return vec![
                    format!(
                        "{} was done before {} began in this run: {from} woke {to}{at}",
                        thread(*early),
                        thread(*late)
                    ),
                    "in another run that thread may not have to wait".to_owned(),
                ];
            }
            Self::DoubtfulGate { steps: [a, b], class } => format!(
                "{} and {} both hold a lock of the class of {}, which may be the same",
                thread(*a),
                thread(*b),
                quote(class)
            ),
        };
        vec![line]
    }
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order::{Evidence, Fault, doubt};

    use crate::prose::order::testing::told_of;

    #[test]
    fn a_timeout_leaves_a_way_out() {
        let evidence = Evidence::Doubt(doubt::Evidence::Timeout { step: 1 });
        let told = told_of(Fault::Cycle, vec![evidence], vec![]);
        assert_eq!(told.evidence, ["thread 2 can back out: it waits with a timeout"]);
    }
}

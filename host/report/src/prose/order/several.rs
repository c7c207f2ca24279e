//! A cycle that several runs or processes make together, in words.

use lockwright_analysis::finding::order::several::{Apart, Evidence};

use super::super::words::quote;
use super::involved::{Involved, Lines, all};

/// The title of a cycle whose steps are `apart`.
pub fn title(involved: &Involved<'_>, apart: Apart) -> String {
    let cycle = super::cycle::title(involved);
    match apart {
        Apart::Runs => format!("{cycle}, in different runs"),
        Apart::Processes => format!("{cycle}, in different processes"),
    }
}

impl Lines for Evidence {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let thread = |step| involved.thread(step);
        let lock = |lock| involved.lock(lock);
        let n = involved.steps();
        let line = match self {
            Self::NoProcessAlone => format!("no process alone took {} orders", all(n)),
            Self::TakenInProcess { step, acquired } => format!(
                "{}: {} took {}, then {}",
                involved.origin(*step),
                thread(*step),
                lock(*step),
                quote(acquired)
            ),
            Self::Variables => {
                "each of these is one variable: a process that did all of this, in several threads at once, would deadlock"
                    .to_owned()
            }
            Self::NotComparable => {
                "locks and threads of different processes cannot be compared: judged by lock class"
                    .to_owned()
            }
            Self::GateOfAProcess { steps: [a, b], gate } => format!(
                "{} and {} both hold {}, of which each process has but one",
                involved.origin(*a),
                involved.origin(*b),
                quote(gate)
            ),
            Self::NewInProcess { step } => format!(
                "{} was new in {}: nobody else could know it",
                lock(*step),
                involved.origin(*step)
            ),
            Self::SharedMemory => {
                "the locks lie in memory that the processes share: device, inode and byte are the same".to_owned()
            }
            Self::AtOneTime => {
                "the processes ran at the same time, and nothing recorded orders these steps".to_owned()
            }
            Self::MayBeApart([a, b]) => format!(
                "{} and {} may have done it one after the other, as one may have waited for the other's end",
                involved.origin(*a),
                involved.origin(*b)
            ),
            Self::MayHaveGate([a, b]) => format!(
                "{} and {} hold further locks, of which it is not known whether they are one",
                involved.origin(*a),
                involved.origin(*b)
            ),
            Self::GivesUp { step } => {
                format!("{} gives up after a while", involved.origin(*step))
            }
            Self::MoreHeld { step } => format!(
                "{} held more locks than recorded: one of them may keep the processes apart",
                involved.origin(*step)
            ),
            Self::Runs(runs) => {
                let runs: Vec<String> =
                    runs.iter().map(|(run, name)| format!("run {run} is {name}")).collect();
                runs.join(", ")
            }
            Self::PlacesCut => "too many combinations of places to look at all of them".to_owned(),
            Self::DifferentBuilds => {
                "the runs are of different builds: variables are matched by their names".to_owned()
            }
        };
        vec![line]
    }
}

/// The remedy that is left if no order can change.
pub fn keep_apart() -> String {
    "or make sure that no process ever does all of this".to_owned()
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order::{Evidence, Fault, Remedy, several};

    use super::Apart;
    use crate::prose::order::testing::told_of;

    #[test]
    fn runs_are_told_apart() {
        let told = told_of(
            Fault::CycleAcross(Apart::Runs),
            vec![Evidence::Several(several::Evidence::NoProcessAlone)],
            vec![Remedy::KeepApart],
        );
        assert_eq!(told.title, "`a` and `b` are taken in both orders, in different runs");
        assert_eq!(told.evidence, ["no process alone took both orders"]);
        assert_eq!(told.help, ["or make sure that no process ever does all of this"]);
    }
}

//! A lock that is kept at a barrier, in words.

use lockwright_analysis::finding::Name;
use lockwright_analysis::finding::order::barrier::{Evidence, Fault};

use super::super::words::locks;
use super::involved::{Involved, Lines, Title};

impl Title for Fault {
    fn title(&self, involved: &Involved<'_>) -> String {
        let lock = |lock| involved.lock(lock);
        match self {
            Self::KeptAtBarrier { barrier, step } => format!(
                "{} is kept at {}, to which {} comes after taking it",
                lock(barrier + 1),
                lock(*barrier),
                involved.thread(*step)
            ),
            Self::CycleAtBarrier { barrier } => {
                let names = (0..involved.steps()).filter(|lock| lock != barrier);
                let names: Vec<Name> =
                    names.filter_map(|lock| involved.name(lock)).cloned().collect();
                format!("{} are taken in a cycle that {} may close", locks(&names), lock(*barrier))
            }
        }
    }
}

impl Lines for Evidence {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let thread = |step| involved.thread(step);
        let lock = |lock| involved.lock(lock);
        let line = match self {
            Self::TakenBeforeBarrier { step } if involved.steps() == 2 => format!(
                "if {} comes to {} while {} is at {}, neither goes on",
                thread(*step),
                lock(step + 1),
                thread(step + 1),
                lock(*step)
            ),
            Self::TakenBeforeBarrier { step } => format!(
                "{} waits at {} for {}, which takes {} before it comes there",
                thread(step + involved.steps() - 1),
                lock(*step),
                thread(*step),
                lock(step + 1)
            ),
            Self::OthersCome { barrier } => format!(
                "more threads come to {} than it is for: another may come in its place",
                lock(*barrier)
            ),
        };
        vec![line]
    }
}

/// The remedy for a lock that is kept at a barrier.
pub fn meet_without_lock(involved: &Involved<'_>, barrier: usize, step: usize) -> Vec<String> {
    let (taken, at) = (involved.lock(barrier + 1), involved.lock(barrier));
    let kept = involved.lock(barrier + involved.steps() - 1);
    let thread = involved.thread(step);
    vec![
        format!("release {kept} before waiting at {at}"),
        format!("or let {thread} take {taken} after {at}"),
    ]
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order;

    use super::*;
    use crate::prose::order::testing::told_of;

    #[test]
    fn the_barrier_is_named() {
        let told = told_of(
            order::Fault::Barrier(Fault::KeptAtBarrier { barrier: 0, step: 1 }),
            vec![order::Evidence::Barrier(Evidence::OthersCome { barrier: 0 })],
            vec![order::Remedy::MeetWithoutLock { barrier: 0, step: 1 }],
        );
        assert_eq!(told.title, "`b` is kept at `a`, to which thread 2 comes after taking it");
        assert_eq!(
            told.evidence,
            ["more threads come to `a` than it is for: another may come in its place"]
        );
        assert_eq!(
            told.help,
            ["release `b` before waiting at `a`", "or let thread 2 take `b` after `a`"]
        );
    }
}

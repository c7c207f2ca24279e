//! A lock that is held while a thread is joined which takes it, in words.

use lockwright_analysis::finding::Name;
use lockwright_analysis::finding::order::join::{Evidence, Fault};
use lockwright_analysis::symbolize::portable::readable;

use super::super::words::{join, locks};
use super::involved::{Involved, Lines, Title};

impl Title for Fault {
    fn title(&self, involved: &Involved<'_>) -> String {
        let lock = |lock| involved.lock(lock);
        match self {
            Self::JoinedWithLockHeld { end } => format!(
                "{} is held while {} is joined, which takes it",
                lock(end + 1),
                involved.thread(*end)
            ),
            Self::CycleWithJoins { ends } => {
                let names = (0..involved.steps()).filter(|lock| !ends.contains(lock));
                let names: Vec<Name> =
                    names.filter_map(|lock| involved.name(lock)).cloned().collect();
                let joined: Vec<String> = ends.iter().map(|&end| involved.thread(end)).collect();
                let verb = if names.len() == 1 { "is" } else { "are" };
                let what = if joined.len() == 1 { "the join" } else { "the joins" };
                format!(
                    "{} {verb} taken in a cycle that {what} of {} may close",
                    locks(&names),
                    join(&joined)
                )
            }
        }
    }
}

impl Lines for Evidence {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let thread = |step| involved.thread(step);
        let lock = |lock| involved.lock(lock);
        let n = involved.steps();
        let line = match self {
            Self::TakenByJoined { end } => format!(
                "{}, which {} waits for, took the very lock that this holds",
                thread(*end),
                thread(end + 1)
            ),
            Self::MayHaveHeard { end } => {
                let (joined, joiner) = (thread(*end), thread(end + n - 1));
                return vec![
                    format!(
                        "{joiner} has waited on a condition before, with a mutex that {joined} takes"
                    ),
                    format!(
                        "if that tells it that {joined} is past what it needs, this is no fault"
                    ),
                ];
            }
            Self::SignalsAtItsEnd { end, place } => {
                let (joined, joiner, lock) = (thread(*end), thread(end + n - 1), lock(end + n - 1));
                let at = place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
                return vec![
                    format!(
                        "{joined} signals a condition with {lock} held{at}, and ends soon after"
                    ),
                    format!(
                        "if {joiner} knows by that that it is past what it needs, this is no fault"
                    ),
                ];
            }
            Self::PassedWithoutJoin { end, function } => {
                let (joined, joiner, lock) = (thread(*end), thread(end + n - 1), lock(end + n - 1));
                let function = format!("`{}`", readable(function));
                return vec![
                    format!(
                        "{function} took {lock} in the same place at other times, without a join"
                    ),
                    format!(
                        "if what {lock} guards tells it that {joined} is past it, this is no fault"
                    ),
                    format!("as where {joiner} is the last of several users that it counts"),
                ];
            }
            Self::TakerReturned { end, function } => format!(
                "`{}`, which took {}, has returned without unlocking it",
                readable(function),
                lock(end + n - 1)
            ),
            Self::Cancelled { end } => {
                let joined = thread(*end);
                return vec![
                    format!(
                        "{joined} was cancelled: if it ends before it comes to the lock, this is no fault"
                    ),
                    format!(
                        "to wait for a lock is no cancellation point: {joined} may come to it first"
                    ),
                ];
            }
        };
        vec![line]
    }
}

/// The remedy for a lock that is held while a thread is joined.
pub fn join_without_lock(involved: &Involved<'_>, end: usize) -> Vec<String> {
    let lock = involved.lock(end + involved.steps() - 1);
    let joined = involved.thread(end);
    vec![
        format!("release {lock} before joining {joined}"),
        format!("or let {joined} end without taking {lock}"),
    ]
}

/// The remedy for a lock that a function may have left locked.
pub fn unlock_in_taker(involved: &Involved<'_>, end: usize, function: &str) -> String {
    let lock = involved.lock(end + involved.steps() - 1);
    format!(
        "unlock {lock} on every way out of `{}`, if it is not to return with it",
        readable(function)
    )
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order;

    use super::*;
    use crate::prose::order::testing::told_of;

    #[test]
    fn the_joined_thread_is_named() {
        let told = told_of(
            order::Fault::Join(Fault::JoinedWithLockHeld { end: 1 }),
            vec![order::Evidence::Join(Evidence::TakenByJoined { end: 1 })],
            vec![order::Remedy::JoinWithoutLock { end: 1 }],
        );
        assert_eq!(told.title, "`a` is held while thread 2 is joined, which takes it");
        assert_eq!(
            told.evidence,
            ["thread 2, which thread 1 waits for, took the very lock that this holds"]
        );
        assert_eq!(
            told.help,
            ["release `a` before joining thread 2", "or let thread 2 end without taking `a`"]
        );
    }
}

//! A cycle of locks, and what shows that it can deadlock, in words.

use lockwright_analysis::finding::lock_kind::Subject;
use lockwright_analysis::finding::order::cycle::{Evidence, Remedy};
use lockwright_analysis::finding::{LockInfo, Name};

use super::super::words::{self, quote};
use super::involved::{Involved, Lines, all, number};

/// The title of a cycle.
pub fn title(involved: &Involved<'_>) -> String {
    match involved.steps() {
        2 => format!("{} are taken in both orders", involved.locks()),
        _ => format!("{} are taken in a cycle", involved.locks()),
    }
}

impl Lines for Evidence {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let n = involved.steps();
        let line = match self {
            Self::ByClass => {
                "judged by lock class: this run did not take the same locks in these orders"
                    .to_owned()
            }
            Self::Alike => {
                "the locks that differ were made at one place, each by another thread than the one that takes it here".to_owned()
            }
            Self::SameLocks if involved.finding.locks.iter().any(is_thread) => {
                format!("the same locks, and the same threads joined, by {}", involved.threads())
            }
            Self::SameLocks => {
                format!("the same {} locks, taken by {}", number(n), involved.threads())
            }
            Self::TakenByThreads => format!("the orders were taken by {}", involved.threads()),
            Self::Unordered(_) => {
                format!("the {} paths can run at the same time", number(n))
            }
            Self::NoGate if n == 2 => "no common lock protects both paths".to_owned(),
            Self::NoGate => "no common lock protects two of the paths".to_owned(),
            Self::ReadersMeet => {
                "readers block each other here through a writer that waits between them".to_owned()
            }
            Self::SearchCut => "too many combinations of threads to look at all of them".to_owned(),
            Self::Semaphores { locks } => semaphores(involved, locks),
        };
        vec![line]
    }
}

impl Lines for Remedy {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let line = match self {
            Self::TakeBefore { first, second, place } => {
                let (first, second) = (quote(first), quote(second));
                let at = place.as_ref().map(|place| format!("at {place}, ")).unwrap_or_default();
                format!("{at}take {first} before {second}, or release {second} first")
            }
            Self::OrderOfTheirOwn { place } => format!(
                "at {place}, take the locks in an order of their own: by address, or by a number that each has"
            ),
            Self::FurtherLock => {
                format!("or hold one further lock around {}", all(involved.steps()))
            }
            Self::ScopedLock => {
                "or take them together with std::scoped_lock, which orders them".to_owned()
            }
        };
        vec![line]
    }
}

fn is_thread(lock: &LockInfo) -> bool {
    lock.kind == Subject::Thread
}

/// Why semaphores count as locks.
fn semaphores(involved: &Involved<'_>, which: &[usize]) -> String {
    let (what, they) = match which {
        [one] => (format!("{} counts as a lock", involved.lock(*one)), "it begins"),
        all if all.len() == involved.finding.locks.len() => {
            ("the semaphores count as locks".to_owned(), "they begin")
        }
        some => {
            let names: Vec<Name> =
                some.iter().filter_map(|&lock| involved.name(lock)).cloned().collect();
            (format!("{} count as locks", words::locks(&names)), "they begin")
        }
    };
    format!("{what}: {they} at 1, and nobody else has posted what a thread had taken")
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order::{Evidence, Fault, Remedy, cycle};

    use crate::prose::order::testing::told_of;

    #[test]
    fn both_orders_of_two_locks() {
        let told = told_of(
            Fault::Cycle,
            vec![
                Evidence::Cycle(cycle::Evidence::SameLocks),
                Evidence::Cycle(cycle::Evidence::NoGate),
            ],
            vec![Remedy::Cycle(cycle::Remedy::FurtherLock)],
        );
        assert_eq!(told.title, "`a` and `b` are taken in both orders");
        assert_eq!(
            told.evidence,
            [
                "the same two locks, taken by thread 1 and thread 2",
                "no common lock protects both paths",
            ]
        );
        assert_eq!(told.help, ["or hold one further lock around both"]);
    }
}

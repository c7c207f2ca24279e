//! A lock that its holder takes again, in words.

use lockwright_analysis::finding::order::again::{Again, Fault};
use lockwright_analysis::signal;

use super::involved::{Involved, Title};

impl Title for Fault {
    fn title(&self, involved: &Involved<'_>) -> String {
        let lock = |lock| involved.lock(lock);
        match self {
            Self::TakenAgain => format!("{} is taken again by the thread that holds it", lock(0)),
            Self::TakenAgainInHandler { signal } => format!(
                "{} is taken in the handler of {} by the thread that holds it",
                lock(0),
                signal::name(*signal)
            ),
        }
    }
}

/// The remedy for a lock that its holder takes again.
pub fn split_function() -> Vec<String> {
    vec![
        "split the function that takes it again: an inner part that expects the lock held, and an \
         outer one that takes it"
            .to_owned(),
        "or make it a recursive mutex, if what it protects is consistent at the inner call"
            .to_owned(),
    ]
}

/// What comes of a second acquisition.
pub fn again(again: &Again) -> String {
    match again {
        Again::Blocks => "the second acquisition waits for the first".to_owned(),
        Again::ErrorCheck => "the mutex checks for this: the call fails with EDEADLK".to_owned(),
        Again::HeldForWriting => "it is held for writing: the call fails with EDEADLK".to_owned(),
        Again::Timeout => "it waits with a timeout, so it can back out".to_owned(),
        Again::WriterBetween { writer: Some(writer) } => {
            format!("a writer that comes between the two readings, as {} does, blocks both", writer)
        }
        Again::WriterBetween { writer: None } => {
            "a writer that comes between the two readings blocks both".to_owned()
        }
        Again::WriterKeptApart { writer } => format!(
            "a writer that comes between the two readings blocks both; a wake-up kept {writer} from that in this run"
        ),
    }
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order::{Evidence, Remedy};

    use super::*;
    use crate::prose::order::testing::told_of;

    #[test]
    fn a_holder_waits_for_itself() {
        let told = told_of(
            lockwright_analysis::finding::order::Fault::Again(Fault::TakenAgain),
            vec![Evidence::Again(Again::Blocks)],
            vec![Remedy::SplitFunction],
        );
        assert_eq!(told.title, "`a` is taken again by the thread that holds it");
        assert_eq!(told.evidence, ["the second acquisition waits for the first"]);
        assert_eq!(told.help.len(), 2);
    }
}

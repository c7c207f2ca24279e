//! Completions, contexts and orders that the program declares, in words.

use lockwright_analysis::finding::order::declared::{Evidence, Fault, Remedy};

use super::involved::{Involved, Lines, Title};

impl Title for Fault {
    fn title(&self, involved: &Involved<'_>) -> String {
        let lock = |lock| involved.lock(lock);
        match self {
            Self::CompletedWithLockHeld { completion } => format!(
                "{} is held while waiting for {}, and by the thread that completes it",
                lock(completion + 1),
                lock(*completion)
            ),
            Self::TakenInsideContext { context } => format!(
                "{} is taken inside {}, and held where that is entered",
                lock(context + 1),
                lock(*context)
            ),
            Self::AgainstDeclaration => {
                format!("{} is taken inside {}, against the declared order", lock(1), lock(0))
            }
        }
    }
}

impl Lines for Evidence {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let lock = |lock| involved.lock(lock);
        let line = match self {
            Self::CompleterHolds { completion } => {
                format!("whoever completes {} counts as holding it", lock(*completion))
            }
            Self::CompletedOtherwise { completion } => {
                format!("something else may complete {} at times", lock(*completion))
            }
            Self::ContextEntered { context } => format!(
                "a thread that enters {} with {} held and takes it in there waits for itself",
                lock(*context),
                lock(context + 1)
            ),
            Self::Declared { before, after, place } => {
                let at = place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
                format!("declared order `{before}` < `{after}`{at}")
            }
        };
        vec![line]
    }
}

impl Lines for Remedy {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        let line = match self {
            Self::WaitWithoutLock { completion } => {
                let (name, lock) = (involved.lock(*completion), involved.lock(completion + 1));
                return vec![
                    format!("release {lock} before waiting for {name}"),
                    format!("or complete {name} without {lock}"),
                ];
            }
            Self::EnterWithoutLock { context } => {
                let (name, lock) = (involved.lock(*context), involved.lock(context + 1));
                return vec![
                    format!("release {lock} before entering {name}"),
                    format!("or do not take {lock} inside {name}"),
                ];
            }
            Self::CorrectDeclaration => "or correct the declaration".to_owned(),
        };
        vec![line]
    }
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order;

    use super::*;
    use crate::prose::order::testing::told_of;

    #[test]
    fn the_completion_is_named() {
        let told = told_of(
            order::Fault::Declared(Fault::CompletedWithLockHeld { completion: 0 }),
            vec![order::Evidence::Declared(Evidence::CompleterHolds { completion: 0 })],
            vec![order::Remedy::Declared(Remedy::WaitWithoutLock { completion: 0 })],
        );
        assert_eq!(
            told.title,
            "`b` is held while waiting for `a`, and by the thread that completes it"
        );
        assert_eq!(told.evidence, ["whoever completes `a` counts as holding it"]);
        assert_eq!(
            told.help,
            ["release `b` before waiting for `a`", "or complete `a` without `b`"]
        );
    }
}

//! Estimates that were made: each takes some tenths of a second, and several forms of a report ask for it.

use std::sync::{Mutex, PoisonError};

use super::answer::{Estimate, Remedy};
use super::why::Why;

/// A lock and its remedy.
type Question = (usize, Remedy);
type Answer = Result<Estimate, Why>;

/// The estimates of one report, which does not change once it was asked for one.
#[derive(Debug, Default)]
pub struct Known(Mutex<Vec<(Question, Answer)>>);

impl Known {
    /// The answer to a question, computed if it is asked for the first time.
    pub(super) fn get(&self, question: Question, compute: impl FnOnce() -> Answer) -> Answer {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&(_, answer)) = known.iter().find(|(asked, _)| *asked == question) {
            return answer;
        }
        let answer = compute();
        known.push((question, answer));
        answer
    }
}

/// A copy may be changed, and computes its own.
impl Clone for Known {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_is_computed_once_and_a_copy_computes_again() {
        let known = Known::default();
        let mut computed = 0;
        let mut ask = |known: &Known, lock, into| {
            let answer = known.get((lock, Remedy::Divided { into }), || {
                computed += 1;
                Err(Why::FewWaits)
            });
            assert_eq!(answer, Err(Why::FewWaits));
            computed
        };
        assert_eq!([ask(&known, 0, 2), ask(&known, 0, 2)], [1, 1]);
        assert_eq!([ask(&known, 1, 2), ask(&known, 0, 3), ask(&known, 1, 2)], [2, 3, 3]);
        assert_eq!(ask(&known.clone(), 0, 2), 4);
    }
}

//! One condition variable is used with two mutexes, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::CondvarMutexMismatch;

use super::{Names, condition};
use crate::prose::Sentences;

impl Sentences for CondvarMutexMismatch {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, others, .. } = Names::beside(self.condvar.as_ref(), finding);
        format!(
            "{} is waited on with two mutexes: {others} and {lock}",
            condition(self.condvar.as_ref(), finding, "one condition variable")
        )
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { lock, others, who, .. } = Names::beside(self.condvar.as_ref(), finding);
        vec![
            match &self.other {
                Some(other) => format!("{other} waited with {others} when {who} came with {lock}"),
                None => format!("{who} came while others waited with {others}"),
            },
            "what waits with different mutexes at a time do is undefined".into(),
        ]
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        vec!["wait with the one mutex that guards what is waited for".into()]
    }
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::Name;

    use super::*;
    use crate::prose::misuse::testing::{assert_told, thread};

    #[test]
    fn both_mutexes_are_named() {
        let what =
            CondvarMutexMismatch { condvar: Some(Name::symbol("ready")), other: Some(thread(2)) };
        assert_told(
            &what.into(),
            "`ready` is waited on with two mutexes: `b` and `a`",
            &[
                "thread 2 waited with `b` when thread 1 came with `a`",
                "what waits with different mutexes at a time do is undefined",
            ],
            &["wait with the one mutex that guards what is waited for"],
        );
    }
}

//! A forked child uses a lock that was held at the fork, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::ForkWithLockHeld;

use super::Names;
use crate::prose::Sentences;

impl Sentences for ForkWithLockHeld {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        format!("{lock} is used in a forked child, where nobody will ever unlock it")
    }

    fn evidence(&self, _: &Finding) -> Vec<String> {
        vec![
            match &self.holder {
                Some(other) => format!("{other} of the parent held it at the fork"),
                None => "another thread of the parent held it at the fork".into(),
            },
            "in the child only the forking thread goes on".into(),
        ]
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        vec![
            "take it around the fork with pthread_atfork".into(),
            "or call only async-signal-safe functions in the child until it calls exec".into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::{assert_told, thread};

    #[test]
    fn the_holder_is_one_of_the_parent() {
        assert_told(
            &ForkWithLockHeld { holder: Some(thread(2)) }.into(),
            "`a` is used in a forked child, where nobody will ever unlock it",
            &[
                "thread 2 of the parent held it at the fork",
                "in the child only the forking thread goes on",
            ],
            &[
                "take it around the fork with pthread_atfork",
                "or call only async-signal-safe functions in the child until it calls exec",
            ],
        );
    }
}

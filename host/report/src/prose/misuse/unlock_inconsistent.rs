//! A robust mutex is unlocked without having been made consistent, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::UnlockInconsistent;

use super::Names;
use crate::prose::Sentences;

impl Sentences for UnlockInconsistent {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        format!("{lock} is unlocked without having been made consistent")
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { who, .. } = Names::of(finding);
        vec![
            format!("its last owner had died, so {who} was given it with EOWNERDEAD"),
            "whoever takes it next fails with ENOTRECOVERABLE".into(),
        ]
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        vec!["repair what it guards, then call pthread_mutex_consistent before unlocking".into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::assert_told;

    #[test]
    fn the_next_owner_is_refused() {
        assert_told(
            &UnlockInconsistent.into(),
            "`a` is unlocked without having been made consistent",
            &[
                "its last owner had died, so thread 1 was given it with EOWNERDEAD",
                "whoever takes it next fails with ENOTRECOVERABLE",
            ],
            &["repair what it guards, then call pthread_mutex_consistent before unlocking"],
        );
    }
}

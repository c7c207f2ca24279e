//! A held lock is destroyed, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::HeldLockDestroyed;

use super::{Names, held_by};
use crate::prose::Sentences;

impl Sentences for HeldLockDestroyed {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        format!("{lock} is destroyed while it is held")
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { who, .. } = Names::of(finding);
        vec![
            held_by(self.holder.as_ref(), &who),
            "what the destruction of a held lock does is undefined".into(),
        ]
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        vec!["unlock before destroying, when no other thread can reach the lock any more".into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::assert_told;

    #[test]
    fn the_thread_that_destroys_may_hold_it_itself() {
        assert_told(
            &HeldLockDestroyed { holder: None }.into(),
            "`a` is destroyed while it is held",
            &[
                "thread 1 held it itself at that moment",
                "what the destruction of a held lock does is undefined",
            ],
            &["unlock before destroying, when no other thread can reach the lock any more"],
        );
    }
}

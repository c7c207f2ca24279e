//! A thread ends with a lock held, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::action::Access;
use lockwright_analysis::finding::misuse::ExitWithLockHeld;

use super::Names;
use crate::prose::Sentences;

impl Sentences for ExitWithLockHeld {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        match self.access {
            Access::Read | Access::Upgradable => {
                format!("{lock} is still held for reading by a thread that ends")
            }
            Access::Write => format!("{lock} is still held for writing by a thread that ends"),
            Access::Exclusive => format!("{lock} is still held by a thread that ends"),
        }
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { who, .. } = Names::of(finding);
        vec![
            format!("{who} ended without unlocking it"),
            match self.reads {
                _ if self.unlocked_later => {
                    "another thread unlocked it later, without holding it".into()
                }
                true => "whoever wants to write it next waits for ever".into(),
                false => "whoever takes it next waits for ever".into(),
            },
        ]
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        let unlock =
            "unlock on every way out of the thread, cancellation included (pthread_cleanup_push)";
        let robust = "or make it a robust mutex, whose next owner learns of it (EOWNERDEAD)";
        let mut help = vec![unlock.into()];
        help.extend(self.can_be_robust.then(|| robust.into()));
        help
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::assert_told;

    #[test]
    fn a_mutex_can_be_made_robust() {
        let what = ExitWithLockHeld {
            access: Access::Exclusive,
            reads: false,
            unlocked_later: false,
            can_be_robust: true,
        };
        assert_told(
            &what.into(),
            "`a` is still held by a thread that ends",
            &["thread 1 ended without unlocking it", "whoever takes it next waits for ever"],
            &[
                "unlock on every way out of the thread, cancellation included (pthread_cleanup_push)",
                "or make it a robust mutex, whose next owner learns of it (EOWNERDEAD)",
            ],
        );
    }

    #[test]
    fn a_read_lock_stops_writers_only() {
        let what = ExitWithLockHeld {
            access: Access::Read,
            reads: true,
            unlocked_later: false,
            can_be_robust: false,
        };
        assert_told(
            &what.into(),
            "`a` is still held for reading by a thread that ends",
            &[
                "thread 1 ended without unlocking it",
                "whoever wants to write it next waits for ever",
            ],
            &[
                "unlock on every way out of the thread, cancellation included (pthread_cleanup_push)",
            ],
        );
    }
}

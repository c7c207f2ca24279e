//! A held lock is initialised again, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::HeldLockInitialised;

use super::{Names, held_by};
use crate::prose::Sentences;

impl Sentences for HeldLockInitialised {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        format!("{lock} is initialised again while it is held")
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { who, .. } = Names::of(finding);
        vec![
            held_by(self.holder.as_ref(), &who),
            "the next thread enters while the holder is still inside, and the holder then unlocks a lock that it no longer holds"
                .into(),
        ]
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        vec![
            "initialise once, before other threads can reach the lock: with pthread_once or \
             PTHREAD_MUTEX_INITIALIZER"
                .into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::{assert_told, thread};

    #[test]
    fn the_holder_is_named() {
        assert_told(
            &HeldLockInitialised { holder: Some(thread(2)) }.into(),
            "`a` is initialised again while it is held",
            &[
                "thread 2 held it at that moment",
                "the next thread enters while the holder is still inside, and the holder then \
                 unlocks a lock that it no longer holds",
            ],
            &["initialise once, before other threads can reach the lock: with pthread_once or \
               PTHREAD_MUTEX_INITIALIZER"],
        );
    }
}

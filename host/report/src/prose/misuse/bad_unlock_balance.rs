//! A lock is unlocked by a thread that does not hold it, in words.

use lockwright_analysis::finding::misuse::BadUnlockBalance;
use lockwright_analysis::finding::{Finding, ThreadInfo};

use super::Names;
use crate::prose::Sentences;

/// The error of an unlock by a thread that is not the owner.
const EPERM: u64 = 1;

impl Sentences for BadUnlockBalance {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        let (by_wait, is_held) = match self {
            Self::ReadHandedOn { .. } => {
                return format!("a read lock of {lock} is released by another thread than took it");
            }
            Self::NotHeld { by_wait, holder, error, .. } => {
                (*by_wait, holder.is_some() || error.is_some())
            }
        };
        match (is_held, by_wait) {
            (true, true) => {
                format!("a condition wait gives up {lock}, which its thread does not hold")
            }
            (true, false) => format!("{lock} is unlocked by a thread that does not hold it"),
            (false, true) => format!("a condition wait gives up {lock}, which nobody holds"),
            (false, false) => format!("{lock} is unlocked while nobody holds it"),
        }
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { who, .. } = Names::of(finding);
        match self {
            Self::ReadHandedOn { holder } => vec![
                match holder {
                    Some(other) => format!("{other} read-acquired it and had not released it"),
                    None => format!("{who} read-acquired it itself, in other hands since"),
                },
                "POSIX leaves open what that does; the C library counts readers, whoever they are"
                    .into(),
            ],
            Self::NotHeld { by_wait, holder, took_itself, error } => {
                not_held(&who, *by_wait, holder.as_ref(), *took_itself, *error)
            }
        }
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        let line = match self {
            Self::ReadHandedOn { .. } => {
                "harmless with this C library; to be portable, release it in the thread that took it"
            }
            Self::NotHeld { by_wait: true, .. } => {
                "lock the mutex in the same thread before the wait, and check there what is waited for"
            }
            Self::NotHeld { holder: Some(_), .. } => {
                "unlock in the thread that locked; to hand something over use a semaphore, or a flag with a condition \
                 variable"
            }
            Self::NotHeld { holder: None, .. } => {
                "look for a path that has unlocked already, or that never locked"
            }
        };
        vec![line.into()]
    }
}

/// Whether the lock was held at that moment, and what the call came to.
fn not_held(
    who: &str,
    by_wait: bool,
    holder: Option<&ThreadInfo>,
    took_itself: bool,
    error: Option<u64>,
) -> Vec<String> {
    let refusal = error.map(|error| match error {
        EPERM => "the call failed with EPERM and changed nothing".to_owned(),
        other => format!("the call failed with error {other}"),
    });
    match (holder, refusal) {
        (Some(other), refusal) => vec![
            format!("{other} took it and had not unlocked it"),
            refusal.unwrap_or_else(|| match by_wait {
                true => "what a wait with another thread's mutex does is undefined".into(),
                false => "what an unlock by another thread does is undefined".into(),
            }),
        ],
        (None, Some(refusal)) if took_itself => vec![
            format!("{who} took it, but the mutex names another thread as its owner"),
            format!("{refusal}: a forked child's thread has an id of its own"),
        ],
        (None, Some(refusal)) => vec![format!("{who} did not hold it"), refusal],
        (None, None) => vec![
            format!("{who} did not hold it, and it was not locked"),
            match by_wait {
                true => "what a wait with an unlocked mutex does is undefined".into(),
                false => "what an unlock of an unlocked lock does is undefined".into(),
            },
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::{assert_told, thread};

    #[test]
    fn an_unlock_by_another_thread_names_the_holder() {
        let what = BadUnlockBalance::NotHeld {
            by_wait: false,
            holder: Some(thread(2)),
            took_itself: false,
            error: Some(EPERM),
        };
        assert_told(
            &what.into(),
            "`a` is unlocked by a thread that does not hold it",
            &[
                "thread 2 took it and had not unlocked it",
                "the call failed with EPERM and changed nothing",
            ],
            &[
                "unlock in the thread that locked; to hand something over use a semaphore, or a flag with \
               a condition variable",
            ],
        );
    }

    #[test]
    fn a_wait_with_a_free_mutex_has_words_of_its_own() {
        let what = BadUnlockBalance::NotHeld {
            by_wait: true,
            holder: None,
            took_itself: false,
            error: None,
        };
        assert_told(
            &what.into(),
            "a condition wait gives up `a`, which nobody holds",
            &[
                "thread 1 did not hold it, and it was not locked",
                "what a wait with an unlocked mutex does is undefined",
            ],
            &[
                "lock the mutex in the same thread before the wait, and check there what is waited for",
            ],
        );
    }

    #[test]
    fn a_read_lock_in_other_hands_is_no_harm() {
        assert_told(
            &BadUnlockBalance::ReadHandedOn { holder: Some(thread(2)) }.into(),
            "a read lock of `a` is released by another thread than took it",
            &[
                "thread 2 read-acquired it and had not released it",
                "POSIX leaves open what that does; the C library counts readers, whoever they are",
            ],
            &[
                "harmless with this C library; to be portable, release it in the thread that took it",
            ],
        );
    }
}

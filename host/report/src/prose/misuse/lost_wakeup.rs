//! A condition variable is signalled in a way that a waiter may miss, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::LostWakeup;

use super::{Names, condition};
use crate::prose::Sentences;

impl Sentences for LostWakeup {
    fn title(&self, finding: &Finding) -> String {
        match self {
            Self::SignalledBare { condvar, .. } => {
                let Names { lock, .. } = Names::beside(condvar.as_ref(), finding);
                let variable = condition(condvar.as_ref(), finding, "a condition variable");
                format!("{variable} is signalled without {lock}, and a waiter may miss it")
            }
            Self::SignalTaken { condvar, .. } => {
                let variable = condition(condvar.as_ref(), finding, "one condition variable");
                format!("a signal of {variable} may wake a thread that it is not meant for")
            }
        }
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        match self {
            Self::SignalledBare { condvar, waiter, is_timed } => {
                let Names { lock, .. } = Names::beside(condvar.as_ref(), finding);
                vec![
                    match waiter {
                        Some(waiter) => format!("{waiter} waits on it with {lock} at that moment"),
                        None => format!("others have waited on it with {lock}"),
                    },
                    format!(
                        "neither the function that signals nor what calls it was seen to take {lock}"
                    ),
                    match is_timed {
                        false => "what is changed without it may change between a waiter's look and its wait: the \
                             signal comes too early, and the waiter sleeps on"
                            .into(),
                        true => "what is changed without it may change between a waiter's look and its wait: the \
                             signal comes too early, and the waiter sleeps until its timeout, which all waits have"
                            .into(),
                    },
                ]
            }
            Self::SignalTaken { taker, waiter, .. } => vec![
                format!(
                    "{taker} was woken by a signal, did nothing, and waited again, while {waiter} \
                     waited in another function"
                ),
                "one of the two functions signals as well: they do not wait for the same".into(),
                "what was signalled is lost if the other was meant, and it sleeps on".into(),
            ],
        }
    }

    fn help(&self, finding: &Finding) -> Vec<String> {
        match self {
            Self::SignalledBare { condvar, .. } => {
                let Names { lock, .. } = Names::beside(condvar.as_ref(), finding);
                vec![
                    format!(
                        "hold {lock} while you change the condition, even if it is atomic; you may signal after unlocking"
                    ),
                    "if nothing is waited for that changes here, suppress this".into(),
                ]
            }
            Self::SignalTaken { .. } => vec![
                "wake all who wait (pthread_cond_broadcast, notify_all), or give each kind of \
                 waiter a condition variable of its own"
                    .into(),
                "if whoever is woken wakes the next one, suppress this".into(),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::Name;

    use super::*;
    use crate::prose::misuse::testing::{assert_told, thread};

    #[test]
    fn a_variable_that_is_called_as_its_mutex_is_told_apart() {
        let what = LostWakeup::SignalledBare {
            is_timed: false,
            condvar: Some(Name::symbol("a")),
            waiter: None,
        };
        assert_told(
            &what.into(),
            "the condition variable `a` is signalled without the mutex `a`, and a waiter may miss it",
            &[
                "others have waited on it with the mutex `a`",
                "neither the function that signals nor what calls it was seen to take the mutex `a`",
                "what is changed without it may change between a waiter's look and its wait: the \
                 signal comes too early, and the waiter sleeps on",
            ],
            &[
                "hold the mutex `a` while you change the condition, even if it is atomic; you may \
                 signal after unlocking",
                "if nothing is waited for that changes here, suppress this",
            ],
        );
    }

    #[test]
    fn a_signal_that_another_took_names_both() {
        let what = LostWakeup::SignalTaken { condvar: None, taker: thread(2), waiter: thread(3) };
        assert_told(
            &what.into(),
            "a signal of one condition variable may wake a thread that it is not meant for",
            &[
                "thread 2 was woken by a signal, did nothing, and waited again, while thread 3 \
                 waited in another function",
                "one of the two functions signals as well: they do not wait for the same",
                "what was signalled is lost if the other was meant, and it sleeps on",
            ],
            &[
                "wake all who wait (pthread_cond_broadcast, notify_all), or give each kind of \
                 waiter a condition variable of its own",
                "if whoever is woken wakes the next one, suppress this",
            ],
        );
    }
}

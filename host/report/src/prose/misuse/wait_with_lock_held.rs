//! A thread waits for a signal, a post or the like with further locks held, in words: the thread that has to
//! end the wait may need them.

use lockwright_analysis::finding::misuse::{EndedBy, Gap, Signalled, WaitWithLockHeld};
use lockwright_analysis::finding::{Finding, ThreadInfo};

use super::Names;
use crate::prose::Sentences;
use crate::prose::words::{join, quote};

/// Threads named of those that signal.
const MOST_SIGNALLERS: usize = 3;

/// The words for a wait, and for what ends it.
struct WaitWords {
    wait: &'static str,
    /// The event.
    event: &'static str,
    /// What a thread does that ends the wait: does, in the present and in the past.
    signal: &'static str,
    signals: &'static str,
    signalled: &'static str,
}

impl WaitWords {
    fn of(ended_by: EndedBy) -> Self {
        let words = |[wait, event, signal, signals, signalled]: [&'static str; 5]| Self {
            wait,
            event,
            signal,
            signals,
            signalled,
        };
        words(match ended_by {
            EndedBy::Signal => ["a condition wait", "signal", "signal", "signals", "signalled"],
            EndedBy::Post => ["a wait for a semaphore", "post", "post", "posts", "posted"],
            EndedBy::Wake { kind, .. } => match kind.noun() {
                "future" => [
                    "a wait for a future",
                    "result",
                    "set the future",
                    "sets the future",
                    "set the future",
                ],
                "latch" => [
                    "a wait at a latch",
                    "latch",
                    "count the latch down",
                    "counts the latch down",
                    "counted the latch down",
                ],
                "barrier" => [
                    "a wait at a barrier",
                    "barrier",
                    "arrive at the barrier",
                    "arrives at the barrier",
                    "arrived at the barrier",
                ],
                "semaphore" => [
                    "a wait for a semaphore",
                    "release of the semaphore",
                    "release the semaphore",
                    "releases the semaphore",
                    "released the semaphore",
                ],
                "condition variable" => {
                    ["a condition wait", "signal", "signal", "signals", "signalled"]
                }
                _ => [
                    "a wait for an atomic variable",
                    "wake-up",
                    "wake the waiter",
                    "wakes the waiter",
                    "woke the waiter",
                ],
            },
        })
    }
}

impl Sentences for WaitWithLockHeld {
    fn title(&self, finding: &Finding) -> String {
        let Names { others, others_count, .. } = names(self, finding);
        let WaitWords { wait, .. } = WaitWords::of(self.ended_by);
        format!(
            "{others} {} kept locked during {wait}",
            if others_count > 1 { "are" } else { "is" }
        )
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let names = names(self, finding);
        let words = WaitWords::of(self.ended_by);
        let name = &names.lock;
        let mut evidence = vec![match self.ended_by {
            EndedBy::Post => format!("{name} is posted by others, and the wait gives up nothing"),
            EndedBy::Signal => format!("the wait gives up {name} alone"),
            EndedBy::Wake { all_seen: true, .. } => "the wait gives up nothing".to_owned(),
            EndedBy::Wake { all_seen: false, .. } => {
                "the wait gives up none of the recorded locks; not all that may end it is recorded"
                    .to_owned()
            }
        }];
        evidence.extend(of_signallers(self, finding, &names, &words));
        let signalled_it = words.signalled;
        evidence.extend(self.gap.map(|gap| {
            match gap {
            Gap::Signals => format!(
                "other threads may have {signalled_it}: the ledger has reached a bound of signals"
            ),
            Gap::Orders => {
                "this came after a bound of the ledger: something unrecorded may order the threads"
                    .into()
            }
        }
        }));
        evidence
    }

    fn help(&self, finding: &Finding) -> Vec<String> {
        let names = names(self, finding);
        let (others, is_one) = (&names.others, them(&names));
        let WaitWords { event, signal, .. } = WaitWords::of(self.ended_by);
        vec![match self.signalled {
            Signalled::Independent(_) if self.gap.is_none() => {
                format!("harmless while no thread needs {others} on its way to the {event}")
            }
            Signalled::Needs { is_sure: true, .. } | Signalled::NeedsThrough { .. } => {
                format!("release {others} before the wait, or {signal} without needing {is_one}")
            }
            _ => format!(
                "check that no thread needs {others} on its way to the {event}, or release {is_one} before the wait"
            ),
        }]
    }
}

/// What the threads that signal need on their way.
fn of_signallers(
    what: &WaitWithLockHeld,
    finding: &Finding,
    names: &Names,
    words: &WaitWords,
) -> Vec<String> {
    let Names { others, who, .. } = names;
    let WaitWords { signal, signals, signalled: signalled_it, .. } = words;
    let it = if what.timed { "cannot before the wait times out" } else { "never will" };
    let lock_of =
        |lock: usize| finding.locks.get(lock).map_or_else(String::new, |lock| quote(&lock.name));
    match &what.signalled {
        Signalled::Unknown => {
            vec![format!("a thread that needs {others} in order to {signal} {it}")]
        }
        Signalled::Independent(threads) => vec![format!(
            "{} {signalled_it}, and did not take {} on the way",
            named(threads),
            them(names)
        )],
        Signalled::NeedsThrough { thread, lock, has_heard, between } => {
            let lock = lock_of(*lock);
            let leads = match between.len() {
                1 => format!("{others} with {lock} held"),
                _ => format!("{others} in a chain that begins with {lock} held"),
            };
            let verb = if between.len() == 1 { "takes" } else { "take" };
            let mut lines = vec![
                format!("{thread} takes {lock} before it {signals}, and tells nobody in between"),
                format!("{} {verb} {leads}", named(between)),
                format!(
                    "if it does so while {who} waits, and {thread} then comes for {lock}, none of them goes on"
                ),
            ];
            if *has_heard {
                lines.push(
                    "one of them has waited for an event before, which may keep them apart".into(),
                );
            }
            lines
        }
        Signalled::Needs { thread, lock, is_held, is_sure, others: free } => {
            let lock = lock_of(*lock);
            let mut lines = vec![match (is_held, is_sure) {
                (true, _) => format!("{thread} holds {lock} when it {signals}"),
                (false, true) => {
                    format!(
                        "{thread} takes {lock} before it {signals}, and tells nobody in between"
                    )
                }
                (false, false) => format!(
                    "{thread} has {signalled_it}, and took {lock}, or another of its class, some time before"
                ),
            }];
            if free.is_empty() && *is_sure {
                lines.push(format!("every thread that {signals} was seen to need it"));
                lines.push(format!("if it comes for {lock} while {who} waits, it {it}"));
            } else if !free.is_empty() {
                lines.push(format!("{} {signalled_it} without it", named(free)));
            }
            lines
        }
    }
}

/// The names of a finding, of which the others are those that the wait keeps: other threads keep
/// the locks that lead to these.
fn names(what: &WaitWithLockHeld, finding: &Finding) -> Names {
    match what.signalled {
        Signalled::NeedsThrough { lock, .. } => Names::with_others(finding, lock.saturating_sub(1)),
        _ => Names::of(finding),
    }
}

/// A pronoun for what is kept.
fn them(names: &Names) -> &'static str {
    if names.others_count > 1 { "them" } else { "it" }
}

fn named(threads: &[ThreadInfo]) -> String {
    let who: Vec<String> = threads.iter().take(MOST_SIGNALLERS).map(ToString::to_string).collect();
    let more = if threads.len() > who.len() { " (and more)" } else { "" };
    format!("{}{more}", join(&who))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_analysis::finding::futex::{FutexKind, FutexUse};

    use crate::prose::misuse::testing::{assert_told, thread};

    #[test]
    fn every_signaller_needs_what_is_kept() {
        let signalled = Signalled::Needs {
            thread: thread(2),
            lock: 1,
            is_held: false,
            is_sure: true,
            others: vec![],
        };
        assert_told(
            &WaitWithLockHeld { ended_by: EndedBy::Signal, timed: false, signalled, gap: None }
                .into(),
            "`b` is kept locked during a condition wait",
            &[
                "the wait gives up `a` alone",
                "thread 2 takes `b` before it signals, and tells nobody in between",
                "every thread that signals was seen to need it",
                "if it comes for `b` while thread 1 waits, it never will",
            ],
            &["release `b` before the wait, or signal without needing it"],
        );
    }

    #[test]
    fn a_wait_for_a_post_gives_up_nothing() {
        let signalled = Signalled::Independent(vec![thread(2)]);
        let gap = Some(Gap::Signals);
        assert_told(
            &WaitWithLockHeld { ended_by: EndedBy::Post, timed: false, signalled, gap }.into(),
            "`b` is kept locked during a wait for a semaphore",
            &[
                "`a` is posted by others, and the wait gives up nothing",
                "thread 2 posted, and did not take it on the way",
                "other threads may have posted: the ledger has reached a bound of signals",
            ],
            &[
                "check that no thread needs `b` on its way to the post, or release it before the wait",
            ],
        );
    }

    #[test]
    fn a_latch_is_counted_down() {
        let signalled = Signalled::Needs {
            thread: thread(2),
            lock: 1,
            is_held: false,
            is_sure: true,
            others: vec![],
        };
        let kind = FutexKind { used_as: FutexUse::Barrier, of: Some("std::latch") };
        let ended_by = EndedBy::Wake { kind, all_seen: true };
        assert_told(
            &WaitWithLockHeld { ended_by, timed: false, signalled, gap: None }.into(),
            "`b` is kept locked during a wait at a latch",
            &[
                "the wait gives up nothing",
                "thread 2 takes `b` before it counts the latch down, and tells nobody in between",
                "every thread that counts the latch down was seen to need it",
                "if it comes for `b` while thread 1 waits, it never will",
            ],
            &["release `b` before the wait, or count the latch down without needing it"],
        );
    }
}

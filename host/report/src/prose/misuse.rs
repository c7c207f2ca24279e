//! Sentences about misuse of locks: all sentences about one sort of misuse stand in one place.

use lockwright_analysis::finding::action::Access;
use lockwright_analysis::finding::misuse::{Calls, Gap, Misuse, Signalled};
use lockwright_analysis::finding::{Finding, Name, ThreadInfo};
use lockwright_analysis::signal;

use super::Told;
use super::words::{self, base_name, join, quote};

/// The error of an unlock by a thread that is not the owner.
const EPERM: u64 = 1;

/// Threads named of those that signal.
const MOST_SIGNALLERS: usize = 3;

/// The names that the sentences share.
struct Names {
    /// The lock.
    lock: String,
    /// The other locks of the finding.
    others: String,
    others_count: usize,
    /// Who did it.
    who: String,
}

/// The sentences about a misuse.
pub fn told(finding: &Finding, misuse: &Misuse) -> Told {
    let names: Vec<Name> = finding.locks.iter().map(|lock| lock.name.clone()).collect();
    let (lock, others) = match names.split_first() {
        Some((first, others)) => (quote(first), others),
        None => ("a lock".to_owned(), &[][..]),
    };
    // A structure without debug information lends its name to all of its members.
    let lock = match (condition_of(misuse), finding.locks.first()) {
        (Some(condvar), Some(info)) if condvar.is_symbol && condvar.text == info.name.text => {
            format!("the {} {lock}", info.kind)
        }
        _ => lock,
    };
    let who = finding.steps.first().map_or_else(String::new, |step| step.thread.to_string());
    let others = match misuse {
        // Other threads keep the locks that lead to the kept ones.
        Misuse::KeptInWait { signalled: Signalled::NeedsThrough { lock, .. }, .. } => {
            &others[..others.len().min(lock.saturating_sub(1))]
        }
        _ => others,
    };
    let names = Names { lock, others: words::locks(others), others_count: others.len(), who };
    let (title, evidence, help) = sentences(finding, misuse, &names);
    Told { title, evidence, help: help.into_iter().filter(|line| !line.is_empty()).collect() }
}

/// The condition variable that a misuse is about, if it has a name.
fn condition_of(misuse: &Misuse) -> Option<&Name> {
    match misuse {
        Misuse::SignalledBare { condvar, .. }
        | Misuse::SignalTaken { condvar, .. }
        | Misuse::TwoMutexes { condvar, .. } => condvar.as_ref(),
        _ => None,
    }
}

/// A condition variable in a sentence; of one that is called as its mutex is, also what it is.
fn condition(condvar: Option<&Name>, finding: &Finding, unknown: &str) -> String {
    let Some(condvar) = condvar else { return unknown.to_owned() };
    match finding.locks.iter().any(|lock| lock.name == *condvar) {
        true => format!("the condition variable {}", quote(condvar)),
        false => quote(condvar),
    }
}

/// Title, evidence and help.
type Sentences = (String, Vec<String>, Vec<String>);

fn sentences(finding: &Finding, misuse: &Misuse, names: &Names) -> Sentences {
    let Names { lock: name, others, who, .. } = names;
    let holds = |holder: &Option<ThreadInfo>| match holder {
        Some(other) => format!("{} held it at that moment", other),
        None => format!("{who} held it itself at that moment"),
    };
    match misuse {
        Misuse::ReadHandedOn { holder } => (
            format!("a read lock of {name} is released by another thread than took it"),
            vec![
                match holder {
                    Some(other) => {
                        format!("{} read-acquired it and had not released it", other)
                    }
                    None => format!("{who} read-acquired it itself, in other hands since"),
                },
                "POSIX leaves open what that does; the C library counts readers, whoever they are"
                    .into(),
            ],
            vec![
                "harmless with this C library; to be portable, release it in the thread that took it"
                    .into(),
            ],
        ),
        Misuse::BadUnlock { by_wait, holder, took_itself, error } => {
            bad_unlock(names, *by_wait, holder.as_ref(), *took_itself, *error)
        }
        Misuse::FrameLeft => (
            format!("{name} is still held when the function returns whose local variable it is"),
            vec![
                format!("{who} took it and did not unlock it before the function returned"),
                "its memory is used for other things now, so nobody can unlock it any more".into(),
            ],
            vec!["unlock it on every way out of the function".into()],
        ),
        Misuse::Freed { holder } => (
            format!("the memory of {name} is freed while it is held"),
            vec![holds(holder), "its unlock will write to memory that may be another's".into()],
            vec!["unlock before the memory goes, and let its last user free it".into()],
        ),
        Misuse::Destroyed { holder } => (
            format!("{name} is destroyed while it is held"),
            vec![holds(holder), "what the destruction of a held lock does is undefined".into()],
            vec![
                "unlock before destroying, when no other thread can reach the lock any more".into(),
            ],
        ),
        Misuse::Initialised { holder } => (
            format!("{name} is initialised again while it is held"),
            vec![
                holds(holder),
                "the next thread enters while the holder is still inside, and the holder then unlocks a lock that it no longer holds"
                    .into(),
            ],
            vec![
                "initialise once, before other threads can reach the lock: with pthread_once or \
                 PTHREAD_MUTEX_INITIALIZER"
                    .into(),
            ],
        ),
        Misuse::UsedAfterDestroy { by } => (
            format!("{name} is used after it was destroyed"),
            vec![
                match by {
                    Some(by) => format!(
                        "{} destroyed it, and nothing initialised it again in between",
                        by
                    ),
                    None => "nothing initialised it again in between".into(),
                },
                "what the use of a destroyed lock does is undefined".into(),
            ],
            vec!["destroy it after its last use, or initialise it again before the next".into()],
        ),
        Misuse::ThreadEnded { access, reads, unlocked_later, can_be_robust } => (
            match access {
                Access::Read | Access::Upgradable => format!("{name} is still held for reading by a thread that ends"),
                Access::Write => format!("{name} is still held for writing by a thread that ends"),
                Access::Exclusive => format!("{name} is still held by a thread that ends"),
            },
            vec![
                format!("{who} ended without unlocking it"),
                match reads {
                    _ if *unlocked_later => {
                        "another thread unlocked it later, without holding it".into()
                    }
                    true => "whoever wants to write it next waits for ever".into(),
                    false => "whoever takes it next waits for ever".into(),
                },
            ],
            vec![
                "unlock on every way out of the thread, cancellation included (pthread_cleanup_push)"
                    .into(),
                match can_be_robust {
                    true => {
                        "or make it a robust mutex, whose next owner learns of it (EOWNERDEAD)".into()
                    }
                    false => String::new(),
                },
            ],
        ),
        Misuse::Leaked { function, exits, releases_otherwise } => {
            let function = function.as_ref().map(|function| format!("`{function}`"));
            let who_returned = function.clone().unwrap_or_else(|| "the function that took it".into());
            let till = if *exits { "the process exits" } else { "its thread idles" };
            (
                format!("{name} is still held when {till}: {who_returned} has returned without unlocking it"),
                vec![
                    format!("{who} took it, and nothing has unlocked it since"),
                    match releases_otherwise {
                        true => "in other passes the same call's lock is unlocked before the function returns"
                            .into(),
                        false => "whether the function is to return with it, this run does not show".into(),
                    },
                    "whoever takes it next waits for ever".into(),
                ],
                vec![
                    format!(
                        "unlock it on every way out of {}, those of errors included",
                        function.unwrap_or_else(|| "the function".into())
                    ),
                    match releases_otherwise {
                        true => String::new(),
                        false => "or look for who is to unlock it after the function, and was not called".into(),
                    },
                ],
            )
        }
        Misuse::Forked { holder } => (
            format!("{name} is used in a forked child, where nobody will ever unlock it"),
            vec![
                match holder {
                    Some(other) => {
                        format!("{} of the parent held it at the fork", other)
                    }
                    None => "another thread of the parent held it at the fork".into(),
                },
                "in the child only the forking thread goes on".into(),
            ],
            vec![
                "take it around the fork with pthread_atfork".into(),
                "or call only async-signal-safe functions in the child until it calls exec".into(),
            ],
        ),
        Misuse::KeptInWait { semaphore, timed, signalled, gap } => {
            kept_in_wait(finding, names, *semaphore, *timed, signalled, *gap)
        }
        Misuse::HeldInCallback { library, callback, user, within, entry, calls, is_by_class } => {
            let library = Library {
                name: base_name(library).to_owned(),
                callback: callback
                    .as_ref()
                    .map_or_else(|| format!("a function of {}", base_name(user)), quote),
                entry: entry.as_ref().map_or_else(|| "a function of it".to_owned(), quote),
            };
            held_in_callback(finding, names, &library, within.as_ref(), *calls, *is_by_class)
        }
        Misuse::SignalledBare { condvar, waiter } => (
            format!(
                "{} is signalled without {name}, and a waiter may miss it",
                condition(condvar.as_ref(), finding, "a condition variable")
            ),
            vec![
                match waiter {
                    Some(waiter) => format!("{waiter} waits on it with {name} at that moment"),
                    None => format!("others have waited on it with {name}"),
                },
                format!(
                    "neither the function that signals nor what calls it was seen to take {name}"
                ),
                "what is changed without it may change between a waiter's look and its wait: the signal \
                 comes too early, and the waiter sleeps on"
                    .into(),
            ],
            vec![
                format!(
                    "hold {name} while you change the condition, even if it is atomic; you may signal after unlocking"
                ),
                "if nothing is waited for that changes here, suppress this".into(),
            ],
        ),
        Misuse::SignalTaken { condvar, taker, waiter } => {
            let variable = condition(condvar.as_ref(), finding, "one condition variable");
            (
                format!("a signal of {variable} may wake a thread that it is not meant for"),
                vec![
                    format!(
                        "{taker} was woken by a signal, did nothing, and waited again, while {waiter} \
                         waited in another function"
                    ),
                    "one of the two functions signals as well: they do not wait for the same".into(),
                    "what was signalled is lost if the other was meant, and it sleeps on".into(),
                ],
                vec![
                    "wake all who wait (pthread_cond_broadcast, notify_all), or give each kind of \
                     waiter a condition variable of its own"
                        .into(),
                    "if whoever is woken wakes the next one, suppress this".into(),
                ],
            )
        }
        Misuse::TwoMutexes { condvar, other } => (
            format!(
                "{} is waited on with two mutexes: {others} and {name}",
                condition(condvar.as_ref(), finding, "one condition variable")
            ),
            vec![
                match other {
                    Some(other) => {
                        format!("{other} waited with {others} when {who} came with {name}")
                    }
                    None => format!("{who} came while others waited with {others}"),
                },
                "what waits with different mutexes at a time do is undefined".into(),
            ],
            vec!["wait with the one mutex that guards what is waited for".into()],
        ),
        Misuse::NotMadeConsistent => (
            format!("{name} is unlocked without having been made consistent"),
            vec![
                format!("its last owner had died, so {who} was given it with EOWNERDEAD"),
                "whoever takes it next fails with ENOTRECOVERABLE".into(),
            ],
            vec![
                "repair what it guards, then call pthread_mutex_consistent before unlocking".into(),
            ],
        ),
        Misuse::UnsafeCall { signal, may_interrupt } => {
            let signal = signal::name(*signal);
            let (title, why) = match may_interrupt {
                true => (
                    format!("{name} is called in a handler of {signal}, which may interrupt it"),
                    format!(
                        "it is not async-signal-safe, and in use outside of handlers with {signal} open, too"
                    ),
                ),
                false => (
                    format!("{name} is called in a handler of {signal}"),
                    format!(
                        "it is not async-signal-safe, but this run did not use it outside of handlers with \
                         {signal} open"
                    ),
                ),
            };
            (
                title,
                vec![format!("{who} ran the handler"), why],
                vec![
                    "let the handler set a flag or write to a pipe, and do the work outside".into(),
                    format!("or block {signal} around the uses outside"),
                ],
            )
        }
        Misuse::Asserted { held: true } => (
            format!("{name} is held where the program asserts that it is not"),
            vec![format!("{who} holds it here")],
            vec!["release it on the way here, or correct the assertion".into()],
        ),
        Misuse::Asserted { held: false } => (
            format!("{name} is not held where the program asserts that it is"),
            vec![format!("{who} does not hold it here")],
            vec!["take it on the way here, or correct the assertion".into()],
        ),
        Misuse::Unpinned => (
            format!("{name} is unlocked while it is pinned"),
            vec![format!("{who} pinned it and has not unpinned it")],
            vec!["unpin first: whoever pinned it relies on the lock staying held".into()],
        ),
        Misuse::SleepsInside => (
            format!("{name}, for which one sleeps, is taken inside {others}"),
            vec![
                format!("{who} may sleep for {name} with {others} locked"),
                "any thread that wants it spins until the sleeper wakes".into(),
            ],
            vec![format!("take {name} before {others}, or make that a lock that sleeps, too")],
        ),
        Misuse::SleepsInCall { call } => {
            let call = call.map_or_else(|| "a call".to_owned(), |call| format!("`{call}`"));
            (
                format!("{call}, which may sleep, is called with spinlock {name} held"),
                vec![
                    format!("{who} may sleep in {call} with {name} locked"),
                    "any thread that wants it spins until the sleeper wakes".into(),
                ],
                vec![format!(
                    "release {name} before {call}, or make it a lock for which one sleeps"
                )],
            )
        }
    }
}

fn bad_unlock(
    Names { lock: name, who, .. }: &Names,
    by_wait: bool,
    holder: Option<&ThreadInfo>,
    took_itself: bool,
    error: Option<u64>,
) -> Sentences {
    let refusal = error.map(|error| match error {
        EPERM => "the call failed with EPERM and changed nothing".to_owned(),
        other => format!("the call failed with error {other}"),
    });
    let is_held = holder.is_some() || refusal.is_some();
    let title = match (is_held, by_wait) {
        (true, true) => format!("a condition wait gives up {name}, which its thread does not hold"),
        (true, false) => format!("{name} is unlocked by a thread that does not hold it"),
        (false, true) => format!("a condition wait gives up {name}, which nobody holds"),
        (false, false) => format!("{name} is unlocked while nobody holds it"),
    };
    let evidence = match (holder, refusal) {
        (Some(other), refusal) => vec![
            format!("{} took it and had not unlocked it", other),
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
    };
    let help = match (by_wait, holder) {
        (true, _) => {
            "lock the mutex in the same thread before the wait, and check there what is waited for"
        }
        (false, Some(_)) => {
            "unlock in the thread that locked; to hand something over use a semaphore, or a flag with a condition \
             variable"
        }
        (false, None) => "look for a path that has unlocked already, or that never locked",
    };
    (title, evidence, vec![help.into()])
}

/// A thread waits with further locks held: the thread that has to end the wait may need them.
fn kept_in_wait(
    finding: &Finding,
    Names { lock: name, others, others_count, who }: &Names,
    semaphore: bool,
    timed: bool,
    signalled: &Signalled,
    gap: Option<Gap>,
) -> Sentences {
    let (wait, signal, signals, signalled_it) = match semaphore {
        true => ("a wait for a semaphore", "post", "posts", "posted"),
        false => ("a condition wait", "signal", "signals", "signalled"),
    };
    let title = format!(
        "{others} {} kept locked during {wait}",
        if *others_count > 1 { "are" } else { "is" }
    );
    let is_one = if *others_count > 1 { "them" } else { "it" };
    let mut evidence = vec![match semaphore {
        true => format!("{name} is posted by others, and the wait gives up nothing"),
        false => format!("the wait gives up {name} alone"),
    }];
    let it = if timed { "cannot before the wait times out" } else { "never will" };
    let named = |threads: &[ThreadInfo]| {
        let who: Vec<String> =
            threads.iter().take(MOST_SIGNALLERS).map(ToString::to_string).collect();
        let more = if threads.len() > who.len() { " (and more)" } else { "" };
        format!("{}{more}", join(&who))
    };
    match signalled {
        Signalled::Unknown => {
            evidence.push(format!("a thread that needs {others} in order to {signal} {it}"));
        }
        Signalled::Independent(threads) => evidence.push(format!(
            "{} {signalled_it}, and did not take {is_one} on the way",
            named(threads)
        )),
        Signalled::NeedsThrough { thread, lock, has_heard, between } => {
            let lock = finding.locks.get(*lock).map_or_else(String::new, |l| quote(&l.name));
            evidence.push(format!(
                "{thread} takes {lock} before it {signals}, and tells nobody in between"
            ));
            let leads = match between.len() {
                1 => format!("{others} with {lock} held"),
                _ => format!("{others} in a chain that begins with {lock} held"),
            };
            let verb = if between.len() == 1 { "takes" } else { "take" };
            evidence.push(format!("{} {verb} {leads}", named(between)));
            evidence.push(format!(
                "if it does so while {who} waits, and {thread} then comes for {lock}, none of them goes on"
            ));
            if *has_heard {
                evidence.push(
                    "one of them has waited for an event before, which may keep them apart".into(),
                );
            }
        }
        Signalled::Needs { thread, lock, is_held, is_sure, others: free } => {
            let lock = finding.locks.get(*lock).map_or_else(String::new, |l| quote(&l.name));
            evidence.push(match (is_held, is_sure) {
                (true, _) => format!("{thread} holds {lock} when it {signals}"),
                (false, true) => {
                    format!("{thread} takes {lock} before it {signals}, and tells nobody in between")
                }
                (false, false) => format!(
                    "{thread} has {signalled_it}, and took {lock}, or another of its class, some time before"
                ),
            });
            if free.is_empty() && *is_sure {
                evidence.push(format!("every thread that {signals} was seen to need it"));
                evidence.push(format!("if it comes for {lock} while {who} waits, it {it}"));
            } else if !free.is_empty() {
                evidence.push(format!("{} {signalled_it} without it", named(free)));
            }
        }
    }
    evidence.extend(gap.map(|gap| {
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
    let help = match signalled {
        Signalled::Independent(_) if gap.is_none() => {
            format!("harmless while no thread needs {others} on its way to the {signal}")
        }
        Signalled::Needs { is_sure: true, .. } | Signalled::NeedsThrough { .. } => {
            format!("release {others} before the wait, or {signal} without needing {is_one}")
        }
        _ => format!(
            "check that no thread needs {others} on its way to the {signal}, or release {is_one} before the wait"
        ),
    };
    (title, evidence, vec![help])
}

/// A library that calls back: its name, and the names of its callback and of the function that
/// takes the lock.
struct Library {
    name: String,
    callback: String,
    entry: String,
}

/// A library calls its user back with its own lock held.
fn held_in_callback(
    finding: &Finding,
    Names { lock, who, .. }: &Names,
    Library { name: library, callback, entry }: &Library,
    within: Option<&Name>,
    calls: Calls,
    is_by_class: bool,
) -> Sentences {
    let title = format!("{lock} is held while {library} calls back {callback}");
    let caller = finding.steps.get(1).map_or_else(String::new, |step| step.thread.to_string());
    let takes = if is_by_class { "it, or another of its class" } else { "it" };
    let mut evidence = vec![match within {
        Some(within) => format!("{who} takes {} in {callback} meanwhile", quote(within)),
        None => format!("{who} waits in {callback} meanwhile"),
    }];
    evidence.extend(match calls {
        Calls::Alike => [
            format!("at other times {callback}, in {caller}, calls {entry}, which takes {takes}"),
            "where it makes that call while it is called back, its thread waits for itself".into(),
        ],
        Calls::Elsewhere => [
            format!("{callback} calls {entry}, which takes {takes}, only in {caller} and its like"),
            "where it makes that call while it is called back, its thread waits for itself".into(),
        ],
        Calls::Unseen => [
            format!(
                "{entry} of {library}, called from the same module as {callback}, takes {takes}"
            ),
            format!(
                "if {callback} calls that, its thread waits for itself; in this run it did not"
            ),
        ],
    });
    let help = match calls {
        Calls::Alike => vec![
            format!("let {library} release {lock} before it calls back"),
            format!("or call {entry} when {callback} has returned: from another thread, or later"),
        ],
        _ => vec![format!("harmless while {callback} calls nothing that takes {lock}")],
    };
    (title, evidence, help)
}

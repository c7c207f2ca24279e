//! The words for waits at futexes.

use super::words::{count, plain};
use lockwright_analysis::finding::futex::{FutexKind, FutexUse, FutexWait};
use lockwright_analysis::lockmeter::model::Futex;

/// The use of a futex, in a table or at the head of a row.
pub fn used_as(kind: FutexKind) -> String {
    let what = match kind.used_as {
        FutexUse::Lock => "lock",
        FutexUse::Condition => "condition",
        FutexUse::Park => "parked",
        FutexUse::Semaphore => "semaphore",
        FutexUse::Barrier => "barrier",
        FutexUse::Once => "initialisation",
        FutexUse::Unknown => "futex",
    };
    kind.of.map_or_else(|| what.to_owned(), |of| format!("{what} ({of})"))
}

/// Which it is, with a space before it.
pub fn which(name: Option<&str>, addr: u64) -> String {
    name.map_or_else(|| format!(" at {addr:#x}"), |name| format!(" `{}`", plain(name)))
}

/// The use of the futex, its identity, and its calls that did not wait.
pub fn head(futex: &Futex) -> String {
    let mut text = used_as(futex.kind);
    if futex.addr != 0 {
        text += &which(futex.name.as_deref(), futex.addr);
    }
    for (calls, what) in
        [(futex.refused, "over at once"), (futex.interrupted, "interrupted by a signal")]
    {
        if calls > 0 {
            text += &format!("; {} {what}", count(calls, "call"));
        }
    }
    text
}

/// The object that a thread waits for.
pub fn waited_for(futex: &FutexWait) -> String {
    format!("{}, futex{}", purpose(futex.kind), which(futex.name.as_deref(), futex.addr))
}

/// What a wait of this kind is for.
pub fn purpose(kind: FutexKind) -> String {
    let FutexKind { used_as, of } = kind;
    let what = match used_as {
        FutexUse::Lock => "a lock",
        FutexUse::Condition => "a condition",
        FutexUse::Park => "somebody to wake it",
        FutexUse::Semaphore => "a semaphore",
        FutexUse::Barrier => "others at a barrier",
        FutexUse::Once => "an initialisation",
        FutexUse::Unknown => "something",
    };
    let of = of.map_or_else(String::new, |of| format!(" ({of})"));
    format!("{what}{of}")
}

//! Sentences that several findings share.

use lockwright_ledger::rows::{lock_kind, mode};

use crate::finding::Name;
use crate::finding::ThreadInfo;
use crate::model::is_read;

/// A thread in a sentence.
pub fn thread(info: &ThreadInfo) -> String {
    match (info.number, info.name.as_str()) {
        (0, _) => "a thread that was not recorded".into(),
        (number, "") => format!("thread {number}"),
        (number, name) => format!("thread {number} ({name})"),
    }
}

/// "a, b and c".
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// "a, b or c".
pub fn any(items: &[&str]) -> String {
    match items {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => items.concat(),
    }
}

/// The names of a cycle's locks, not more of them than a line holds.
pub fn locks(names: &[Name]) -> String {
    const MOST: usize = 4;
    let mut quoted: Vec<String> = names.iter().map(Name::quoted).collect();
    if quoted.len() > MOST {
        let more = quoted.len() - (MOST - 1);
        quoted.truncate(MOST - 1);
        quoted.push(format!("{more} more"));
    }
    list(&quoted)
}

/// "both" or "all 3".
pub fn all(n: usize) -> String {
    if n == 2 { "both".into() } else { format!("all {n}") }
}

/// "two" or "3".
pub fn number(n: usize) -> String {
    if n == 2 { "two".into() } else { n.to_string() }
}

/// What a thread does to a lock of `kind` when it acquires it in `mode`.
pub fn acquires(kind: u8, mode: u16) -> &'static str {
    let rwlock = matches!(kind, lock_kind::RWLOCK | lock_kind::RWLOCK_WRITER);
    match (mode & mode::TIMED != 0, rwlock, is_read(mode)) {
        _ if mode & mode::COND_REACQUIRE != 0 => "reacquires after a condition wait",
        _ if kind == lock_kind::RESOURCE => "enters",
        _ if kind == lock_kind::COMPLETION => "waits for",
        (true, _, true) => "read-acquires with a timeout",
        (true, true, false) => "write-acquires with a timeout",
        (true, ..) => "acquires with a timeout",
        (_, _, true) => "read-acquires",
        (_, true, false) => "write-acquires",
        _ => "acquires",
    }
}

/// What a thread does that waits for a lock in `mode` for good.
pub fn waits(mode: u16) -> &'static str {
    match mode {
        _ if mode & mode::JOIN != 0 => "waits to join",
        _ if mode & mode::COND_REACQUIRE != 0 => "waits to reacquire after a condition wait",
        _ if is_read(mode) => "waits to read-acquire",
        _ => "waits for",
    }
}

//! Sentences that several findings share.

use crate::finding::Name;
use crate::finding::ThreadInfo;

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

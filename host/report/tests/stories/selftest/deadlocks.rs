//! AA, ABBA and longer, double unlock and initialisation of a held lock.

use super::{Case, Column, Column::*, Expected, for_columns};
use crate::story::verdict;

/// Pairs of locks, taken the first before the second.
const CYCLES: &[(&str, &[&str])] = &[
    ("ABBA", &["AB", "BA"]),
    ("ABBCCA", &["AB", "BC", "CA"]),
    ("ABCABC", &["AB", "CA", "BC"]),
    ("ABBCCDDA", &["AB", "BC", "CD", "DA"]),
    ("ABCDBDDA", &["AB", "CD", "BD", "DA"]),
    ("ABCDBCDA", &["AB", "CD", "BC", "DA"]),
];

const LOCKS: &str = "A B C D";

fn pair(pair: &str) -> String {
    let (a, b) = pair.split_at(1);
    format!("L({a}) L({b}) U({b}) U({a})")
}

/// The expectation for a thread that takes a lock again.
fn again(column: Column) -> Expected {
    match column {
        Mutex | Spin | WriterRead => Some(("likely", "recursive-locking")),
        // What the semaphore's thread waits for is another's post.
        Recursive | Read | Semaphore => None,
        // They fail.
        ErrorCheck | Write | WriterWrite => Some(("possible", "recursive-locking")),
    }
}

fn unless_read_freely(column: Column, grade: &'static str, kind: &'static str) -> Expected {
    (column != Read).then_some((grade, kind))
}

pub fn cases() -> Vec<Case> {
    let mut cases = for_columns("AA", "A", &["L(A) L(A) U(A) U(A)"], again);
    for (name, pairs) in CYCLES {
        let parts: Vec<String> = pairs.iter().map(|p| pair(p)).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        cases.extend(for_columns(name, LOCKS, &parts, |column| {
            unless_read_freely(column, "likely", "circular-dependency")
        }));
        let alone = parts.join(" ");
        cases.extend(for_columns(&format!("{name} by one thread"), LOCKS, &[&alone], |column| {
            unless_read_freely(column, "single-thread", "circular-dependency")
        }));
        let ascending: Vec<&str> = parts.iter().copied().filter(|p| p[2..3] < p[7..8]).collect();
        cases.extend(for_columns(&format!("{name}, one order"), LOCKS, &ascending, |_| None));
    }
    let misuse = |kind| move |column| (column != Semaphore).then_some(("likely", kind));
    let unbalanced = misuse("bad-unlock-balance");
    cases.extend(for_columns("double_unlock", "A", &["L(A) U(A) UU(A)"], unbalanced));
    let initialised = misuse("held-lock-initialised");
    cases.extend(for_columns("init_held", "A", &["L(A) N(A)"], initialised));
    cases
}

#[test]
fn aa_waits_for_itself() {
    assert_eq!(verdict("T1: L(A) B(A)"), ["deadlocked recursive-locking: A"]);
    assert!(verdict("T1: L(A) T(A)").is_empty());
    assert_eq!(verdict("T1: L(A) D(A)"), ["possible recursive-locking: A"]);
}

#[test]
fn order_through_a_lock_between_counts() {
    // The kernel only keeps the edges A -> B and B -> C of the first line; the deadlock needs A ->
    // C.
    let story = "T1: L(A) L(B) L(C) U(C) U(B) U(A)\nT2: L(C) L(A) U(A) U(C)";
    assert_eq!(verdict(story), ["likely circular-dependency: A C"]);
}

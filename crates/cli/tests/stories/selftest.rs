//! The deadlock families of the kernel's locking-selftest, each told by one thread, as there, and by
//! a thread for every pair, which makes it a deadlock to come.

use crate::story::verdict;

/// Pairs of locks, taken the first before the second; and the locks of the shortest cycle.
const FAMILIES: &[(&str, &[&str], &str)] = &[
    ("ABBA", &["AB", "BA"], "A B"),
    ("ABBCCA", &["AB", "BC", "CA"], "A B C"),
    ("ABCABC", &["AB", "CA", "BC"], "A B C"),
    ("ABBCCDDA", &["AB", "BC", "CD", "DA"], "A B C D"),
    ("ABCDBDDA", &["AB", "CD", "BD", "DA"], "A B D"),
    ("ABCDBCDA", &["AB", "CD", "BC", "DA"], "A B C D"),
];

fn pair(thread: usize, pair: &str) -> String {
    let (a, b) = pair.split_at(1);
    format!("T{thread}: L({a}) L({b}) U({b}) U({a})\n")
}

#[test]
fn each_pair_by_its_own_thread_is_likely() {
    for (name, pairs, cycle) in FAMILIES {
        let story: String = pairs.iter().enumerate().map(|(i, p)| pair(i + 1, p)).collect();
        assert_eq!(verdict(&story), [format!("likely circular-dependency: {cycle}")], "{name}");
    }
}

#[test]
fn all_pairs_by_one_thread_are_single_thread() {
    for (name, pairs, cycle) in FAMILIES {
        let story: String = pairs.iter().map(|p| pair(1, p)).collect();
        let expected = format!("single-thread circular-dependency: {cycle}");
        assert_eq!(verdict(&story), [expected], "{name}");
    }
}

#[test]
fn one_order_is_clean() {
    for (name, pairs, _) in FAMILIES {
        let sorted = |p: &&&str| p.as_bytes()[0] < p.as_bytes()[1];
        let pairs = pairs.iter().filter(sorted).enumerate();
        let story: String = pairs.map(|(i, p)| pair(i + 1, p)).collect();
        assert!(verdict(&story).is_empty(), "{name}");
    }
}

#[test]
fn aa_waits_for_itself() {
    assert_eq!(verdict("T1: L(A) B(A)"), ["deadlocked recursive-locking: A"]);
    assert!(verdict("recursive A\nT1: L(A) L(A) U(A) U(A)").is_empty());
    assert!(verdict("T1: L(A) T(A)").is_empty());
    assert_eq!(verdict("T1: L(A) D(A)"), ["possible recursive-locking: A"]);
    assert_eq!(verdict("errorcheck A\nT1: L(A) L(A)"), ["possible recursive-locking: A"]);
}

#[test]
fn order_through_a_lock_between_counts() {
    // The kernel only keeps the edges A -> B and B -> C of the first line; the deadlock needs A -> C.
    let story = "T1: L(A) L(B) L(C) U(C) U(B) U(A)\nT2: L(C) L(A) U(A) U(C)";
    assert_eq!(verdict(story), ["likely circular-dependency: A C"]);
}

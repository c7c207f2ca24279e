//! Facts that make a cycle less than certain, and facts that do not.

use std::mem::offset_of;

use lockwright_analysis::finding::coverage::{Missing, Note};
use lockwright_ledger::layout::bounded;
use lockwright_ledger::{Header, Ledger};
use lockwright_report::prose::{coverage, told as told_of};

use crate::story::{Story, report, told, verdict};

const ABBA: &str = "likely circular-dependency: A B";

#[test]
fn a_gate_guards_if_it_is_the_same() {
    let guarded = "T1: L(G) L(A) L(B) U(B) U(A) U(G)\nT2: L(G) L(B) L(A) U(A) U(B) U(G)";
    assert_eq!(verdict(guarded), ["guarded circular-dependency: A B"]);
    let two_gates = "T1: L(G1) L(A) L(B) U(B) U(A) U(G1)\nT2: L(G2) L(B) L(A) U(A) U(B) U(G2)";
    assert_eq!(verdict(two_gates), [ABBA]);
    let inner = "T1: L(A) L(G) L(B) U(B) U(G) U(A)\nT2: L(B) L(G) L(A) U(A) U(G) U(B)";
    // G is no gate of A and B here: it comes after the first of them, and is in a cycle itself.
    let found = verdict(inner);
    assert!(found.iter().all(|f| f.starts_with("likely") || f.starts_with("guarded")), "{found:?}");
    assert!(found.iter().any(|f| f.starts_with("likely")), "{found:?}");
}

#[test]
fn nine_guarded_and_one_unguarded_are_not_guarded() {
    let mut story = Story::new();
    story.tell("T1: L(G) L(A) L(B) U(B) U(A) U(G)");
    for thread in 2..10 {
        story.tell(&format!("T{thread}: L(G) L(B) L(A) U(A) U(B) U(G)"));
    }
    assert_eq!(told(&story.report()), ["guarded circular-dependency: A B"]);
    story.tell("T10: L(B) L(A) U(A) U(B)");
    // T1 still holds G, but T10 does not.
    assert_eq!(told(&story.report()), [ABBA]);
}

#[test]
fn creation_and_join_order_threads() {
    let before = "T1: L(A) L(B) U(B) U(A) F(T2)\nT2: L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(before), ["ordered circular-dependency: A B"]);
    let after = "T1: F(T2)\nT2: L(B) L(A) U(A) U(B)\nT1: J(T2) L(A) L(B) U(B) U(A)";
    assert_eq!(verdict(after), ["ordered circular-dependency: A B"]);
    let meanwhile = "T1: F(T2)\nT2: L(B) L(A) U(A) U(B)\nT1: L(A) L(B) U(B) U(A) J(T2)";
    assert_eq!(verdict(meanwhile), [ABBA]);
}

#[test]
fn order_reaches_through_other_threads() {
    let chain = "
        T1: L(A) L(B) U(B) U(A) F(T2)
        T2: F(T3)
        T3: L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(chain), ["ordered circular-dependency: A B"]);
    let siblings = "
        T1: F(T2) F(T3)
        T2: L(A) L(B) U(B) U(A)
        T3: L(B) L(A) U(A) U(B)
        T1: J(T2) J(T3)";
    assert_eq!(verdict(siblings), [ABBA]);
    let one_after_the_other = "
        T1: F(T2)
        T2: L(A) L(B) U(B) U(A)
        T1: J(T2) F(T3)
        T3: L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(one_after_the_other), ["ordered circular-dependency: A B"]);
}

#[test]
fn a_chain_known_from_one_thread_counts_anew_in_another() {
    let mut story = Story::new();
    story.tell("T1: L(A)@1 L(B)@2 U(B) U(A) L(B)@3 L(A)@4 U(A) U(B)");
    assert_eq!(told(&story.report()), ["single-thread circular-dependency: A B"]);
    story.tell("T2: L(A)@1 L(B)@2 U(B) U(A)");
    assert_eq!(told(&story.report()), ["likely circular-dependency: B A"]);
}

#[test]
fn a_lock_held_across_a_creation_is_held_after_it() {
    let story = "T1: L(A) F(T2) L(B) U(B) U(A)\nT2: L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(story), [ABBA]);
}

#[test]
fn trylock_depends_on_nothing_but_is_depended_on() {
    assert!(verdict("T1: L(A) T(B) U(B) U(A)\nT2: L(B) L(A) U(A) U(B)").is_empty());
    assert!(verdict("T1: L(A) T(B) U(B) U(A)\nT2: L(B) T(A) U(A) U(B)").is_empty());
    let held = "T1: T(A) L(B) U(B) U(A)\nT2: T(B) L(A) U(A) U(B)";
    assert_eq!(verdict(held), [ABBA]);
    let through = "T1: L(A) T(X) L(B) U(B) U(X) U(A)\nT2: L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(through), [ABBA]);
}

#[test]
fn a_timeout_lets_back_out() {
    let story = "T1: L(A) D(B) U(B) U(A)\nT2: L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(story), ["possible circular-dependency: A B"]);
    let held = "T1: D(A) L(B) U(B) U(A)\nT2: L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(held), [ABBA]);
}

#[test]
fn classes_are_possible_where_instances_are_not_seen() {
    let story = "T1: L(A1) L(B1) U(B1) U(A1)\nT2: L(B2) L(A2) U(A2) U(B2)";
    assert_eq!(verdict(story), ["possible circular-dependency: A B"]);
    let one_thread = "T1: L(A1) L(B1) U(B1) U(A1) L(B2) L(A2) U(A2) U(B2)";
    assert_eq!(verdict(one_thread), ["single-thread circular-dependency: A B"]);
    let guarded = "T1: L(G) L(A1) L(B1) U(B1) U(A1) U(G)\nT2: L(G) L(B2) L(A2) U(A2) U(B2) U(G)";
    assert_eq!(verdict(guarded), ["guarded circular-dependency: A B"]);
}

#[test]
fn a_cycle_of_instances_explains_that_of_its_classes() {
    let story = "
        T1: L(A1) L(B1) U(B1) U(A1)
        T2: L(B1) L(A1) U(A1) U(B1)
        T3: L(B2) L(A2) U(A2) U(B2)";
    assert_eq!(verdict(story), [ABBA]);
}

#[test]
fn classes_outdo_a_harmless_cycle_of_instances() {
    let story = "
        T1: L(A1) L(B1) U(B1) U(A1) L(B1) L(A1) U(A1) U(B1)
        T2: L(B2) L(A2) U(A2) U(B2)";
    let found = verdict(story);
    assert_eq!(found[0], "possible circular-dependency: A B", "{found:?}");
}

#[test]
fn a_deadlock_needs_as_many_threads_as_locks() {
    let story = "T1: L(A) L(B) U(B) U(A) L(B) L(C) U(C) U(B)\nT2: L(C) L(A) U(A) U(C)";
    assert_eq!(verdict(story), ["single-thread circular-dependency: A B C"]);
}

#[test]
fn a_condition_wait_takes_its_mutex_anew() {
    let story = "T1: L(A) L(B) C(A) U(A) U(B)";
    let found = verdict(story);
    assert_eq!(found, ["single-thread circular-dependency: A B"]);
    let two = "T1: L(A) L(B) C(A) U(A) U(B)\nT2: L(A) L(B) U(B) U(A)";
    assert_eq!(verdict(two), ["likely circular-dependency: B A"]);
}

/// One thread after the other takes the locks in one order, more than are recorded. One thread that
/// lives while those of `meanwhile` come takes them in the other order.
fn one_against_three_hundred(meanwhile: std::ops::Range<u32>) -> Vec<String> {
    let mut story = Story::new();
    for i in 0..300 {
        if i == meanwhile.start {
            story.tell("T1: F(X)\nX: L(B)@3 L(A)@4 U(A) U(B)");
        }
        let thread = format!("N{i}");
        story.tell(&format!(
            "T1: F({thread})
             {thread}: L(A)@1 L(B)@2 U(B) U(A)
             T1: J({thread})"
        ));
        if i + 1 == meanwhile.end {
            story.tell("T1: J(X)");
        }
    }
    // Which lock is named first depends on which was met first.
    told(&story.report()).into_iter().map(|told| told.replace("B A", "A B")).collect()
}

#[test]
fn threads_that_come_early_and_late_are_graded_alike() {
    assert_eq!(one_against_three_hundred(5..10), [ABBA], "early");
    assert_eq!(one_against_three_hundred(290..300), [ABBA], "late");
    assert_eq!(one_against_three_hundred(20..300), [ABBA], "early, and up to the end");
    // The threads that it may have met are not recorded.
    assert_eq!(one_against_three_hundred(150..160), ["possible circular-dependency: A B"]);
}

/// The ledger of a story, with a number in its header.
pub fn with_word(text: &str, offset: usize, word: u32) -> Vec<u8> {
    let mut bytes = Story::new().tell(text).bytes();
    bytes[offset..offset + 4].copy_from_slice(&word.to_ne_bytes());
    bytes
}

const BOTH_ORDERS: &str = "T1: L(A) L(B) U(B) U(A)\nT2: L(B) L(A) U(A) U(B)";

#[test]
fn nothing_is_likely_of_threads_that_came_after_a_bound() {
    let offset = offset_of!(Header, orders_until);
    let verdict = |until| {
        let found = report(Ledger::from_bytes(with_word(BOTH_ORDERS, offset, until)).unwrap());
        let evidence = told_of(&found.findings[0]).evidence.join(", ");
        (told(&found)[0].clone(), evidence.contains("came after a bound of the ledger"))
    };
    let possible = "possible circular-dependency: A B".to_owned();
    assert_eq!(verdict(1), (possible, true));
    assert_eq!(verdict(2), (ABBA.to_owned(), false));
}

#[test]
fn bounds_that_were_reached_are_named() {
    let bits = bounded::HOLDS | bounded::SYNCS | bounded::SIGNALLERS | bounded::USES;
    let bytes = with_word(BOTH_ORDERS, offset_of!(Header, bounded), bits);
    let found = report(Ledger::from_bytes(bytes).unwrap());
    let told: Vec<String> = found.processes[0].notes.iter().map(coverage::note).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told.iter().all(|note| note.contains("than the ledger records")), "{told:?}");
}

#[test]
fn nothing_is_likely_of_a_ledger_that_changed_each_time_that_it_was_read() {
    let bytes = Story::new().tell(BOTH_ORDERS).bytes();
    let there = bytes.len() as u64;
    let found = report(crate::restless::copy(bytes, there));
    assert_eq!(told(&found), ["possible circular-dependency: A B"]);
    let evidence = told_of(&found.findings[0]).evidence.join(", ");
    assert!(evidence.contains("the ledger changed each time that it was read"), "{evidence}");
    let notes = &found.processes[0].notes;
    assert!(notes.contains(&Note::Missing(Missing::LedgerChanging)), "{notes:?}");
}

#[test]
fn equal_cycles_are_folded() {
    let mut story = Story::new();
    for i in 1..=20 {
        story.tell(&format!(
            "T1: L(A{i})@1 L(B{i})@2 U(B{i}) U(A{i})
             T2: L(B{i})@3 L(A{i})@4 U(A{i}) U(B{i})"
        ));
    }
    assert_eq!(told(&story.report()), ["likely circular-dependency: A B +19"]);
    story.tell("T1: L(A1)@5 L(X) U(X) U(A1)\nT2: L(X) L(A1)@6 U(A1) U(X)");
    let found = told(&story.report());
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn steps_say_who_held_what_and_where() {
    let report = Story::new()
        .tell("T1: L(X)@10 L(A)@11 L(B)@12 U(B) U(A) U(X)\nT2: L(B)@21 L(A)@22 U(A) U(B)")
        .report();
    let finding = &report.findings[0];
    assert_eq!(told_of(finding).title, "`A` and `B` are taken in both orders");
    let line = |frames: &[lockwright_analysis::finding::Frame]| frames[0].line;
    let [one, two] = &finding.steps[..] else { panic!("{finding:#?}") };
    assert_eq!((one.thread.name.as_str(), one.thread.number), ("T1", 1));
    assert_eq!((one.lock, line(&one.stack)), (1, Some(12)));
    let held: Vec<_> =
        one.held.iter().map(|h| (h.name.text.as_str(), h.lock, line(&h.stack))).collect();
    assert_eq!(held, [("X", None, Some(10)), ("A", Some(0), Some(11))]);
    assert_eq!((two.thread.name.as_str(), two.lock, line(&two.stack)), ("T2", 0, Some(22)));
    assert_eq!(finding.locks[0].kind.to_string(), "mutex");
    assert_eq!(finding.locks[0].origin.name(), "init");
    assert_eq!(finding.locks[0].created[0].function.as_deref(), Some("f2001"));
    assert!(!told_of(finding).evidence.is_empty() && !told_of(finding).help.is_empty());
}

#[test]
fn the_summary_counts() {
    let report = Story::new().tell("T1: L(A1) L(B) U(B) U(A1)\nT2: L(A2) L(B) U(B) U(A2)").report();
    let s = report.summary;
    assert_eq!((s.locks, s.classes, s.threads, s.acquisitions), (3, 2, 2, 4));
    // A alone, and B within A: of two locks and in two contexts.
    assert_eq!((s.chains, s.contexts, s.dependencies), (2, 2, 1));
    assert_eq!((s.processes, s.lost), (1, 0));
    assert!(report.processes[0].exited && report.processes[0].notes.is_empty());
}

//! Signal handlers in the interrupt's place.

use crate::story::{Story, told, verdict};
use lockwright_report::prose::action::phrase;
use lockwright_report::prose::told as told_of;

const INCONSISTENT: &str = "likely inconsistent-state: A";

#[test]
fn a_handler_takes_what_its_thread_may_hold() {
    assert_eq!(verdict("T1: O(10) L(A) U(A) I(10) L(A) U(A) Z"), [INCONSISTENT]);
    assert_eq!(verdict("T1: O(10) I(10) L(A) U(A) Z L(A) U(A)"), [INCONSISTENT]);
    // A handler runs in any thread that does not block the signal.
    assert_eq!(verdict("T1: O(10) L(A) U(A)\nT2: O(10) I(10) L(A) U(A) Z"), [INCONSISTENT]);
}

#[test]
fn blocked_wherever_it_is_held_is_safe() {
    let story = "T1: O(10) M(10) L(A) U(A) O(10)\nT2: O(10) I(10) L(A) U(A) Z";
    assert!(verdict(story).is_empty());
    let never_open = "T1: L(A) U(A)\nT2: O(10) I(10) L(A) U(A) Z";
    assert!(verdict(never_open).is_empty());
}

#[test]
fn opened_while_held() {
    let story = "T1: L(A) O(10) U(A)\nT2: O(10) I(10) L(A) U(A) Z";
    assert_eq!(verdict(story), [INCONSISTENT]);
    let outer = "T1: L(A) L(B) O(10) U(B) U(A)\nT2: O(10) I(10) L(A) U(A) Z";
    assert_eq!(verdict(outer), [INCONSISTENT]);
}

#[test]
fn another_signal_is_another_context() {
    assert!(verdict("T1: O(12) L(A) U(A)\nT2: O(10) I(10) L(A) U(A) Z").is_empty());
    // The handler of 10 holds it with 12 open, and that of 12 takes it.
    let nested = "T1: O(10) O(12) I(10) L(A) U(A) Z\nT2: M(10) O(12) I(12) L(A) U(A) Z";
    assert_eq!(verdict(nested), [INCONSISTENT]);
}

#[test]
fn a_handler_that_only_tries_does_not_wait() {
    assert!(verdict("T1: O(10) L(A) U(A) I(10) T(A) U(A) Z").is_empty());
    assert_eq!(verdict("T1: O(10) T(A) U(A) I(10) L(A) U(A) Z"), [INCONSISTENT]);
    let timed = verdict("T1: O(10) L(A) U(A) I(10) D(A) U(A) Z");
    assert_eq!(timed, ["possible inconsistent-state: A"]);
    // What one handler holds by trying, another may interrupt.
    let held = "T1: O(10) O(12) I(10) T(A) U(A) Z\nT2: O(12) I(12) L(A) U(A) Z";
    assert_eq!(verdict(held), [INCONSISTENT]);
}

#[test]
fn a_gate_that_the_handler_tries() {
    let story = "T1: O(10) L(G) L(A) U(A) U(G) I(10) T(G) L(A) U(A) U(G) Z";
    assert_eq!(verdict(story), ["possible inconsistent-state: A"]);
}

#[test]
fn classes_are_possible() {
    let story = "T1: O(10) L(A1) U(A1) I(10) L(A2) U(A2) Z";
    assert_eq!(verdict(story), ["possible inconsistent-state: A"]);
}

/// Which lock of a class the first was says nothing.
#[test]
fn a_few_locks_of_a_class_are_kept_apart() {
    let holds = |n: u32| format!("L(A{n})@5 U(A{n}) ");
    let held: String = (1..=6).map(holds).collect();
    let story = format!("T1: O(10) {held} I(10) L(A6)@9 U(A6) Z");
    assert_eq!(verdict(&story), [INCONSISTENT]);
    let story = format!("T1: O(10) L(A6) U(A6) I(10) {held} Z");
    assert_eq!(verdict(&story), [INCONSISTENT]);
    let apart = format!("T1: O(10) {held} I(10) L(A7)@9 U(A7) L(A8)@9 U(A8) Z");
    assert_eq!(verdict(&apart), ["possible inconsistent-state: A"]);
    let many: String = (1..=100).map(holds).collect();
    let story = format!("T1: O(10) {many} I(10) L(A100)@9 U(A100) Z");
    assert_eq!(verdict(&story), ["possible inconsistent-state: A"], "no more than a few");
}

#[test]
fn mutexes_that_notice() {
    for kind in ["recursive", "errorcheck"] {
        let story = format!("{kind} A\nT1: O(10) L(A) U(A) I(10) L(A) U(A) Z");
        assert_eq!(verdict(&story), ["possible inconsistent-state: A"], "{kind}");
    }
}

#[test]
fn readers() {
    let story = |kind: &str, outside: &str, inside: &str| {
        verdict(&format!("{kind} A\nT1: O(10) {outside}(A) U(A) I(10) {inside}(A) U(A) Z"))
    };
    assert!(story("rwlock", "R", "R").is_empty());
    assert_eq!(story("rwlock", "R", "W"), [INCONSISTENT]);
    assert_eq!(story("rwlock", "W", "R"), ["possible inconsistent-state: A"]);
    let written = "writers A\nT1: O(10) R(A) U(A) I(10) R(A) U(A) Z\nT2: L(X) W(A) U(A) U(X)";
    assert_eq!(verdict(written), [INCONSISTENT]);
    assert!(story("writers", "R", "R").is_empty(), "no writer, no wait");
}

#[test]
fn an_order_that_a_handler_closes() {
    let safe_to_unsafe = "
        T1: L(A) L(B) U(B) U(A)
        T2: O(10) L(B) U(B)
        T3: O(10) I(10) L(A) U(A) Z";
    let report = Story::new().tell(safe_to_unsafe).report();
    assert_eq!(told(&report), ["likely inconsistent-state: A B"]);
    let finding = &report.findings[0];
    assert!(told_of(finding).title.contains("SIGUSR1"), "{}", told_of(finding).title);
    let actions: Vec<_> = finding.steps.iter().map(|step| phrase(step.action)).collect();
    assert_eq!(actions, ["acquires", "would acquire in a signal handler"]);
    assert_eq!(finding.steps[1].held[0].name, "B");
    assert!(told_of(finding).help[0].contains("block SIGUSR1"), "{:?}", told_of(finding).help);
}

#[test]
fn one_thread_alone_does_not_meet_itself() {
    let story = "T1: L(A) L(B) U(B) U(A) O(10) L(B) U(B) I(10) L(A) U(A) Z";
    assert_eq!(verdict(story), ["single-thread inconsistent-state: A B"]);
}

#[test]
fn a_gate_guards_an_order_that_a_handler_closes() {
    let story = "
        T1: L(G) L(A) L(B) U(B) U(A) U(G)
        T2: O(10) M(10) L(G) O(10) L(B) U(B) U(G)
        T3: O(10) I(10) L(A) U(A) Z";
    assert_eq!(verdict(story), ["guarded inconsistent-state: A B"]);
}

#[test]
fn an_inconsistent_lock_says_it_for_the_orders_that_lead_to_it() {
    let story = "
        T1: L(A) L(B) U(B) U(A)
        T2: O(10) L(B) U(B) I(10) L(A) U(A) L(B) U(B) Z";
    assert_eq!(verdict(story), ["likely inconsistent-state: B"]);
}

#[test]
fn two_signals_close_a_circle() {
    let story = "
        T1: O(10) L(B) U(B) I(10) L(A) U(A) Z
        T2: O(12) L(A) U(A) I(12) L(B) U(B) Z";
    assert_eq!(verdict(story), ["likely inconsistent-state: B A"]);
}

#[test]
fn a_handler_that_waits_for_its_own_thread_is_told_once() {
    let report = Story::new().tell("T1: O(10) L(A) I(10) B(A)").report();
    assert_eq!(told(&report), ["deadlocked inconsistent-state: A"]);
    assert!(told_of(&report.findings[0]).help[0].contains("block SIGUSR1"));
}

#[test]
fn what_did_happen_is_told_as_such() {
    let story = "T1: O(10) L(B) I(10) L(A) U(A) Z U(B)\nT2: L(A) L(B) U(B) U(A)";
    let found = verdict(story);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("likely"), "{found:?}");
}

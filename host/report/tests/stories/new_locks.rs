//! Locks that only the thread which made them can know, and when that is over.

use crate::story::verdict;

const ORDERED: &str = "ordered circular-dependency: X R";
const LIKELY: &str = "likely circular-dependency: X R";

/// What others do to X: they find it through R.
const USERS: &str = "T2: L(R) L(X) U(X) U(R)";

fn made(how: &str) -> Vec<String> {
    verdict(&format!("T1: {how}\n{USERS}"))
}

#[test]
fn a_constructor_enters_its_object_with_it_locked() {
    assert_eq!(made("NEW(X) L(X) L(R) U(R) U(X)"), [ORDERED]);
    // Among other new locks, and in what order they are taken is all one.
    assert_eq!(made("NEW(W) NEW(X) NEW(Y) L(Y) L(X) L(R) U(R) U(X) U(Y)"), [ORDERED]);
    // With something held all the while, which is released only later.
    assert_eq!(made("L(G) NEW(X) L(X) L(R) U(R) U(X) U(G)"), [ORDERED]);
}

#[test]
fn classes_are_judged_so_too() {
    let story = "T1: NEW(X1) L(X1) L(R) U(R) U(X1)\nT2: L(R) L(X2) U(X2) U(R)";
    assert_eq!(verdict(story), [ORDERED]);
}

#[test]
fn what_was_released_once_may_be_known() {
    assert_eq!(made("NEW(X) L(X) U(X) L(X) L(R) U(R) U(X)"), [LIKELY]);
    // R again: in between it was free, with X in the registry.
    assert_eq!(made("NEW(X) L(X) L(R)@1 U(R) L(R)@1 U(R) U(X)"), [LIKELY]);
}

#[test]
fn whatever_is_released_may_tell_of_the_lock() {
    assert_eq!(made("NEW(X) L(Q) U(Q) L(X) L(R) U(R) U(X)"), [LIKELY]);
    assert_eq!(made("NEW(X) L(X) L(Q) U(Q) L(R) U(R) U(X)"), [LIKELY]);
    // Not the innermost, so that its entry is still there.
    assert_eq!(made("L(Q) NEW(X) L(X) U(Q) L(R) U(R) U(X)"), [LIKELY]);
    assert_eq!(made("L(Q) L(P) U(Q) NEW(X) L(X) L(R) U(R) U(X) U(P)"), [LIKELY]);
    // A condition wait gives its mutex up.
    assert_eq!(made("NEW(X) L(M) C(M) L(X) L(R) U(R) U(X) U(M)"), [LIKELY]);
}

#[test]
fn whoever_is_created_meanwhile_may_know_the_lock() {
    let story = format!("T1: NEW(X) F(T2) L(X) L(R) U(R) U(X)\n{USERS}");
    assert_eq!(verdict(&story), [LIKELY]);
}

#[test]
fn a_lock_that_was_there_before_is_not_new() {
    assert_eq!(made("L(X) L(R) U(R) U(X)"), [LIKELY]);
    // Made by another.
    let story = format!("T3: NEW(X)\nT1: L(X) L(R) U(R) U(X)\n{USERS}");
    assert_eq!(verdict(&story), [LIKELY]);
}

#[test]
fn the_same_order_once_it_is_known_counts() {
    // The same places, and so the same chain.
    let how = "NEW(X) L(X)@1 L(R)@2 U(R) U(X) L(X)@1 L(R)@2 U(R) U(X)";
    assert_eq!(made(how), [LIKELY]);
}

#[test]
fn only_what_is_waited_for_matters() {
    // R is held and wanted; that X, new, is held too makes nothing of it harmless.
    let story = "T1: L(S) NEW(X) L(X) L(R) U(R) U(X) U(S)\nT2: L(R) L(S) U(S) U(R)";
    assert_eq!(verdict(story), ["likely circular-dependency: S R"]);
}

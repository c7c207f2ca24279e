//! Semaphores that count as locks, until they show that they are none.

use crate::story::{Story, told, verdict};
use lockwright_report::prose::told as told_of;

const ABBA: &str = "likely circular-dependency: A B";
const BOTH_ORDERS: &str = "
    sem A B
    T1: L(A) L(B) PO(B) PO(A)
    T2: L(B) L(A) PO(A) PO(B)";

#[test]
fn one_that_its_taker_posts_is_a_lock() {
    let report = Story::new().tell(BOTH_ORDERS).report();
    assert_eq!(told(&report), [ABBA]);
    let evidence = told_of(&report.findings[0]).evidence.join("\n");
    assert!(evidence.contains("the semaphores count as locks: they begin at 1"), "{evidence}");
}

#[test]
fn with_a_mutex_too() {
    let mixed = "sem A\nT1: L(A) L(B) U(B) PO(A)\nT2: L(B) L(A) PO(A) U(B)";
    let report = Story::new().tell(mixed).report();
    assert_eq!(told(&report), [ABBA]);
    let evidence = told_of(&report.findings[0]).evidence.join("\n");
    assert!(evidence.contains("`A` counts as a lock: it begins at 1"), "{evidence}");
}

#[test]
fn one_that_another_posts_never_was() {
    for proof in ["T3: PO(A)", "T2: L(A)\nT1: PO(A)", "T3: L(A)\nT1: PO(A)\nT3: L(C) U(C)"] {
        let story = format!("{BOTH_ORDERS}\n{proof}");
        assert!(verdict(&story).is_empty(), "{proof}");
        let before = format!("sem A B\n{proof}\n{}", BOTH_ORDERS.replace("sem A B", ""));
        assert!(verdict(&before).is_empty(), "{proof}, first");
    }
}

#[test]
fn one_that_its_taker_waits_for_never_was() {
    assert!(verdict(&format!("{BOTH_ORDERS}\nT1: L(A) L(A)")).is_empty());
}

#[test]
fn a_handlers_post_is_not_its_threads() {
    assert!(verdict(&format!("{BOTH_ORDERS}\nT1: L(A) I(10) PO(A) Z")).is_empty());
    let in_handler = format!("{BOTH_ORDERS}\nT1: I(10) L(A) PO(A) Z");
    assert_eq!(verdict(&in_handler), [ABBA]);
}

#[test]
fn what_was_held_beside_it_still_was() {
    // S lies between A and B on the first path, and below both on the second.
    let story = "
        sem S
        T1: L(A) L(S) L(B) U(B) PO(S) U(A)
        T2: L(S) L(B) L(A) U(A) U(B) PO(S)
        T3: PO(S)";
    assert_eq!(verdict(story), [ABBA]);
}

#[test]
fn it_guards_nothing_once_it_is_none() {
    let gated = "
        sem G
        T1: L(G) L(A) L(B) U(B) U(A) PO(G)
        T2: L(G) L(B) L(A) U(A) U(B) PO(G)";
    assert_eq!(verdict(gated), ["guarded circular-dependency: A B"]);
    assert_eq!(verdict(&format!("{gated}\nT3: PO(G)")), [ABBA]);
}

#[test]
fn what_another_gave_up_is_not_held() {
    // T1 has A no more when it takes B: it makes no order of the two.
    let story = "
        sem A
        T1: L(A)
        T2: PO(A)
        T1: L(B) L(C) U(C) U(B)
        T3: L(C) L(B) U(B) U(C)";
    assert_eq!(verdict(story), ["likely circular-dependency: B C"]);
}

#[test]
fn others_of_its_class_may_be_locks() {
    // But what one class has seen says nothing of another pair of its semaphores.
    let story = "
        sem A B
        T1: L(A1) L(B1) PO(B1) PO(A1)
        T2: L(B1) L(A1) PO(A1) PO(B1)
        T3: L(A2)
        T1: PO(A2)";
    assert_eq!(verdict(story), [ABBA]);
    let of_classes = "
        sem A B
        T1: L(A1) L(B1) PO(B1) PO(A1)
        T2: L(B2) L(A2) PO(A2) PO(B2)";
    assert_eq!(verdict(of_classes), ["possible circular-dependency: A B"]);
    assert!(verdict(&format!("{of_classes}\nT3: L(A3)\nT1: PO(A3)")).is_empty());
}

#[test]
fn threads_that_wait_for_each_other_are_told_at_once() {
    let waiting = "
        sem A B
        T1: L(A)
        T2: L(B) B(A)
        T1: B(B)";
    assert_eq!(verdict(waiting), ["deadlocked circular-dependency: B A"]);
    // Another could have posted it, as one then does.
    assert!(verdict(&format!("{waiting}\nT3: PO(A)")).is_empty());
}

#[test]
fn it_orders_no_threads() {
    // As no lock does: who took it first in this run may be second in the next.
    let story = "
        sem S
        T1: L(A) L(B) U(B) U(A) L(S) PO(S)
        T2: L(S) PO(S) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(story), [ABBA]);
    assert_eq!(verdict(&format!("{story}\nT3: PO(S)")), [ABBA]);
}

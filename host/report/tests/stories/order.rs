//! Events that order threads, apart from their creation and end.

use crate::story::{Story, told, verdict};
use lockwright_report::prose::told as told_of;

const ABBA: &str = "likely circular-dependency: A B";
const ORDERED: &str = "ordered circular-dependency: A B";

#[test]
fn a_barrier_separates_before_from_after() {
    let story = "
        barrier 2 K
        T1: L(A) L(B) U(B) U(A) BA(K)
        T2: BA(K) BP(K) L(B) L(A) U(A) U(B)
        T1: BP(K)";
    let report = Story::new().tell(story).report();
    assert_eq!(told(&report), [ORDERED]);
    let evidence = told_of(&report.findings[0]).evidence.join("\n");
    assert!(evidence.contains("thread 2 (T2) passes a barrier after thread 1 (T1)"), "{evidence}");
}

#[test]
fn both_after_a_barrier_may_meet() {
    let story = "
        barrier 2 K
        T1: BA(K)
        T2: BA(K) BP(K) L(B) L(A) U(A) U(B)
        T1: BP(K) L(A) L(B) U(B) U(A)";
    assert_eq!(verdict(story), [ABBA]);
}

#[test]
fn a_barrier_orders_those_who_met_and_nobody_else() {
    let story = "
        barrier 2 K
        T1: L(A) L(B) U(B) U(A)
        T2: BA(K)
        T3: BA(K) BP(K) L(B) L(A) U(A) U(B)
        T2: BP(K)";
    assert_eq!(verdict(story), [ABBA]);
}

#[test]
fn all_of_a_barriers_round_come_before() {
    let story = "
        barrier 3 K
        T1: L(A) L(B) U(B) U(A) BA(K)
        T2: BA(K)
        T3: BA(K) BP(K) L(B) L(A) U(A) U(B)
        T1: BP(K)
        T2: BP(K)";
    assert_eq!(verdict(story), [ORDERED]);
}

#[test]
fn a_post_comes_before_the_wait_that_it_grants() {
    let story = "
        semaphore 0 S
        T1: L(A) L(B) U(B) U(A) PO(S)
        T2: PW(S) L(B) L(A) U(A) U(B)";
    let report = Story::new().tell(story).report();
    assert_eq!(told(&report), [ORDERED]);
    let evidence = told_of(&report.findings[0]).evidence.join("\n");
    assert!(evidence.contains("waits for a semaphore that thread 1 (T1) posts"), "{evidence}");
    let after = "
        semaphore 0 S
        T1: PO(S) L(A) L(B) U(B) U(A)
        T2: PW(S) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(after), [ABBA]);
}

#[test]
fn a_wait_that_another_post_may_grant_orders_nothing() {
    let initial = "
        semaphore 1 S
        T1: L(A) L(B) U(B) U(A) PO(S)
        T2: PW(S) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(initial), [ABBA]);
    // The second poster comes only later, and yet: in another run it may be first.
    let two = "
        semaphore 0 S
        T1: L(A) L(B) U(B) U(A) PO(S)
        T2: PW(S) L(B) L(A) U(A) U(B)
        T3: PO(S)";
    assert_eq!(verdict(two), [ABBA]);
}

#[test]
fn of_several_waiters_each_follows_the_first_post() {
    let story = |posts: &str| {
        format!(
            "semaphore 0 S
             T1: {posts}
             T2: PW(S)
             T3: PW(S) L(B) L(A) U(A) U(B)"
        )
    };
    assert_eq!(verdict(&story("L(A) L(B) U(B) U(A) PO(S) PO(S)")), [ORDERED]);
    assert_eq!(verdict(&story("PO(S) L(A) L(B) U(B) U(A) PO(S)")), [ABBA]);
}

/// What could have ordered them is named, as far as the program has it.
#[test]
fn evidence_names_what_orders_threads() {
    let abba = "T1: L(A) L(B) U(B) U(A)\nT2: L(B) L(A) U(A) U(B)";
    for (has, says) in [
        ("", "the two paths can run at the same time"),
        ("barrier 2 K\n", "the two paths can run at the same time"),
        ("semaphore 0 S\n", "the two paths can run at the same time"),
        ("barrier 2 K\nsemaphore 0 S\n", "the two paths can run at the same time"),
    ] {
        let report = Story::new().tell(&format!("{has}{abba}")).report();
        let evidence = &told_of(&report.findings[0]).evidence;
        assert!(evidence.iter().any(|line| line == says), "{evidence:?}");
    }
}

/// The finding on two threads that a wait keeps apart, and its evidence.
fn woken(first_again: &str) -> Vec<String> {
    let story = format!(
        "
        T1: L(Q) CW(Q,c)
        T2: L(B) L(A) U(A) U(B) L(Q) U(Q) CS(c)
        T1: CE(Q) U(Q) L(A) L(B) U(B) U(A)
        {first_again}"
    );
    let report = Story::new().tell(&story).report();
    let mut all = told(&report);
    all.extend(told_of(&report.findings[0]).evidence);
    all
}

#[test]
fn a_signal_that_wakes_keeps_threads_apart_in_this_run_only() {
    let told = woken("");
    assert_eq!(told[0], "possible circular-dependency: A B");
    let evidence = told.join("\n");
    assert!(evidence.contains("thread 1 (T1) began in this run"), "{evidence}");
    assert!(evidence.contains("thread 2 (T2) woke thread 1 (T1)"), "{evidence}");
}

#[test]
fn what_is_done_again_after_the_signal_is_not_kept_apart() {
    assert_eq!(woken("T2: L(B) L(A) U(A) U(B)")[0], ABBA);
}

#[test]
fn a_signal_that_nobody_waits_for_orders_nothing() {
    let story = "
        T1: L(Q) CW(Q,c) CE(Q) U(Q)
        T2: L(B) L(A) U(A) U(B) CS(c)
        T1: L(A) L(B) U(B) U(A)";
    assert_eq!(verdict(story), [ABBA]);
}

#[test]
fn signals_keep_apart_through_other_threads() {
    let story = "
        T3: L(P) CW(P,d)
        T2: L(Q) CW(Q,c)
        T1: L(A) L(B) U(B) U(A) CS(c)
        T2: CE(Q) U(Q) CS(d)
        T3: CE(P) U(P) F(T4)
        T4: L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(story), ["possible circular-dependency: A B"]);
}

/// The signal is one of a thread that was created after the first path.
#[test]
fn signals_keep_apart_what_came_before_the_signaller() {
    let story = "
        T2: L(Q) CW(Q,c)
        T0: L(B) L(A) U(A) U(B) F(T1)
        T1: CS(c)
        T2: CE(Q) U(Q) L(A) L(B) U(B) U(A)";
    assert_eq!(verdict(story), ["possible circular-dependency: A B"]);
}

/// What the signaller does after the signal, in a hold that it had before: the woken thread has had that lock since.
#[test]
fn a_hold_around_the_signal_is_over_once_the_lock_was_had() {
    let story = |before: &str, after: &str| {
        format!(
            "T2: L(Q) CW(Q,c)
             T1: {before} CS(c) L(B) U(B) U(A) {after}
             T2: CE(Q) U(Q) L(A) U(A) L(B) L(A) U(A) U(B)"
        )
    };
    assert_eq!(verdict(&story("L(A)", "")), ["possible circular-dependency: B A"]);
    // It comes once more, which nothing orders.
    assert_eq!(verdict(&story("L(A)", "L(A) L(B) U(B) U(A)")), ["likely circular-dependency: B A"]);
    // The thread may have had the lock before the signaller took it.
    let later = "T2: L(Q) CW(Q,c)
         T1: CS(c) L(A) L(B) U(B) U(A)
         T2: CE(Q) U(Q) L(A) U(A) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(later), ["likely circular-dependency: B A"]);
}

/// The mutex of the wait is such a lock.
#[test]
fn a_hold_of_the_waits_mutex_is_over_when_the_wait_is() {
    let story = "
        T2: L(A) CW(A,c)
        T1: L(A) CS(c) L(B) U(B) U(A)
        T2: CE(A) U(A) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(story), ["possible circular-dependency: B A"]);
}

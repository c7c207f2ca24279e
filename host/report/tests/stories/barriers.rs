//! Barriers that a thread waits at with what keeps another from coming.

use crate::story::verdict;

fn is_nothing(story: &str) {
    let found = verdict(story);
    assert!(found.is_empty(), "{story}: {found:?}");
}

#[test]
fn who_cannot_come_is_waited_for_for_good() {
    let told = |story: &str| {
        let found = verdict(&format!("barrier 2 K\n{story}"));
        assert_eq!(found.len(), 1, "{story}: {found:?}");
        assert!(found[0].starts_with("deadlocked circular-dependency: "), "{story}: {found:?}");
    };
    told("T1: L(A) BW(K)\nT2: B(A)");
    told("T2: L(B)\nT1: L(A)\nT2: B(A)\nT1: BW(K)");
    // The main thread waits for both to end.
    told("T0: F(T1) F(T2)\nT1: L(A) BW(K)\nT2: B(A)\nT0: JB(T1)");
    told("T0: F(T1) F(T2) JB(T1)\nT1: L(A) BW(K)\nT2: B(A)");
    // The thread that is waited for waits behind another.
    told("T1: L(A) BW(K)\nT3: L(B) B(A)\nT2: B(B)");
    // One that could have come ends.
    told("T0: F(T1) F(T2)\nT1: L(A) BW(K)\nT2: B(A)\nT0: E");
}

#[test]
fn two_barriers_in_different_orders() {
    let found = verdict("barrier 2 K J\nT1: BW(K)\nT2: BW(J)");
    assert_eq!(found.len(), 1, "{found:?}");
    // Each of three is missed by one.
    is_nothing("barrier 2 K J\nT3: L(A)\nT1: BW(K)\nT2: BW(J)");
}

#[test]
fn who_can_come_is_waited_for() {
    is_nothing("barrier 2 K\nT1: L(A) BW(K)\nT2: L(B)");
    // T3 runs: it may come, or create another.
    is_nothing("barrier 2 K\nT3: L(B)\nT1: L(A) BW(K)\nT2: B(A)");
    // It was created and has not begun, as far as is known.
    is_nothing("barrier 2 K\nT0: F(T1) F(T2) F(T3) JB(T1)\nT1: L(A) BW(K)\nT2: B(A)");
    // All are there, and about to go on; T2 did.
    is_nothing("barrier 2 K\nT1: L(A) BW(K)\nT2: BA(K) BP(K) B(A)");
    // The wait has a deadline, or is one for a signal.
    is_nothing("barrier 2 K\nT1: L(A) BW(K)\nT2: L(B) CB(B)");
}

/// The findings about a lock that is kept at K and taken on the way there.
fn kept(story: &str) -> Vec<String> {
    verdict(&format!("barrier 2 K\n{story}"))
}

#[test]
fn a_lock_that_is_kept_at_a_barrier_must_not_be_taken_on_the_way() {
    let story = |first: &str, second: &str| {
        kept(&format!("T2: {second} BA(K)\nT1: {first} BA(K) BP(K)\nT2: BP(K)"))
    };
    let is = |grade: &str, found: Vec<String>| {
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&format!("{grade} circular-dependency: A ")), "{found:?}");
    };
    is("likely", story("L(A)", "L(A) U(A)"));
    is("likely", story("L(A)", "L(B) L(A) U(A) U(B)"));
    is("possible", story("L(A)", "D(A) U(A)"));
    assert!(story("L(A)", "T(A) U(A)").is_empty());
    assert!(story("L(A)", "L(B) U(B)").is_empty());
    assert!(story("L(A) U(A)", "L(A) U(A)").is_empty());
    // Another lock is kept, too, and the second waits for that.
    is("likely", story("L(A)", "L(A) U(A)"));
    let found = kept("T2: L(G) L(A) U(A) U(G) BA(K)\nT1: L(G) L(A) BA(K) BP(K)\nT2: BP(K)");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("likely circular-dependency: G "), "{found:?}");
}

#[test]
fn what_comes_before_or_after_in_every_run_may_be_kept() {
    // T2 takes it after the barrier.
    assert!(kept("T1: L(A) BA(K)\nT2: BA(K) BP(K)\nT1: BP(K) U(A)\nT2: L(A) U(A)").is_empty());
    // T1 has it only after T2 told that it is done.
    let told = "semaphore 0 S
        T2: L(A) U(A) PO(S) BA(K)
        T1: PW(S) L(A) BA(K) BP(K)
        T2: BP(K)";
    assert!(kept(told).is_empty(), "{:?}", kept(told));
    // In the round before.
    let before = "T2: L(A) U(A) BA(K)
        T1: BA(K) BP(K) L(A)
        T2: BP(K) BA(K)
        T1: BA(K) BP(K)
        T2: BP(K)";
    assert!(kept(before).is_empty(), "{:?}", kept(before));
}

/// Two of three threads meet: another may come.
#[test]
fn where_others_come_it_is_possible() {
    let found = kept(
        "T2: L(A) U(A) BA(K)
         T1: L(A) BA(K) BP(K) U(A)
         T2: BP(K) BA(K)
         T3: BA(K) BP(K)
         T2: BP(K)",
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("possible circular-dependency: A "), "{found:?}");
}

/// T1 keeps A at K, to which T2 comes after B; the holder of B waits for A.
#[test]
fn a_lock_that_another_waits_for_is_kept_at_a_barrier() {
    let story = |third: &str, second: &str, first: &str| {
        kept(&format!("T3: {third}\nT2: {second} BA(K)\nT1: {first} BA(K) BP(K)\nT2: BP(K)"))
    };
    let is = |grade: &str, found: Vec<String>| {
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&format!("{grade} circular-dependency: ")), "{found:?}");
        for lock in ["A", "B"] {
            assert!(found[0].contains(lock), "{found:?}");
        }
    };
    is("likely", story("L(B) L(A) U(A) U(B)", "L(B) U(B)", "L(A)"));
    is("likely", story("L(B) L(A) U(A) U(B)", "L(C) L(B) U(B) U(C)", "L(A)"));
    is("possible", story("L(B) D(A) U(A) U(B)", "L(B) U(B)", "L(A)"));
    is("possible", story("L(B) L(A) U(A) U(B)", "D(B) U(B)", "L(A)"));
    let nothing = [
        story("L(A) L(B) U(B) U(A)", "L(B) U(B)", "L(A)"),
        story("L(B) T(A) U(A) U(B)", "L(B) U(B)", "L(A)"),
        story("L(B) L(A) U(A) U(B)", "T(B) U(B)", "L(A)"),
        story("L(B) L(A) U(A) U(B)", "L(C) U(C)", "L(A)"),
        story("L(B) L(A) U(A) U(B)", "L(B) U(B)", "L(A) U(A)"),
        // Two of them have a lock in common.
        story("L(G) L(B) L(A) U(A) U(B) U(G)", "L(B) U(B)", "L(G) L(A)"),
    ];
    for (i, found) in nothing.iter().enumerate() {
        assert!(found.is_empty(), "{i}: {found:?}");
    }
    // Three threads, of which one created another after it had done with B.
    let ordered = "T3: L(B) L(A) U(A) U(B) F(T1)
        T2: L(B) U(B) BA(K)
        T1: L(A) BA(K) BP(K)
        T2: BP(K)";
    assert!(kept(ordered).is_empty(), "{:?}", kept(ordered));
}

#[test]
fn chains_to_what_is_kept_at_a_barrier_have_any_length() {
    let found = kept(
        "T3: L(B) L(C) U(C) U(B)
         T4: L(C) L(A) U(A) U(C)
         T2: L(B) U(B) BA(K)
         T1: L(A) BA(K) BP(K)
         T2: BP(K)",
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("likely circular-dependency: "), "{found:?}");
    // No two parts are by one thread.
    let found = kept(
        "T3: L(B) L(C) U(C) U(B)
         T3: L(C) L(A) U(A) U(C)
         T2: L(B) U(B) BA(K)
         T1: L(A) BA(K) BP(K)
         T2: BP(K)",
    );
    assert!(found.is_empty(), "{found:?}");
}

/// When T0 waits on the condition T1 may have been to the routine, but not when it took the mutex first.
#[test]
fn a_condition_wait_takes_its_mutex_again_on_the_way() {
    let story = |wait: &str| {
        kept(&format!(
            "once C
             T0: L(A) OB(C) L(B) U(B) OE(C) {wait} U(A) BA(K)
             T1: OC(C) L(A) BA(K) BP(K) U(A)
             T0: BP(K)"
        ))
    };
    let found = story("CW(A,c) CE(A)");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("likely circular-dependency: A "), "{found:?}");
    assert!(story("").is_empty(), "{:?}", story(""));
    // However it took it before.
    let tried =
        kept("T2: T(A) CW(A,c) CE(A) U(A) BA(K)\nT3: L(A) BA(K) BP(K)\nT2: BP(K)\nT3: U(A)");
    assert_eq!(tried, found);
}

/// A thread that was woken by one that has had the lock does not keep it from that in this run.
#[test]
fn a_signal_keeps_apart_who_meet_at_a_barrier() {
    let found = kept(
        "T3: L(Q) CW(Q,c)\nT2: L(A) U(A) CS(c) BA(K)\nT3: CE(Q) U(Q) L(A) BA(K) BP(K) U(A)\nT2: BP(K)",
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("possible circular-dependency: A "), "{found:?}");
}

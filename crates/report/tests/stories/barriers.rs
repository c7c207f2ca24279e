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
    // Who is waited for waits behind another.
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
    // It has a deadline, or waits to be told.
    is_nothing("barrier 2 K\nT1: L(A) BW(K)\nT2: L(B) CB(B)");
}

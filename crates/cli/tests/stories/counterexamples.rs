//! Programs that the oracle (see tests/oracle) found the validator to be wrong about, made small.

use crate::story::verdict;

const NOTHING: &[&str] = &[];

/// Readers that block each other through a writer need that writer: another thread, at the same time,
/// of the very lock, and not kept away by what it holds.
#[test]
fn no_writer_comes_between() {
    let other_lock = "
        writers B
        T1: R(B2) L(A) U(A) U(B2)
        T2: W(B1) L(A) R(B2) U(B2) U(A) U(B1)";
    assert_eq!(verdict(other_lock), ["possible circular-dependency: B A"]);
    let joined_before = "
        writers C
        T0: F(T1)
        T1: W(C) U(C)
        T0: J(T1) L(B) R(C) U(C) U(B)
        T2: R(C) L(B) U(B) U(C)";
    // T2 may meet the writer, but not when T0 reads.
    assert_eq!(verdict(joined_before), ["possible circular-dependency: B C"]);
    let a_reader_itself = "
        writers A
        T1: R(A) L(Z) U(A) U(Z)
        T2: W(A) U(A) L(Z) R(A) U(A) U(Z)";
    assert_eq!(verdict(a_reader_itself), ["possible circular-dependency: A Z"]);
}

#[test]
fn no_writer_comes_between_reading_twice() {
    let guarded = "
        writers B
        T2: L(A) R(B) R(B) U(B) U(B) U(A)
        T1: L(A) W(B) U(B) U(A)";
    assert_eq!(verdict(guarded), ["possible recursive-locking: B"]);
    let other_lock = "
        writers C
        T0: L(A) W(C1) U(C1) U(A)
        T1: R(C2) R(C2) U(C2) U(C2)";
    assert_eq!(verdict(other_lock), ["possible recursive-locking: C"]);
}

#[test]
fn a_writer_that_holds_nothing_comes_between() {
    let story = "
        writers D
        T0: R(D) R(D) U(D) U(D)
        T1: W(D) U(D)";
    assert_eq!(verdict(story), ["likely recursive-locking: D"]);
}

/// Of two writers, one may be able to back out: the other counts.
#[test]
fn a_writer_for_good_counts_before_one_with_a_deadline() {
    let story = "
        writers B
        T0: L(D) D(B) U(B) U(D)
        T1: W(B) U(B)
        T2: R(B) R(B) U(B) U(B)";
    assert_eq!(verdict(story), ["likely recursive-locking: B"]);
}

/// One thread takes the same lock both ways: only the reading needs a writer between.
#[test]
fn a_writer_and_a_reader_are_not_one() {
    let story = "
        writers A B
        T0: R(B) W(A) U(A) U(B)
        T1: W(A) R(B) U(B) W(B) U(B) U(A)";
    assert_eq!(verdict(story), ["likely circular-dependency: B A"]);
}

/// What was tried for before a condition wait is waited for at its end.
#[test]
fn a_condition_wait_waits_for_what_was_tried() {
    let story = |how: &str| {
        format!(
            "T1: L(Z) L(A) U(A) U(Z)
             T2: L(A) {how}(Z) CB(Z) CE(Z) U(Z) U(A)"
        )
    };
    assert_eq!(verdict(&story("D")), ["likely circular-dependency: Z A"]);
    assert_eq!(verdict(&story("T")), ["likely circular-dependency: Z A"]);
}

/// A thread that is created with both held can only run ahead of the end of the condition wait.
#[test]
fn a_condition_wait_comes_after_a_creation() {
    let story = "
        T0: L(Z) L(A) F(T1)
        T0: CB(A) CE(A) U(A) U(Z)
        T1: L(A) L(Z) U(Z) U(A)";
    assert_eq!(verdict(story), ["likely circular-dependency: Z A"]);
    let without = "
        T0: L(Z) L(A) U(A) F(T1) U(Z)
        T1: L(A) L(Z) U(Z) U(A)";
    assert_eq!(verdict(without), ["ordered circular-dependency: Z A"]);
    assert_eq!(verdict("T0: L(A) CB(A) CE(A) U(A)"), NOTHING);
}

/// What contexts alone cannot rule out: no reordering of these very runs reaches the deadlock, but a run
/// in which a thread does without something that it had done with on its way. They stay `likely`, as what
/// a thread does before is often what it does the first time only.
#[test]
fn likely_beyond_the_reorderings() {
    // T1 comes to A only once T0 has given it up, by taking it first with nothing else held.
    let handshake = "
        T0: L(A) F(T1) L(B) U(B) U(A)
        T1: L(A) U(A) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(handshake), ["likely circular-dependency: A B"]);
    // All of T1 happens while T0 holds C, which T2 needs.
    let held_across = "
        T0: L(C) F(T1)
        T1: L(A) L(B) U(B) U(A)
        T0: J(T1) U(C)
        T2: L(C) L(B) L(A) U(A) U(B) U(C)";
    assert_eq!(verdict(held_across), ["likely circular-dependency: A B"]);
    // The two deadlock in A and D before they can in A and C.
    let found = verdict(
        "T0: L(D) L(A) U(A) L(C) L(A) U(A) U(C) U(D)
         T3: L(A) L(D) U(D) L(C) U(C) U(A)",
    );
    assert!(found.contains(&"likely circular-dependency: D A".into()), "{found:?}");
    assert!(found.contains(&"likely circular-dependency: C A".into()), "{found:?}");
}

//! Programs that the oracle (see host/analysis/tests/oracle) found lockdep to be wrong
//! about, made small.

use crate::story::{Story, told, verdict};

const NOTHING: &[&str] = &[];

/// Readers that block each other through a writer need that writer: another thread, at the same
/// time, of the very lock, and not kept away by what it holds.
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

/// One of two writers may be able to back out: the other counts.
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

/// T1 comes to A only once T0 has given it up, by taking it first with nothing else held.
#[test]
fn a_lock_held_at_a_creation_is_handed_over() {
    let handshake = "
        T0: L(A) F(T1) L(B) U(B) U(A)
        T1: L(A) U(A) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(handshake), ["ordered circular-dependency: A B"]);
    // Without having been there, T1 may wait for A while T0 holds it.
    let without = "
        T0: L(A) F(T1) L(B) U(B) U(A)
        T1: L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(without), ["likely circular-dependency: A B"]);
    // Nor does it have to be T0's own child that comes after T0 ...
    let grandchild = "
        T0: L(A) F(T1) L(B) U(B) U(A)
        T1: F(T2)
        T2: L(A) U(A) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(grandchild), ["ordered circular-dependency: A B"]);
    // ... nor a thread that takes A: T2 begins with T1 holding it.
    let inside = "
        T0: L(A) F(T1) L(B) U(B) U(A)
        T1: L(A) F(T2) U(A)
        T2: L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(inside), ["ordered circular-dependency: A B"]);
    // A lock of the same class, taken at the same place, is not A.
    let other = "
        T0: L(A1) F(T1) L(B) U(B) U(A1)
        T1: L(A2)@7 U(A2) L(A1)@7 U(A1) L(B) L(A1) U(A1) U(B)";
    assert_eq!(verdict(other), ["ordered circular-dependency: A B"]);
    // What gives up after a while has not been there.
    let readers = "
        rwlock A
        T0: R(A) F(T1) L(B) U(B) U(A)
        T1: R(A) U(A) L(B) W(A) U(A) U(B)";
    assert_eq!(verdict(readers), ["likely circular-dependency: A B"]);
}

/// The same through a barrier and a semaphore.
#[test]
fn a_lock_held_at_a_hand_over_is_handed_over() {
    let barrier = "
        barrier 2 K
        T0: L(A) BA(K)
        T1: BA(K) BP(K)
        T0: BP(K) L(B) U(B) U(A)
        T1: L(A) U(A) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(barrier), ["ordered circular-dependency: A B"]);
    let semaphore = "
        semaphore 0 S
        T0: L(A) PO(S) L(B) U(B) U(A)
        T1: PW(S) L(A) U(A) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(semaphore), ["ordered circular-dependency: A B"]);
    // The wait may have been granted by T2, before T0 was there.
    let any = "
        semaphore 0 S
        T0: L(A) PO(S) L(B) U(B) U(A)
        T2: PO(S)
        T1: PW(S) L(A) U(A) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(any), ["likely circular-dependency: A B"]);
}

/// All of T1 happens while T0 holds C, which T2 needs.
#[test]
fn what_happens_within_a_hold_is_guarded_by_it() {
    let held_across = "
        T0: L(C) F(T1)
        T1: L(A) L(B) U(B) U(A)
        T0: J(T1) U(C)
        T2: L(C) L(B) L(A) U(A) U(B) U(C)";
    assert_eq!(verdict(held_across), ["guarded circular-dependency: A B"]);
    let given_up_before_the_join = "
        T0: L(C) F(T1)
        T1: L(A) L(B) U(B) U(A)
        T0: U(C) J(T1)
        T2: L(C) L(B) L(A) U(A) U(B) U(C)";
    assert_eq!(verdict(given_up_before_the_join), ["likely circular-dependency: A B"]);
    let given_up_between = "
        T0: L(C) F(T1) U(C) L(C)
        T1: L(A) L(B) U(B) U(A)
        T0: J(T1) U(C)
        T2: L(C) L(B) L(A) U(A) U(B) U(C)";
    assert_eq!(verdict(given_up_between), ["likely circular-dependency: A B"]);
}

/// Several threads post: the wait comes after what none of the posts can do without.
#[test]
fn a_wait_comes_after_what_no_post_can_do_without() {
    let common = "
        semaphore 0 S
        T0: L(A) L(B) U(B) U(A) F(T1) F(T2)
        T1: PO(S)
        T2: PO(S)
        T3: PW(S) L(B) L(A) U(A) U(B)";
    assert_eq!(verdict(common), ["ordered circular-dependency: A B"]);
    // T2's post comes after the wait that it could grant.
    let own = "
        semaphore 0 S
        T1: L(A) L(B) U(B) U(A) PO(S)
        T0: PW(S) F(T2)
        T2: L(B) L(A) U(A) U(B) PO(S)";
    assert_eq!(verdict(own), ["ordered circular-dependency: A B"]);
}

/// What the record cannot rule out. The two deadlock in A and D before they can in A and C: no
/// reordering of this run reaches the latter. But T3 may have gone one more round through A and C,
/// past D; that round is remembered, costs one look-up and leaves no trace, and that run can
/// deadlock in A and C. So no rule on the same record is right for both. The graver grade stands,
/// as what a thread does first is often what it does the first time only. To tell them apart every
/// acquisition would have to be recorded.
#[test]
fn a_round_more_leaves_no_trace() {
    let masked = "
        T0: L(D)@1 L(A)@2 U(A) L(C)@3 L(A)@4 U(A) U(C) U(D)
        T3: L(A)@5 L(D)@6 U(D) L(C)@7 U(C) U(A)";
    let with_another_round = format!("{masked} L(A)@5 L(C)@7 U(C) U(A)");
    for story in [masked, &with_another_round] {
        let found = verdict(story);
        assert!(found.contains(&"likely circular-dependency: D A".into()), "{found:?}");
        assert!(found.contains(&"likely circular-dependency: C A".into()), "{found:?}");
    }
}

/// T0 holds A until it has B, and B until it has joined the writer. So it holds one of the two all
/// the time that the writer is there, and T2 needs both to read.
#[test]
fn what_happens_within_holds_that_overlap_is_guarded_by_them() {
    let overlapping = "
        writers C
        T0: L(A) F(T1) L(B) U(A)
        T1: W(C) U(C)
        T0: J(T1) U(B)
        T2: L(A) L(B) R(C) R(C) U(C) U(C) U(B) U(A)";
    assert_eq!(verdict(overlapping), ["possible recursive-locking: C"]);
    // Between the two T0 holds neither.
    let with_a_gap = "
        writers C
        T0: L(A) F(T1) U(A) L(B)
        T1: W(C) U(C)
        T0: J(T1) U(B)
        T2: L(A) L(B) R(C) R(C) U(C) U(C) U(B) U(A)";
    assert_eq!(verdict(with_a_gap), ["likely recursive-locking: C"]);
    // T2 may read while T0 holds A.
    let one_is_not_needed = "
        writers C
        T0: L(A) F(T1) L(B) U(A)
        T1: W(C) U(C)
        T0: J(T1) U(B)
        T2: L(B) R(C) R(C) U(C) U(C) U(B)";
    assert_eq!(verdict(one_is_not_needed), ["likely recursive-locking: C"]);
}

/// T1 comes to wait for A though it has never waited to take it first.
#[test]
fn a_joined_thread_waits_to_take_its_mutex_again() {
    let joined_with_it = "
        T0: F(T1)
        T1: T(A) CB(A) CE(A) U(A)
        T0: L(A) J(T1) U(A)";
    assert_eq!(verdict(joined_with_it), ["likely join-with-lock-held: A end of thread 2 (T1)"]);
    let without_a_wait = "
        T0: F(T1)
        T1: T(A) U(A)
        T0: L(A) J(T1) U(A)";
    assert_eq!(verdict(without_a_wait), NOTHING);
    let joined_with_another = "
        T0: F(T1)
        T1: T(A) CB(A) CE(A) U(A)
        T0: L(B) J(T1) U(B)";
    assert_eq!(verdict(joined_with_another), NOTHING);
}

/// Both try for the other's lock within the hold in which they then wait for it: the first to do so
/// had its hold before the other's began.
#[test]
fn each_has_tried_for_what_the_other_holds() {
    let story = |t1: &str, t2: &str| {
        format!(
            "T0: L(A) F(T2) U(A)
             T2: L(A) {t2} L(Z) U(Z) U(A)
             T1: L(Z) {t1} SAYS L(A) U(A) U(Z)"
        )
    };
    let (by_t1, by_t2) = ("T(A) F(T3) U(A)", "T(Z) U(Z)");
    assert_eq!(verdict(&story(by_t1, by_t2)), ["guarded circular-dependency: A Z"]);
    assert_eq!(verdict(&story("F(T3)", by_t2)), ["likely circular-dependency: A Z"]);
    assert_eq!(verdict(&story(by_t1, "")), ["likely circular-dependency: A Z"]);
    // T1 may have tried in an earlier hold, of which no trace is left.
    assert_eq!(verdict(&story("T(A) U(A) F(T3)", by_t2)), ["likely circular-dependency: A Z"]);
}

/// T1 has A since it held B, so T2 has B only after that; and T2 has tried for A within its hold of B.
fn began_under_the_others_lock(t1: &str) -> String {
    format!(
        "T2: L(B) T(A) F(T3) U(A) L(X) L(A) U(A) U(X) U(B)
         T1: {t1} L(X) U(X) U(A)"
    )
}

#[test]
fn a_hold_that_began_under_the_others_lock_came_first() {
    let of_t1 = |t1: &str| verdict(&began_under_the_others_lock(t1));
    assert_eq!(of_t1("L(B) L(A) U(B)"), ["guarded circular-dependency: X A"]);
    assert_eq!(of_t1("L(A)"), ["likely circular-dependency: X A"]);
    // It has given up what it took under B, and taken it again: elsewhere, or by the same call.
    assert_eq!(of_t1("L(B) L(A) U(A) U(B) L(A)"), ["likely circular-dependency: X A"]);
    assert_eq!(of_t1("L(B) L(A)@7 U(A) U(B) L(A)@7"), ["likely circular-dependency: X A"]);
    // T1 waits on a condition with A alone, which gives it up and takes it again.
    assert_eq!(of_t1("L(B) L(A) U(B) C(A)"), ["likely circular-dependency: X A"]);
    // Readers of B do not keep each other from it.
    let readers = "writers B
        T2: R(B) T(A) F(T3) U(A) L(X) L(A) U(A) U(X) U(B)
        T1: R(B) L(A) U(B) L(X) U(X) U(A)";
    assert_eq!(verdict(readers), ["likely circular-dependency: X A"]);
}

/// If rows of a ledger are missing, nothing is inferred from what is not there.
#[test]
fn lost_rows_guard_nothing() {
    let mut story = Story::new();
    story.tell(&began_under_the_others_lock("L(B) L(A) U(B)"));
    assert_eq!(told(&story.report()), ["guarded circular-dependency: X A"]);
    story.loses_rows(1);
    assert_eq!(told(&story.report()), ["likely circular-dependency: X A"]);
}

/// The end of thread 2 is no other lock than the one with the number 2, which T2 writes and T0 reads: T0
/// cannot come between.
#[test]
fn the_end_of_a_thread_is_no_reader() {
    let story = |t0: &str| {
        format!(
            "writers A
             writers B
             writers C
             T2: W(A) F(T3) U(A) W(C)
             T3: R(A) U(A)
             T2: R(A) J(T3) U(A) U(C)
             T0: {t0} W(A) U(A)"
        )
    };
    let told = |grade: &str| [format!("{grade} join-with-lock-held: A end of thread 2 (T3)")];
    assert_eq!(verdict(&story("")), told("likely"));
    assert_eq!(verdict(&story("R(C)")), told("possible"));
}

/// T0 tries for B1 with B2 held, and gives it up in a wait; T2 takes B2 within its hold of B1.
#[test]
fn a_condition_wait_gives_up_what_was_tried_for() {
    let story = |how: &str, until: &str| {
        format!(
            "T0: L(B2) L(C) {how}(B1) CB(B1) CE(B1) U(B1) U(C) U(B2)
             T2: F(T3) L(B1) {until} L(C) U(C) U(B1)"
        )
    };
    let within = "L(B2) J(T3) U(B2)";
    assert_eq!(
        verdict(&story("T", within)),
        ["likely circular-dependency: B B", "guarded circular-dependency: C B"]
    );
    let between = "J(T3)";
    assert_eq!(verdict(&story("T", between)), ["likely circular-dependency: C B"]);
}

/// T3 takes C within its hold of A, and T2 takes A within its hold of C.
#[test]
fn each_took_what_the_other_holds() {
    let story = |t2: &str| {
        format!(
            "T0: L(B) F(T3) U(B)
             T3: L(A) L(C) L(B) U(B) U(C) L(B) U(B) U(A)
             T1: L(C) F(T2) U(C)
             T2: L(C) {t2} L(B) L(A) U(A) U(B) U(C)"
        )
    };
    assert_eq!(
        verdict(&story("L(A) U(A)")),
        ["likely circular-dependency: A C", "guarded circular-dependency: A B"]
    );
    assert_eq!(
        verdict(&story("")),
        ["likely circular-dependency: A B", "likely circular-dependency: A C"]
    );
}

/// What T3 takes within its hold lies in an earlier segment, and T2 took with a deadline what it gave up
/// at the segment's end.
#[test]
fn a_hold_lasts_from_segment_to_segment() {
    let story = "
        T0: L(B) F(T3) U(B)
        T1: L(A1) F(T2) U(A1)
        T2: L(A2) D(A1) U(A1) L(C) L(A1) U(A1) U(C) U(A2)
        T3: L(A1) L(B) L(A2) U(A2) U(B) L(C) U(C) U(A1)";
    let found = verdict(story);
    assert!(!found.contains(&"likely circular-dependency: C A".into()), "{found:?}");
}

/// T0 holds C1 and C2 while it waits for T2, which tries for A1 first; T1 takes C2 within its hold of A1.
#[test]
fn a_joined_thread_has_tried_for_what_another_holds() {
    let story = |how: &str| {
        format!(
            "T0: L(C1) L(D) F(T1) U(D) L(C2) F(T2)
             T2: {how} L(A) U(A)
             T0: J(T2) U(C2) U(C1)
             T1: L(A) L(C2) L(D) U(D) U(C2) L(C1) U(C1) U(A)"
        )
    };
    let with_c1 = |found: Vec<String>| found.into_iter().filter(|it| it.contains("likely")).count();
    assert_eq!(with_c1(verdict(&story("T(A) U(A)"))) + 1, with_c1(verdict(&story(""))));
}

/// A reader's hold ends with its last release. All of T2 lies in T0's, and T3 cannot write meanwhile.
#[test]
fn a_lock_that_is_read_twice_is_held_until_its_last_release() {
    let story = |last: &str| {
        format!(
            "rwlock A
             T0: R(A) F(T2) R(A) F(T1)
             T2: L(B) L(C) U(C) U(B)
             T0: U(A) {last}
             T3: W(A) L(C) L(B) U(B) U(C) U(A)"
        )
    };
    assert_eq!(verdict(&story("J(T2) U(A)")), ["guarded circular-dependency: B C"]);
    assert_eq!(verdict(&story("U(A) J(T2)")), ["likely circular-dependency: B C"]);
}

/// One of two signallers has a deadline for the kept lock, or takes another of its class.
#[test]
fn another_can_signal_without_the_kept_lock() {
    let story = |other: &str| {
        format!(
            "T0: {other} U(A)
             T1: L(A1) L(Q) CW(Q,c)
             T0: CS(c)
             T1: CE(Q) U(Q) U(A1)
             T3: L(A1) U(A1) CS(c)"
        )
        .replace("U(A)", if other == "L(A2)" { "U(A2)" } else { "U(A1)" })
    };
    assert_eq!(verdict(&story("D(A1)")), ["possible wait-with-lock-held: Q A"]);
    assert_eq!(verdict(&story("L(A2)")), ["possible wait-with-lock-held: Q A"]);
}

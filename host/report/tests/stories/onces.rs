//! Controls of pthread_once: held while their routines run.

use crate::story::verdict;

const CYCLE: &str = "circular-dependency: C A";

fn is(grade: &str, story: &str) {
    assert_eq!(verdict(&format!("once C D\n{story}")), [format!("{grade} {CYCLE}")], "{story}");
}

fn is_nothing(story: &str) {
    let found = verdict(&format!("once C D\n{story}"));
    assert!(found.is_empty(), "{story}: {found:?}");
}

#[test]
fn what_a_routine_takes_must_not_be_held_in_a_call() {
    is("likely", "T1: OB(C) L(A) U(A) OE(C)\nT2: L(A) OC(C) U(A)");
    is("likely", "T1: OB(C) L(B) L(A) U(A) U(B) OE(C)\nT2: L(A) OC(C) U(A)");
    is_nothing("T1: OB(C) L(A) U(A) OE(C)\nT2: OC(C) L(A) U(A)");
    is_nothing("T1: OB(C) L(B) U(B) OE(C)\nT2: L(A) OC(C) U(A)");
    is_nothing("T1: OB(C) T(A) U(A) OE(C)\nT2: L(A) OC(C) U(A)");
    // By another control, the other routine takes it.
    is_nothing("T1: OB(C) L(A) U(A) OE(C) OB(D) L(B) U(B) OE(D)\nT2: L(A) OC(D) U(A)");
}

/// A thread that has called before finds the routine done.
#[test]
fn only_the_first_call_can_wait() {
    is_nothing("T1: OB(C) L(A) U(A) OE(C)\nT2: OC(C) L(A) OC(C) U(A)");
    is_nothing("T1: OB(C) L(A) U(A) OE(C) L(A) OC(C) U(A)");
    // What it has called before was another control, of a thread that had run this one's routine or not.
    let story = |by: &str| {
        format!("T1: OB(C) L(A) U(A) OE(C)\n{by}: OB(D) L(B) U(B) OE(D)\nT2: OC(D) L(A) OC(C) U(A)")
    };
    is("ordered", &story("T1"));
    is("likely", &story("T3"));
}

/// The routine has run before, by more than chance.
#[test]
fn what_comes_after_the_routine_in_every_run_is_ordered() {
    is("ordered", "T1: OB(C) L(A) U(A) OE(C) F(T2)\nT2: L(A) OC(C) U(A)");
    // T2 has called, and creates T3.
    is("ordered", "T1: OB(C) L(A) U(A) OE(C)\nT2: OC(C) F(T3)\nT3: L(A) OC(C) U(A)");
    is("likely", "T1: OB(C) L(A) U(A) OE(C)\nT2: F(T3) OC(C)\nT3: L(A) OC(C) U(A)");
    // The order of others: T1 takes B within A in the routine, T2 A within B after its call.
    let story = |t2: &str| {
        format!("once C\nT1: OB(C) L(A) L(B) U(B) U(A) OE(C)\nT2: {t2} L(B) L(A) U(A) U(B)")
    };
    assert_eq!(verdict(&story("OC(C)")), ["ordered circular-dependency: A B"]);
    assert_eq!(verdict(&story("")), ["likely circular-dependency: A B"]);
}

#[test]
fn a_lock_around_both_guards() {
    is("guarded", "T1: L(G) OB(C) L(A) U(A) OE(C) U(G)\nT2: L(G) L(A) OC(C) U(A) U(G)");
}

#[test]
fn a_wait_for_a_routine_that_waits_for_a_lock_is_a_deadlock() {
    let told = |first: &str| [format!("deadlocked circular-dependency: {first}")];
    assert_eq!(verdict("once C\nT1: OB(C)\nT2: L(A) OW(C)\nT1: B(A)"), told("A C"));
    assert_eq!(verdict("once C\nT2: L(A)\nT1: OB(C) B(A)\nT2: OW(C)"), told("C A"));
    // Two routines that call each other's control.
    let both = "once C D\nT1: OB(C)\nT2: OB(D)\nT1: OW(D)\nT2: OW(C)";
    assert_eq!(verdict(both), told("D C"));
    // A routine that calls its own.
    assert_eq!(verdict("once C\nT1: OB(C) OW(C)"), ["deadlocked recursive-locking: C"]);
    is_nothing("T1: OB(C)\nT2: OW(C)\nT1: L(A) U(A)");
}

/// T2 waits for T1's routine, and T0 for the end of T2.
#[test]
fn who_is_joined_may_wait_for_a_routine() {
    let story = |end: &str| {
        verdict(&format!("once C\nT0: F(T2)\nT1: OB(C) L(A) U(A) OE(C)\nT2: OC(C)\nT0: {end}"))
    };
    let found = story("L(A) J(T2) U(A)");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("likely circular-dependency: "), "{found:?}");
    assert!(story("J(T2) L(A) U(A)").is_empty());
    assert!(story("L(B) J(T2) U(B)").is_empty());
}

/// T1 had A when its routine was done, but gives it up and takes it again afterwards.
#[test]
fn a_wait_after_the_routine_takes_its_mutex_again() {
    let found = verdict(
        "once C
        T0: F(T1)
        T1: L(A) OB(C) L(B) U(B) OE(C) CB(A) CE(A) U(A)
        T0: L(A) OC(C) J(T1) U(A)",
    );
    assert_eq!(found, ["likely join-with-lock-held: A end of thread 2 (T1)"]);
}

/// T1 exists, so T0 had B; within that it took D, which T1 holds: so T0 has released D, and before that it
/// found the routine run.
#[test]
fn a_routine_that_must_be_over_by_then_is_waited_for_by_nobody() {
    let story = |t0: &str| {
        format!(
            "once C
             T2: L(B) OB(C) L(A) U(A) OE(C) U(B)
             T0: {t0}
             T1: L(D) L(A) OC(C) U(A) U(D)"
        )
    };
    let of = |t0: &str| verdict(&story(t0)).into_iter().find(|told| told.ends_with(CYCLE));
    assert_eq!(of("L(B) F(T1) L(D) U(B) OC(C) U(D)"), Some(format!("guarded {CYCLE}")));
    // It calls only after it has released D: that may come.
    assert_eq!(of("L(B) F(T1) L(D) U(B) U(D) OC(C)"), Some(format!("likely {CYCLE}")));
    // B is free when T0 takes D: then T1 may have been first.
    assert_eq!(of("L(B) F(T1) U(B) L(D) OC(C) U(D)"), Some(format!("likely {CYCLE}")));
}

#[test]
fn a_routine_that_does_no_more_than_join_is_one() {
    let story = |end: &str| {
        verdict(&format!("once C\nT0: F(T2) OB(C)\nT2: L(A) U(A)\nT0: {end}\nT1: L(A) OC(C) U(A)"))
    };
    assert_eq!(story("J(T2) OE(C)"), ["likely circular-dependency: C end of thread 2 (T2) A"]);
    assert!(story("OE(C) J(T2)").is_empty());
}

/// The same of a writer between two reads: T1, which writes, exists only once the routine is over.
#[test]
fn no_writer_that_comes_after_the_routine_comes_between_its_reads() {
    let story = |t0: &str| {
        verdict(&format!(
            "once C\nwriters A\nT2: L(B) OB(C) R(A) R(A) U(A) U(A) OE(C) U(B)\nT0: {t0}\nT1: W(A) U(A)"
        ))
    };
    let is_likely = |told: &String| told.starts_with("likely ");
    assert!(!story("L(B) F(T1) OC(C) U(B)").iter().any(is_likely));
    assert!(story("L(B) F(T1) U(B) OC(C)").iter().any(is_likely));
}

//! Threads that are joined, with locks held or by threads that are joined themselves.

use crate::story::verdict;

/// The finding about a join of T2 with A held.
const JOINED: &str = "join-with-lock-held: A end of thread 2 (T2)";

fn is(grade: &str, story: &str) {
    assert_eq!(verdict(story), [format!("{grade} {JOINED}")], "{story}");
}

#[test]
fn who_is_joined_must_not_need_what_the_joiner_holds() {
    is("likely", "T1: F(T2)\nT2: L(A) U(A)\nT1: L(A) J(T2) U(A)");
    is("likely", "T1: L(A) F(T2) U(A)\nT2: L(A) U(A)\nT1: L(A) J(T2) U(A)");
    is("likely", "T1: F(T2)\nT2: L(B) L(A) U(A) U(B)\nT1: L(A) J(T2) U(A)");
    is("likely", "spin A\nT1: F(T2)\nT2: L(A) U(A)\nT1: L(A) J(T2) U(A)");
    is("likely", "recursive A\nT1: F(T2)\nT2: L(A) U(A)\nT1: L(A) J(T2) U(A)");
    is("likely", "sem A\nT1: F(T2)\nT2: L(A) U(A)\nT1: L(A) J(T2) U(A)");
}

#[test]
fn who_needs_nothing_of_it_may_be_joined() {
    assert!(verdict("T1: F(T2)\nT2: L(B) U(B)\nT1: L(A) J(T2) U(A)").is_empty());
    assert!(verdict("T1: F(T2)\nT2: L(A) U(A)\nT1: L(A) U(A) J(T2)").is_empty());
    assert!(verdict("T1: F(T2)\nT2: T(A) U(A)\nT1: L(A) J(T2) U(A)").is_empty(), "it never waits");
    let handed_over = "sem A\nT1: F(T2)\nT2: L(A)\nT1: PO(A) L(A) J(T2)";
    assert!(verdict(handed_over).is_empty(), "{:?}", verdict(handed_over));
}

#[test]
fn who_can_back_out_is_possible() {
    is("possible", "T1: F(T2)\nT2: D(A) U(A)\nT1: L(A) J(T2) U(A)");
}

/// It may end before it comes to what is held.
#[test]
fn who_was_cancelled_is_possible() {
    is("possible", "T1: F(T2)\nT2: L(A) U(A)\nT1: CA(T2) L(A) J(T2) U(A)");
    // Another one was.
    is("likely", "T1: F(T2) F(T3)@9\nT2: L(A) U(A)\nT1: CA(T3) L(A) J(T2) U(A)");
}

/// A thread that takes a robust mutex with which another ended comes after all that this one did.
#[test]
fn who_died_with_a_robust_mutex_needs_nothing_any_more() {
    for story in [
        "robust A\nT1: F(T2)\nT2: L(A) EX\nT1: LD(A) J(T2) U(A)",
        "robust B\nT1: F(T2)\nT2: L(A) U(A) L(B) EX\nT1: LD(B) U(B) L(A) J(T2) U(A)",
    ] {
        assert!(verdict(story).is_empty(), "{:?}", verdict(story));
    }
    assert_eq!(
        verdict("robust A\nT1: F(T2)\nT2: L(C) L(A) U(C) EX\nT1: LD(A) L(C) U(C) U(A)"),
        ["ordered circular-dependency: A C"]
    );
    // Nobody learned of its death.
    is("likely", "robust A\nT1: F(T2)\nT2: L(A) U(A)\nT1: L(A) J(T2) U(A)");
    // Another thread is joined, which lives on.
    assert_eq!(
        verdict("robust A\nT1: F(T2) F(T3)\nT3: L(A) U(A)\nT2: L(A) EX\nT1: LD(A) J(T3) U(A)"),
        ["likely join-with-lock-held: A end of thread 3 (T3)"]
    );
    // Another thread has learned of it.
    is("likely", "robust A\nT1: F(T2) F(T3)\nT2: L(A) EX\nT3: LD(A) U(A)\nT1: L(A) J(T2) U(A)");
}

/// A thread that is past it in every run, by more than chance.
#[test]
fn what_comes_before_the_join_in_every_run_is_ordered() {
    is(
        "ordered",
        "semaphore 0 S
         T1: F(T2)
         T2: L(A) U(A) PO(S)
         T1: PW(S) L(A) J(T2) U(A)",
    );
    is(
        "ordered",
        "barrier 2 K
         T1: F(T2)
         T2: L(A) U(A) BA(K)
         T1: BA(K) BP(K)
         T2: BP(K)
         T1: L(A) J(T2) U(A)",
    );
    // And comes to it again.
    is(
        "likely",
        "semaphore 0 S
         T1: F(T2)
         T2: L(A) U(A) PO(S) L(A) U(A)
         T1: PW(S) L(A) J(T2) U(A)",
    );
}

/// A thread whose last act is a signal with the lock held announces its end, whether or not another
/// thread had to wait for it.
#[test]
fn who_signals_at_its_end_with_the_lock_held_is_possible() {
    is("possible", "T1: F(T2)\nT2: L(A) CS(c) U(A)\nT1: L(A) J(T2) U(A)");
    is("possible", "T1: F(T2)\nT2: L(A) U(A) L(A)@9 CS(c) U(A)\nT1: L(A) J(T2) U(A)");
    is("possible", "T1: F(T2)\nT2: L(A) L(B) CS(c) U(B) U(A)\nT1: L(A) J(T2) U(A)");
    // Something that it does again and again.
    is("likely", "T1: F(T2)\nT2: L(A)@9 CS(c) U(A) L(A)@9 CS(c) U(A)\nT1: L(A) J(T2) U(A)");
    // Long before, and without the lock.
    let work = "L(B) U(B) ".repeat(9);
    is("likely", &format!("T1: F(T2)\nT2: L(A) CS(c) U(A) {work}\nT1: L(A) J(T2) U(A)"));
    is("likely", "T1: F(T2)\nT2: L(A) U(A) CS(c)\nT1: L(A) J(T2) U(A)");
    is("likely", "T1: F(T2)\nT2: L(A) U(A) L(B) CS(c) U(B)\nT1: L(A) J(T2) U(A)");
}

#[test]
fn a_gate_that_is_held_around_a_join_is_waited_for_itself() {
    let story = "T1: F(T2)\nT2: L(G) L(A) U(A) U(G)\nT1: L(G) L(A) J(T2) U(A) U(G)";
    let end = "end of thread 2 (T2)";
    assert_eq!(
        verdict(story),
        [
            format!("likely join-with-lock-held: G {end}"),
            format!("guarded join-with-lock-held: A {end}")
        ]
    );
}

#[test]
fn joins_close_longer_cycles() {
    // T3 holds B and waits for A; T2, which T1 joins with A held, waits for B.
    let story = "
        T1: F(T2) F(T3)
        T2: L(B) U(B)
        T3: L(B) L(A) U(A) U(B)
        T1: L(A) J(T2) U(A) J(T3)";
    let told = "likely circular-dependency: A end of thread 2 (T2) B";
    assert_eq!(verdict(story), [told]);
    let without = "
        T1: F(T2) F(T3)
        T2: L(C) U(C)
        T3: L(B) L(A) U(A) U(B)
        T1: L(A) J(T2) U(A) J(T3)";
    assert!(verdict(without).is_empty());
}

#[test]
fn joins_of_threads_that_join() {
    let story = |taken: &str| {
        format!(
            "T1: F(T2)
             T2: F(T3)
             T3: L({taken}) U({taken})
             T2: J(T3)
             T1: L(A) J(T2) U(A)"
        )
    };
    let ends = "end of thread 2 (T2) end of thread 3 (T3)";
    assert_eq!(verdict(&story("A")), [format!("likely circular-dependency: A {ends}")]);
    assert!(verdict(&story("B")).is_empty());
}

#[test]
fn two_that_join_each_others_threads() {
    // T1 joins T3 with A held, and T2 joins T4 with B held; T3 needs B, T4 needs A.
    let story = "
        T0: F(T1) F(T2)
        T1: F(T3)
        T2: F(T4)
        T3: L(B) U(B)
        T4: L(A) U(A)
        T1: L(A) J(T3) U(A)
        T2: L(B) J(T4) U(B)";
    let ends = ["end of thread 4 (T3)", "end of thread 5 (T4)"];
    let told = format!("likely circular-dependency: A {} B {}", ends[0], ends[1]);
    assert_eq!(verdict(story), [told]);
}

/// By their classes only: another lock of those, or another thread of that creation.
#[test]
fn what_the_run_did_not_line_up_is_possible() {
    let other_lock = "T1: F(T2)\nT2: L(B) L(A1) U(A1) U(B)\nT1: L(A2) J(T2) U(A2)";
    let end = "end of a thread created at story.c:1001 (f1001)";
    assert_eq!(verdict(other_lock), [format!("possible join-with-lock-held: A {end}")]);
    let other_thread = "
        T1: F(T2)@7 F(T3)@7
        T2: L(B) U(B)
        T3: L(A) U(A)
        T1: L(A) J(T2) U(A) J(T3)";
    let end = "end of a thread created at story.c:7 (f7)";
    assert_eq!(verdict(other_thread), [format!("possible join-with-lock-held: A {end}")]);
}

/// Who waited on a condition may have waited to hear from the thread that it joins afterwards.
#[test]
fn a_join_after_a_condition_wait_is_possible_or_ordered() {
    is("possible", "T1: F(T2) L(M) CB(M)\nT2: L(A) U(A) L(M) U(M)\nT1: CE(M) U(M) L(A) J(T2) U(A)");
    // With the very mutex that it holds on: the thread had it meanwhile, to say that it ends.
    is("ordered", "T1: F(T2) L(A) CB(A)\nT2: L(A) U(A)\nT1: CE(A) J(T2) U(A)");
    // A signal before its creation, or with a mutex that it does not use, tells the thread nothing.
    is("likely", "T1: L(M) C(M) U(M) F(T2)\nT2: L(A) U(A) L(M) U(M)\nT1: L(A) J(T2) U(A)");
    is("likely", "T1: F(T2) L(M) C(M) U(M)\nT2: L(A) U(A)\nT1: L(A) J(T2) U(A)");
}

#[test]
fn readers_may_be_joined_by_readers_unless_a_writer_comes_between() {
    let story = |kind: &str, more: &str| {
        format!("{kind} A\nT1: F(T2)\nT2: R(A) U(A)\nT1: R(A) J(T2) U(A)\n{more}")
    };
    assert!(verdict(&story("rwlock", "T3: W(A) U(A)")).is_empty());
    assert!(verdict(&story("writers", "")).is_empty(), "no writer, no wait");
    is("likely", &story("writers", "T3: W(A) U(A)"));
    is("likely", "rwlock A\nT1: F(T2)\nT2: W(A) U(A)\nT1: R(A) J(T2) U(A)");
    is("likely", "rwlock A\nT1: F(T2)\nT2: R(A) U(A)\nT1: W(A) J(T2) U(A)");
}

#[test]
fn a_join_that_hangs_is_a_deadlock_and_told_once() {
    // From the oldest thread on, whichever waits first.
    let told = ["deadlocked join-with-lock-held: end of thread 2 (T2) A"];
    assert_eq!(verdict("T1: L(A) F(T2) JB(T2)\nT2: B(A)"), told);
    assert_eq!(verdict("T1: L(A) F(T2)\nT2: B(A)\nT1: JB(T2)"), told);
}

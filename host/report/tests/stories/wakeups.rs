//! Waits that keep a lock, and what those take that end them.

use std::mem::offset_of;

use lockwright_ledger::layout::bounded;
use lockwright_ledger::{Header, Ledger};
use lockwright_report::prose::told as told_of;

use crate::grades::with_word;
use crate::story::{report, told, verdict};

const LIKELY: &str = "likely wait-with-lock-held: M L";
const POSSIBLE: &str = "possible wait-with-lock-held: M L";
const COUNTED: &str = "ordered wait-with-lock-held: M L";

/// Both threads are there from the beginning, so that nothing orders them.
fn waits_while(others: &str) -> Vec<String> {
    let text = format!("T2: L(Z) U(Z)\nT1: L(L) L(M) CW(M,c)\n{others}\nT1: CE(M) U(M) U(L)");
    verdict(&text)
}

#[test]
fn who_signals_takes_the_kept_lock_on_its_way() {
    let text = "
        T2: L(L) U(L)
        T1: L(L) L(M) CW(M,c)
        T2: L(M) CS(c) U(M)
        T1: CE(M) U(M) U(L)";
    assert_eq!(verdict(text), [LIKELY]);
}

/// The grade of a story whose ledger has reached a bound, and what the evidence says last.
fn at_bound(text: &str, offset: usize, word: u32) -> (String, String) {
    let found = report(Ledger::from_bytes(with_word(text, offset, word)).unwrap());
    let evidence = told_of(&found.findings[0]).evidence;
    (told(&found)[0].clone(), evidence.last().cloned().unwrap_or_default())
}

const NEEDS: &str =
    "T2: L(L) U(L)\nT1: L(L) L(M) CW(M,c)\nT2: L(M) CS(c) U(M)\nT1: CE(M) U(M) U(L)";
const DOES_WITHOUT: &str =
    "T2: L(Z) U(Z)\nT1: L(L) L(M) CW(M,c)\nT2: L(M) CS(c) U(M)\nT1: CE(M) U(M) U(L)";
const THROUGH: &str = "
    T3: L(N) L(L) U(L) U(N)
    T1: L(L) L(M) CW(M,c)
    T2: L(N) U(N) L(M) CS(c) U(M)
    T1: CE(M) U(M) U(L)";
const LIKELY_THROUGH: &str = "likely wait-with-lock-held: M L N";

/// Of later signals there is no record: one may come from a thread that needs the lock, or can do
/// without.
#[test]
fn signals_beyond_a_bound_may_be_any() {
    let at_bound = |text, bits| at_bound(text, offset_of!(Header, bounded), bits);
    for (text, below) in [(NEEDS, LIKELY), (DOES_WITHOUT, COUNTED), (THROUGH, LIKELY_THROUGH)] {
        assert_eq!(at_bound(text, 0).0, below);
        let (found, evidence) = at_bound(text, bounded::SIGNALLERS);
        assert!(found.starts_with(POSSIBLE), "{found}");
        assert!(evidence.ends_with("the ledger has reached a bound of signals"), "{evidence}");
    }
}

#[test]
fn a_wait_beyond_a_bound_may_be_ordered_with_the_signal() {
    let at_bound = |text, until| at_bound(text, offset_of!(Header, orders_until), until);
    for (text, before) in [(NEEDS, LIKELY), (THROUGH, LIKELY_THROUGH)] {
        assert_eq!(at_bound(text, u32::MAX).0, before);
        let (found, evidence) = at_bound(text, 1);
        assert!(found.starts_with(POSSIBLE), "{found}");
        assert!(evidence.contains("came after a bound of the ledger"), "{evidence}");
    }
    // That nobody needs the lock does not rest on what is concurrent.
    assert_eq!(at_bound(DOES_WITHOUT, 1).0, COUNTED);
}

#[test]
fn each_round_is_looked_at_by_itself() {
    // It takes the lock between its signals, but not before the first; either may be what wakes
    // either wait.
    let first = "T2: L(M) CS(c) U(M)";
    let rounds =
        format!("{first}\nT1: CE(M) U(M) U(L)\nT2: L(L) U(L)\nT1: L(L) L(M) CW(M,c)\n{first}");
    assert_eq!(waits_while(first), [COUNTED]);
    assert_eq!(waits_while(&rounds), [POSSIBLE; 2]);
}

#[test]
fn who_signals_takes_the_kept_lock_afterwards() {
    let text = "
        T1: L(L) L(M) CW(M,c)
        T2: L(M) CS(c) U(M)
        T1: CE(M) U(M) U(L)
        T2: L(L) U(L)";
    assert_eq!(verdict(text), [COUNTED]);
}

#[test]
fn nobody_signals() {
    assert_eq!(waits_while(""), [POSSIBLE]);
}

#[test]
fn another_signals_without_it() {
    let text = "
        T2: L(L) U(L)
        T1: L(L) L(M) CW(M,c)
        T3: L(M) CS(c) U(M)
        T2: L(M) CS(c) U(M)
        T1: CE(M) U(M) U(L)";
    assert_eq!(verdict(text), [POSSIBLE]);
}

#[test]
fn what_it_told_others_in_between_may_order_the_two() {
    let text = "
        T2: L(L) U(L) SAYS
        T1: L(L) L(M) CW(M,c)
        T2: L(M) CS(c) U(M)
        T1: CE(M) U(M) U(L)";
    assert_eq!(verdict(text), [POSSIBLE]);
}

#[test]
fn what_comes_before_a_creation_is_on_no_way() {
    let text = "
        T1: L(L) U(L) F(T2)
        T2: L(L) L(M) CW(M,c)
        T1: L(M) CS(c) U(M)
        T2: CE(M) U(M) U(L)";
    assert_eq!(verdict(text), [COUNTED]);
}

#[test]
fn a_trylock_waits_for_nobody() {
    let text = "
        T2: T(L) U(L)
        T1: L(L) L(M) CW(M,c)
        T2: L(M) CS(c) U(M)
        T1: CE(M) U(M) U(L)";
    assert_eq!(verdict(text), [COUNTED]);
}

#[test]
fn another_lock_of_the_class_may_be_the_same_in_another_run() {
    let text = "
        T2: L(L2) U(L2)
        T1: L(L1) L(M) CW(M,c)
        T2: L(M) CS(c) U(M)
        T1: CE(M) U(M) U(L1)";
    assert_eq!(verdict(text), [POSSIBLE]);
}

#[test]
fn a_thread_that_waits_with_the_lock_held_is_not_woken_by_itself() {
    let text = "
        T1: L(L) L(M) CW(M,c)
        T1: CE(M) CS(c) U(M) U(L)";
    assert_eq!(verdict(text), [POSSIBLE]);
}

#[test]
fn who_posts_takes_the_kept_lock_on_its_way() {
    let text = "
        semaphore 0 S
        T2: L(L) U(L)
        T1: L(L) PB(S)
        T2: PO(S)
        T1: PW(S) U(L)";
    assert_eq!(verdict(text).len(), 1);
    assert!(verdict(text)[0].starts_with("likely wait-with-lock-held:"), "{:?}", verdict(text));
    let after = text.replace("L(L) U(L)", "L(Z) U(Z)").replace("PO(S)", "PO(S) L(L) U(L)");
    // That a lock is kept says nothing by itself: posts end such waits everywhere.
    assert!(verdict(&after).is_empty(), "{:?}", verdict(&after));
}

/// Found by the oracle: if a post from before is still there, its poster need not post again.
#[test]
fn a_post_that_is_there_is_not_waited_for() {
    let early = "
        semaphore 0 S
        T2: PO(S) L(L) U(L)
        T1: L(L) PK(S)
        T2: PO(S)
        T1: U(L)";
    let told = verdict(early);
    assert!(told.len() == 1 && told[0].starts_with("possible wait-with-lock-held:"), "{told:?}");
    // Nor in the semaphore's value from the beginning.
    let value = early.replace("semaphore 0", "semaphore 1").replacen("T2: PO(S)", "T2:", 1);
    let told = verdict(&value);
    assert!(told.len() == 1 && told[0].starts_with("possible wait-with-lock-held:"), "{told:?}");
}

/// Found by the oracle: the lock is held at the second post, but who took it has posted since.
#[test]
fn a_post_on_the_way_past_the_lock_may_be_enough() {
    let text = "
        semaphore 0 S
        T1: L(A2) PB(S)
        T2: L(A1) PO(S)
        T1: PW(S)
        T2: PO(S) U(A1)
        T1: U(A2) L(A1) PK(S) U(A1)";
    let told = verdict(text);
    assert!(told.iter().all(|told| !told.starts_with("likely")), "{told:?}");
}

/// T2 signals after B; T3 has B and waits for L, which T1 keeps in its wait.
#[test]
fn who_signals_needs_a_lock_whose_holder_needs_the_kept_one() {
    let story = |third: &str, second: &str| {
        verdict(&format!(
            "T3: {third}
             T1: L(L) L(M) CW(M,c)
             T2: {second}
             T1: CE(M) U(M) U(L)"
        ))
    };
    let chain = "L(B) L(L) U(L) U(B)";
    let signal = "L(M) CS(c) U(M)";
    let told = |grade: &str| format!("{grade} wait-with-lock-held: M L B");
    assert_eq!(story(chain, &format!("L(B) U(B) {signal}")), [told("likely")]);
    // With the mutex of the wait, which that gives up, and takes again at its end with L held.
    let found = story(chain, "L(M) L(B) U(B) CS(c) U(M)");
    assert_eq!(found, ["likely circular-dependency: B L M".to_owned(), told("likely")]);
    let longer = "L(B) L(C) U(C) U(B)\nT4: L(C) L(L) U(L) U(C)";
    let found = story(longer, &format!("L(B) U(B) {signal}"));
    assert_eq!(found, ["likely wait-with-lock-held: M L B C"]);
    let timed = story("L(B) D(L) U(L) U(B)", &format!("L(B) U(B) {signal}"));
    assert_eq!(timed, [told("possible")]);
    // T3 was signalled before.
    let told_before = format!("L(P) CW(P,p)\nT4: CS(p)\nT3: CE(P) U(P) {chain}");
    assert_eq!(story(&told_before, &format!("L(B) U(B) {signal}")), [told("possible")]);
    for (third, second) in [
        // The other way round, or not at all.
        ("L(L) L(B) U(B) U(L)", format!("L(B) U(B) {signal}")),
        (chain, format!("L(C) U(C) {signal}")),
        (chain, format!("{signal} L(B) U(B)")),
        (chain, format!("T(B) U(B) {signal}")),
        // Another signals, which needs nothing.
        (chain, format!("L(B) U(B) {signal}\nT4: {signal}")),
    ] {
        assert_eq!(story(third, &second), [COUNTED], "{third} / {second}");
    }
}

#[test]
fn who_posts_needs_a_lock_whose_holder_needs_the_kept_one() {
    let story = |third: &str| {
        verdict(&format!(
            "semaphore 0 S
             T3: {third}
             T1: L(L) PB(S)
             T2: L(B) U(B) PO(S)
             T1: PW(S) U(L)"
        ))
    };
    let found = story("L(B) L(L) U(L) U(B)");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("likely wait-with-lock-held: "), "{found:?}");
    assert!(story("L(L) L(B) U(B) U(L)").is_empty());
}

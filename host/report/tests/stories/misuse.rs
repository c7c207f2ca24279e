//! Misuse that was met while it happened: what the report makes of the engine's rows, even of rows
//! that no engine would write.

use lockwright_report::prose::action::phrase;
use lockwright_report::prose::told as told_of;
use std::fs;
use std::path::Path;

use lockwright_analysis::finding::Report;
use lockwright_engines::lockdep::{Ident, Misuse};
use lockwright_ledger::rows::{LeftHeld, finding_kind, unsafe_call};
use lockwright_report::text::{TextOptions, render};

use crate::story::{Story, told};

const PLAIN: TextOptions = TextOptions { colour: false, all: true, width: 100 };

/// T1 holds B, has let A go, and does something wrong to A; T2 has its part in it.
fn met(kind: u8, fill: impl FnOnce(&mut Misuse)) -> Report {
    let mut story = Story::new();
    story.tell("T1: L(A)@1 L(B)@2 U(A)\nT2: L(C)@3 U(C)");
    let other_stack = story.stack(30);
    story.uses_with_open(unsafe_call::STDIO, 15);
    story.misuse("T1", "A", 10, |what| {
        (what.kind, what.other_thread, what.other_stack) = (kind, 2, other_stack);
        fill(what);
    });
    story.report()
}

fn actions(report: &Report) -> Vec<(u32, &str)> {
    report.findings[0]
        .steps
        .iter()
        .map(|step| (step.thread.number, &*phrase(step.action).leak()))
        .collect()
}

#[test]
fn both_sides_are_told() {
    use finding_kind::*;
    for (kind, name, here, there) in [
        (BAD_UNLOCK, "bad-unlock-balance", "unlocks", "took"),
        (HELD_FREED, "held-lock-freed", "frees", "took"),
        (HELD_DESTROYED, "held-lock-destroyed", "destroys", "took"),
        (HELD_INITIALISED, "held-lock-initialised", "initialises", "took"),
        (USE_AFTER_DESTROY, "use-after-destroy", "uses after its destruction", "destroyed"),
    ] {
        let report = met(kind, |_| {});
        assert_eq!(told(&report), [format!("likely {name}: A")]);
        assert_eq!(actions(&report), [(1, here), (2, there)], "{name}");
        let finding = &report.findings[0];
        assert!(
            told_of(finding).evidence[0].contains("thread 2 (T2)"),
            "{:?}",
            told_of(finding).evidence
        );
        assert_eq!(finding.steps[0].held.len(), 1, "B, too");
        assert_eq!(finding.steps[0].held[0].lock, None);
        assert!(!finding.steps[0].stack.is_empty() && !finding.steps[1].stack.is_empty());
        assert!(finding.locks[0].addr.is_some());
    }
}

#[test]
fn one_side_alone() {
    use finding_kind::*;
    let alone = |what: &mut Misuse| (what.other_thread, what.other_stack) = (0, 0);
    for (kind, name, action) in [
        (BAD_UNLOCK, "bad-unlock-balance", "unlocks"),
        (USE_AFTER_DESTROY, "use-after-destroy", "uses after its destruction"),
        (UNLOCK_INCONSISTENT, "unlock-inconsistent", "unlocks"),
        (NOT_HELD, "lock-not-held", "asserts to hold"),
    ] {
        let report = met(kind, alone);
        assert_eq!(told(&report), [format!("likely {name}: A")]);
        assert_eq!(actions(&report), [(1, action)], "{name}");
    }
}

#[test]
fn an_unlock_that_the_lock_refuses_has_failed() {
    let refused = |other: u32| {
        let report = met(finding_kind::BAD_UNLOCK, |what| {
            (what.detail, what.other_thread) = (1, other);
            if other == 0 {
                what.other_stack = 0;
            }
        });
        assert_eq!(told(&report), ["likely bad-unlock-balance: A"]);
        told_of(&report.findings[0]).evidence.clone()
    };
    for (other, why) in [(2, "(T2) took it"), (0, "(T1) did not hold it"), (1, "(T1) took it, but")]
    {
        let evidence = refused(other);
        assert!(evidence[0].contains(why), "{evidence:?}");
        assert!(evidence[1].contains("EPERM"), "{evidence:?}");
    }
}

#[test]
fn a_pin_is_the_holders_own() {
    let report = met(finding_kind::UNPINNED, |what| what.other_thread = 0);
    assert_eq!(told(&report), ["likely unpinned: A"]);
    assert_eq!(actions(&report), [(1, "unlocks"), (1, "pinned")]);
}

#[test]
fn what_spins_is_named_beside_what_sleeps() {
    let mut story = Story::new();
    story.tell("spin S\nT1: L(C) L(S) T(B)");
    let spinning = story.ident("S").inst();
    story.misuse("T1", "A", 10, |what| {
        (what.kind, what.detail) = (finding_kind::WAIT_CONTEXT, spinning.into());
    });
    let report = story.report();
    assert_eq!(told(&report), ["likely invalid-wait-context: A S"]);
    assert_eq!(actions(&report), [(1, "acquires")]);
}

#[test]
fn unsafe_calls_are_named_with_their_signal() {
    for (call, name) in [(unsafe_call::MALLOC, "malloc/free"), (unsafe_call::STDIO, "stdio")] {
        let mut story = Story::new();
        story.tell("T1: L(A)");
        story.misuse("T1", "A", 10, |what| {
            (what.kind, what.detail) = (finding_kind::UNSAFE_CALL, 14);
            (what.addr, what.ident) = (call, Ident::NONE);
        });
        // Others do not count, nor does what is not called in the handler.
        story.uses_with_open(call, 15);
        story.uses_with_open(3 - call, 14);
        let report = story.report();
        assert_eq!(told(&report), [format!("guarded inconsistent-state: {name}")]);
        let evidence = &told_of(&report.findings[0]).evidence;
        assert!(evidence[1].contains("this run did not use it outside"), "{evidence:?}");
        story.uses_with_open(call, 14);
        let report = story.report();
        assert_eq!(told(&report), [format!("likely inconsistent-state: {name}")]);
        assert!(
            told_of(&report.findings[0]).title.contains("SIGALRM"),
            "{}",
            told_of(&report.findings[0]).title
        );
    }
}

#[test]
fn what_a_handler_calls_in_many_places_is_one_finding() {
    let mut story = Story::new();
    story.tell("T1: L(A)");
    for (site, signal) in [(10, 14), (11, 14), (12, 14), (10, 15), (11, 15)] {
        story.uses_with_open(unsafe_call::MALLOC, signal);
        story.misuse("T1", "A", site, |what| {
            (what.kind, what.detail) = (finding_kind::UNSAFE_CALL, signal.into());
            (what.addr, what.ident) = (unsafe_call::MALLOC, Ident::NONE);
        });
    }
    let report = story.report();
    let name = "likely inconsistent-state: malloc/free";
    assert_eq!(told(&report), [format!("{name} +2"), format!("{name} +1")]);
    for (finding, signal) in report.findings.iter().zip(["SIGALRM", "SIGTERM"]) {
        assert!(told_of(finding).title.contains(signal), "{}", told_of(finding).title);
    }
}

#[test]
fn places_that_are_the_same_to_a_reader_are_one_finding() {
    let mut story = Story::new();
    story.tell("T1: L(A1) U(A1) L(A2) U(A2)");
    for lock in ["A1", "A2", "A1"] {
        story.misuse("T1", lock, 10, |what| what.kind = finding_kind::BAD_UNLOCK);
    }
    assert_eq!(told(&story.report()), ["likely bad-unlock-balance: A +2"]);
}

/// A misuse does not replace a finding about order: a cycle of the same locks is still reported.
#[test]
fn misuse_stands_for_no_cycle() {
    let mut story = Story::new();
    story.tell("T1: L(A) L(B) U(B) U(A)\nT2: L(B) L(A) U(A)");
    story.misuse("T2", "A", 10, |what| what.kind = finding_kind::WAIT_HELD);
    let told = told(&story.report());
    assert_eq!(told, ["likely circular-dependency: A B", "possible wait-with-lock-held: A B"]);
}

#[test]
fn rows_that_make_no_sense_are_survived() {
    for kind in 0..=u8::MAX {
        for wild in [0, 1, u32::MAX] {
            let report = met(kind, |what| {
                (what.other_thread, what.other_stack) = (wild, wild);
                (what.addr, what.detail) = (u64::from(wild), u64::MAX);
                what.ident = Ident::new(wild, wild);
            });
            render(&report, &PLAIN);
        }
    }
}

/// The words of every kind, without sources. `LOCKWRIGHT_BLESS=1` rewrites them.
#[test]
fn every_kind_reads_well() {
    let mut text = String::new();
    use finding_kind::*;
    for kind in (BAD_UNLOCK..=WAIT_CONTEXT).chain([LEFT_HELD]) {
        let others: &[u32] = match kind {
            BAD_UNLOCK => &[0, 2],
            USE_AFTER_DESTROY => &[0, 2],
            HELD_FREED | HELD_DESTROYED | HELD_INITIALISED | FORK_HELD | COND_MISMATCH => &[2],
            EXIT_HELD | UNPINNED => &[1],
            // In use with the signal open, and not.
            UNSAFE_CALL => &[0, 1],
            // Released in other passes, or not; and at the exit.
            LEFT_HELD => &[1, 2, 3],
            _ => &[0],
        };
        for &other in others {
            let report = met(kind, |what| {
                what.other_thread = other;
                if other == 0 {
                    what.other_stack = 0;
                }
                what.detail = if kind == COND_MISMATCH { 0x4000 } else { 0 };
                if kind == LEFT_HELD {
                    let (inside, exits) = (u8::from(other != 2), other == 3);
                    what.other_thread = 1;
                    what.detail = LeftHeld { inside, exits, ..LeftHeld::default() }.bits();
                }
                if kind == UNSAFE_CALL {
                    (what.addr, what.ident, what.detail) =
                        (unsafe_call::STDIO, Ident::NONE, 15 - u64::from(other));
                }
            });
            let finding = render(&report, &PLAIN);
            text += finding.split("lockwright: ").next().unwrap();
        }
    }
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let path = home.join("tests/golden/misuse.txt");
    if std::env::var_os("LOCKWRIGHT_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{} differs; LOCKWRIGHT_BLESS=1 writes it anew", path.display());
}

/// A lock that another thread has unlocked is no longer held by the thread that took it. Taking it
/// again is no recursion, and a lock taken then is not taken inside.
#[test]
fn a_lock_that_another_thread_unlocked_is_held_no_more() {
    for story in [
        "T1: L(A)\nT2: UO(A)\nT1: L(A) U(A)",
        "T1: L(A)\nT2: UO(A)\nT1: L(B) U(B)\nT2: L(B) L(A) U(A) U(B)",
        "T1: L(B) L(A)\nT2: UO(A)\nT1: U(B) L(A) U(A)",
    ] {
        let report = Story::new().tell(story).report();
        assert_eq!(told(&report), ["likely bad-unlock-balance: A"], "{story}");
    }
}

#[test]
fn a_read_lock_that_is_handed_on_is_untidy() {
    let verdicts = |story: &str| told(&Story::new().tell("rwlock A").tell(story).report());
    let handed_on = ["untidy bad-unlock-balance: A"];
    assert_eq!(verdicts("T1: R(A)\nT2: UO(A)"), handed_on);
    assert_eq!(verdicts("T1: R(A) EX\nT2: UO(A)"), handed_on);
    assert_eq!(verdicts("T1: R(A) EX"), ["likely exit-with-lock-held: A"]);
    let written = ["likely bad-unlock-balance: A", "likely exit-with-lock-held: A"];
    let mut told = verdicts("T1: W(A) EX\nT2: UO(A)");
    told.sort();
    assert_eq!(told, written);
    // Only one of the two readers' locks was handed on.
    let mut told = verdicts("T1: R(A)@1 EX@9\nT2: R(A)@1 EX@9\nT3: UO(A)");
    told.sort();
    assert_eq!(told, ["likely exit-with-lock-held: A +1", handed_on[0]]);
}

#[test]
fn what_sleeps_with_a_spinlock_held_is_told_of_calls_and_of_locks() {
    let sleeping =
        |story: &str| told(&Story::new().tell("spin S P\nrwlock R").tell(story).report());
    let alone = ["possible sleep-with-spinlock-held: S"];
    assert_eq!(sleeping("T1: L(S) SL(nanosleep) U(S)"), alone);
    assert_eq!(sleeping("T1: L(A) L(S) SL(pthread_join) U(S) U(A)"), alone, "what else is held");
    assert_eq!(sleeping("T1: L(S) L(P) SL(read) U(P) U(S)"), alone, "the outermost");
    let twice = ["possible sleep-with-spinlock-held: S +1"];
    assert_eq!(sleeping("T1: L(S) SL(read)@7 SL(read)@7 U(S)"), twice);
    let lock = ["possible sleep-with-spinlock-held: A S"];
    assert_eq!(sleeping("T1: L(S) L(A) U(A) U(S)"), lock);
    assert_eq!(
        sleeping("T1: T(S) D(A) U(A) U(S)"),
        lock,
        "a spinlock is held however it was taken"
    );
    let read = ["possible sleep-with-spinlock-held: R S"];
    assert_eq!(sleeping("T1: L(S) R(R) U(R) U(S)"), read);
    for fine in [
        "T1: L(S) U(S) SL(read)",
        "T1: L(A) SL(read) U(A)",
        "T1: L(S) T(A) U(A) U(S)",
        "T1: L(S) L(P) U(P) U(S)",
        "T1: L(A) L(S) U(S) U(A)",
        "T1: L(S) L(P) U(S) U(P) SL(read)",
        "T1: SLEEPS(S) L(S) SL(read) U(S)",
    ] {
        assert!(sleeping(fine).is_empty(), "{fine}");
    }
    assert_eq!(
        sleeping("T1: SPINS(A) L(A) SL(read) U(A)"),
        ["possible sleep-with-spinlock-held: A"]
    );
}

#[test]
fn a_lock_that_is_never_released_after_its_function_is_leaked() {
    let verdicts = |story: &str| told(&Story::new().tell(story).report());
    let (likely, possible) = (["likely leaked-lock: A"], ["possible leaked-lock: A"]);
    // The same call's lock is released inside in other passes, before that or after.
    assert_eq!(verdicts("T1: L(A)@1 U(A) L(A)@1 LI(A)"), likely);
    assert_eq!(verdicts("T1: L(A)@1 LH(A) IN@1"), likely);
    assert_eq!(verdicts("T1: L(B) L(A)@1 LI(A) U(B)"), likely, "out of order");
    assert_eq!(verdicts("recursive A\nT1: L(A)@1 LI(A)"), likely);
    // Others want it.
    assert_eq!(verdicts("T1: L(A)@1 U(A) L(A)@2 LH(A)"), possible);
    assert_eq!(verdicts("T1: L(A)@1 LH(A)\nT2: B(A)@2"), possible);
    // Nobody does.
    assert_eq!(verdicts("T1: L(A)@1 LH(A)"), ["untidy leaked-lock: A"]);
    for fine in [
        // The function's caller releases it: in this pass, in another, or elsewhere.
        "T1: L(A)@1 LI(A) U(A)",
        "T1: L(A)@1 LI(A)@9 U(A) L(A)@1 LI(A)@9",
        "T1: L(A1)@1 LI(A1)@9\nT2: L(A2)@1 LI(A2)@9 U(A2)",
        "T1: L(A)@1 LI(A) OUT@1",
        "T1: L(B) L(A)@1 LI(A) U(B) U(A)",
    ] {
        assert!(verdicts(fine).is_empty(), "{fine}: {:?}", verdicts(fine));
    }
    // Others tell more.
    assert_eq!(verdicts("T1: L(A)@1 LI(A) EX"), ["likely exit-with-lock-held: A"]);
    assert_eq!(verdicts("T1: L(A)@1 LI(A)\nT2: UO(A)"), ["likely bad-unlock-balance: A"]);
}

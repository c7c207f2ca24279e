//! Deadlocks met while the program hangs in them.

use crate::story::{Story, told, verdict};
use lockwright_analysis::finding::action::Action;
use lockwright_report::prose::told as told_of;

#[test]
fn two_threads_in_a_deadlock() {
    let report = Story::new().tell("T1: L(A)@1\nT2: L(B)@2\nT1: B(B)@3\nT2: B(A)@4").report();
    assert_eq!(told(&report).len(), 1, "the cycle itself is not told again");
    let finding = &report.findings[0];
    assert!(told(&report)[0].starts_with("deadlocked circular-dependency"));
    assert!(
        told_of(finding).title.starts_with("two threads wait for each other: "),
        "{}",
        told_of(finding).title
    );
    assert_eq!(finding.steps.len(), 2);
    for (i, step) in finding.steps.iter().enumerate() {
        assert_eq!(step.lock, i);
        assert_eq!(step.action, Action::WaitsFor);
        assert_eq!(step.held.len(), 1);
        assert_eq!(step.held[0].lock, Some(1 - i));
        assert!(!step.stack.is_empty() && !step.held[0].stack.is_empty());
    }
}

#[test]
fn five_philosophers_in_a_deadlock() {
    let mut story = Story::new();
    for i in 0..5 {
        story.tell(&format!("T{i}: L(F{i})"));
    }
    for i in 0..5 {
        story.tell(&format!("T{i}: B(F{})", (i + 1) % 5));
    }
    assert_eq!(told(&story.report()), ["deadlocked circular-dependency: F F F F F"]);
}

#[test]
fn a_join_closes_the_circle() {
    let report = Story::new().tell("T1: L(A) F(T2)\nT2: B(A)\nT1: JB(T2)").report();
    assert!(told(&report)[0].starts_with("deadlocked join-with-lock-held"), "{:?}", told(&report));
    let kinds: Vec<_> = report.findings[0].locks.iter().map(|lock| lock.kind.to_string()).collect();
    assert!(["thread", "mutex"].iter().all(|kind| kinds.iter().any(|it| it == kind)), "{kinds:?}");
}

#[test]
fn waiting_is_no_deadlock() {
    assert!(verdict("T1: L(A)\nT2: L(B) B(A)").is_empty());
}

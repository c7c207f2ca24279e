//! Several processes of one run.

use lockwright_analysis::finding::Waiting;
use lockwright_ledger::Ledger;

use crate::story::{Story, reports, told};

const ABBA: &str = "T1: L(A)@1 L(B)@2 U(B) U(A)\nT2: L(B)@3 L(A)@4 U(A) U(B)";

#[test]
fn a_child_knows_its_locks_by_the_parents_names() {
    let mut parent = Story::new();
    parent.tell("T1: L(A) L(B) U(B) U(A)");
    let mut child = parent.fork();
    child.tell(ABBA);
    let report = reports(&[child.ledger(), parent.ledger()]);
    assert_eq!(told(&report), ["likely circular-dependency: A B"]);
    assert_eq!(report.findings[0].pid, 43);
    let pids: Vec<u32> = report.processes.iter().map(|process| process.pid).collect();
    assert_eq!(pids, [42, 43], "in order of start");
}

#[test]
fn without_the_parents_ledger_there_is_still_a_finding() {
    let mut parent = Story::new();
    parent.tell("T1: L(A) U(A) L(B) U(B)");
    let mut child = parent.fork();
    child.tell(ABBA);
    let report = reports(&[child.ledger()]);
    assert!(
        told(&report)[0].starts_with("likely circular-dependency: mutex "),
        "{:?}",
        told(&report)
    );
}

/// Annotations that the program made before the fork hold in the child.
#[test]
fn a_child_knows_what_its_parent_said_of_the_locks() {
    let nesting = "T1: L(G) L(A1) L(A2) U(A2) U(A1) L(A2) L(A1) U(A1) U(A2) U(G)";
    let mut parent = Story::new();
    parent.tell("T1: L(G) U(G) L(A1) U(A1) L(A2) U(A2) L(B) U(B) L(S) U(S)");
    let mut unsaid = parent.fork();
    unsaid.tell(nesting).tell("T2: L(S) L(B) U(B) U(S)");
    let report = reports(&[unsaid.ledger(), parent.ledger()]);
    assert!(!told(&report).is_empty(), "without a word it is a finding");

    parent.tell("T1: NEST(A1,G) SPINS(S)");
    let mut child = parent.fork();
    child.tell(nesting).tell("T2: L(S) L(B) U(B) U(S)");
    let report = reports(&[child.ledger(), parent.ledger()]);
    assert_eq!(told(&report), ["likely invalid-wait-context: B S"]);
}

#[test]
fn what_two_processes_do_alike_is_told_once() {
    let mut parent = Story::new();
    parent.tell(ABBA);
    let mut child = parent.fork();
    child.tell(ABBA);
    let report = reports(&[parent.ledger(), child.ledger()]);
    assert_eq!(told(&report), ["likely circular-dependency: A B +1"]);
    assert_eq!(report.summary.processes, 2);
}

/// Waiting threads are reported for a process that was killed: not for one that has exited, and not
/// before an exec, which ends all waits.
#[test]
fn who_waits_is_told_of_the_last_program_that_a_process_was() {
    let hung = |start_ns: u64| {
        let mut story = Story::new();
        story.tell("T1: L(A)").tell("T2: B(A)").started_at(start_ns);
        story
    };
    let waiting = |stories: &mut [Story]| -> Vec<(usize, u32, Vec<u32>)> {
        let ledgers: Vec<Ledger> = stories.iter_mut().map(Story::ledger).collect();
        let waiting = reports(&ledgers).waiting;
        let holders = |w: &Waiting| w.holders.iter().map(|holder| holder.thread.number).collect();
        waiting.iter().map(|w| (w.process, w.thread.number, holders(w))).collect()
    };
    let mut before = hung(1_000);
    assert_eq!(waiting(std::slice::from_mut(&mut before)), [], "it has exited");
    before.was_killed();
    assert_eq!(waiting(std::slice::from_mut(&mut before)), [(0, 2, vec![1])]);
    let mut after = hung(2_000);
    after.was_killed();
    assert_eq!(waiting(&mut [before, after]), [(1, 2, vec![1])]);
}

//! Several runs: what they make together, and no single one shows.

use lockwright_analysis::finding::Grade;
use lockwright_analysis::merge::Merged;
use lockwright_report::prose::told as told_of;
use lockwright_report::text::{TextOptions, render};

use crate::story::{merged, told, verdict};

const AB: &str = "T1: L(A) L(B) U(B) U(A)";
const BA: &str = "T1: L(B) L(A) U(A) U(B)";
const AB_GUARDED: &str = "T1: L(G) L(A) L(B) U(B) U(A) U(G)";
const BA_GUARDED: &str = "T1: L(G) L(B) L(A) U(A) U(B) U(G)";
const POSSIBLE: &str = "possible circular-dependency: A B";

fn together(stories: &[&str]) -> Vec<String> {
    told(&merged(stories).report)
}

/// The runs that the steps of the only finding come from.
fn origins(merged: &Merged) -> Vec<usize> {
    let findings = &merged.report.findings;
    assert_eq!(findings.len(), 1, "{:?}", told(&merged.report));
    findings[0].origins.iter().map(|origin| origin.run).collect()
}

#[test]
fn each_run_takes_one_order() {
    assert!(verdict(AB).is_empty() && verdict(BA).is_empty());
    assert_eq!(together(&[AB, BA]), [POSSIBLE]);
    assert_eq!(origins(&merged(&[AB, BA])), [1, 2]);
    assert_eq!(origins(&merged(&[AB, AB, AB, BA])), [1, 4]);
    assert!(together(&[AB, AB]).is_empty());
}

#[test]
fn the_evidence_names_the_runs() {
    let report = merged(&[AB, BA]).report;
    let finding = &report.findings[0];
    assert_eq!(told_of(finding).title, "`A` and `B` are taken in both orders, in different runs");
    assert_eq!(told_of(finding).evidence[0], "no process alone took both orders");
    assert_eq!(told_of(finding).evidence[1], "run 1, process 42: thread 1 (T1) took `A`, then `B`");
    assert_eq!(told_of(finding).evidence[2], "run 2, process 42: thread 1 (T1) took `B`, then `A`");
    assert!(
        told_of(finding).evidence[3].contains("cannot be compared"),
        "{:?}",
        told_of(finding).evidence
    );
    assert_eq!(told_of(finding).evidence[4], "run 1 is run-1, run 2 is run-2");
    assert_eq!(finding.pid, 0, "it is of no one process");
    let options = TextOptions { colour: false, all: false, width: 100 };
    let text = render(&report, &options);
    for place in [
        "note: run 1, process 42: thread 1 (T1) acquires `B` while holding `A`",
        "note: run 2, process 42: thread 1 (T1) acquires `A` while holding `B`",
    ] {
        assert!(text.contains(place), "{place} in {text}");
    }
    for (i, step) in finding.steps.iter().enumerate() {
        assert_eq!(step.lock, 1 - i);
        assert_eq!(step.held.iter().map(|held| held.lock).collect::<Vec<_>>(), [Some(i)]);
        assert!(!step.stack.is_empty() && !step.held[0].stack.is_empty());
    }
}

#[test]
fn three_runs_make_a_circle() {
    let cycle = ["T1: L(A) L(B) U(B) U(A)", "T1: L(B) L(C) U(C) U(B)", "T1: L(C) L(A) U(A) U(C)"];
    assert_eq!(together(&cycle), ["possible circular-dependency: A B C"]);
    let mut origins = origins(&merged(&cycle));
    origins.sort_unstable();
    assert_eq!(origins, [1, 2, 3]);
    assert!(together(&cycle[..2]).is_empty());
    // The shorter one says it all.
    let shorter = [cycle[0], cycle[1], cycle[2], BA];
    assert_eq!(together(&shorter), [POSSIBLE]);
}

#[test]
fn what_one_process_shows_is_not_told_again() {
    let both = format!("{AB}\nT2: L(B) L(A) U(A) U(B)");
    assert_eq!(verdict(&both), ["likely circular-dependency: A B"]);
    assert!(together(&[&both, BA]).is_empty());
    // Nor where one thread took both: its own report has that, and another run like it adds
    // nothing.
    let single = format!("{AB}\n{BA}");
    assert!(together(&[&single, &single]).is_empty());
}

#[test]
fn a_common_gate_guards() {
    assert_eq!(together(&[AB_GUARDED, BA_GUARDED]), ["guarded circular-dependency: A B"]);
    let report = merged(&[AB_GUARDED, BA_GUARDED]).report;
    assert!(
        told_of(&report.findings[0]).evidence.iter().any(|line| line.contains("both hold `G`"))
    );
    // One path without it, in any run, and it guards no more.
    assert_eq!(together(&[AB_GUARDED, BA_GUARDED, BA]), [POSSIBLE]);
    assert_eq!(together(&[AB_GUARDED, BA]), [POSSIBLE]);
    // A process that has both orders, guarded, is no excuse for another that has one unguarded.
    let guarded = format!("{AB_GUARDED}\nT2: L(G) L(B) L(A) U(A) U(B) U(G)");
    assert_eq!(verdict(&guarded), ["guarded circular-dependency: A B"]);
    assert!(together(&[&guarded, &guarded]).is_empty());
    assert_eq!(together(&[&guarded, BA]), [POSSIBLE]);
}

#[test]
fn of_many_gates_it_may_be_another() {
    let other = "T1: L(G2) L(B) L(A) U(A) U(B) U(G2)\nT1: L(G) U(G)";
    assert_eq!(together(&[AB_GUARDED, other]), [POSSIBLE]);
}

#[test]
fn who_does_not_wait_closes_no_circle() {
    assert!(together(&[AB, "T1: L(B) T(A) U(A) U(B)"]).is_empty());
    let read = "rwlock R S\nT1: R(R) R(S) U(S) U(R)";
    assert!(together(&[read, "rwlock R S\nT1: R(S) R(R) U(R) U(S)"]).is_empty());
    let written = "rwlock R S\nT1: W(S) W(R) U(R) U(S)";
    assert_eq!(together(&[read, written]), ["possible circular-dependency: R S"]);
}

#[test]
fn a_new_lock_is_known_to_nobody() {
    let made = "T1: NEW(A) L(A) L(B) U(B) U(A)";
    assert_eq!(together(&[made, BA]), ["ordered circular-dependency: A B"]);
    assert_eq!(together(&[made, BA, AB]), [POSSIBLE]);
}

#[test]
fn instances_of_a_class_are_one() {
    let other = "T1: L(B7) L(A3) U(A3) U(B7)";
    assert_eq!(together(&[AB, other]), [POSSIBLE]);
    // Two of one class make no edge.
    assert!(together(&["T1: L(A1) L(A2) U(A2) U(A1)", "T1: L(A2) L(A1) U(A1) U(A2)"]).is_empty());
}

/// A process that takes both of two locks on the heap, or of two elements of an array, may take
/// different ones.
#[test]
fn of_variables_a_process_has_but_one() {
    let says = |stories: &[&str]| {
        let report = merged(stories).report;
        assert_eq!(report.findings.len(), 1, "{:?}", told(&report));
        told_of(&report.findings[0]).evidence[3].clone()
    };
    let (ab, ba) = (format!("static A B\n{AB}"), format!("static A B\n{BA}"));
    assert!(says(&[&ab, &ba]).starts_with("each of these is one variable: "));
    assert!(says(&[AB, BA]).contains("cannot be compared"));
    let element = "static A B\nT1: L(B) L(A2) U(A2) U(B)";
    assert!(says(&[&ab, element]).contains("cannot be compared"));
}

#[test]
fn variables_are_known_by_their_place() {
    // The first run sees one element of each table, the second a whole array of them.
    let one = "static A B\nT1: L(A) L(B) U(B) U(A)";
    let many = "static A B\nT1: L(A1) U(A1) L(A2) U(A2) L(B1) L(A3) U(A3) U(B1)";
    let merged = merged(&[one, many]);
    assert_eq!(merged.report.findings.len(), 1, "{:?}", told(&merged.report));
    assert_eq!(merged.report.findings[0].grade, Grade::Possible);
    assert_eq!(merged.report.findings[0].locks.len(), 2);
}

/// All pairs of 40 classes, in one run one way round and in the other the other: every longer
/// cycle has one of them in it, and there are more of those than anybody could look at.
#[test]
fn a_dense_graph_comes_to_an_end() {
    let names: Vec<String> =
        ('A'..='H').flat_map(|a| ('A'..='E').map(move |b| format!("{a}{b}"))).collect();
    let story = |names: &[String]| {
        let mut text = "T1:".to_owned();
        for (i, a) in names.iter().enumerate() {
            for b in &names[i + 1..] {
                text += &format!(" L({a}) L({b}) U({b}) U({a})");
            }
        }
        text
    };
    let backwards: Vec<String> = names.iter().rev().cloned().collect();
    let merged = merged(&[&story(&names), &story(&backwards)]);
    assert_eq!(merged.report.findings.len(), 40 * 39 / 2);
    assert!(merged.report.findings.iter().all(|finding| finding.locks.len() == 2));
    assert!(merged.report.processes.iter().all(|process| process.notes.is_empty()));
}

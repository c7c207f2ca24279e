//! Big programs: many contexts, long chains, dense graphs, many threads.

use lockwright_analysis::finding::coverage::Note;
use std::time::{Duration, Instant};

use crate::story::{Story, report_and_work, told};

/// Generous: these run unoptimised, and together with other tests.
const PATIENCE: Duration = Duration::from_secs(60);

fn found_in_time(mut story: Story) -> Vec<String> {
    let ledger = story.ledger();
    let begun = Instant::now();
    let found = told(&crate::story::report(ledger));
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    found
}

#[test]
fn a_chain_of_thousands_of_locks() {
    let mut story = Story::new();
    for i in 0..3000 {
        story.tell(&format!("T1: L(A{i})@1"));
    }
    assert!(found_in_time(story).is_empty());
}

#[test]
fn transfers_between_accounts_in_any_order() {
    let mut story = Story::new();
    story.tell("static A");
    for i in 0..60 {
        for j in 0..60 {
            if i != j {
                let thread = 1 + (i * 7 + j) % 8;
                story.tell(&format!("T{thread}: L(A{i})@1 L(A{j})@2 U(A{j}) U(A{i})"));
            }
        }
    }
    let found = found_in_time(story);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("likely circular-dependency: table0[] table0[] +"), "{found:?}");
}

#[test]
fn many_guarded_orders() {
    let mut story = Story::new();
    for i in 0..24 {
        for j in 0..24 {
            if i != j {
                story.tell(&format!("T{i}: L(G)@1 L(A{i})@2 L(A{j})@3 U(A{j}) U(A{i}) U(G)"));
            }
        }
    }
    let found = found_in_time(story);
    assert!(found.iter().all(|found| found.starts_with("guarded")), "{found:?}");
}

/// `threads` that take each a ring of `locks` from every one of them on, one thread after the
/// other.
fn rotations(threads: usize, locks: usize, around: bool) -> Story {
    let mut story = Story::with_room(512 << 20);
    story.tell("static A");
    for thread in 1..=threads {
        story.tell(&format!("T0: F(T{thread})"));
        for first in 0..locks {
            let ring = || (0..locks).map(|i| (first + i) % locks);
            let taken: String = ring().map(|i| format!(" L(A{i})@1")).collect();
            let released: String = ring().map(|i| format!(" U(A{i})")).collect();
            let (gate, open) = if around { (" L(G)@2", " U(G)") } else { ("", "") };
            story.tell(&format!("T{thread}:{gate}{taken}{released}{open}"));
        }
        if !around {
            story.tell(&format!("T0: J(T{thread})"));
        }
    }
    story
}

/// What is found in a dense graph, to the end and with no more work than comparing each pair of
/// locks.
fn found_in_pairs(mut story: Story, locks: u64) -> Vec<String> {
    let (report, work) = report_and_work(&story.ledger());
    let notes = &report.processes[0].notes;
    assert!(!notes.iter().any(|note| matches!(note, Note::SearchCut(_))), "{notes:?}");
    assert!(work <= locks * locks, "{work} combinations looked at");
    told(&report)
}

#[test]
fn a_dense_graph_of_one_thread_takes_work_by_pairs() {
    let found = found_in_pairs(rotations(1, 45, false), 45);
    assert!(found.iter().all(|found| found.starts_with("single-thread")), "{found:?}");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_dense_graph_of_threads_one_after_the_other_takes_work_by_pairs() {
    let found = found_in_pairs(rotations(4, 30, false), 30);
    assert!(found.iter().all(|found| found.starts_with("ordered")), "{found:?}");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_dense_graph_behind_one_lock_takes_work_by_pairs() {
    let found = found_in_pairs(rotations(4, 30, true), 30);
    assert!(found.iter().all(|found| found.starts_with("guarded")), "{found:?}");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn many_threads_one_after_the_other() {
    let mut story = Story::new();
    for i in 1..400 {
        let order = if i % 2 == 0 { "L(A)@1 L(B)@2 U(B) U(A)" } else { "L(B)@3 L(A)@4 U(A) U(B)" };
        story.tell(&format!("T0: F(T{i})\nT{i}: {order}\nT0: J(T{i})"));
    }
    let found = found_in_time(story);
    assert_eq!(found.len(), 1, "{found:?}");
    // More threads took each order than are kept as evidence, so the rest is not excluded.
    assert_eq!(found[0], "possible circular-dependency: B A");
}

#[test]
fn a_ring_of_hundreds() {
    let mut story = Story::new();
    let n = 300;
    for i in 0..n {
        story.tell(&format!("T{i}: L(A{i})@1 L(A{})@2 U(A{}) U(A{i})", (i + 1) % n, (i + 1) % n));
    }
    let found = found_in_time(story);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("likely circular-dependency: A A A"), "{found:?}");
}

#[test]
fn signals_open_in_many_threads_over_long_chains() {
    let mut story = Story::with_room(512 << 20);
    for thread in 0..100 {
        let taken: String = (0..200).map(|i| format!(" L({}1)@{i}", class(i))).collect();
        let released: String = (0..200).rev().map(|i| format!(" U({}1)", class(i))).collect();
        story.tell(&format!("T{thread}: O(10){taken}{released}"));
    }
    let handler: String = (700..720).map(|i| format!(" L({0}1) U({0}1)", class(i))).collect();
    story.tell(&format!("S: O(10) I(10){handler} Z"));
    assert!(told(&story.report()).is_empty());
    // From the last of the chain there is a way on to what the handler takes first.
    story.tell(&format!("X: L({0}1) L({1}1) U({1}1) U({0}1)", class(700), class(199)));
    let found = told(&story.report());
    assert_eq!(found, [format!("likely inconsistent-state: {} {}", class(199), class(700))]);
}

/// Not run by default: `cargo test --release --test stories -- --ignored --nocapture a_million`.
#[test]
#[ignore = "needs an optimised build"]
fn a_million_contexts() {
    let mut story = Story::with_room(2 << 30);
    // Objects of 300 classes, each taken within another by way of 8 threads, without a cycle.
    for i in 0..1_000_000u32 {
        let (thread, from, to) = (i % 8, i % 300, i % 299 + 301);
        let inst = i / 300;
        let (from, to) = (class(from), class(to));
        story.tell(&format!(
            "T{thread}: L({from}{inst})@1 L({to}{inst})@2 U({to}{inst}) U({from}{inst})"
        ));
    }
    let ledger = story.ledger();
    println!("{} nodes", ledger.len_of::<lockwright_ledger::rows::Node>());
    let begun = Instant::now();
    let found = told(&crate::story::report(ledger));
    println!("{:?}", begun.elapsed());
    assert!(found.is_empty(), "{found:?}");
}

fn class(number: u32) -> String {
    let letter = |n: u32| char::from(b'A' + n as u8);
    [letter(number / 26), letter(number % 26)].iter().collect()
}

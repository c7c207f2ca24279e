//! What the kernel shows in /proc/lockdep*, of stories.

use std::fs;
use std::path::Path;

use lockwright_analysis::model::Symbolise;
use lockwright_ledger::Ledger;
use lockwright_ledger::rows::object::ObjectPools;
use lockwright_report::listing::{Listing, render_with};

use crate::dot;
use crate::story::{Names, Story};

/// A listing of a story's ledger.
pub fn listing(listing: Listing, ledger: Ledger) -> String {
    listing_of(listing, &[ledger])
}

/// A listing of those of several processes.
pub fn listing_of(listing: Listing, ledgers: &[Ledger]) -> String {
    let names: Vec<Names<'_>> = ledgers.iter().map(|ledger| Names { ledger }).collect();
    let names: Vec<&dyn Symbolise> = names.iter().map(|names| names as &dyn Symbolise).collect();
    render_with(listing, ledgers, &names)
}

const STORY: &str = "
    rwlock R
    T1: L(A1) L(B) U(B) U(A1)
    T1: L(A2) L(B) R(R) U(R) U(B) U(A2)
    T2: O(10) L(C) U(C)
    T2: L(B) T(D) L(R) U(R) U(D) U(B)
    T3: O(10) I(10) L(A1) U(A1) Z
    T4: L(C) L(A1) U(A1) U(C)";

fn shown(which: Listing) -> String {
    listing(which, Story::new().tell(STORY).ledger())
}

fn counter(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{name}:")));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
    line.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn counters_have_the_kernels_names() {
    let text = shown(Listing::Stats);
    let is = |name, value| assert_eq!(counter(&text, name), value, "{name} in\n{text}");
    is("lock-classes", 5);
    // A -> B, B -> R, D -> R, C -> A; not A -> R, which B implies.
    is("direct dependencies", 4);
    // From A: B, R. B: R. C: A, B, R. D: R.
    is("indirect dependencies", 7);
    is("hardirq-safe locks", 1);
    is("irq-safe locks", 1);
    is("hardirq-unsafe locks", 4);
    is("hardirq-read-safe locks", 0);
    is("all direct dependencies", 4 + 4);
    is("uncategorized locks", 0);
    is("unused locks", 0);
    is("max locking depth", 3);
    is("in-hardirq chains", 1);
    is("lock instances", 6);
    is("debug_locks", 1);
    let (hits, misses) =
        (counter(&text, "chain lookup hits"), counter(&text, "chain lookup misses"));
    assert_eq!(hits + misses, 12, "{text}");
    assert!(counter(&text, "dependency chains") > 6, "{text}");
    let in_process = counter(&text, "in-process chains");
    assert_eq!(in_process + 1, counter(&text, "dependency chains"), "{text}");
    is("combined max dependencies", 2 * (in_process + 1));
}

/// Each name on the page is printed, in that order, and as a number or not as the page has it.
#[test]
fn counters_are_those_of_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let page = fs::read_to_string(page.join("docs/stats.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let mut documented = Vec::new();
    for row in rows.filter(|row| !row.starts_with("the kernel's name")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [kernels, ours, meaning] = cells[..] else { panic!("{row}") };
        assert!(!meaning.is_empty(), "{row}");
        assert!(kernels.is_empty() || matches!(ours, "yes" | "n/a"), "{row}");
        let name = if kernels.is_empty() { ours } else { kernels };
        documented.push((name.to_owned(), ours == "n/a"));
    }
    let mut story = Story::new();
    story.tell(STORY).row(ObjectPools::default());
    let text = listing(Listing::Stats, story.ledger());
    let printed: Vec<(String, bool)> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.trim().to_owned(), value.trim() == "n/a"))
        .collect();
    assert_eq!(printed, documented);
    assert_eq!(printed.len(), 51 + 4 + 12 + 4);
}

#[test]
fn a_chain_taken_again_is_a_hit() {
    let once = listing(Listing::Stats, Story::new().tell("T1: L(A)@1 U(A)").ledger());
    let again = listing(Listing::Stats, Story::new().tell("T1: L(A)@1 U(A) L(A)@1 U(A)").ledger());
    assert_eq!(counter(&once, "chain lookup misses"), counter(&again, "chain lookup misses"));
    assert_eq!(counter(&once, "chain lookup hits") + 1, counter(&again, "chain lookup hits"));
    assert_eq!(counter(&once, "dependency chains"), counter(&again, "dependency chains"));
}

#[test]
fn classes_tell_what_follows_and_what_signals_mean() {
    let text = shown(Listing::Classes);
    let line = |name: &str| {
        let end = format!(": {name} (mutex)");
        text.lines().find(|line| line.ends_with(&end)).unwrap_or_else(|| panic!("{name}:\n{text}"))
    };
    // Open in T2, used in the handler of T3.
    assert_eq!(line("A"), "FD:     2 BD:     1 -.: A (mutex)");
    assert_eq!(line("C"), "FD:     3 BD:     0 +.: C (mutex)");
    assert!(text.contains("C (mutex)\n -> A\n"), "{text}");
}

#[test]
fn chains_have_places() {
    let text = shown(Listing::Chains);
    assert!(text.starts_with("all lock chains of process 42"), "{text}");
    assert!(text.contains("in process, segments: 1\n"), "{text}");
    let chain = text.split("\n\n").find(|chain| chain.lines().count() == 4).expect("three locks");
    let names: Vec<&str> =
        chain.lines().skip(1).map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(names, ["A", "B", "R"], "{chain}");
    assert!(chain.contains(" at story.c:"), "{chain}");
}

/// Edges of a graph by the names of their classes, with their colour and style; none of an edge
/// that is on no cycle.
fn edges(text: &str) -> Vec<(String, String, String)> {
    let graph = dot::parse(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    let look = |attributes: &dot::Attributes| {
        let get = |name| attributes.get(name).map(String::as_str).unwrap_or_default();
        format!("{} {}", get("color"), get("style")).trim().to_owned()
    };
    let name = |id: &String| graph.nodes[id]["label"].clone();
    let edge = |(from, to, a): &(String, String, dot::Attributes)| (name(from), name(to), look(a));
    let mut edges: Vec<_> = graph.edges.iter().map(edge).collect();
    edges.sort();
    edges
}

fn graph_of(story: &str) -> Vec<(String, String, String)> {
    edges(&listing(Listing::Graph, Story::new().tell(story).ledger()))
}

fn expected(edges: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    edges.iter().map(|&(a, b, look)| (a.into(), b.into(), look.into())).collect()
}

#[test]
fn the_graph_has_cycles_in_red() {
    // T3's handler takes A, T2 holds B with the signal open, and A -> B was seen.
    let seen = edges(&shown(Listing::Graph));
    let has = |from: &str, to: &str, look: &str| seen.contains(&expected(&[(from, to, look)])[0]);
    assert!(has("C", "A", "") && has("D", "R", ""), "{seen:?}");
    assert!(has("A", "B", "red bold") && has("B", "A", "red bold,dotted"), "{seen:?}");
    let cycle = "T1: L(A) L(B) U(B) U(A) L(B) L(C) U(C) U(B)\nT2: L(B) L(A) U(A) U(B)";
    let red = expected(&[("A", "B", "red bold"), ("B", "A", "red bold"), ("B", "C", "")]);
    assert_eq!(graph_of(cycle), red);
}

#[test]
fn what_is_kept_from_deadlock_is_dashed() {
    let dashed = |names: &[(&str, &str)]| -> Vec<_> {
        names.iter().map(|&(a, b)| (a.into(), b.into(), "orange dashed".to_owned())).collect()
    };
    let both = dashed(&[("A", "B"), ("B", "A")]);
    let guarded = "T1: L(G) L(A) L(B) U(B) U(A) U(G)\nT2: L(G) L(B) L(A) U(A) U(B) U(G)";
    let seen = graph_of(guarded);
    assert!(both.iter().all(|edge| seen.contains(edge)), "{seen:?}");
    assert!(seen.iter().all(|edge| edge.0 != "G" || edge.2.is_empty()), "{seen:?}");
    let single = "T1: L(A) L(B) U(B) U(A) L(B) L(A) U(A) U(B)";
    assert_eq!(graph_of(single), both);
    // One path without the gate makes it a serious one.
    let unguarded = format!("{guarded}\nT3: L(B) L(A) U(A) U(B)");
    assert!(graph_of(&unguarded).contains(&expected(&[("A", "B", "red bold")])[0]));
}

#[test]
fn the_parser_of_graphs_is_strict() {
    for bad in
        ["digraph {", "digraph a { b -> c; }", "digraph a { b [label=x y]; }", "digraph a { \"b }"]
    {
        assert!(dot::parse(bad).is_err(), "the parser takes {bad}");
    }
}

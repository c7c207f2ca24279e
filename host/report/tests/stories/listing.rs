//! The listings of the kernel's /proc/lockdep*, of stories.

use std::fs;
use std::path::Path;

use lockwright_analysis::model::Symbolise;
use lockwright_ledger::Ledger;
use lockwright_ledger::rows::object::ObjectPools;
use lockwright_ledger::rows::{ClassOps, DebugCounts};
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
    // From A: B, R. B: R. C: A, B, R. D: R. And each of the five from itself, as the kernel counts.
    is("indirect dependencies", 7 + 5);
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
        assert!(kernels.is_empty() || matches!(ours, "yes" | "n/a" | "debug"), "{row}");
        let name = if kernels.is_empty() { ours } else { kernels };
        let is_debug = ours == "debug" || meaning.starts_with("debug: ");
        documented.push((name.to_owned(), ours == "n/a", is_debug));
    }
    assert_eq!(documented.len(), 51 + 6 + 12 + 4);
    assert_eq!(documented.iter().filter(|row| row.2).count(), 6);
    let printed = |story: &mut Story| -> Vec<(String, bool)> {
        story.row(ObjectPools::default());
        let text = listing(Listing::Stats, story.ledger());
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.trim().to_owned(), value.trim() == "n/a"))
            .collect()
    };
    let of_page = |has_debug: bool| -> Vec<(String, bool)> {
        let row = |(name, is_na, is_debug): &(String, bool, bool)| {
            (name.clone(), *is_na || *is_debug && !has_debug)
        };
        documented.iter().map(row).collect()
    };
    assert_eq!(printed(Story::new().tell(STORY)), of_page(false));
    let mut story = Story::new();
    story.tell(STORY).row(DebugCounts::default());
    assert_eq!(printed(&mut story), of_page(true));
}

/// What a library built with `debug-lockdep` counted, summed over threads.
#[test]
fn debug_counters_are_of_all_threads() {
    let mut story = Story::new();
    story.tell("T1: L(A) U(A) L(B) U(B)").tell("T2: L(B) U(B)");
    assert!(listing(Listing::Classes, story.ledger()).contains("OPS:     n/a FD:"));
    for thread in [1, 2] {
        story.row(DebugCounts {
            thread,
            hardirqs_on: 1,
            hardirqs_off: 2,
            redundant_on: 3,
            redundant_off: 4,
            chain_checks: 5,
            bad_chains: u64::from(thread),
            ..DebugCounts::default()
        });
        let mut ops = ClassOps { thread, first: 0, ..ClassOps::default() };
        ops.ops[1] = 10 * u64::from(thread);
        ops.ops[2] = 7;
        story.row(ops);
    }
    let text = listing(Listing::Stats, story.ledger());
    let is = |name, value| assert_eq!(counter(&text, name), value, "{name} in\n{text}");
    is("hardirq on events", 2);
    is("hardirq off events", 4);
    is("redundant hardirq ons", 6);
    is("redundant hardirq offs", 8);
    is("chain key checks", 10);
    is("bad chain keys", 3);
    let text = listing(Listing::Classes, story.ledger());
    let ops: Vec<&str> = text.lines().filter(|line| line.starts_with("OPS:")).collect();
    assert_eq!(
        ops,
        [
            "OPS:      30 FD:     1 BD:     1 ..: A (mutex)",
            "OPS:      14 FD:     1 BD:     1 ..: B (mutex)"
        ]
    );
}

/// With three locks in a ring, two pairs are looked at for their opposite, three locks searched
/// from for the shortest cycle there, and one for the cycle of three; all that for locks and for
/// classes.
#[test]
fn searches_for_cycles_are_counted() {
    let of = |story: &str| {
        let text = listing(Listing::Stats, Story::new().tell(story).ledger());
        (counter(&text, "cyclic checks"), counter(&text, "max bfs queue depth"))
    };
    assert_eq!(of("T1: L(A) L(B) U(B) U(A)"), (0, 0), "no part is strongly connected");
    let (checks, depth) = of("T1: L(A) L(B) U(B) U(A)\n T2: L(B) L(A) U(A) U(B)");
    assert_eq!((checks, depth), (2, 0), "a pair is looked at, not searched");
    let (checks, depth) =
        of("T1: L(A) L(B) U(B) U(A)\n T2: L(B) L(C) U(C) U(B)\n T3: L(C) L(A) U(A) U(C)");
    assert_eq!((checks, depth), (2 * (2 + 3 + 1), 1));
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
    assert_eq!(line("A"), "OPS:     n/a FD:     3 BD:     2 -.: A (mutex)");
    assert_eq!(line("C"), "OPS:     n/a FD:     4 BD:     1 +.: C (mutex)");
    assert!(text.contains("C (mutex)\n -> A\n"), "{text}");
}

/// In the kernel the classes make a chain. Here the same two are taken at three places.
#[test]
fn chains_are_of_classes_and_not_of_places() {
    let story = "T1: L(A1)@1 L(B1)@2 U(B1) U(A1) L(A1)@3 L(B1)@4 U(B1) U(A1)\n\
                 T2: L(A2)@1 L(B2)@5 U(B2) U(A2)";
    let ledger = || Story::new().tell(story).ledger();
    let stats = listing(Listing::Stats, ledger());
    assert_eq!(counter(&stats, "dependency chains"), 2, "{stats}");
    assert_eq!(counter(&stats, "dependency chain hlocks used"), 1 + 2, "{stats}");
    let chains = listing(Listing::Chains, ledger());
    assert_eq!(chains.matches("in process").count(), 2, "{chains}");
    assert!(chains.contains("in process, segments: "), "{chains}");
    assert_eq!(Story::new().tell(story).report().summary.chains, 2);
    // The other order is another chain, and so is each of its beginnings.
    let both = story.to_owned() + "\nT3: L(B1)@6 L(A1)@7 U(A1) U(B1)";
    assert_eq!(Story::new().tell(&both).report().summary.chains, 4);
    // A handler begins a chain of its own, whatever it interrupts: A; B; B, C.
    let story = "T1: O(10) L(A) I(10) L(B) L(C) U(C) U(B) Z U(A)";
    let stats = listing(Listing::Stats, Story::new().tell(story).ledger());
    let of = |name| counter(&stats, name);
    assert_eq!((of("in-process chains"), of("in-hardirq chains")), (1, 2), "{stats}");
    assert_eq!(of("dependency chain hlocks used"), 1 + 1 + 2, "{stats}");
    // A reader's is another than a writer's.
    let story = "rwlock R\nT1: R(R)@1 L(A)@2 U(A) U(R)\nT2: L(R)@3 L(A)@4 U(A) U(R)";
    assert_eq!(Story::new().tell(story).report().summary.chains, 4);
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

//! Pages of what was found: whole, safe, and no larger than they may be.

mod pages;
mod samples;

use lockwright_analysis::finding::*;
use lockwright_analysis::lockdep::CyclicPair;
use lockwright_report::html::{Run, render};
use lockwright_report::listing::{Dependency, LockClass, LockGraph};
use lockwright_report::verdict::Policy;
use pages::{MOST, faults};
use samples::{report, two_threads};

fn page(report: &Report, all: bool, graphs: &[LockGraph]) -> String {
    let policy = Policy::default();
    let found = Some(&policy.judge(report));
    render(&Run { found, all, metered: None, every_wait: &[], graphs, runs: &[] })
}

fn class(name: &str) -> LockClass {
    LockClass {
        name: Name::symbol(name),
        kind: "mutex",
        created: [].into(),
        locks: 1,
        acquisitions: None,
    }
}

fn edge(held: usize, acquired: usize, grade: Option<Grade>) -> Dependency {
    let cycle = grade.map(|grade| CyclicPair { is_recorded: true, grade: Some(grade) });
    Dependency { held, acquired, cycle, held_at: [].into(), acquired_at: [].into() }
}

/// The vault and the ledger in both orders, and a third lock.
fn graph() -> LockGraph {
    let bad = Some(Grade::Likely);
    LockGraph {
        process: 0,
        title: "process 4001 (bank)".to_owned(),
        classes: ["vault", "ledger", "log"].map(class).into(),
        edges: vec![edge(0, 1, bad), edge(1, 0, bad), edge(0, 2, None), edge(2, 2, None)],
    }
}

#[test]
fn pages_are_whole_and_fetch_nothing() {
    for (report, all) in [(Report::default(), false), (two_threads(), false), (report(), true)] {
        for graphs in [&[][..], &[graph()], &[graph(), graph()]] {
            let page = page(&report, all, graphs);
            assert_eq!(faults(&page), Vec::<String>::new());
            assert!(!page.contains("http:") && !page.contains("https:"));
        }
    }
}

/// The checker itself finds what it is for.
#[test]
fn a_fault_in_a_page_is_found() {
    let page = page(&two_threads(), false, &[graph()]);
    let broken = |what: &str, from: &str, to: &str| {
        assert!(page.contains(from), "{from}");
        let faults = faults(&page.replacen(from, to, 1));
        assert!(faults.iter().any(|fault| fault.contains(what)), "{what}: {faults:?}");
    };
    broken("does not name this style", "box-sizing", "box-Sizing");
    broken("does not name this script", "use strict", "use Strict");
    broken("allows something else", "default-src 'none'", "default-src *");
    broken("leads nowhere", "id=\"f1\"", "id=\"g1\"");
    broken("two of id", "id=\"f1\"", "id=\"order\"");
    broken("a link to", "href=\"#f1\"", "href=\"https://example.org\"");
    broken("has onclick", "<main", "<main onclick=\"x\"");
    broken("has style", "<main", "<main style=\"x\"");
    broken("a img", "<main>", "<main><img>");
    broken("closes nothing", "</main>", "</div>");
    broken("not closed", "<main>", "<main><p>");
    broken("is in it", "What to look at", "What to \u{202e}look at");
    broken("bytes", "</main>", &format!("{}</main>", " ".repeat(MOST)));
}

#[test]
fn a_finding_has_both_stacks_and_the_edges_lead_to_it() {
    let page = page(&two_threads(), false, &[graph()]);
    for text in ["thread 2 (teller)", "thread 3 (auditor)", "bank.c:31", "bank.c:40", "likely"] {
        assert!(page.contains(text), "{text}");
    }
    // Both edges of the cycle lead to the finding, the other to its stacks.
    assert_eq!(page.matches("class=\"edge k-bad\" href=\"#f1\"").count(), 2, "{page}");
    assert_eq!(page.matches("class=\"edge k-plain\" href=\"#e0-").count(), 2);
}

#[test]
fn grades_that_are_only_counted_are_counted() {
    let report = report();
    let shown = page(&report, false, &[]);
    let whole = page(&report, true, &[]);
    assert!(shown.contains("<code>--all</code>") && !whole.contains("<code>--all</code>"));
    assert!(!shown.contains("data-grade=\"guarded\"") && whole.contains("data-grade=\"guarded\""));
}

const HOSTILE: &[&str] = &[
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'; drop & \"quote\" <b>",
    "a\u{202e}b\u{2066}c",
    "\u{1b}[31m\0\r\n\u{9b}",
    "]]>-->",
];

#[test]
fn names_of_the_program_are_only_text() {
    for name in HOSTILE {
        let mut report = two_threads();
        report.processes[0].command = vec![(*name).to_owned(), (*name).to_owned()];
        report.processes[0].exe = (*name).to_owned();
        let finding = &mut report.findings[0];
        for lock in &mut finding.locks {
            lock.name = Name::symbol(*name);
            lock.class = Name::description(*name);
        }
        for step in &mut finding.steps {
            step.thread.name = (*name).to_owned();
            for frame in &mut step.stack {
                frame.function = Some((*name).to_owned());
                frame.file = Some((*name).to_owned());
            }
            step.held[0].name = Name::symbol(*name);
        }
        let mut graph = graph();
        graph.title = (*name).to_owned();
        graph.classes.iter_mut().for_each(|class| class.name = Name::symbol(*name));
        let page = page(&report, true, &[graph.clone(), graph]);
        assert_eq!(faults(&page), Vec::<String>::new(), "{name:?}");
    }
}

/// A hundred thousand of everything: the page stays small, and says what it leaves out.
#[test]
fn the_page_has_a_limit() {
    const MANY: usize = 100_000;
    let mut report = two_threads();
    let finding = report.findings[0].clone();
    report.findings = vec![finding; 5_000];
    report.waiting = (0..5_000).map(|_| report.waiting[0].clone()).collect();
    report.processes = vec![report.processes[0].clone(); 5_000];
    let mut big = LockGraph { title: String::new(), ..LockGraph::default() };
    big.classes =
        (0..MANY).map(|n| class(&format!("a_lock_with_a_name_of_some_length_{n}"))).collect();
    big.edges = (1..MANY).map(|n| edge(n / 3, n, None)).collect();
    let page = page(&report, false, &[big]);
    assert_eq!(faults(&page), Vec::<String>::new());
    for cut in
        ["more findings", "more lock classes", "more orders", "more threads", "more processes"]
    {
        assert!(page.contains(cut), "{cut}");
    }
}

/// Merged runs have many processes, each with a drawing of its own.
#[test]
fn the_drawings_of_many_processes_have_a_limit() {
    let names: Vec<String> = (0..40).map(|number| format!("lock_{number}")).collect();
    let large = LockGraph {
        classes: names.iter().map(|name| class(name)).collect(),
        edges: (1..40).map(|number| edge(number - 1, number, None)).collect(),
        ..graph()
    };
    let page = page(&Report::default(), false, &vec![large; 300]);
    assert!(page.len() <= MOST, "{}", page.len());
    assert_eq!(faults(&page), Vec::<String>::new());
    assert!(page.contains("more processes not on this page"));
}

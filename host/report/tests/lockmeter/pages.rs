//! Pages of measurements and comparisons.

use lockwright_analysis::lockmeter::diff::compare;
use lockwright_analysis::lockmeter::model::{Lock, MeterReport};
use lockwright_report::html::{Run, render, render_diff};

use super::diff::runs;
use super::example;
use super::page_checks::faults;

fn page(report: &MeterReport) -> String {
    let every_wait = &[];
    render(&Run {
        found: None,
        all: false,
        metered: Some(report),
        every_wait,
        graphs: &[],
        runs: &[],
    })
}

#[test]
fn a_page_has_tables_plots_blame_and_flames() {
    let page = page(&example::report());
    assert_eq!(faults(&page), Vec::<String>::new());
    for text in [
        "<code>pool</code>",
        "figure class=\"plot\"",
        "table class=\"heat\"",
        "figure class=\"flame\"",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // Numbers are sorted by what they are, not by how they are written.
    assert!(page.contains("data-v=\"1540\""));
    assert!(page.contains("Advice: "));
}

#[test]
fn nothing_measured_is_a_page_too() {
    assert_eq!(faults(&page(&MeterReport::default())), Vec::<String>::new());
}

#[test]
fn the_page_of_many_locks_has_a_limit() {
    let mut report = example::report();
    let lock = report.locks[0].clone();
    let named = |n: usize| Lock { name: format!("lock_of_some_module_{n}"), ..lock.clone() };
    report.locks = (0..10_000).map(named).collect();
    let wait = report.waits[0].clone();
    report.waits = vec![wait; 10_000];
    let page = page(&report);
    assert_eq!(faults(&page), Vec::<String>::new());
    assert!(page.contains("more lock classes") && page.contains("more waits"));
}

#[test]
fn a_comparison_says_what_is_more_than_chance() {
    let comparison =
        compare(runs(&[100, 101, 99, 100, 102], 3), runs(&[200, 199, 203, 198, 201], 3));
    let page = render_diff(&comparison, &[]);
    assert_eq!(faults(&page), Vec::<String>::new());
    assert!(page.contains("That is more than chance.") && page.contains("class=\"tag up\""));
    let same = compare(runs(&[100, 140, 130], 3), runs(&[120, 110, 150], 3));
    let page = render_diff(&same, &[]);
    assert_eq!(faults(&page), Vec::<String>::new());
    assert!(page.contains("That may be chance.") && !page.contains("class=\"tag up\""));
    let few = render_diff(&compare(runs(&[100, 100], 3), runs(&[200, 200], 3)), &[]);
    assert_eq!(faults(&few), Vec::<String>::new());
    assert!(few.contains("With so few runs nobody knows") && !few.contains("class=\"tag up\""));
    assert!(few.contains("no change is marked"));
}

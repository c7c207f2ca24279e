//! The columns of the tables of locks: one list, from which headings and rows come.

use super::format::{NONE, count, maybe_time, percent, time};
use lockwright_analysis::lockmeter::model::Numbers;

/// The data of a row.
#[derive(Clone, Copy)]
pub struct Entry<'r> {
    /// Its numbers.
    pub numbers: &'r Numbers,
    /// Part of the measured time, 0 to 1.
    pub utilisation: f64,
    /// Part of all waits, 0 to 1.
    pub share: f64,
    /// Holds were timed at all.
    pub holds: bool,
}

struct Column {
    /// Stands over the titles of this column and those that follow with none.
    group: &'static str,
    title: &'static str,
    width: usize,
    show: fn(&Entry<'_>) -> String,
}

/// All columns, in order.
const COLUMNS: &[Column] = &[
    Column { group: "", title: "acquired", width: 13, show: |e| count(e.numbers.acquisitions) },
    Column { group: "", title: "cont%", width: 7, show: |e| percent(e.numbers.contended_part()) },
    Column { group: "", title: "util%", width: 7, show: |e| held(e, percent(e.utilisation)) },
    Column {
        group: "hold",
        title: "mean",
        width: 8,
        show: |e| held(e, maybe_time(e.numbers.hold.mean_ns())),
    },
    Column {
        group: "",
        title: "p50",
        width: 7,
        show: |e| held(e, maybe_time(e.numbers.hold.percentile_ns(50.0))),
    },
    Column {
        group: "",
        title: "p99",
        width: 7,
        show: |e| held(e, maybe_time(e.numbers.hold.percentile_ns(99.0))),
    },
    Column {
        group: "",
        title: "max",
        width: 7,
        show: |e| held(e, maybe_time(max(&e.numbers.hold))),
    },
    Column {
        group: "wait",
        title: "mean",
        width: 8,
        show: |e| maybe_time(e.numbers.wait.mean_ns()),
    },
    Column {
        group: "",
        title: "p50",
        width: 7,
        show: |e| maybe_time(e.numbers.wait.percentile_ns(50.0)),
    },
    Column {
        group: "",
        title: "p99",
        width: 7,
        show: |e| maybe_time(e.numbers.wait.percentile_ns(99.0)),
    },
    Column { group: "", title: "max", width: 7, show: |e| maybe_time(max(&e.numbers.wait)) },
    Column { group: "", title: "total", width: 7, show: |e| total(e) },
    Column { group: "", title: "share%", width: 7, show: |e| percent(e.share) },
];

fn held(entry: &Entry<'_>, text: String) -> String {
    if entry.holds { text } else { NONE.to_owned() }
}

fn max(times: &lockwright_analysis::lockmeter::model::Times) -> Option<f64> {
    (times.count > 0).then_some(times.max_ns)
}

fn total(entry: &Entry<'_>) -> String {
    let wait = &entry.numbers.wait;
    if wait.count == 0 { NONE.to_owned() } else { time(wait.total_ns) }
}

/// The two lines of headings.
pub fn headings() -> [String; 2] {
    let (mut groups, mut titles) = (String::new(), String::new());
    for column in COLUMNS {
        groups += &format!("{:>1$}", column.group, column.width);
        titles += &format!("{:>1$}", column.title, column.width);
    }
    [groups, titles]
}

/// A row of numbers.
pub fn row(entry: &Entry<'_>) -> String {
    COLUMNS.iter().map(|c| format!("{:>1$}", (c.show)(entry), c.width)).collect()
}

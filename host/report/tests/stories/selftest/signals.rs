//! The kernel's irqsafe, inversion and read recursion families. Signal 10 is the one whose handler
//! runs. Where `@` stands, a story has 10, and another time 12, which is clean.

use super::{Case, Column, Column::*, Expected, for_columns, orders, told_by_own_threads, written};

const KIND: &str = "inconsistent-state";
const LIKELY: Expected = Some(("likely", KIND));
const POSSIBLE: Expected = Some(("possible", KIND));

/// A handler that takes what its own thread holds.
fn alone(column: Column) -> Expected {
    match column {
        Mutex | Spin | Semaphore | WriterRead => LIKELY,
        Read => None,
        Recursive | ErrorCheck | Write | WriterWrite => POSSIBLE,
    }
}

/// A handler that takes what another thread holds.
fn with_others(column: Column) -> Expected {
    if column == Read { None } else { LIKELY }
}

/// Name, parts and verdict of families that have all columns.
type Row = (&'static str, &'static [&'static str], fn(Column) -> Expected);

const FAMILIES: &[Row] = &[
    ("irqsafe1", &["O(10) I(10) L(A) U(A) Z", "O(@) L(A) U(A)"], alone),
    ("irqsafe1 in one thread", &["O(@) L(A) U(A) M(@) O(10) I(10) L(A) U(A) Z"], alone),
    ("irqsafe2A, opened while held", &["L(A) O(@) U(A)", "O(10) I(10) L(A) U(A) Z"], alone),
    ("irqsafe2B, blocked while held", &["O(@) M(@) L(A) U(A)", "O(10) I(10) L(A) U(A) Z"], clean),
    (
        "irqsafe3",
        &["O(@) L(A) L(B) U(B) U(A)", "O(@) L(B) U(B)", "O(10) I(10) L(A) U(A) Z"],
        with_others,
    ),
    (
        "irqsafe4",
        &["L(A) L(B) U(B) U(A)", "O(@) L(B) U(B)", "O(10) I(10) L(A) U(A) Z"],
        with_others,
    ),
    (
        "irq_inversion",
        &[
            "L(A) L(C) U(C) U(A)",
            "L(C) L(B) U(B) U(C)",
            "O(@) L(B) U(B)",
            "O(10) I(10) L(A) U(A) Z",
        ],
        with_others,
    ),
];

fn clean(_: Column) -> Expected {
    None
}

/// Name, parts, and verdicts on `A`, a rwlock that prefers readers or writers. `B` is a mutex.
const READ_RECURSION: &[(&str, &[&str], Expected, Expected)] = &[
    (
        "irq_read_recursion",
        &["W(A) U(A)", "O(10) R(A) U(A)", "O(10) I(10) R(A) L(B) U(B) U(A) Z"],
        None,
        LIKELY,
    ),
    (
        "irq_read_recursion2",
        &["L(B) W(A) U(A) U(B)", "O(10) R(A) U(A)", "O(10) I(10) L(B) U(B) Z"],
        LIKELY,
        LIKELY,
    ),
    (
        "irq_read_recursion3",
        &["L(B) R(A) U(A) U(B)", "O(10) R(A) U(A)", "O(10) I(10) L(B) U(B) Z"],
        None,
        LIKELY,
    ),
    ("written in the handler", &["O(10) R(A) U(A)", "O(10) I(10) W(A) U(A) Z"], LIKELY, LIKELY),
    ("read in the handler", &["O(10) W(A) U(A)", "O(10) I(10) R(A) U(A) Z"], POSSIBLE, POSSIBLE),
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, parts, expected) in FAMILIES {
        for signal in ["10", "12"] {
            let parts: Vec<String> = parts.iter().map(|part| part.replace('@', signal)).collect();
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            cases.extend(for_columns(name, "A B C", &parts, |column| {
                expected(column).filter(|_| signal == "10")
            }));
        }
    }
    for (name, parts, rlock, rsem) in READ_RECURSION {
        for (kind, expected) in [("rwlock", *rlock), ("writers", *rsem)] {
            let writer = if kind == "writers" { written("A") } else { String::new() };
            for order in orders(parts) {
                let story = format!("{kind} A\n{}{writer}", told_by_own_threads(&order));
                cases.push(Case { family: format!("{name}, {kind}"), story, expected });
            }
        }
    }
    cases
}

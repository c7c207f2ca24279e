//! Readers among themselves and with writers: the kernel's rlock and rsem families, and the cycles
//! of three rwlocks.

use super::{Case, Expected, orders, told_by_own_threads, written};

const LIKELY: Expected = Some(("likely", "circular-dependency"));
const AGAIN: Expected = Some(("likely", "recursive-locking"));
const MAYBE_AGAIN: Expected = Some(("possible", "recursive-locking"));

/// Family, parts, and the verdicts on a rwlock that prefers readers and on one that prefers
/// writers.
type Row = (&'static str, &'static [&'static str], Expected, Expected);

/// `A` is the rwlock, `B` a mutex.
const PAIRS: &[Row] = &[
    ("AA1", &["R(A) R(A) U(A) U(A)"], None, AGAIN),
    ("AA1B", &["R(A1) R(A2) U(A2) U(A1)"], None, None),
    ("AA2", &["R(A) W(A) U(A) U(A)"], AGAIN, AGAIN),
    ("AA3", &["W(A) R(A) U(A) U(A)"], MAYBE_AGAIN, MAYBE_AGAIN),
    ("ABBA1", &["R(A) L(B) U(B) U(A)", "L(B) W(A) U(A) U(B)"], LIKELY, LIKELY),
    ("ABBA2", &["R(A) L(B) U(B) U(A)", "L(B) R(A) U(A) U(B)"], None, LIKELY),
    ("ABBA3", &["W(A) L(B) U(B) U(A)", "L(B) W(A) U(A) U(B)"], LIKELY, LIKELY),
    (
        "chaincache_ABBA1",
        &["R(A) L(B) U(B) U(A)", "L(B) R(A) U(A) U(B) L(B) W(A) U(A) U(B)"],
        LIKELY,
        LIKELY,
    ),
];

/// `X`, `Y` and `Z` are the kernel's 1, 2 and 3.
const TRIPLES: &[(&str, Expected)] = &[
    ("W1R2_W2R3_W3R1", LIKELY),
    ("W1W2_R2R3_W3R1", LIKELY),
    ("W1W2_R2R3_R3W1", None),
    ("W1R2_R2R3_W3W1", None),
];

fn triple(name: &str) -> Vec<String> {
    let lock = |n: &str| match n {
        "1" => "X",
        "2" => "Y",
        _ => "Z",
    };
    let part = |part: &str| {
        let (a, b) = (lock(&part[1..2]), lock(&part[3..4]));
        format!("{}({a}) {}({b}) U({b}) U({a})", &part[..1], &part[2..3])
    };
    name.split('_').map(part).collect()
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut both = |name: &str, locks: &str, parts: &[&str], rlock: Expected, rsem: Expected| {
        let of_kinds = [("rlock", "rwlock", rlock), ("rsem", "writers", rsem)];
        for (prefix, kind, expected) in of_kinds {
            let writer = if kind == "writers" { written(locks) } else { String::new() };
            for order in orders(parts) {
                let family = format!("{prefix}_{name}");
                let story = format!("{kind} {locks}\n{}{writer}", told_by_own_threads(&order));
                cases.push(Case { family, story, expected });
            }
        }
    };
    for (name, parts, rlock, rsem) in PAIRS {
        both(name, "A", parts, *rlock, *rsem);
    }
    for (name, rlock) in TRIPLES {
        let parts = triple(name);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        // Where a writer waits between, readers are no better than writers.
        both(name, "X Y Z", &parts, *rlock, LIKELY);
    }
    cases
}

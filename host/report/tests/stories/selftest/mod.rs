//! The kernel's locking-selftest, in user space: its families, for every way to lock that pthreads
//! have, with signals instead of interrupts.
//!
//! What differs from the kernel's, and why:
//! - Where a family has several threads' parts, they run in every order, each part by a thread of
//!   its own. (The kernel runs most on one CPU, in one order; run so, each is `single-thread`
//!   here.)
//! - glibc's rwlock prefers readers, as the kernel's `rlock` in interrupts; its writer-preferring
//!   kind
//!   is the kernel's `rsem`, provided that somebody writes: here threads beyond 90 do.
//! - Two contexts, hard and soft interrupts, become two signals: one that the handler is of, and
//!   another,
//!   which makes every story clean.
//! - Locks that notice are no deadlock: a recursive mutex lets its thread in, an error-checking one
//!   and
//!   a rwlock held for writing fail. So they are `possible`, and not `likely`.
//! - A semaphore that is posted by a thread which has not taken it, or taken again by the one that
//!   has,
//!   hands something over: those stories are clean. (The kernel's semaphores are no part of its table.)
//! - Two locks of one class, nested once, are clean: nesting is judged by instance.
//!
//! Without a meaning here: ww_mutex, local_lock, fs_reclaim, and hard against soft interrupts.

mod deadlocks;
mod readers;
mod signals;
mod wait_context;

use std::collections::BTreeMap;

use crate::story::verdict;

/// A way to lock: what a column of the kernel's table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    Mutex,
    Recursive,
    ErrorCheck,
    Spin,
    /// A semaphore that begins at 1.
    Semaphore,
    /// A rwlock that prefers readers, written and read.
    Write,
    Read,
    /// A rwlock that prefers writers, written and read.
    WriterWrite,
    WriterRead,
}

use Column::*;

const COLUMNS: [Column; 9] =
    [Mutex, Recursive, ErrorCheck, Spin, Semaphore, Write, Read, WriterWrite, WriterRead];

impl Column {
    /// The kind's declaration; a plain mutex needs none.
    fn declaration(self) -> Option<&'static str> {
        match self {
            Mutex => None,
            Recursive => Some("recursive"),
            ErrorCheck => Some("errorcheck"),
            Spin => Some("spin"),
            Semaphore => Some("sem"),
            Write | Read => Some("rwlock"),
            WriterWrite | WriterRead => Some("writers"),
        }
    }

    /// `parts` with every `L` taken this way.
    fn story(self, locks: &str, parts: &[&str]) -> String {
        let take = if matches!(self, Read | WriterRead) { "R(" } else { "L(" };
        let told = told_by_own_threads(parts).replace("L(", take);
        let declared = self.declaration().map(|kind| format!("{kind} {locks}\n"));
        let written = if self == WriterRead { written(locks) } else { String::new() };
        format!("{}{told}{written}", declared.unwrap_or_default())
    }
}

/// For each of these rwlocks, a thread of its own takes it for writing while it holds something
/// else. So it is recorded that a writer can come between readers, wherever they are.
fn written(locks: &str) -> String {
    let write = |(i, lock)| format!("T{}: L(V{i}) W({lock}) U({lock}) U(V{i})\n", 90 + i);
    locks.split(' ').enumerate().map(write).collect()
}

fn told_by_own_threads(parts: &[&str]) -> String {
    parts.iter().enumerate().map(|(i, part)| format!("T{}: {part}\n", i + 1)).collect()
}

/// What must be found: nothing, or findings of one kind, the first of this grade.
type Expected = Option<(&'static str, &'static str)>;

/// One story of the table.
struct Case {
    family: String,
    story: String,
    expected: Expected,
}

/// Every order of `parts`.
fn orders<'p>(parts: &[&'p str]) -> Vec<Vec<&'p str>> {
    if parts.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (i, first) in parts.iter().enumerate() {
        let rest: Vec<&str> = [&parts[..i], &parts[i + 1..]].concat();
        for mut order in orders(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

/// A family for all columns, its parts in every order.
fn for_columns(
    family: &str,
    locks: &str,
    parts: &[&str],
    expected: impl Fn(Column) -> Expected,
) -> Vec<Case> {
    let mut cases = Vec::new();
    for column in COLUMNS {
        for order in orders(parts) {
            let family = format!("{family}, {column:?}");
            let story = column.story(locks, &order);
            cases.push(Case { family, story, expected: expected(column) });
        }
    }
    cases
}

fn table() -> Vec<Case> {
    [deadlocks::cases(), readers::cases(), signals::cases(), wait_context::cases()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_story_has_its_verdict() {
    let mut wrong: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let cases = table();
    for Case { family, story, expected } in &cases {
        let found = verdict(story);
        let right = match expected {
            None => found.is_empty(),
            Some((grade, kind)) => {
                found.first().is_some_and(|first| first.starts_with(&format!("{grade} {kind}: ")))
                    && found.iter().all(|finding| finding.contains(&format!(" {kind}: ")))
            }
        };
        if !right {
            let told = format!("expected {expected:?}, found {found:?} in\n{story}");
            wrong.entry(family.clone()).or_insert((0, told)).0 += 1;
        }
    }
    println!("{} stories of the kernel's locking-selftest", cases.len());
    for (family, (count, told)) in &wrong {
        println!("{family}, {count} times: {told}");
    }
    assert!(wrong.is_empty(), "{} families have another verdict", wrong.len());
}

#[test]
fn the_readme_says_how_many() {
    let readme = include_str!("../../../../../README.md");
    let stories = table().len();
    let said = format!("{},{:03} stories", stories / 1000, stories % 1000);
    assert!(readme.contains(&said), "README.md should say \"{said}\"");
}

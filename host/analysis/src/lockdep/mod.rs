//! From contexts to findings: lock-order cycles, recursion and nesting, and misuse, each with a
//! grade. The list of finders is in `finders.rs`.
//!
//! The program under test only recorded in which contexts it took its locks; here is where cycles
//! are searched, combinations of threads are judged, and what is the same to a reader is folded.

pub(crate) mod judge;
pub(crate) mod misuse;
pub(crate) mod orders;
pub(crate) mod search;
pub(crate) mod waits;

use std::collections::HashMap;

use self::orders::circular;
pub use self::search::cycles::Work;
use self::search::graph;
use crate::finding::Grade;
use crate::model::Model;
use crate::view::occurrence::{Context, Level};

/// What it takes to search all cycles of a process.
pub fn search_work(model: &Model<'_>) -> Work {
    circular::work(model)
}

/// What is known of a dependency that lies on a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CyclicPair {
    /// A thread did take them so; else only a signal's handler may.
    pub is_recorded: bool,
    /// The grade of the most serious cycle that was found through it. None where it was not looked
    /// at, as shorter ones say all there is.
    pub grade: Option<Grade>,
}

/// Pairs of merged classes, held and acquired, that lie on a cycle of dependencies, whatever keeps
/// its threads apart.
pub fn cyclic_pairs(model: &Model<'_>) -> HashMap<(u32, u32), CyclicPair> {
    let (parts, _) = graph::parts(model, Level::Class);
    let mut pairs: HashMap<(u32, u32), CyclicPair> = HashMap::new();
    for part in &parts {
        for (pair, edge) in part.pairs() {
            let is_recorded = |context: &Context| model.trie.signal(context.acquired).is_none();
            pairs.entry(pair).or_default().is_recorded |=
                part.contexts(edge).iter().any(is_recorded);
        }
    }
    for level in [Level::Instance, Level::Class] {
        for (pair, grade) in circular::graded_pairs(model, level) {
            if let Some(known) = pairs.get_mut(&pair) {
                known.grade = Some(known.grade.map_or(grade, |other| other.min(grade)));
            }
        }
    }
    pairs
}

//! From contexts to findings: lock-order cycles, recursion and nesting, and misuse, each with a
//! grade.
//!
//! The program under test only recorded in which contexts it took its locks; here is where cycles
//! are searched, combinations of threads are judged, and what is the same to a reader is folded.

mod annotated;
mod atomic_sleep;
mod barriers;
pub(crate) mod budget;
mod callbacks;
mod chains;
pub(crate) mod circular;
pub(crate) mod cycles;
mod declared;
mod enclosed;
mod floor;
pub(crate) mod graph;
mod joins;
pub(crate) mod judge;
mod left_held;
mod loader;
mod lost_wakeups;
pub mod misuse;
mod nesting;
mod onces;
mod online;
mod over;
mod precedence;
mod semaphores;
mod signallers;
mod signals;
mod taken_signals;
pub(crate) mod unfinished_waits;
mod waiting_writer;
mod waits_through;

use std::collections::{HashMap, HashSet};

pub use self::cycles::Work;

use crate::finding::coverage::Note;
use crate::finding::{Grade, Kind};
use crate::model::Model;
use crate::progress::Progress;
use crate::view::candidate::Candidate;
use crate::view::occurrence::{Context, Level};
use crate::view::process_view::ProcessView;

/// The findings of one process. What is seen of instances goes before what is seen of classes, and
/// what happened before what might: the same thing is reported once.
pub(crate) fn findings(
    view: &ProcessView<'_, '_>,
    progress: &dyn Progress,
    notes: &mut Vec<Note>,
) -> Vec<Candidate> {
    let mut candidates = online::find(view);
    let met: HashSet<(Kind, Vec<u32>)> = candidates
        .iter()
        .map(|candidate| (candidate.finding.kind, candidate.insts.clone()))
        .collect();
    let is_met = |kind: Kind, candidate: &Candidate| met.contains(&(kind, candidate.insts.clone()));
    let is_new = |candidate: &Candidate| {
        // A handler that takes its thread's lock again is reported as InconsistentState only.
        let again = candidate.finding.kind == Kind::RecursiveLocking;
        !(is_met(candidate.finding.kind, candidate)
            || again && is_met(Kind::InconsistentState, candidate))
    };
    candidates
        .extend(circular::find(view, Level::Instance, progress, notes).into_iter().filter(is_new));
    candidates.extend(signals::find(view, notes).into_iter().filter(is_new));
    let nested = nesting::find(view, &candidates, notes);
    let of_classes = circular::find(view, Level::Class, progress, notes);
    let explained = |Candidate { finding, classes, .. }: &Candidate| {
        candidates.iter().any(|by| by.explains(finding.kind, classes, finding.grade))
    };
    let judged = |candidate: &Candidate| {
        nested.judged.iter().any(|set| candidate.classes.iter().all(|class| set.contains(class)))
    };
    let of_classes: Vec<Candidate> = of_classes
        .into_iter()
        .filter(|candidate| !explained(candidate) && !judged(candidate))
        .collect();
    candidates.extend(nested.candidates.into_iter().filter(is_new));
    candidates.extend(of_classes);
    let declared = declared::find(view, &mut candidates, notes);
    candidates.extend(declared);
    candidates.extend(misuse::find(view));
    candidates.extend(callbacks::find(view));
    candidates.extend(lost_wakeups::find(view));
    candidates.extend(taken_signals::find(view));
    candidates.extend(barriers::find(view, notes).into_iter().filter(is_new));
    candidates.extend(atomic_sleep::find(view));
    candidates
}

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

//! From contexts to findings: lock-order cycles, recursion and nesting, and misuse, each with a grade.
//!
//! The program under test only recorded in which contexts it took its locks; here is where cycles
//! are searched, combinations of threads are judged, and what is the same to a reader is folded.

mod annotated;
mod between;
pub(crate) mod budget;
pub(crate) mod circular;
pub(crate) mod cycles;
mod declared;
pub(crate) mod draft;
mod enclosed;
mod floor;
pub(crate) mod graph;
pub(crate) mod judge;
pub mod misuse;
mod nesting;
mod online;
mod semaphores;
mod signallers;
mod signals;
pub(crate) mod teller;
pub(crate) mod waiting;
pub(crate) mod words;

use std::collections::{HashMap, HashSet};

use crate::finding::{Grade, Kind};
use crate::model::Model;
use crate::progress::Progress;
use draft::Draft;
use graph::Level;
use teller::Teller;

/// The findings of one process. What is seen of instances goes before what is seen of classes, and
/// what happened before what might: the same thing is told once.
pub(crate) fn findings(
    teller: &Teller<'_, '_>,
    progress: &dyn Progress,
    notes: &mut Vec<String>,
) -> Vec<Draft> {
    let mut drafts = online::find(teller);
    let met: HashSet<(Kind, Vec<u32>)> =
        drafts.iter().map(|draft| (draft.finding.kind, draft.insts.clone())).collect();
    let is_met = |kind: Kind, draft: &Draft| met.contains(&(kind, draft.insts.clone()));
    let is_new = |draft: &Draft| {
        // A handler that takes its thread's lock again is told as such.
        let again = draft.finding.kind == Kind::RecursiveLocking;
        !(is_met(draft.finding.kind, draft) || again && is_met(Kind::InconsistentState, draft))
    };
    drafts.extend(
        circular::find(teller, Level::Instance, progress, notes).into_iter().filter(is_new),
    );
    drafts.extend(signals::find(teller, notes).into_iter().filter(is_new));
    let nested = nesting::find(teller, &drafts, notes);
    let of_classes = circular::find(teller, Level::Class, progress, notes);
    let explained = |Draft { finding, classes, .. }: &Draft| {
        drafts.iter().any(|by| by.explains(finding.kind, classes, finding.grade))
    };
    let judged = |draft: &Draft| {
        nested.judged.iter().any(|set| draft.classes.iter().all(|class| set.contains(class)))
    };
    let of_classes: Vec<Draft> =
        of_classes.into_iter().filter(|draft| !explained(draft) && !judged(draft)).collect();
    drafts.extend(nested.drafts.into_iter().filter(is_new));
    drafts.extend(of_classes);
    let declared = declared::find(teller, &mut drafts, notes);
    drafts.extend(declared);
    drafts.extend(misuse::find(teller));
    drafts
}

/// What is known of a dependency that lies on a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CyclicPair {
    /// A thread did take them so; else only a signal's handler may.
    pub is_recorded: bool,
    /// The grade of the most serious cycle that was found through it. None where it was not looked at, as
    /// shorter ones say all there is.
    pub grade: Option<Grade>,
}

/// Pairs of merged classes, held and acquired, that lie on a cycle of dependencies, whatever keeps its
/// threads apart.
pub fn cyclic_pairs(model: &Model<'_>) -> HashMap<(u32, u32), CyclicPair> {
    let (parts, _) = graph::parts(model, Level::Class);
    let mut pairs: HashMap<(u32, u32), CyclicPair> = HashMap::new();
    for part in &parts {
        for (pair, edge) in part.pairs() {
            let is_recorded =
                |context: &graph::Context| model.trie.signal(context.acquired).is_none();
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

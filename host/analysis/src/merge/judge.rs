//! How serious a cycle is whose parts come from different processes.

use std::collections::HashMap;

use lockwright_ledger::rows::excludes;

use super::classes::Classes;
use crate::across::combinations::combinations;
use crate::across::processes::{Occurrence, Processes};

/// What keeps a combination of occurrences from being a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// Nothing that is known.
    None,
    /// Steps `.0` and `.1` hold a common lock: the node of it in the process of step `.0`.
    Guard(usize, usize, u32),
    /// What step `.0` holds was new: nobody else could know it.
    New(usize),
}

/// A cycle's most serious combination.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What it lacks.
    pub obstacle: Obstacle,
    /// An occurrence for each edge.
    pub acquisitions: Vec<Occurrence>,
    /// Not all combinations were looked at.
    pub cut: bool,
}

/// The verdict on a cycle.
pub enum Outcome {
    /// No process alone has it.
    New(Verdict),
    /// The report of one process has it, and no less serious.
    Known,
}

/// Judges cycles.
pub struct Judge<'j, 'a> {
    all: &'j Processes<'j, 'a>,
    classes: &'j Classes,
}

impl<'j, 'a> Judge<'j, 'a> {
    pub(super) fn new(all: &'j Processes<'j, 'a>, classes: &'j Classes) -> Self {
        Self { all, classes }
    }

    /// Judges a cycle by the occurrences of its edges.
    pub(super) fn judge(&self, edges: &[&[Occurrence]]) -> Outcome {
        let own = self.own(edges);
        if own == Some(Obstacle::None) {
            return Outcome::Known;
        }
        let mut best: Option<Verdict> = None;
        let looked_at_all = combinations(edges, |acquisitions| {
            let obstacle = self.obstacle(acquisitions);
            let is_better = best.as_ref().is_none_or(|best| rank(obstacle) < rank(best.obstacle));
            if is_better
                && acquisitions
                    .iter()
                    .any(|acquisition| acquisition.ledger != acquisitions[0].ledger)
            {
                best = Some(Verdict { obstacle, acquisitions: acquisitions.to_vec(), cut: false });
            }
            best.as_ref().is_none_or(|best| best.obstacle != Obstacle::None)
        });
        match (best, own) {
            (Some(mut best), own) if own.is_none_or(|own| rank(best.obstacle) < rank(own)) => {
                best.cut = !looked_at_all && best.obstacle != Obstacle::None;
                Outcome::New(best)
            }
            _ => Outcome::Known,
        }
    }

    /// The least that keeps a process from this deadlock that has all of the edges; `None` if there
    /// is no such process.
    fn own(&self, edges: &[&[Occurrence]]) -> Option<Obstacle> {
        let mut own: Option<Obstacle> = None;
        let mut ledgers: Vec<usize> = edges[0].iter().map(|occurrence| occurrence.ledger).collect();
        ledgers.sort_unstable();
        ledgers.dedup();
        for ledger in ledgers {
            let of_ledger = |edge: &&[Occurrence]| -> Vec<Occurrence> {
                edge.iter().copied().filter(|occurrence| occurrence.ledger == ledger).collect()
            };
            let edges: Vec<Vec<Occurrence>> = edges.iter().map(of_ledger).collect();
            let edges: Vec<&[Occurrence]> = edges.iter().map(Vec::as_slice).collect();
            combinations(&edges, |acquisitions| {
                let obstacle = self.obstacle(acquisitions);
                own = Some(own.filter(|&own| rank(own) <= rank(obstacle)).unwrap_or(obstacle));
                own != Some(Obstacle::None)
            });
        }
        own
    }

    fn obstacle(&self, acquisitions: &[Occurrence]) -> Obstacle {
        let is_new = |acquisition: &Occurrence| {
            let trie = &self.all.models[acquisition.ledger].trie;
            trie.is_new(acquisition.context.acquired, acquisition.context.held)
        };
        if let Some(new) = acquisitions.iter().position(is_new) {
            return Obstacle::New(new);
        }
        for (i, a) in acquisitions.iter().enumerate() {
            for (j, b) in acquisitions.iter().enumerate().skip(i + 1) {
                if let Some(gate) = self.gate(a, b) {
                    return Obstacle::Guard(i, j, gate);
                }
            }
        }
        Obstacle::None
    }

    /// A lock that both hold, and not both as readers: the node of it in the process of `a`. Only
    /// of a class with one lock in each process is that sure.
    fn gate(&self, a: &Occurrence, b: &Occurrence) -> Option<u32> {
        let held: HashMap<u32, u16> = self.held(b).map(|(_, class, mode)| (class, mode)).collect();
        let mut gates = self.held(a).filter(|(_, class, mode)| {
            held.get(class).is_some_and(|&other| excludes(*mode, other))
        });
        gates.next().map(|(node, ..)| node)
    }

    /// The held locks that are the only ones of their class: node, class, and mode.
    fn held(&self, acquisition: &Occurrence) -> impl Iterator<Item = (u32, u32, u16)> {
        let model = &self.all.models[acquisition.ledger];
        model.trie.held(acquisition.context.acquired).filter_map(move |(id, node)| {
            let group = model.classes.plain(model.classes.group_of(node.class));
            let class = self.classes.lock(acquisition.ledger, model, node)?;
            (group.locks == 1).then_some((id, class, node.mode))
        })
    }
}

/// The less the more serious.
fn rank(obstacle: Obstacle) -> u8 {
    match obstacle {
        Obstacle::None => 0,
        Obstacle::Guard(..) => 1,
        Obstacle::New(_) => 2,
    }
}

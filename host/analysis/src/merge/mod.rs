//! Joins what several runs and processes of a program recorded: cycles of lock classes that none of
//! them has by itself.
//!
//! One run takes `a` then `b`, another `b` then `a`: neither has a cycle, the program has. Locks of
//! different processes are different locks, and what threads of different runs did cannot be
//! ordered; so this is seen of classes, and at most `possible`.

mod classes;
mod judge;
mod tell;

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use lockwright_ledger::Ledger;

use crate::across;
pub use crate::across::processes::Given;
use crate::across::processes::{Occurrence, Processes};
use crate::across::search::SharedLocks;
use crate::all_symbols::AllSymbols;
use crate::analyse::{count, describe};
use crate::finding::coverage::{Note, Search};
use crate::finding::{Finding, Instances, Process, Report, Summary};
use crate::lockdep::search::budget::Budget;
use crate::lockdep::search::cycles::{Limits, Visitor, Work, shortest_first};
use crate::lockdep::search::graph::{Part, Vertex, parts_of, targets, vertex};
use crate::model::{Model, Sources, Symbolise, missing_names};
use crate::progress::{Progress, Stage};
use crate::view::candidate::fold;
use crate::view::occurrence::Context;
use classes::Classes;
use judge::{Judge, Outcome, Verdict};

/// Held locks looked at to collect dependencies.
const WALK: u64 = 300_000_000;
/// Occurrences of one dependency that are kept of one process: enough to find one without a gate.
const MOST_OCCURRENCES: usize = 16;
/// As in [`crate::lockdep::orders::circular`].
const SURVEY: u64 = 50_000_000;
const STEPS: u64 = 20_000_000;
const MOST_JUDGED: usize = 50_000;
const MOST_KEPT: usize = 2_000;

/// One run of the program: what one argument of `merge` names.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// As the user named it.
    pub name: String,
    /// Its processes.
    pub pids: Vec<u32>,
}

/// What the runs make together.
#[derive(Debug)]
pub struct Merged {
    /// The findings, and how much was watched in all.
    pub report: Report,
    /// The runs.
    pub runs: Vec<Run>,
}

/// Joins runs. Their ledgers come one run after the other.
pub fn merge(runs: &[Given], ledgers: &[Ledger], progress: &dyn Progress) -> Merged {
    merge_with(runs, ledgers, &AllSymbols::new(ledgers).each(), progress)
}

/// As [`merge`], with names from `symbols[i]` for `ledgers[i]`.
pub fn merge_with(
    runs: &[Given],
    ledgers: &[Ledger],
    symbols: &[&dyn Symbolise],
    progress: &dyn Progress,
) -> Merged {
    let sources = Sources::new(ledgers, symbols);
    let mut summary = Summary { processes: ledgers.len() as u64, ..Summary::default() };
    progress.stage(Stage::Reading, ledgers.len() as u64);
    let mut models = Vec::new();
    let mut processes = Vec::new();
    for (index, ledger) in ledgers.iter().enumerate() {
        let model = Model::new(&sources, index);
        let mut process = describe(ledger);
        count(&model, &mut summary, &mut process);
        processes.push(process);
        models.push(model);
        progress.advance(1);
    }
    let run_of: Vec<usize> = runs
        .iter()
        .enumerate()
        .flat_map(|(i, run)| std::iter::repeat_n(i, run.processes))
        .collect();
    let all = Processes { sources: &sources, models: &models, runs, run_of: &run_of };
    let classes = Classes::new(&all);
    summary.classes = classes.len();
    let (links, pairs, mut whole) = links(&all, &classes);
    summary.dependencies = pairs;
    let parts = parts_of(links);
    progress.stage(Stage::RunCycles, parts.len() as u64);
    let judge = Judge::new(&all, &classes);
    let mut found = Vec::new();
    for part in &parts {
        whole &= search(&judge, part, &mut found);
        progress.advance(1);
    }
    let own: Vec<&Ledger> = ledgers.iter().collect();
    let (cycles, all_shared) = SharedLocks::new(&own).cycles(&all);
    if !(whole && all_shared) {
        note_cut(&mut processes);
    }
    let told: HashSet<Vec<u32>> =
        cycles.iter().filter_map(|cycle| of_classes(&all, &classes, &cycle.acquisitions)).collect();
    let shared = cycles.iter().map(|cycle| across::tell::candidate(&all, cycle)).collect();
    let mut findings = fold(shared, Instances::Folded);
    found.retain(|verdict| {
        of_classes(&all, &classes, &verdict.acquisitions).is_none_or(|its| !told.contains(&its))
    });
    findings.extend(found.iter().map(|verdict| tell::finding(&all, &classes, verdict)));
    findings.sort_by(|a, b| {
        let by = |finding: &Finding| (finding.grade, finding.steps.len());
        by(a).cmp(&by(b)).then_with(|| a.names().cmp(b.names()))
    });
    let mut begin = 0;
    let of_run = |Given { name, processes: n }: &Given| {
        begin += n;
        let pids =
            processes[begin - n..begin].iter().map(|process: &Process| process.pid).collect();
        Run { name: name.clone(), pids }
    };
    let runs = runs.iter().map(of_run).collect();
    let modules = missing_names(symbols, findings.iter().flat_map(Finding::frames));
    Merged { report: Report { summary, processes, findings, modules, ..Report::default() }, runs }
}

/// The classes of what the steps of a cycle hold, sorted.
fn of_classes(
    all: &Processes<'_, '_>,
    classes: &Classes,
    acquisitions: &[Occurrence],
) -> Option<Vec<u32>> {
    let held = |acquisition: &Occurrence| {
        let model = &all.models[acquisition.ledger];
        classes.lock(acquisition.ledger, model, model.trie.node(acquisition.context.held)?)
    };
    let mut held: Vec<u32> = acquisitions.iter().map(held).collect::<Option<_>>()?;
    held.sort_unstable();
    Some(held)
}

/// Every dependency between joined classes that some thread took, how many different ones there
/// are, and whether all were looked at.
fn links(
    all: &Processes<'_, '_>,
    classes: &Classes,
) -> (Vec<(Vertex, Vertex, Occurrence)>, u64, bool) {
    let mut budget = Budget::new(WALK);
    let mut links: Vec<(Vertex, Vertex, Occurrence)> = Vec::new();
    let mut kept = HashMap::new();
    let mut pairs = HashSet::new();
    for (ledger, model) in all.models.iter().enumerate() {
        kept.clear();
        for (id, node) in model.trie.contexts() {
            let Some(lock) = classes.lock(ledger, model, node) else { continue };
            for (held, by) in model.trie.held_behind_own(id) {
                if !budget.take(1) {
                    break;
                }
                let Some(from) = classes.lock(ledger, model, by).filter(|&from| from != lock)
                else {
                    continue;
                };
                pairs.insert((from, lock));
                let from = vertex(from, by.mode);
                for to in targets(model, node, lock) {
                    // What holds the same locks is the same to the judge.
                    let sets: &mut Vec<(u64, bool)> = kept.entry((from, to)).or_default();
                    let set = (model.trie.held_set(id), model.trie.is_new(id, held));
                    if sets.len() < MOST_OCCURRENCES && !sets.contains(&set) {
                        sets.push(set);
                        let context = Context { acquired: id, held };
                        links.push((from, to, Occurrence { ledger, context }));
                    }
                }
            }
        }
    }
    (links, pairs.len() as u64, !budget.is_spent_out())
}

/// The cycles of one part that are worth a finding go to `found`; tells whether all were looked at.
fn search<'j>(judge: &'j Judge<'j, 'j>, part: &Part<Occurrence>, found: &mut Vec<Verdict>) -> bool {
    let (mut survey, mut steps) = (Budget::new(SURVEY), Budget::new(STEPS));
    let mut work = Work::default();
    let mut limits = Limits { survey: &mut survey, walk: &mut steps, work: &mut work };
    let mut collector =
        Collector { judge, part, seen: HashMap::new(), pairs: HashSet::new(), found, judged: 0 };
    shortest_first(part, u32::MAX, &mut limits, &mut collector);
    let done = collector.is_done();
    !(done || survey.is_spent_out() || steps.is_spent_out())
}

/// Judges the cycles of one part.
struct Collector<'c, 'j> {
    judge: &'c Judge<'j, 'j>,
    part: &'c Part<Occurrence>,
    /// By its least: the classes of a cycle that says something, in this report or in that of one
    /// process, sorted.
    seen: HashMap<u32, Vec<Vec<u32>>>,
    /// Those of two classes.
    pairs: HashSet<(u32, u32)>,
    found: &'c mut Vec<Verdict>,
    judged: usize,
}

impl Visitor for Collector<'_, '_> {
    fn cycle(&mut self, edges: &[usize]) {
        let mut locks: Vec<u32> =
            edges.iter().map(|&edge| self.part.locks[self.part.to[edge] as usize]).collect();
        locks.sort_unstable();
        let is_within =
            |fewer: &Vec<u32>| fewer.iter().all(|lock| locks.binary_search(lock).is_ok());
        if locks.iter().filter_map(|least| self.seen.get(least)).flatten().any(is_within) {
            return;
        }
        self.judged += 1;
        let edges: Vec<&[Occurrence]> =
            edges.iter().map(|&edge| self.part.contexts(edge)).collect();
        if let Outcome::New(verdict) = self.judge.judge(&edges) {
            self.found.push(verdict);
        }
        if let [a, b] = locks[..] {
            self.pairs.insert((a, b));
        }
        self.seen.entry(locks[0]).or_default().push(locks);
    }

    fn is_done(&self) -> bool {
        self.judged >= MOST_JUDGED || self.found.len() >= MOST_KEPT
    }

    fn explained(
        &self,
        lock: u32,
        mut before: impl Iterator<Item = u32>,
        _: &[usize],
        _: u32,
    ) -> bool {
        before.any(|other| self.pairs.contains(&(lock.min(other), lock.max(other))))
    }
}

fn note_cut(processes: &mut [Process]) {
    if let Some(first) = processes.first_mut() {
        first.notes.push(Note::SearchCut(Search::RunCycles));
    }
}

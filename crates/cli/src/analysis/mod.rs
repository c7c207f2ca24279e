//! From ledgers to findings: lock-order cycles, recursion and nesting, misuse, and faults in the lives of other
//! objects, each with a grade.
//!
//! The program under test only recorded in which contexts it took its locks; here is where cycles
//! are searched, combinations of threads are judged, and what is the same to a reader is folded.

mod annotated;
mod between;
mod budget;
mod circular;
mod cycles;
mod declared;
mod draft;
mod enclosed;
mod floor;
mod graph;
mod judge;
pub mod merge;
mod misuse;
mod nesting;
mod object_name;
mod object_words;
mod objects;
mod online;
mod semaphores;
mod signallers;
mod signals;
mod teller;
mod waiting;
mod words;

use std::collections::{HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::layout::process_state;

use crate::completeness;
use crate::finding::{Finding, Gap, Grade, Kind, Process, Report, Summary, Waiting};
use crate::model::{Model, Sources, Symbolise, missing_names};
use crate::process_end::ProcessEnd;
use crate::progress::Progress;
use crate::symbolize::{DebugDirs, Images, Symbols};
use draft::Draft;
use graph::Level;
use teller::Teller;
pub(crate) use words::signal as signal_name;

/// What findings that are the same to a reader become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// One, with the number of the others.
    Folded,
    /// Each its own, as far as they were recorded one by one.
    Apart,
}

/// Analyses the ledgers of a run, one per process. Leaves the cost fields of the summary empty.
pub fn analyse(ledgers: &[Ledger], instances: Instances, progress: &dyn Progress) -> Report {
    let images = Images::new(DebugDirs::from_env());
    let symbols: Vec<Symbols<'_>> =
        ledgers.iter().map(|ledger| Symbols::with_images(ledger, images.clone())).collect();
    let symbols: Vec<&dyn Symbolise> = symbols.iter().map(|s| s as &dyn Symbolise).collect();
    analyse_with(ledgers, &symbols, instances, progress)
}

/// As [`analyse`], with names from `symbols[i]` for `ledgers[i]`.
pub fn analyse_with(
    ledgers: &[Ledger],
    symbols: &[&dyn Symbolise],
    instances: Instances,
    progress: &dyn Progress,
) -> Report {
    let sources = Sources::new(ledgers, symbols);
    let mut summary = Summary {
        processes: ledgers.len() as u64,
        all_instances: instances == Instances::Apart,
        ..Summary::default()
    };
    let mut processes = Vec::new();
    let mut drafts = Vec::new();
    let mut waiting = Vec::new();
    progress.stage("reading ledgers", ledgers.len() as u64);
    for (number, &index) in in_order_of_start(ledgers).iter().enumerate() {
        let model = Model::new(&sources, index);
        progress.advance(1);
        let mut process = describe(&ledgers[index]);
        let teller = Teller { model: &model, sources: &sources, instances };
        let found = findings(&teller, progress, &mut process.notes);
        drafts.extend(found.into_iter().map(|draft| draft.of_process(number)));
        waiting.extend(waiting::find(&teller, number));
        count(&model, &mut summary, &mut process);
        processes.push(process);
    }
    let findings = draft::fold(drafts, instances);
    let frames = findings.iter().flat_map(Finding::frames);
    let waits = waiting.iter().flat_map(Waiting::frames);
    let modules = missing_names(symbols, frames.chain(waits));
    Report { summary, processes, unwatched: Vec::new(), findings, waiting, modules }
}

/// Ledgers by when their processes started: the order of a report's processes.
pub(crate) fn in_order_of_start(ledgers: &[Ledger]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ledgers.len()).collect();
    order.sort_by_key(|&index| {
        let header = ledgers[index].header();
        (header.start_realtime_ns, header.start_ns, header.pid)
    });
    order
}

/// The findings of one process. What is seen of instances goes before what is seen of classes, and
/// what happened before what might: the same thing is told once.
fn findings(
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
    drafts.extend(objects::find(teller));
    drafts
}

/// What a report calls types of objects that timers are not among: those have names.
#[cfg(test)]
pub(crate) fn object_types() -> impl Iterator<Item = &'static str> {
    let is_timer = |words: &&object_words::Words| words.name == "timer";
    object_words::TYPES.iter().filter(move |words| !is_timer(words)).map(|words| words.name)
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

fn count(model: &Model<'_>, summary: &mut Summary, process: &mut Process) {
    let header = model.ledger.header();
    summary.locks += header.locks_seen;
    summary.classes += model.classes.len();
    summary.chains += model.trie.chains();
    summary.lost = summary.lost.saturating_add(completeness::lost(model.ledger));
    summary.completeness.gaps.extend_from_slice(&process.gaps);
    for thread in model.threads() {
        process.threads += 1;
        process.acquisitions += thread.acquisitions;
        process.contended += thread.contended;
    }
    summary.threads += process.threads;
    summary.acquisitions += process.acquisitions;
    summary.contended += process.contended;
    let group = |class| model.classes.group_of(class);
    let mut pairs = HashSet::new();
    let mut last = (0, 0);
    for (id, node) in model.trie.contexts() {
        // Only the innermost: what is further out is a dependency of the one between.
        let Some((_, held)) = model.trie.held(id).next() else { continue };
        let pair = (group(held.class), group(node.class));
        if pair != last {
            pairs.insert(pair);
            last = pair;
        }
    }
    summary.dependencies += pairs.len() as u64;
}

/// What the header tells of a process, with notes on what is missing.
pub(crate) fn describe(ledger: &Ledger) -> Process {
    let header = ledger.header();
    let command = ledger.raw_text(header.cmdline);
    let mut command: Vec<String> =
        command.split(|&b| b == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
    if command.last().is_some_and(String::is_empty) {
        command.pop();
    }
    let gaps = completeness::gaps(ledger);
    let mut notes: Vec<String> = gaps.iter().map(Gap::to_string).collect();
    match ledger.turned_away() {
        0 => {}
        1 => notes.push(
            "a child that it forked was not watched: in its sandbox there was no place for a ledger"
                .into(),
        ),
        many => notes.push(format!(
            "{many} children that it forked were not watched: in their sandbox there was no place for their ledgers"
        )),
    }
    if ledger.refused_rows() > 0 {
        notes.push(format!(
            "the ledger is damaged, or made up: {} of its rows claim what others have claimed before; that is left out",
            ledger.refused_rows()
        ));
    }
    if header.allocations_lost > 0 {
        notes.push(format!(
            "{} allocations could not be tracked for want of memory: locks in them go by where they \
             were first taken",
            header.allocations_lost
        ));
    }
    if header.pairs_folded > 0 {
        notes.push(format!(
            "{} pairs of locks were recorded as pairs of their classes only",
            header.pairs_folded
        ));
    }
    Process {
        pid: header.pid,
        token: header.token,
        exe: ledger.text(header.exe),
        command,
        exited: header.state == process_state::EXITED,
        end: ProcessEnd::of(ledger),
        threads: 0,
        locks: header.locks_seen,
        acquisitions: 0,
        contended: 0,
        gaps,
        notes,
    }
}

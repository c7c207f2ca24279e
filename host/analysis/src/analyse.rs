//! From the ledgers of a run to its report: what lockdep and debugobjects find in each process,
//! what is the same to a reader folded, and what is known of the processes.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use lockwright_ledger::Ledger;
use lockwright_ledger::layout::{engines, process_state};
use lockwright_ledger::rows::{Class, Module, lock_kind};

use crate::all_symbols::AllSymbols;
use crate::finding::coverage::{
    Bounded, Gap, Inlined, InlinedWhy, Missing, Note, OtherLayouts, Search,
};
use crate::finding::{Finding, Instances, Process, Report, Summary, Waiting};
use crate::lockdep::waits::{futex_waits, unfinished_waits};
use crate::model::class_chains::class_chains;
use crate::model::{Model, Sources, Symbolise, missing_names};
use crate::process_end::{KilledChildren, ProcessEnd};
use crate::progress::{Progress, Stage};
use crate::symbolize::inlined_locks::has_inlined_locks;
use crate::view::candidate;
use crate::view::process_view::ProcessView;
use crate::{across, completeness, finders};

/// Analyses the ledgers of a run, one per process. Leaves the cost fields of the summary empty.
pub fn analyse(ledgers: &[Ledger], instances: Instances, progress: &dyn Progress) -> Report {
    analyse_with(ledgers, &AllSymbols::new(ledgers).each(), instances, progress)
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
    let mut candidates = Vec::new();
    let mut waiting = Vec::new();
    let killed = KilledChildren::of(ledgers);
    progress.stage(Stage::Reading, ledgers.len() as u64);
    for (number, &index) in in_order_of_start(ledgers).iter().enumerate() {
        let model = Model::new(&sources, index);
        progress.advance(1);
        let mut process = describe(&ledgers[index]);
        process.end = killed.end(&ledgers[index]);
        let view = ProcessView { model: &model, sources: &sources, instances };
        let found = finders::find_all(&view, progress, &mut process.notes);
        process.notes.extend(futex_waits::note(&view));
        candidates.extend(found.into_iter().map(|candidate| candidate.of_process(number)));
        let waits = unfinished_waits::find(&view, number);
        process.all_waited = unfinished_waits::are_all(&model, &waits);
        waiting.extend(waits);
        count(&model, &mut summary, &mut process);
        processes.push(process);
    }
    let (across, whole) = across::shared_cycles(&sources);
    if let Some(first) = processes.first_mut().filter(|_| !whole) {
        first.notes.push(Note::SearchCut(Search::SharedLocks));
    }
    candidates.extend(across);
    let findings = candidate::fold(candidates, instances);
    let frames = findings.iter().flat_map(Finding::frames);
    let waits = waiting.iter().flat_map(Waiting::frames);
    let modules = missing_names(symbols, frames.chain(waits));
    Report { summary, processes, unwatched: Vec::new(), findings, waiting, modules }
}

/// The threads that wait now, without looking for anything that is wrong: much cheaper than [`analyse_with`] where ledgers are
/// read again and again.
pub fn waiting_now(ledgers: &[Ledger], symbols: &[&dyn Symbolise]) -> Vec<Waiting> {
    let sources = Sources::new(ledgers, symbols);
    let of = |(number, index): (usize, usize)| {
        let model = Model::new(&sources, index);
        let view = ProcessView { model: &model, sources: &sources, instances: Instances::Folded };
        unfinished_waits::find(&view, number)
    };
    in_order_of_start(ledgers).into_iter().enumerate().flat_map(of).collect()
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

/// Adds what a process has to the summary, and what its threads did to the process. A damaged
/// ledger may say any number.
pub(crate) fn count(model: &Model<'_>, summary: &mut Summary, process: &mut Process) {
    let add = |sum: &mut u64, by: u64| *sum = sum.saturating_add(by);
    let header = model.ledger.header();
    add(&mut process.acquisitions, header.removed_acquisitions);
    add(&mut process.contended, header.removed_contended);
    let rows = model.threads().count() as u64;
    add(&mut process.threads, rows.max(header.threads.into()));
    for thread in model.threads() {
        add(&mut process.acquisitions, thread.acquisitions);
        add(&mut process.contended, thread.contended);
    }
    add(&mut summary.locks, process.locks);
    add(&mut summary.classes, model.classes.len() - model.classes.controls());
    add(&mut summary.chains, class_chains(model).len() as u64);
    add(&mut summary.contexts, model.trie.nested());
    add(&mut summary.lost, completeness::lost(model.ledger));
    add(&mut summary.threads, process.threads);
    add(&mut summary.acquisitions, process.acquisitions);
    add(&mut summary.contended, process.contended);
    summary.recording.add(model.ledger);
    let gap = |missing: &Missing| Gap { pid: process.pid, missing: missing.clone() };
    summary.completeness.gaps.extend(process.missing().map(gap));
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

/// Controls of `pthread_once`, which are no locks to their program.
fn controls(ledger: &Ledger) -> u64 {
    let is_control = |row: &Class| row.kind == lock_kind::ONCE;
    let classes = ledger.rows::<Class>().map(|(_, row)| row).filter(is_control);
    classes.map(|row| u64::from(row.locks)).sum()
}

/// The process that the header describes, with notes on what is missing.
pub(crate) fn describe(ledger: &Ledger) -> Process {
    let header = ledger.header();
    let command = ledger.raw_text(header.cmdline);
    let mut command: Vec<String> =
        command.split(|&b| b == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
    if command.last().is_some_and(String::is_empty) {
        command.pop();
    }
    let mut notes: Vec<Note> =
        completeness::missing(ledger).into_iter().map(Note::Missing).collect();
    let counts = [
        (u64::from(ledger.turned_away()), Note::ChildrenUnwatched as fn(u64) -> Note),
        (ledger.refused_rows(), Note::RowsRefused),
        (header.allocations_lost, Note::AllocationsLost),
        (header.pairs_folded, Note::PairsFolded),
    ];
    notes.extend(counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, note)| note(n)));
    notes.extend(Bounded::of(header.bounded).map(Note::Bounded));
    let modules = ledger.rows::<Module>();
    notes.extend(
        modules
            .filter_map(|(_, row)| Some((Inlined::of(&row, &ledger.text(row.path))?, row)))
            .filter(|(inlined, row)| {
                inlined.why != Some(InlinedWhy::OtherMachine)
                    || has_inlined_locks(
                        Path::new(OsStr::from_bytes(&ledger.raw_text(row.path))),
                        &ledger.raw_text(row.build_id),
                    )
            })
            .map(|(inlined, _)| Note::Inlined(inlined)),
    );
    if header.engines & engines::DEBUGOBJECTS != 0 {
        let other = OtherLayouts::of(header.libc_version, header.layouts_differing);
        notes.extend(other.map(Note::OtherLayouts));
    }
    Process {
        pid: header.pid,
        token: header.token,
        exe: ledger.text(header.exe),
        command,
        exited: header.state == process_state::EXITED,
        end: ProcessEnd::of(ledger),
        threads: 0,
        locks: header.locks_seen.saturating_sub(controls(ledger)),
        acquisitions: 0,
        contended: 0,
        all_waited: false,
        notes,
    }
}

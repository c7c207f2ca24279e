//! Threads whose wait was not over when their process was killed, or when its ledger was read:
//! where and for what they wait, and which thread has it. A hang that is no cycle shows only here.

use std::collections::{HashSet, VecDeque};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{
    Finding as Row, Held, Node, Thread, Wake, excludes, finding_kind, held_flag, mode,
    thread_state, waits_for_lock,
};

use crate::finding::action::Action;
use crate::finding::futex::{FutexWait, ID_BITS, LEAST_ID, Woken};
use crate::finding::{Holder, LockInfo, StuckSignaller, Waiting, WaitsFor};
use crate::model::{LockRef, Model};
use crate::process_end::ProcessEnd;
use crate::symbolize::futexes;
use crate::view::process_view::ProcessView;

use crate::lockdep::misuse::left_held::LeftHolds;
use crate::lockdep::misuse::semaphore_at;

/// The threads of a process that wait, in order of their creation; `process` is its place in the
/// report. None where the process has exited or called exec since, which ends all waits.
pub fn find(view: &ProcessView<'_, '_>, process: usize) -> Vec<Waiting> {
    let ledger = view.model.ledger;
    let end = ProcessEnd::of(ledger);
    if end.is_exit() || end == ProcessEnd::Exec || has_called_exec(view.sources.ledgers, ledger) {
        return Vec::new();
    }
    described(view, process, view.model.threads().filter(|row| waits(row)).collect())
}

/// As [`find`], of the threads alone that `is_wanted` is true of; the process runs.
pub fn find_of(
    view: &ProcessView<'_, '_>,
    process: usize,
    is_wanted: impl Fn(&Thread) -> bool,
) -> Vec<Waiting> {
    let waiters = view.model.threads().filter(|row| waits(row) && is_wanted(row));
    described(view, process, waiters.collect())
}

/// Waits in order of the threads' creation.
fn described(
    view: &ProcessView<'_, '_>,
    process: usize,
    mut waiters: Vec<&Thread>,
) -> Vec<Waiting> {
    waiters.sort_by_key(|row| view.model.number(row.id));
    let refs: Vec<LockRef> = waiters
        .iter()
        .map(|row| match row.wait_mode as u16 & mode::FUTEX_WAIT {
            0 => LockRef { class: row.wait_class, inst: row.wait_inst, row: 0 },
            _ => LockRef::default(),
        })
        .collect();
    let infos = view.model.describe(view.sources, &refs).into_iter().map(|(info, _)| info);
    waiters.iter().zip(infos).map(|(row, info)| of(view, process, row, info)).collect()
}

/// Whether these waits are those of all threads, and none ends by itself.
pub fn are_all(model: &Model<'_>, waits: &[Waiting]) -> bool {
    let live = model.threads().filter(|row| row.state == thread_state::LIVE).count();
    !waits.is_empty() && waits.len() == live && waits.iter().all(|wait| !wait.timed)
}

/// The process of this ledger has gone on with another.
fn has_called_exec(ledgers: &[Ledger], ledger: &Ledger) -> bool {
    let header = ledger.header();
    ledgers.iter().map(Ledger::header).any(|other| {
        // Not a forked child that has the same ids, in another namespace.
        (other.pid, other.ppid, other.parent_token) == (header.pid, header.ppid, 0)
            && other.start_ns > header.start_ns
    })
}

/// The thread waits, and not at a barrier, which anybody may come to.
fn waits(row: &Thread) -> bool {
    row.state == thread_state::LIVE
        && row.wait_seq & 1 == 1
        && row.wait_mode as u16 & mode::BARRIER == 0
}

fn of(view: &ProcessView<'_, '_>, process: usize, row: &Thread, info: LockInfo) -> Waiting {
    let model = view.model;
    let bits = row.wait_mode as u16;
    let kind = match bits {
        _ if bits & mode::JOIN != 0 => WaitsFor::Thread,
        _ if bits & mode::COND_WAIT != 0 => WaitsFor::Condition,
        _ if bits & mode::SEM_WAIT != 0 => WaitsFor::Semaphore,
        _ if bits & mode::FUTEX_WAIT != 0 => WaitsFor::Futex,
        _ => WaitsFor::Lock,
    };
    let is_thread = kind == WaitsFor::Thread;
    Waiting {
        process,
        pid: model.ledger.header().pid,
        thread: model.thread(row.id),
        kind,
        action: match kind {
            WaitsFor::Condition => Action::WaitsOnCondition,
            WaitsFor::Lock | WaitsFor::Semaphore | WaitsFor::Thread | WaitsFor::Futex => {
                Action::waits(bits)
            }
        },
        lock: match kind {
            WaitsFor::Thread | WaitsFor::Futex => None,
            WaitsFor::Semaphore => Some(semaphore_at(model, row.wait_addr).1),
            WaitsFor::Lock | WaitsFor::Condition => Some(info),
        },
        joined: is_thread.then(|| model.thread(row.wait_addr as u32)),
        timed: bits & mode::TIMED != 0,
        stack: match kind {
            WaitsFor::Futex => futexes::folded(&model.stack(row.wait_stack)).to_vec(),
            _ => {
                model.trie.node(row.wait_node).map_or_else(Vec::new, |node| model.stack(node.stack))
            }
        },
        holders: match kind {
            WaitsFor::Lock => holders(view, row),
            _ => Vec::new(),
        },
        signallers: match kind {
            WaitsFor::Condition | WaitsFor::Semaphore => signallers(view, row),
            _ => Vec::new(),
        },
        futex: (kind == WaitsFor::Futex).then(|| futex(view, row)),
        is_told: false,
    }
}

/// What is known of the futex that a thread waits at.
fn futex(view: &ProcessView<'_, '_>, waiter: &Thread) -> FutexWait {
    let model = view.model;
    let start_ns = model.ledger.header().start_ns;
    let with_id =
        |tid: u32| model.threads().find(|row| row.state == thread_state::LIVE && row.tid == tid);
    let named = Some(waiter.wait_word & ID_BITS).filter(|&tid| tid >= LEAST_ID);
    let woken = model
        .ledger
        .rows::<Wake>()
        .map(|(_, wake)| wake)
        .find(|wake| wake.addr == waiter.wait_addr && wake.tid != 0);
    FutexWait {
        kind: futexes::kind_of(waiter.wait_inst, &model.stack(waiter.wait_stack)),
        addr: waiter.wait_addr,
        word: waiter.wait_word,
        name: model.element_at(waiter.wait_addr, 0),
        begun_ns: waiter.wait_since_ns.saturating_sub(start_ns),
        names: named.and_then(with_id).map(|row| model.thread(row.id)),
        woken: woken.map(|wake| Woken {
            by: {
                let mut rows: Vec<&Thread> =
                    model.threads().filter(|row| row.tid == wake.tid).collect();
                rows.sort_by_key(|row| row.start_ns);
                let then = rows.into_iter().rfind(|row| row.start_ns <= wake.when_ns);
                model.thread(then.map_or(0, |row| row.id))
            },
            at_ns: wake.when_ns.saturating_sub(start_ns),
            stack: futexes::folded(&model.stack(wake.stack)).to_vec(),
        }),
    }
}

/// The threads that hold what `waiter` waits for, itself perhaps.
fn holders(view: &ProcessView<'_, '_>, waiter: &Thread) -> Vec<Holder> {
    let model = view.model;
    let keeps_it = |held: &Held| {
        held.is_held()
            && held.addr == waiter.wait_addr
            && held.flags & held_flag::IN_COND_WAIT == 0
            && excludes(waiter.wait_mode as u16, held.mode)
    };
    let mut rows: Vec<&Thread> =
        model.threads().filter(|row| row.state == thread_state::LIVE).collect();
    rows.sort_by_key(|row| model.number(row.id));
    rows.into_iter()
        .filter_map(|row| {
            let held = model.ledger.held(row).into_iter().find(keeps_it)?;
            Some(Holder {
                thread: model.thread(row.id),
                waits: waits(row),
                // It may be called for the lock.
                has_returned: held.flags & held_flag::LEFT != 0
                    && LeftHolds::of(model).has(row.id, held.inst),
                busy: None,
                blocked: None,
                stack: model.stack(stack_of(model.ledger, &held)),
            })
        })
        .collect()
}

/// The threads that have signalled what `waiter` waits for, and wait for a lock that it keeps, or for
/// one that a thread has which does, and so on. Others may come that never did before: so it is no deadlock for sure.
fn signallers(view: &ProcessView<'_, '_>, waiter: &Thread) -> Vec<StuckSignaller> {
    let model = view.model;
    let signals = model
        .ledger
        .rows::<Row>()
        .filter(|(_, by)| (by.kind, by.addr) == (finding_kind::SIGNALLED, waiter.wait_addr));
    let have_signalled: HashSet<u32> = signals.map(|(_, by)| by.thread).collect();
    let mut rows: Vec<&Thread> = model
        .threads()
        .filter(|row| row.state == thread_state::LIVE && row.id != waiter.id)
        .filter(|row| have_signalled.contains(&row.id))
        .collect();
    rows.sort_by_key(|row| model.number(row.id));
    let is_stuck = |row: &&&Thread| waits(row) && waits_for_lock(row.wait_mode as u16);
    let stuck = rows.iter().filter(is_stuck);
    let stuck: Vec<(&Thread, Vec<u32>)> =
        stuck.filter_map(|row| Some((*row, between(view, row, waiter.id)?))).collect();
    let are_all = stuck.len() == rows.len();
    let of = |(row, between): &(&Thread, Vec<u32>)| StuckSignaller {
        thread: model.thread(row.id),
        lock: model.name(LockRef { class: row.wait_class, inst: row.wait_inst, row: 0 }),
        stack: model.trie.node(row.wait_node).map_or_else(Vec::new, |node| model.stack(node.stack)),
        between: between.iter().map(|&id| model.thread(id)).collect(),
        are_all,
    };
    stuck.iter().map(of).collect()
}

/// The threads of the shortest way from `row`, which waits for a lock, to the thread `to`: each has
/// what the one before waits for, or is joined by it. None where there is no way.
fn between(view: &ProcessView<'_, '_>, row: &Thread, to: u32) -> Option<Vec<u32>> {
    let model = view.model;
    let keeps = |row: &Thread, addr: u64| {
        model.ledger.held(row).iter().any(|held| {
            held.is_held() && held.addr == addr && held.flags & held_flag::IN_COND_WAIT == 0
        })
    };
    let mut live: Vec<&Thread> =
        model.threads().filter(|row| row.state == thread_state::LIVE).collect();
    live.sort_by_key(|row| model.number(row.id));
    let mut open = VecDeque::from([(row, Vec::new())]);
    let mut seen = HashSet::from([row.id]);
    while let Some((row, path)) = open.pop_front() {
        let wants = row.wait_mode as u16;
        let is_for_thread = wants & mode::JOIN != 0;
        if !waits(row) || !(is_for_thread || waits_for_lock(wants)) {
            continue;
        }
        let next = live.iter().filter(|other| match is_for_thread {
            true => u64::from(other.id) == row.wait_addr,
            false => keeps(other, row.wait_addr),
        });
        for other in next {
            if other.id == to {
                return Some(path);
            }
            if seen.insert(other.id) {
                open.push_back((*other, path.iter().copied().chain([other.id]).collect()));
            }
        }
    }
    None
}

/// Where a held lock was taken. The thread's fast path leaves the context open: it is one that was
/// taken there before.
fn stack_of(ledger: &Ledger, held: &Held) -> u32 {
    let is_there = |node: &Node| {
        (node.site, node.class) == (held.site, held.class) && [0, held.inst].contains(&node.inst)
    };
    let known = ledger.get::<Node>(held.node).filter(is_there);
    let known = known.or_else(|| ledger.rows::<Node>().map(|(_, node)| node).find(is_there));
    known.map_or(0, |node| node.stack)
}

//! Waits that are under way in a process that runs: for what, where, and which thread has it.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::layout::engines;
use lockwright_ledger::rows::meter::{Meter, Site, wait_kind};
use lockwright_ledger::rows::{Held, Thread, mode, thread_state, waits_for_lock};

use crate::finding::action::Action;
use crate::finding::futex::{FutexUse, FutexWait};
use crate::finding::lock_kind::{LockKind, Subject};
use crate::finding::{Holder, Instances, LockInfo, Name, ThreadInfo, Waiting, WaitsFor};
use crate::lockdep::waits::unfinished_waits;
use crate::lockmeter::model::{At, MeterReport, WaitKind, Waiter, build_with};
use crate::model::{Model, Sources, Symbolise};
use crate::view::process_view::ProcessView;

/// A wait of a thread, by which it is known again as long as it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitId {
    /// The thread's row, or that of lockmeter.
    pub row: u32,
    /// Which of its waits: its number, or when it began.
    pub wait: u64,
}

/// What a wait is for, as far as the row alone tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A lock.
    Lock,
    /// A thread's end.
    Join,
    /// Something at a futex, which may be a lock.
    Futex,
    /// A signal, a post.
    Event,
}

/// A wait that lasts long.
#[derive(Clone, Debug)]
pub struct LongWait {
    /// What the ledger of the process is known by.
    pub token: u64,
    /// The wait.
    pub waiting: Waiting,
    /// How long it had lasted at least when it was seen, ns.
    pub waited_ns: u64,
    /// When that was, since the process had started, ns.
    pub seen_ns: u64,
}

/// Whether lockdep wrote the ledger, which then has each thread's wait; else lockmeter has.
fn has_threads(ledger: &Ledger) -> bool {
    ledger.header().engines & engines::LOCKDEP != 0
}

/// The waits under way. The tables of threads, meters and sites are all that it needs of the ledger. Waits at barriers, and in
/// calls that sleep, are none.
pub fn waits(ledger: &Ledger) -> Vec<(WaitId, Purpose)> {
    if has_threads(ledger) {
        let rows = ledger.rows::<Thread>().map(|(_, row)| row);
        return rows
            .filter_map(|row| Some((id_of(&row)?, purpose(row.wait_mode as u16)?)))
            .collect();
    }
    let rows = ledger.rows::<Meter>().map(|(_, row)| row);
    let of = |row: Meter| {
        let site = ledger.get::<Site>(row.waiting)?;
        let purpose = match site.wait {
            wait_kind::LOCK | wait_kind::ONCE => Purpose::Lock,
            wait_kind::JOIN => Purpose::Join,
            wait_kind::FUTEX => Purpose::Futex,
            wait_kind::COND | wait_kind::SEMAPHORE => Purpose::Event,
            _ => return None,
        };
        let is_known = row.tid != 0 && row.waiting_since != 0;
        is_known.then_some((WaitId { row: row.id, wait: row.waiting_since }, purpose))
    };
    rows.filter_map(of).collect()
}

fn id_of(row: &Thread) -> Option<WaitId> {
    let waits = row.state == thread_state::LIVE && row.wait_seq & 1 == 1;
    waits.then_some(WaitId { row: row.id, wait: row.wait_seq.into() })
}

fn purpose(bits: u16) -> Option<Purpose> {
    match bits {
        _ if bits & mode::BARRIER != 0 => None,
        _ if bits & mode::FUTEX_WAIT != 0 => Some(Purpose::Futex),
        _ if bits & mode::JOIN != 0 => Some(Purpose::Join),
        _ if waits_for_lock(bits) => Some(Purpose::Lock),
        _ => Some(Purpose::Event),
    }
}

/// A wait that lasts yet.
#[derive(Clone, Debug)]
pub struct Described {
    /// Which it is.
    pub id: WaitId,
    /// The waiter holds a lock.
    pub holds_lock: bool,
    /// The wait.
    pub waiting: Waiting,
}

/// Describes the waits of ledger `index` that `is_wanted` is true of and that last yet.
pub fn describe(
    ledgers: &[Ledger],
    symbols: &[&dyn Symbolise],
    index: usize,
    is_wanted: impl Fn(WaitId) -> bool,
) -> Vec<Described> {
    let ledger = &ledgers[index];
    let by_tid: HashMap<u32, (WaitId, bool)> = match has_threads(ledger) {
        true => {
            // What it waits for is among its held locks already.
            let holds = |row: &Thread| {
                let other = |held: &Held| held.is_held() && held.addr != row.wait_addr;
                ledger.held(row).iter().any(other)
            };
            let rows = ledger.rows::<Thread>();
            rows.filter_map(|(_, row)| Some((row.tid, (id_of(&row)?, holds(&row))))).collect()
        }
        false => {
            let holds = |row: &Meter| {
                ledger.metered(row).iter().any(|(held, _)| held.addr != row.waiting_for)
            };
            let id = |row: &Meter| WaitId { row: row.id, wait: row.waiting_since };
            let rows = ledger.rows::<Meter>();
            rows.map(|(_, row)| (row.tid, (id(&row), holds(&row)))).collect()
        }
    };
    let of = |waiting: Waiting| {
        let &(id, holds_lock) = by_tid.get(&waiting.thread.tid)?;
        Some(Described { id, holds_lock, waiting })
    };
    all(ledgers, symbols, index, is_wanted).into_iter().filter_map(of).collect()
}

fn all(
    ledgers: &[Ledger],
    symbols: &[&dyn Symbolise],
    index: usize,
    is_wanted: impl Fn(WaitId) -> bool,
) -> Vec<Waiting> {
    if has_threads(&ledgers[index]) {
        let sources = Sources::new(ledgers, symbols);
        let model = Model::new(&sources, index);
        let view = ProcessView { model: &model, sources: &sources, instances: Instances::Folded };
        return unfinished_waits::find_of(&view, 0, |row| id_of(row).is_some_and(&is_wanted));
    }
    let report = build_with(ledgers, symbols, &[]);
    let ledger = &ledgers[index];
    let token = ledger.header().token;
    let is_its = |waiter: &&Waiter| {
        report.processes.get(waiter.process).is_some_and(|process| process.token == token)
    };
    let rows = ledger.rows::<Meter>().map(|(_, row)| row);
    let wanted: HashSet<u32> = rows
        .filter(|row| is_wanted(WaitId { row: row.id, wait: row.waiting_since }))
        .map(|row| row.tid)
        .collect();
    let waiters = report.waiting.iter().filter(is_its).filter(|it| wanted.contains(&it.tid));
    waiters.map(|waiter| measured(&report, waiter)).collect()
}

/// Whether the wait is for a lock. A thread's end counts as one if the waiter holds a lock: others wait with it. Without
/// any, most programs wait so all the time.
pub fn is_for_lock(waiting: &Waiting, holds_lock: bool) -> bool {
    match waiting.kind {
        WaitsFor::Lock => true,
        WaitsFor::Thread => holds_lock,
        WaitsFor::Condition | WaitsFor::Semaphore => false,
        WaitsFor::Futex => {
            waiting.futex.as_ref().is_none_or(|futex| futex.kind.used_as == FutexUse::Lock)
        }
    }
}

/// A thread that lockmeter knows by its id alone.
fn thread(tid: u32) -> ThreadInfo {
    ThreadInfo { name: String::new(), tid, number: tid }
}

/// What lockmeter has of a wait.
fn measured(report: &MeterReport, waiter: &Waiter) -> Waiting {
    let wait = match waiter.at {
        At::Wait(index) => report.waits.get(index),
        _ => None,
    };
    let kind = match wait.map(|wait| wait.kind) {
        None | Some(WaitKind::Once) => WaitsFor::Lock,
        Some(WaitKind::Condition) => WaitsFor::Condition,
        Some(WaitKind::Join) => WaitsFor::Thread,
        Some(WaitKind::Futex) => WaitsFor::Futex,
        Some(_) => WaitsFor::Semaphore,
    };
    let (lock, site) = match waiter.at {
        At::Lock { lock, site } => (Some(lock), Some(site)),
        _ => (wait.and_then(|wait| wait.lock), None),
    };
    let stack_of = |site: usize| Some(report.site(lock?, site)?.stack.to_vec());
    let holder = |holder: &crate::lockmeter::model::Holder| Holder {
        thread: thread(holder.tid),
        waits: report.waiting.iter().any(|w| (w.process, w.tid) == (waiter.process, holder.tid)),
        has_returned: false,
        busy: None,
        blocked: None,
        stack: holder.site.and_then(stack_of).unwrap_or_default(),
    };
    let info = lock.and_then(|lock| report.locks.get(lock)).map(|lock| LockInfo {
        name: Name { text: lock.name.clone(), is_symbol: lock.is_symbol },
        class: Name { text: lock.name.clone(), is_symbol: lock.is_symbol },
        class_by_place: lock.by_place.clone(),
        kind: Subject::Lock(LockKind::of(lock.kind)),
        addr: Some(waiter.addr).filter(|&addr| addr != 0),
        created: lock.created.to_vec(),
        origin: lock.origin,
    });
    let named = wait.and_then(|wait| wait.name.clone()).map(|name| LockInfo {
        name: Name::symbol(name.clone()),
        class: Name::symbol(name),
        class_by_place: None,
        kind: Subject::Internal,
        addr: None,
        created: Vec::new(),
        origin: crate::finding::LockOrigin::Unknown,
    });
    Waiting {
        pid: waiter.pid,
        process: waiter.process,
        thread: thread(waiter.tid),
        kind,
        action: match kind {
            WaitsFor::Condition => Action::WaitsOnCondition,
            WaitsFor::Thread => Action::WaitsToJoin,
            WaitsFor::Semaphore => Action::WaitsForPost,
            WaitsFor::Futex => Action::WaitsAtFutex,
            WaitsFor::Lock => Action::WaitsFor,
        },
        lock: match kind {
            WaitsFor::Semaphore => named,
            WaitsFor::Thread => None,
            _ => info,
        },
        joined: None,
        timed: false,
        stack: match (site, wait) {
            (Some(site), _) => stack_of(site).unwrap_or_default(),
            (None, Some(wait)) => wait.stack.to_vec(),
            (None, None) => Vec::new(),
        },
        holders: waiter.holders.iter().map(holder).collect(),
        signallers: Vec::new(),
        futex: wait.and_then(|wait| wait.futex.as_ref()).map(|futex| FutexWait {
            kind: futex.kind,
            addr: waiter.addr,
            word: 0,
            name: futex.name.clone(),
            begun_ns: waiter.begun_ns.map_or(0, |ns| ns as u64),
            names: waiter.names.map(thread),
            woken: None,
        }),
        is_told: false,
    }
}

//! A moment by a look into a process that nobody started under the tool, and by the many short looks before it.
//!
//! Nothing counts its acquisitions. How long threads wait is estimated: each look at which a thread
//! waits stands for the time since the look before.

use std::collections::{HashMap, HashSet};

use super::moment::{Finding, Held, Lock, Moment, Process, Thread, Totals, Wait};
use super::places::Places;
use crate::attached::text::{doing, verdicts};
use crate::attached::words::{kind_of, trimmed};
use crate::attached::{Attached, words};
use crate::prose::words::{base_name, plain};
use crate::text::stack::shorten;
use lockwright_analysis::attached::{self, Holder, Verdict, WaitKind};

/// What many looks at a process's threads have seen.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    /// By the address of a futex: how long threads waited there, ns.
    pub waited_ns: HashMap<u64, f64>,
    /// By the address of a futex: the locks that were seen there, as [`Lock`]s without figures.
    known: HashMap<u64, Lock>,
    /// By thread and futex: since when it waits there, CLOCK_MONOTONIC ns.
    pub since_ns: HashMap<(u32, u64), u64>,
}

/// The moment that a look is of, at `at_ns`.
pub fn of_process(
    attached: &Attached,
    looks: &mut Looks,
    places: &Places,
    at_ns: u64,
    elapsed_ns: u64,
) -> Moment {
    for wait in attached.threads.iter().filter_map(attached::Thread::wait) {
        let Some(kind) = kind_of(wait.kind) else { continue };
        // A stack that could not be read tells less than the last.
        if wait.kind != WaitKind::Unknown || !looks.known.contains_key(&wait.futex.address) {
            looks.known.insert(wait.futex.address, lock(wait, kind));
        }
    }
    let mut locks: HashMap<String, Lock> = HashMap::new();
    for (address, &ns) in &looks.waited_ns {
        // Most futexes are of conditions and idle threads, and no locks.
        let Some(known) = looks.known.get(address) else { continue };
        let lock = locks.entry(known.id.clone()).or_insert_with(|| known.clone());
        lock.totals.wait_ns += ns;
    }
    for known in looks.known.values() {
        locks.entry(known.id.clone()).or_insert_with(|| known.clone());
    }
    let mut locks: Vec<Lock> = locks.into_values().collect();
    locks.sort_by(|a, b| {
        b.totals.wait_ns.total_cmp(&a.totals.wait_ns).then_with(|| a.id.cmp(&b.id))
    });
    let dead = deadlocked(attached);
    let all = attached.threads.iter().map(|thread| (attached.pid, thread));
    let all = all.chain(attached.elsewhere.iter().map(|(pid, thread)| (*pid, thread)));
    let threads = all.map(|(pid, one)| Thread {
        pid,
        tid: one.tid,
        name: plain(&one.name),
        state: plain(&doing(one)),
        wait: one.wait().map(|wait| waits(one, wait, looks, places, at_ns)),
        is_deadlocked: dead.contains(&one.tid),
        ..Thread::default()
    });
    let process = Process {
        pid: attached.pid,
        command: plain(base_name(&attached.exe)),
        runs: true,
        elapsed_ns,
        locks: locks.len() as u64,
    };
    let mut moment = Moment {
        at_ns,
        processes: vec![process],
        locks,
        threads: threads.collect(),
        ..Moment::default()
    };
    add_held(&mut moment);
    moment.findings = verdicts(attached)
        .into_iter()
        .map(|(is_certain, text)| Finding {
            pid: attached.pid,
            kind: "deadlock".to_owned(),
            grade: if is_certain { "deadlocked" } else { "possible" }.to_owned(),
            is_error: is_certain,
            title: text.first().map_or_else(String::new, |line| title(line)),
            text,
        })
        .collect();
    moment.notes.push(
        "it was not started under lockwright: waits are estimated from looks at its threads, and acquisitions are not counted"
            .to_owned(),
    );
    moment
}

/// What threads hold is known of what others wait for.
fn add_held(moment: &mut Moment) {
    let mut held: Vec<(u32, Held)> = Vec::new();
    for wait in moment.threads.iter().filter_map(|thread| thread.wait.as_ref()) {
        let Some(lock) = moment.lock(&wait.lock) else { continue };
        for &holder in &wait.holders {
            if !held.iter().any(|(tid, of)| (*tid, &of.lock) == (holder, &lock.id)) {
                let (lock, name) = (lock.id.clone(), lock.name.clone());
                held.push((holder, Held { lock, name, ..Held::default() }));
            }
        }
    }
    for (tid, held) in held {
        if let Some(thread) = moment.threads.iter_mut().find(|thread| thread.tid == tid) {
            thread.held.push(held);
        }
    }
}

/// `error[deadlock]: 2 threads wait for each other` without what stands before the sentence.
fn title(line: &str) -> String {
    line.split_once("]: ").map_or(line, |(_, title)| title).to_owned()
}

fn lock(wait: &attached::Wait, kind: &'static str) -> Lock {
    let name = match &wait.name {
        Some(name) => shorten(&plain(&name.text)),
        None => format!("{:#x}", wait.object),
    };
    Lock {
        id: format!("{:x}", wait.object),
        name,
        kind: kind.to_owned(),
        locks: 1,
        totals: Totals::default(),
        ..Lock::default()
    }
}

/// The threads that wait for ever.
fn deadlocked(attached: &Attached) -> HashSet<u32> {
    let certain = attached.verdicts.iter().filter(|verdict| verdict.is_certain());
    certain
        .flat_map(|verdict| match verdict {
            Verdict::Cycle { tids, behind, .. } => [&tids[..], &behind[..]].concat(),
            Verdict::LeftLocked { tid, .. } => vec![*tid],
            Verdict::AllWait { .. } => attached.threads.iter().map(|it| it.tid).collect(),
        })
        .collect()
}

fn waits(
    thread: &attached::Thread,
    wait: &attached::Wait,
    looks: &Looks,
    places: &Places,
    at_ns: u64,
) -> Wait {
    let since = looks.since_ns.get(&(thread.tid, wait.futex.address));
    let is_lock = kind_of(wait.kind).is_some();
    Wait {
        what: plain(&format!("waits for {}", words::object(wait))),
        lock: if is_lock { format!("{:x}", wait.object) } else { String::new() },
        is_for_thread: is_lock && wait.kind != WaitKind::Unknown || wait.kind == WaitKind::Join,
        // One that has moved meanwhile is in another wait at the same place.
        for_ns: since
            .filter(|_| !wait.futex.is_timed)
            .map(|&since| at_ns.saturating_sub(since) as f64),
        is_timed: wait.futex.is_timed,
        place: places.place(trimmed(&thread.stack)),
        holders: match wait.holder {
            Holder::Thread(tid) | Holder::Elsewhere(tid) => vec![tid],
            _ => Vec::new(),
        },
    }
}

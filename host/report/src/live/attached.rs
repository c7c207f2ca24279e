//! A moment by a look into a process that nobody started under the tool, and by the many short looks before it.
//!
//! Nothing counts its acquisitions. Its waits are counted where `lockwright-bpf` may; else how long threads wait is
//! estimated: each look at which a thread waits stands for the time since the look before.

use std::collections::{HashMap, HashSet};

use super::futexes::lock_of;
use super::moment::{Finding, Held, Lock, Moment, Process, Thread, Totals, Wait};
use super::places::Places;
use crate::attached::text::{doing, verdicts};
use crate::attached::words::{kind_of, trimmed};
use crate::attached::{Attached, words};
use crate::prose::lost_waits;
use crate::prose::words::{base_name, plain};
use crate::text::stack::shorten;
use lockwright_analysis::attached::{self, Holder, Verdict, WaitKind};
use lockwright_analysis::traced::FutexReport;

/// What many looks at a process's threads have seen.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    /// By the address of a futex: how long threads waited there, ns.
    pub waited_ns: HashMap<u64, f64>,
    /// By the address of a futex: the locks that were seen there, as [`Lock`]s without figures.
    known: HashMap<u64, Lock>,
    /// By thread and futex: since when it waits there, CLOCK_MONOTONIC ns.
    pub since_ns: HashMap<(u32, u64), u64>,
    /// What was counted, with threads by the ids of their own pid namespace.
    pub counted: Option<FutexReport>,
    /// Why nothing is counted, if nothing is.
    pub uncounted: String,
}

/// Words that are kept in all: those that were waited at longest.
const MOST_WORDS: usize = 20_000;

impl Looks {
    /// Forgets words, if there are many: a program that runs for days has locks in ever new places.
    fn forget(&mut self) {
        if self.waited_ns.len() > 2 * MOST_WORDS {
            let mut times: Vec<f64> = self.waited_ns.values().copied().collect();
            let (_, least, _) = times.select_nth_unstable_by(MOST_WORDS, |a, b| b.total_cmp(a));
            let least = *least;
            self.waited_ns.retain(|_, ns| *ns > least);
        }
        if self.known.len() > 2 * MOST_WORDS {
            let counted = self.counted.iter().flat_map(|report| &report.locks);
            let counted: HashSet<u64> = counted.flat_map(|it| it.addresses.clone()).collect();
            let waited_ns = &self.waited_ns;
            self.known.retain(|at, _| waited_ns.contains_key(at) || counted.contains(at));
        }
    }
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
    looks.forget();
    let mut locks = match &looks.counted {
        Some(report) => counted(report, &looks.known, places),
        None => estimated(looks),
    };
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
    moment.counts_waits = looks.counted.is_some();
    moment.notes.push(match &looks.counted {
        Some(_) => "it was not started under lockwright: every wait is counted from now on (eBPF), and acquisitions are not".to_owned(),
        None => format!(
            "it was not started under lockwright: waits are estimated from looks at its threads, and acquisitions are not counted; {}",
            looks.uncounted
        ),
    });
    if let Some(report) = &looks.counted {
        moment.notes.extend(lost_waits::lines(&report.lost));
    }
    moment
}

/// The locks that were seen, by the looks at them.
fn estimated(looks: &Looks) -> Vec<Lock> {
    let mut locks: HashMap<&str, Lock> = HashMap::new();
    for known in looks.known.values() {
        locks.entry(&known.id).or_insert_with(|| known.clone());
    }
    for (address, &ns) in &looks.waited_ns {
        // Most futexes are of conditions and idle threads, and no locks.
        let lock = looks.known.get(address).and_then(|known| locks.get_mut(known.id.as_str()));
        if let Some(lock) = lock {
            lock.totals.wait_ns += ns;
        }
    }
    locks.into_values().collect()
}

/// The locks that were waited for, with what was counted. A lock of several words, as an rwlock, is one by what was seen of it.
fn counted(report: &FutexReport, known: &HashMap<u64, Lock>, places: &Places) -> Vec<Lock> {
    let mut locks: Vec<Lock> = Vec::new();
    for lock in &report.locks {
        let mut of = lock_of(lock, places);
        of.id = format!("{:x}", lock.addresses.first().copied().unwrap_or(0));
        if let Some(known) = lock.addresses.iter().find_map(|address| known.get(address)) {
            (of.id, of.name) = (known.id.clone(), known.name.clone());
            if lock.kind == WaitKind::Unknown {
                of.kind.clone_from(&known.kind);
            }
        }
        match locks.iter_mut().find(|lock| lock.id == of.id) {
            Some(lock) => lock.merge(of),
            None => locks.push(of),
        }
    }
    locks
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
    let estimated = since
        // One that has moved meanwhile is in another wait at the same place.
        .filter(|_| !wait.futex.is_timed)
        .map(|&since| at_ns.saturating_sub(since) as f64);
    let counted = looks.counted.as_ref().and_then(|report| {
        report.waiting.iter().find(|it| it.tid == thread.tid).map(|it| it.for_ns as f64)
    });
    let is_lock = kind_of(wait.kind).is_some();
    Wait {
        what: plain(&format!("waits for {}", words::object(wait))),
        lock: if is_lock { format!("{:x}", wait.object) } else { String::new() },
        is_for_thread: is_lock && wait.kind != WaitKind::Unknown || wait.kind == WaitKind::Join,
        for_ns: counted.or(estimated),
        is_timed: wait.futex.is_timed,
        place: places.place(trimmed(&thread.stack)),
        holders: match wait.holder {
            Holder::Thread(tid) | Holder::Elsewhere(tid) => vec![tid],
            _ => Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_forgotten_that_were_waited_at_least() {
        let mut looks = Looks::default();
        let many = 2 * MOST_WORDS as u64 + 1;
        looks.waited_ns = (0..many).map(|at| (at, at as f64)).collect();
        looks.known = (0..many).map(|at| (at, Lock::default())).collect();
        looks.forget();
        assert_eq!((looks.waited_ns.len(), looks.known.len()), (MOST_WORDS, MOST_WORDS));
        assert!(looks.waited_ns.contains_key(&(many - 1)) && !looks.known.contains_key(&0));
        looks.forget();
        assert_eq!(looks.waited_ns.len(), MOST_WORDS);
    }
}

//! A moment by what `lockwright-bpf` counted of futexes. Only waits are known.

use std::collections::{HashMap, HashSet};

use super::measured::About;
use super::moment::{Held, Lock, Moment, Place, Process, Site, Thread, Totals, Wait};
use super::places::Places;
use crate::attached::words::{kind_of, trimmed, waited_for};
use crate::prose::lost_waits;
use crate::prose::words::plain;
use crate::text::stack::shorten;
use lockwright_analysis::traced::futexes::{FutexLock, Stack, StillWaiting, is_lock};
use lockwright_analysis::traced::{FutexReport, Waits};

/// Sites kept of a lock, and places that end waits for it.
const MOST_SITES: usize = 32;

/// Threads kept: those that wait for a lock first, and of those the ones that have waited longest.
const MOST_THREADS: usize = 1_000;

/// Locks kept: those that were waited for longest.
const MOST_LOCKS: usize = 2_000;

/// The moment that a report up to now is of. `holders` has, by a thread that waits, the threads that have what it waits for;
/// `about` what is known of a process's thread besides.
pub fn of_futexes(
    report: &FutexReport,
    holders: &HashMap<u32, Vec<u32>>,
    places: &Places,
    about: impl Fn(u32, u32) -> About,
) -> Moment {
    let commands: HashMap<u32, &str> =
        report.processes.iter().map(|(pid, command)| (*pid, command.as_str())).collect();
    let locks: Vec<Lock> = report
        .locks
        .iter()
        .take(MOST_LOCKS)
        .map(|lock| {
            let command = plain(commands.get(&lock.pid).copied().unwrap_or_default());
            let of = lock_of(lock, places);
            Lock { name: format!("{} of {command} ({})", of.name, lock.pid), ..of }
        })
        .collect();
    let mut waiting: Vec<&StillWaiting> = report.waiting.iter().collect();
    // Stable: the longest waits are first.
    waiting.sort_by_key(|wait| !is_lock(wait.kind));
    let thread = |wait: &&StillWaiting| Thread {
        pid: wait.pid,
        tid: wait.tid,
        wait: Some(wait_of(report, wait, holders, places)),
        ..Thread::default()
    };
    let threads: Vec<Thread> = waiting.iter().take(MOST_THREADS).map(thread).collect();
    let mut moment = Moment { counts_waits: true, locks, threads, ..Moment::default() };
    add_holders(&mut moment);
    for thread in &mut moment.threads {
        let About { name, state } = about(thread.pid, thread.tid);
        (thread.name, thread.state) = (plain(&name), state);
    }
    moment.processes = report
        .processes
        .iter()
        .map(|(pid, command)| Process {
            pid: *pid,
            command: plain(command),
            runs: true,
            elapsed_ns: report.elapsed_ns,
            locks: report.locks.iter().filter(|lock| lock.pid == *pid).count() as u64,
        })
        .collect();
    moment.notes = lost_waits::lines(&report.lost);
    moment
}

/// What threads hold is known of what others wait for.
fn add_holders(moment: &mut Moment) {
    let mut held: HashMap<(u32, u32), Vec<Held>> = HashMap::new();
    let mut seen = HashSet::new();
    for thread in &moment.threads {
        let Some(wait) = &thread.wait else { continue };
        let Some(lock) = moment.lock(&wait.lock) else { continue };
        for &holder in &wait.holders {
            if seen.insert((holder, lock.id.clone())) {
                let (lock, name) = (lock.id.clone(), lock.name.clone());
                let held = held.entry((thread.pid, holder)).or_default();
                held.push(Held { lock, name, ..Held::default() });
            }
        }
    }
    for ((pid, tid), held) in held {
        match moment.threads.iter_mut().find(|thread| thread.tid == tid) {
            Some(thread) => thread.held = held,
            None => moment.threads.push(Thread { pid, tid, held, ..Thread::default() }),
        }
    }
    moment.threads.sort_by_key(|thread| (thread.pid, thread.tid));
}

/// A lock with all that was counted.
pub fn lock_of(lock: &FutexLock, places: &Places) -> Lock {
    let sites = |all: &[(Stack, Waits)], how: &str| -> Vec<Site> {
        all.iter().take(MOST_SITES).map(|(stack, waits)| site(stack, *waits, how, places)).collect()
    };
    let name = match (&lock.name, lock.is_by_function) {
        (Some(name), _) => shorten(&plain(&name.text)),
        (None, true) => "one lock or several".to_owned(),
        (None, false) => format!("{:#x}", lock.addresses.first().copied().unwrap_or(0)),
    };
    let ends = if lock.is_woken_by_owner { "released" } else { "woken" };
    Lock {
        id: lock.id(),
        name,
        kind: kind_of(lock.kind).unwrap_or_default().to_owned(),
        locks: 1,
        totals: totals(lock.waits),
        sites: sites(&lock.sites, ""),
        wakers: sites(&lock.wakers, ends),
        ..Lock::default()
    }
}

impl Lock {
    /// Adds what was counted of another word of the same lock.
    pub(super) fn merge(&mut self, other: Self) {
        self.totals.add(&other.totals);
        for (own, more) in [(&mut self.sites, other.sites), (&mut self.wakers, other.wakers)] {
            for site in more {
                let is_same = |own: &&mut Site| own.how == site.how && own.place == site.place;
                match own.iter_mut().find(is_same) {
                    Some(own) => own.totals.add(&site.totals),
                    None => own.push(site),
                }
            }
            own.sort_by(|a, b| b.totals.wait_ns.total_cmp(&a.totals.wait_ns));
        }
    }
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.contended += other.contended;
        self.wait_ns += other.wait_ns;
        self.longest_wait_ns = self.longest_wait_ns.max(other.longest_wait_ns);
    }
}

fn site(stack: &Stack, waits: Waits, how: &str, places: &Places) -> Site {
    let place = if stack.is_empty() { Place::default() } else { places.place(trimmed(stack)) };
    Site { how: how.to_owned(), place, totals: totals(waits), rates: None }
}

fn wait_of(
    report: &FutexReport,
    wait: &StillWaiting,
    holders: &HashMap<u32, Vec<u32>>,
    places: &Places,
) -> Wait {
    let is_it = |lock: &&FutexLock| lock.pid == wait.pid && lock.addresses.contains(&wait.address);
    let lock = report.locks.iter().find(is_it).filter(|_| is_lock(wait.kind));
    let name = wait.name.as_ref().map(|name| shorten(&plain(&name.text)));
    Wait {
        what: format!("waits for {}", waited_for(wait.kind, name, wait.address)),
        lock: lock.map_or_else(String::new, FutexLock::id),
        is_for_thread: is_lock(wait.kind),
        for_ns: Some(wait.for_ns as f64),
        is_timed: false,
        place: places.place(trimmed(&wait.stack)),
        holders: holders.get(&wait.tid).cloned().unwrap_or_default(),
    }
}

fn totals(waits: Waits) -> Totals {
    Totals {
        contended: waits.count,
        wait_ns: waits.total_ns as f64,
        longest_wait_ns: waits.max_ns as f64,
        ..Totals::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_lock_are_added_up_by_place() {
        let place = |text: &str| Place { text: text.to_owned(), ..Place::default() };
        let lock = |waits: u64, at: &str| {
            let totals = Totals { contended: waits, wait_ns: waits as f64, ..Totals::default() };
            let site = Site { place: place(at), totals, ..Site::default() };
            Lock { totals, sites: vec![site], ..Lock::default() }
        };
        let mut one = lock(1, "a");
        one.merge(lock(2, "a"));
        one.merge(lock(5, "b"));
        assert_eq!(one.totals.contended, 8);
        let sites: Vec<_> = one
            .sites
            .iter()
            .map(|site| (site.place.text.as_str(), site.totals.contended))
            .collect();
        assert_eq!(sites, [("b", 5), ("a", 3)]);
    }
}

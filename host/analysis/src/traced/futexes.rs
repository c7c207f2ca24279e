//! Waits for futexes, of processes that were not started under the tool.
//!
//! A wait for a futex need not be for a lock: idle threads wait in conditions and parks. The
//! waiting functions tell locks from those; if they do not, the wait counts as one for a lock.

use std::collections::HashMap;
use std::rc::Rc;

use lockwright_bpf::messages::{Futexes, Lost};

use super::Waits;
use crate::attached::WaitKind;
use crate::attached::waits::kind;
use crate::finding::{Frame, Name};

/// A stack, shared by all who have it; empty where it is not known.
pub type Stack = Rc<[Frame]>;

/// A lock, or something else that is waited for.
#[derive(Clone, Debug)]
pub struct FutexLock {
    /// The process.
    pub pid: u32,
    /// What it is.
    pub kind: WaitKind,
    /// Words: one of a lock; of what is no lock as many as were waited at in one place.
    pub addresses: Vec<u64>,
    /// The variable that it is or lies in.
    pub name: Option<Name>,
    /// All waits.
    pub waits: Waits,
    /// How many of those timed out.
    pub timed_out: u64,
    /// Calls that did not wait, as the word had changed.
    pub refused: u64,
    /// Where it was waited for, the most time first.
    pub sites: Vec<(Stack, Waits)>,
    /// Who ended waits, the most time first.
    pub wakers: Vec<(Stack, Waits)>,
}

/// A wait that was not over.
#[derive(Clone, Debug)]
pub struct StillWaiting {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// What for.
    pub kind: WaitKind,
    /// The word.
    pub address: u64,
    /// The variable that it is or lies in.
    pub name: Option<Name>,
    /// Where.
    pub stack: Stack,
    /// How long, ns.
    pub for_ns: u64,
}

/// All that was measured.
#[derive(Clone, Debug)]
pub struct FutexReport {
    /// Time measured, ns.
    pub elapsed_ns: u64,
    /// Processes by their ids, and what runs in them.
    pub processes: Vec<(u32, String)>,
    /// Locks, the most time waited first.
    pub locks: Vec<FutexLock>,
    /// What is no lock, likewise.
    pub others: Vec<FutexLock>,
    /// Calls that woke, and how many threads.
    pub wakes: (u64, u64),
    /// Waits that were not over, the longest first.
    pub waiting: Vec<StillWaiting>,
    /// What is missing.
    pub lost: Lost,
}

/// Whether what is waited for is a lock, as far as it is known.
pub fn is_lock(kind: WaitKind) -> bool {
    match kind {
        WaitKind::Mutex
        | WaitKind::RwlockRead
        | WaitKind::RwlockWrite
        | WaitKind::Lock(_)
        | WaitKind::Unknown => true,
        WaitKind::Join | WaitKind::Event(_) | WaitKind::Idle(_) => false,
    }
}

/// What is known of processes.
pub trait Places {
    /// The stack of a place; empty where it is not known.
    fn stack(&self, place: u64) -> Stack;
    /// The variable of a process that covers an address.
    fn variable(&self, pid: u32, address: u64) -> Option<Name>;
    /// What runs in a process.
    fn command(&self, pid: u32) -> String;
}

/// Adds up what was counted.
pub fn build_futexes(counted: &Futexes, places: &impl Places) -> FutexReport {
    let mut gathered: HashMap<Key, Gathered> = HashMap::new();
    let mut wakes = (0, 0);
    for row in &counted.rows {
        if row.is_wake {
            wakes = (wakes.0 + row.count, wakes.1 + row.total_ns);
            continue;
        }
        let stack = places.stack(row.place);
        let kind = kind(&stack);
        let key = match is_lock(kind) {
            true => Key::Lock(row.tgid, row.address),
            false => Key::Place(row.tgid, place_of(&stack)),
        };
        let of = gathered.entry(key).or_default();
        let waits = Waits { count: row.count, total_ns: row.total_ns, max_ns: row.max_ns };
        of.kinds.push((kind, waits));
        of.timed_out += row.timed_out;
        of.refused += row.refused;
        if !of.addresses.contains(&row.address) {
            of.addresses.push(row.address);
        }
        merge(&mut of.sites, stack, waits);
        if row.waker != 0 {
            merge(&mut of.wakers, places.stack(row.waker), waits);
        }
    }
    let mut all: Vec<FutexLock> = gathered
        .into_iter()
        .map(|(key, mut of)| {
            let pid = match key {
                Key::Lock(pid, _) | Key::Place(pid, _) => pid,
            };
            of.addresses.sort_unstable();
            let mut waits = Waits::default();
            of.kinds.iter().for_each(|(_, some)| waits.add(*some));
            // A word that is waited at as this and that is what it is mostly.
            let kind = of.kinds.iter().max_by_key(|(_, waits)| waits.count).map(|(kind, _)| *kind);
            let kind = kind.unwrap_or(WaitKind::Unknown);
            let name = match &of.addresses[..] {
                [address] => places.variable(pid, *address),
                _ => None,
            };
            by_time(&mut of.sites);
            by_time(&mut of.wakers);
            let Gathered { addresses, timed_out, refused, sites, wakers, .. } = of;
            FutexLock { pid, kind, addresses, name, waits, timed_out, refused, sites, wakers }
        })
        .collect();
    all.sort_by_key(|lock| {
        (std::cmp::Reverse(lock.waits.total_ns), lock.pid, lock.addresses.first().copied())
    });
    let (locks, others) = all.into_iter().partition(|lock| is_lock(lock.kind));
    let still = |&(address, pid, place, tid, for_ns): &(u64, u32, u64, u32, u64)| {
        let stack = places.stack(place);
        let name = places.variable(pid, address);
        StillWaiting { pid, tid, kind: kind(&stack), address, name, stack, for_ns }
    };
    let mut waiting: Vec<StillWaiting> = counted.waiting.iter().map(still).collect();
    waiting.sort_by_key(|wait| (std::cmp::Reverse(wait.for_ns), wait.tid));
    let mut pids: Vec<u32> = counted.rows.iter().map(|row| row.tgid).collect();
    pids.extend(waiting.iter().map(|wait| wait.pid));
    pids.sort_unstable();
    pids.dedup();
    FutexReport {
        elapsed_ns: counted.elapsed_ns,
        processes: pids.into_iter().map(|pid| (pid, places.command(pid))).collect(),
        locks,
        others,
        wakes,
        waiting,
        lost: counted.lost,
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Lock(u32, u64),
    Place(u32, String),
}

#[derive(Default)]
struct Gathered {
    kinds: Vec<(WaitKind, Waits)>,
    addresses: Vec<u64>,
    timed_out: u64,
    refused: u64,
    sites: Vec<(Stack, Waits)>,
    wakers: Vec<(Stack, Waits)>,
}

/// Places of the same functions and lines are one.
fn place_of(stack: &[Frame]) -> String {
    let frame = |frame: &Frame| {
        let function = frame.function.as_deref().unwrap_or_default();
        let module = frame.module.as_deref().unwrap_or_default();
        let offset = if frame.line.is_some() { 0 } else { frame.offset };
        format!("{module} {function} {} {offset:x};", frame.line.unwrap_or(0))
    };
    stack.iter().map(frame).collect()
}

fn merge(all: &mut Vec<(Stack, Waits)>, stack: Stack, waits: Waits) {
    let place = place_of(&stack);
    match all.iter_mut().find(|(own, _)| Rc::ptr_eq(own, &stack) || place_of(own) == place) {
        Some((_, sum)) => sum.add(waits),
        None => all.push((stack, waits)),
    }
}

fn by_time(all: &mut [(Stack, Waits)]) {
    all.sort_by_key(|(stack, waits)| (std::cmp::Reverse(waits.total_ns), place_of(stack)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_bpf::messages::FutexRow;

    struct Known;

    impl Places for Known {
        fn stack(&self, place: u64) -> Stack {
            let functions: &[&str] = match place {
                1 | 2 => &["__lll_lock_wait", "pthread_mutex_lock", "work"],
                3 => &["pthread_cond_wait", "idle"],
                4 => &["futex_wake", "pthread_mutex_unlock", "work"],
                _ => &[],
            };
            let frame = |name: &&str| Frame { function: Some((*name).into()), ..Frame::default() };
            functions.iter().map(frame).collect()
        }

        fn variable(&self, _: u32, address: u64) -> Option<Name> {
            (address == 0x10).then(|| Name::symbol("queue"))
        }

        fn command(&self, pid: u32) -> String {
            format!("p{pid}")
        }
    }

    fn row(address: u64, place: u64, waker: u64, count: u64) -> FutexRow {
        FutexRow {
            address,
            tgid: 7,
            place,
            waker,
            is_wake: false,
            count,
            total_ns: count * 100,
            max_ns: 100,
            timed_out: 0,
            refused: 1,
        }
    }

    #[test]
    fn locks_are_told_from_what_is_none() {
        let wake = FutexRow { is_wake: true, total_ns: 5, ..row(0x10, 4, 0, 6) };
        let rows = vec![
            // Two places by their numbers that are one by their stack.
            row(0x10, 1, 4, 3),
            row(0x10, 2, 0, 2),
            row(0x20, 3, 0, 8),
            row(0x30, 3, 0, 1),
            wake,
        ];
        let counted = Futexes { rows, waiting: vec![(0x10, 7, 1, 9, 50)], ..Futexes::default() };
        let report = build_futexes(&counted, &Known);
        assert_eq!((report.locks.len(), report.others.len(), report.wakes), (1, 1, (6, 5)));
        let lock = &report.locks[0];
        assert_eq!((lock.kind, lock.waits.count, lock.refused), (WaitKind::Mutex, 5, 2));
        assert_eq!(lock.name, Some(Name::symbol("queue")));
        assert_eq!(lock.sites.len(), 1);
        assert_eq!((lock.wakers.len(), lock.wakers[0].1.count), (1, 3));
        let idle = &report.others[0];
        assert_eq!((idle.kind, idle.addresses.len()), (WaitKind::Event("a condition"), 2));
        assert_eq!(report.processes, [(7, "p7".to_owned())]);
        assert_eq!((report.waiting[0].tid, report.waiting[0].kind), (9, WaitKind::Mutex));
    }
}

//! Waits for futexes, of processes that were not started under the tool.
//!
//! A wait for a futex need not be for a lock: idle threads wait in conditions and parks. The
//! waiting functions tell locks from those; if they do not, the wait counts as one for a lock.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use lockwright_bpf::messages::{FutexRow, Futexes, Lost};

use super::Waits;
pub use super::purpose::ATOMICS_WAIT;
use super::purpose::{Purpose, is_generated, purpose, waiting_function};
use crate::attached::WaitKind;
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
    /// Words: a lock has one, something else as many as were waited at in one place. If the waiters of a
    /// lock have a word each, this is the lock's address, if that is known, else their words.
    pub addresses: Vec<u64>,
    /// It is a lock whose waiters have a word each, and its address is not known: such locks of one kind
    /// that are waited for in one function are one.
    pub is_by_function: bool,
    /// It is a lock in whose word its owners and waiters meet: its owner is the first to wake that after
    /// the begin of a wait, when it releases the lock.
    pub is_woken_by_owner: bool,
    /// The variable that it is or lies in.
    pub name: Option<Name>,
    /// All waits.
    pub waits: Waits,
    /// How many of those timed out.
    pub timed_out: u64,
    /// Calls that did not wait, as the word had changed.
    pub refused: u64,
    /// How many waits began before measuring did; they are counted from then.
    pub before: u64,
    /// How many waits ended with their thread.
    pub ended: u64,
    /// Where it was waited for, the most time first.
    pub sites: Vec<(Stack, Waits)>,
    /// The places that released what was waited for first, or that woke the word, the most time first.
    pub wakers: Vec<(Stack, Waits)>,
}

impl FutexLock {
    /// What it is known by from one report of the same processes to the next.
    pub fn id(&self) -> String {
        match (self.is_by_function, self.sites.first()) {
            (true, Some((stack, _))) => format!("{}:{}", self.pid, waiting_function(stack)),
            _ => format!("{}:{:x}", self.pid, self.addresses.first().copied().unwrap_or(0)),
        }
    }
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
    /// It began before measuring did, which is what it is counted from.
    pub is_older: bool,
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

/// Leaves what threads of these processes waited for. What was lost may have been of others.
#[must_use]
pub fn futexes_of(mut counted: Futexes, pids: &HashSet<u32>) -> Futexes {
    counted.rows.retain(|row| pids.contains(&row.tgid));
    counted.waiting.retain(|wait| pids.contains(&wait.tgid));
    counted
}

/// Adds the waits that are not over to the time waited, as rows without a wait that has ended. So what is waited for is known
/// before the first wait for it ends.
#[must_use]
pub fn with_waits_under_way(mut counted: Futexes) -> Futexes {
    counted.rows.extend(counted.waiting.iter().map(|wait| FutexRow {
        address: wait.address,
        object: wait.object,
        tgid: wait.tgid,
        place: wait.place,
        total_ns: wait.for_ns,
        ..FutexRow::default()
    }));
    counted
}

/// Adds up what was counted.
pub fn build_futexes(counted: &Futexes, places: &impl Places) -> FutexReport {
    let mut gathered: HashMap<Key, Gathered> = HashMap::new();
    for row in &counted.rows {
        let stack = places.stack(row.place);
        let purpose = purpose(&stack);
        let of = gathered.entry(Key::of(row, purpose, &stack)).or_default();
        let waits = Waits { count: row.count, total_ns: row.total_ns, max_ns: row.max_ns };
        of.purposes.push((purpose, waits));
        of.timed_out += row.timed_out;
        of.refused += row.refused;
        of.before += row.before;
        of.ended += row.ended;
        let address = address(row.address, row.object, purpose);
        if !of.addresses.contains(&address) {
            of.addresses.push(address);
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
                Key::Lock(pid, _) | Key::Place(pid, _) | Key::Function(pid, ..) => pid,
            };
            let is_by_function = matches!(key, Key::Function(..));
            of.addresses.sort_unstable();
            let mut waits = Waits::default();
            of.purposes.iter().for_each(|(_, some)| waits.add(*some));
            // A word that is waited at as this and that is what it is mostly.
            let most = of.purposes.iter().max_by_key(|(_, waits)| (waits.count, waits.total_ns));
            let Purpose { kind, is_of_thread } = most.map_or(Purpose::UNKNOWN, |(most, _)| *most);
            let is_woken_by_owner = is_lock(kind) && kind != WaitKind::Unknown && !is_of_thread;
            let name = match &of.addresses[..] {
                [address] if !is_by_function => places.variable(pid, *address),
                _ => None,
            };
            by_time(&mut of.sites);
            by_time(&mut of.wakers);
            let Gathered { addresses, timed_out, refused, before, ended, sites, wakers, .. } = of;
            FutexLock {
                pid,
                kind,
                addresses,
                is_by_function,
                is_woken_by_owner,
                name,
                waits,
                timed_out,
                refused,
                before,
                ended,
                sites,
                wakers,
            }
        })
        .collect();
    all.sort_by_key(|lock| {
        (std::cmp::Reverse(lock.waits.total_ns), lock.pid, lock.addresses.first().copied())
    });
    let (locks, others) = all.into_iter().partition(|lock| is_lock(lock.kind));
    let still = |wait: &lockwright_bpf::messages::StillWaiting| {
        let stack = places.stack(wait.place);
        let purpose = purpose(&stack);
        let address = address(wait.address, wait.object, purpose);
        StillWaiting {
            pid: wait.tgid,
            tid: wait.tid,
            kind: purpose.kind,
            address,
            name: places.variable(wait.tgid, address),
            stack,
            for_ns: wait.for_ns,
            is_older: wait.before,
        }
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
        wakes: counted.wakes,
        waiting,
        lost: counted.lost,
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Lock(u32, u64),
    Place(u32, String),
    /// Of locks at whose waiters' words nothing else tells which it is: the kind's name and the function.
    Function(u32, &'static str, String),
}

impl Key {
    fn of(row: &FutexRow, Purpose { kind, is_of_thread }: Purpose, stack: &[Frame]) -> Self {
        match kind {
            WaitKind::Lock(what) if is_of_thread && !has_object(row.object, what) => {
                Self::Function(row.tgid, what, waiting_function(stack))
            }
            kind if is_lock(kind) => {
                let purpose = Purpose { kind, is_of_thread };
                Self::Lock(row.tgid, address(row.address, row.object, purpose))
            }
            _ => Self::Place(row.tgid, place_of(stack)),
        }
    }
}

/// Whether the address of a lock that was read next to its waiter's word is that of such a lock.
fn has_object(object: u64, what: &str) -> bool {
    object != 0 && what.starts_with("parking_lot ")
}

/// The address of the lock, else that of the word.
fn address(word: u64, object: u64, purpose: Purpose) -> u64 {
    match purpose.kind {
        // Writers of an rwlock wait for its readers at the next address.
        WaitKind::Lock("parking_lot RwLock") if object != 0 => object & !1,
        WaitKind::Lock(what) if has_object(object, what) => object,
        _ => word,
    }
}

#[derive(Default)]
struct Gathered {
    purposes: Vec<(Purpose, Waits)>,
    addresses: Vec<u64>,
    timed_out: u64,
    refused: u64,
    before: u64,
    ended: u64,
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
    stack.iter().take_while(|called| !is_generated(called)).map(frame).collect()
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
    use lockwright_bpf::messages::StillWaiting as Still;

    struct Known;

    impl Places for Known {
        fn stack(&self, place: u64) -> Stack {
            let functions: &[&str] = match place {
                1 | 2 => &["__lll_lock_wait", "pthread_mutex_lock", "work"],
                3 => &["pthread_cond_wait", "idle"],
                4 => &["futex_wake", "pthread_mutex_unlock", "work"],
                5 => &["syscall", "parking_lot::raw_mutex::RawMutex::lock_slow", "work"],
                6 => &["syscall", "parking_lot::raw_mutex::RawMutex::lock_slow", "other"],
                7 => &["syscall", "parking_lot::raw_rwlock::RawRwLock::lock_shared_slow", "work"],
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
            count,
            total_ns: count * 100,
            max_ns: 100,
            refused: 1,
            ..FutexRow::default()
        }
    }

    #[test]
    fn locks_are_told_from_what_is_none() {
        let rows = vec![
            // Two places by their numbers that are one by their stack.
            row(0x10, 1, 4, 3),
            row(0x10, 2, 0, 2),
            row(0x20, 3, 0, 8),
            row(0x30, 3, 0, 1),
        ];
        let still = Still { address: 0x10, tgid: 7, place: 1, tid: 9, ..Still::default() };
        let counted = Futexes { rows, waiting: vec![still], wakes: (6, 5), ..Futexes::default() };
        let report = build_futexes(&counted, &Known);
        assert_eq!((report.locks.len(), report.others.len(), report.wakes), (1, 1, (6, 5)));
        let lock = &report.locks[0];
        assert_eq!((lock.kind, lock.waits.count, lock.refused), (WaitKind::Mutex, 5, 2));
        assert_eq!(lock.name, Some(Name::symbol("queue")));
        assert_eq!(lock.sites.len(), 1);
        assert_eq!((lock.wakers.len(), lock.wakers[0].1.count), (1, 3));
        let idle = &report.others[0];
        assert_eq!((idle.kind, idle.addresses.len()), (WaitKind::Event("a condition"), 2));
        assert!(lock.is_woken_by_owner && !idle.is_woken_by_owner);
        assert_eq!(report.processes, [(7, "p7".to_owned())]);
        assert_eq!((report.waiting[0].tid, report.waiting[0].kind), (9, WaitKind::Mutex));
    }

    #[test]
    fn a_lock_whose_first_wait_is_not_over_is_known() {
        let still = |place| Still { address: 0x10, tgid: 7, place, for_ns: 50, ..Still::default() };
        let counted = Futexes { waiting: vec![still(1), still(3)], ..Futexes::default() };
        assert_eq!(build_futexes(&counted, &Known).locks.len(), 0);
        let report = build_futexes(&with_waits_under_way(counted), &Known);
        let lock = &report.locks[0];
        assert_eq!((lock.waits.count, lock.waits.total_ns, lock.kind), (0, 50, WaitKind::Mutex));
        assert_eq!((lock.id(), report.others.len()), ("7:10".to_owned(), 1));
    }

    /// Each waiter of a parking_lot lock has a word of its own.
    #[test]
    fn a_lock_whose_waiters_have_words_of_their_own_is_one_row() {
        let of = |place, object| {
            let row = |word| FutexRow { object, ..row(word, place, 0, 1) };
            let rows = (0..4).map(|at| row(0x1000 + at * 8)).collect();
            let report = build_futexes(&Futexes { rows, ..Futexes::default() }, &Known);
            assert_eq!(report.locks.len(), 1);
            report.locks.into_iter().next().unwrap()
        };
        let known = of(5, 0x10);
        assert_eq!(
            (known.waits.count, &known.addresses[..], known.is_by_function),
            (4, &[0x10][..], false)
        );
        assert_eq!(known.name, Some(Name::symbol("queue")));
        assert!(!known.is_woken_by_owner, "whoever releases the lock wakes one thread");
        let unknown = of(5, 0);
        assert_eq!(
            (unknown.waits.count, unknown.addresses.len(), unknown.is_by_function),
            (4, 4, true)
        );
        assert_eq!(unknown.name, None);
        // What a thread that waits for readers waits at is the lock's next byte.
        assert_eq!(of(7, 0x11).addresses, [0x10]);
    }

    #[test]
    fn locks_of_different_functions_or_addresses_stay_apart() {
        let rows = vec![
            row(0x1000, 5, 0, 1),
            row(0x1000, 6, 0, 1),
            FutexRow { object: 0x10, ..row(0x1000, 5, 0, 1) },
            FutexRow { object: 0x18, ..row(0x1000, 5, 0, 1) },
            // The memory next to a lock's own word means nothing.
            FutexRow { object: 0x10, ..row(0x2000, 1, 0, 1) },
            FutexRow { object: 0x18, ..row(0x2000, 1, 0, 1) },
        ];
        let report = build_futexes(&Futexes { rows, ..Futexes::default() }, &Known);
        assert_eq!(report.locks.len(), 5);
    }
}

//! Waits for the kernel's own locks.
//!
//! A lock is known by its address. Few have a symbol: most are part of what the kernel allocates.
//! So locks are gathered to classes: by symbol, else by the function that takes them, out of the
//! locks' own code; that of most waits, where a lock is taken in several.
//!
//! A lock that sleeps has a spinlock within, and sleeps by the scheduler, which has spinlocks, too. So of
//! a wait that spins the innermost function counts that is no spinlock's, and of one that sleeps the
//! innermost that is neither a lock's nor the scheduler's.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use lockwright_bpf::messages::{Kernel, KernelRow, Lost};

use super::Waits;
use super::kallsyms::Kallsyms;

/// include/trace/events/lock.h, LCB_F_*.
mod flag {
    pub const SPIN: u32 = 1;
    pub const READ: u32 = 2;
    pub const WRITE: u32 = 4;
    pub const RT: u32 = 8;
    pub const PERCPU: u32 = 16;
    pub const MUTEX: u32 = 32;
}

/// What a lock is, and how it is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelKind {
    /// A spinlock.
    Spinlock,
    /// A reader of a spinning rwlock.
    RwlockRead,
    /// A writer of a spinning rwlock.
    RwlockWrite,
    /// A mutex.
    Mutex,
    /// A reader of an rwsem.
    RwsemRead,
    /// A writer of an rwsem.
    RwsemWrite,
    /// An rtmutex, or what is made of one.
    RtMutex,
    /// A reader of a percpu rwsem.
    PercpuRwsemRead,
    /// A writer of a percpu rwsem.
    PercpuRwsemWrite,
    /// A semaphore.
    Semaphore,
}

impl KernelKind {
    /// By the kernel's flags.
    pub fn of(flags: u32) -> Self {
        let has = |bits: u32| flags & bits == bits;
        match () {
            () if has(flag::MUTEX) => Self::Mutex,
            () if has(flag::RT) => Self::RtMutex,
            () if has(flag::PERCPU | flag::WRITE) => Self::PercpuRwsemWrite,
            () if has(flag::PERCPU) => Self::PercpuRwsemRead,
            () if has(flag::SPIN | flag::READ) => Self::RwlockRead,
            () if has(flag::SPIN | flag::WRITE) => Self::RwlockWrite,
            () if has(flag::SPIN) => Self::Spinlock,
            () if has(flag::READ) => Self::RwsemRead,
            () if has(flag::WRITE) => Self::RwsemWrite,
            () => Self::Semaphore,
        }
    }
}

/// Where a lock is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelSite {
    /// Functions, innermost first, from the one that takes the lock, as `function+0xoffset`. Empty
    /// if it is not known.
    pub stack: Vec<String>,
    /// How it is waited for.
    pub kind: KernelKind,
    /// Its waits.
    pub waits: Waits,
}

/// A thread that waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiter {
    /// Its id.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its waits.
    pub waits: Waits,
}

/// A thread that had a lock when others began to wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// Its id.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// It had the lock as a reader, the last of perhaps several.
    pub is_reader: bool,
    /// The waits that began then.
    pub waits: Waits,
}

/// Locks of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelLock {
    /// The symbol, or what is known of a class that has none.
    pub name: String,
    /// It is a symbol, or a name that the kernel's source has for it.
    pub is_named: bool,
    /// Addresses of the class, those of the most time waited first.
    pub addresses: Vec<(u64, Waits)>,
    /// All waits.
    pub waits: Waits,
    /// Where.
    pub sites: Vec<KernelSite>,
    /// The threads that did.
    pub waiters: Vec<Waiter>,
    /// The owners when waits began, where the lock records them: a mutex and an rwsem do.
    pub owners: Vec<Owner>,
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelReport {
    /// Time measured, ns.
    pub elapsed_ns: u64,
    /// Processors.
    pub cpus: u64,
    /// Classes, those of the most time waited first.
    pub locks: Vec<KernelLock>,
    /// Threads that waited, in the same order.
    pub waiters: Vec<Waiter>,
    /// All waits that ended, including those that no class has because there was no room.
    pub waits: u64,
    /// Time waited in all of them, ns.
    pub waited_ns: u64,
    /// There were names of functions.
    pub has_symbols: bool,
    /// What is missing.
    #[serde(skip)]
    pub lost: Lost,
}

/// How the names of functions begin that call a program at a tracepoint.
const TRACING: &[&str] = &["bpf_trace_run", "__bpf_trace_", "__traceiter_", "trace_contention"];

/// Innermost frames among which those are.
const DEEPEST: usize = 6;

/// Functions that take a spinlock for others, by the beginnings of their names.
const SPINNING: &[&str] = &[
    "bpf_",
    "__bpf_",
    "__traceiter_",
    "trace_",
    "__trace_",
    "native_queued_spin_lock_slowpath",
    "__pv_queued_spin_lock_slowpath",
    "pv_queued_spin_lock_slowpath",
    "queued_spin_lock_slowpath",
    "queued_read_lock_slowpath",
    "queued_write_lock_slowpath",
    "_raw_spin_",
    "_raw_read_",
    "_raw_write_",
    "do_raw_spin_lock",
];

/// Those that take a lock that sleeps, out of the locks' own code.
const SLEEPING: &[&str] = &[
    "rwsem_",
    "down_read",
    "down_write",
    "up_read",
    "up_write",
    "mutex_unlock",
    "__down",
    "down",
    "mutex_lock",
    "__mutex_",
    "ww_mutex_",
    "rt_mutex_",
    "__rt_mutex_",
    "percpu_down_",
    "__percpu_down_",
    "percpu_rwsem_",
    "rt_spin_lock",
];

/// What takes a lock of [`KNOWN`]: no function is known by a lock of another kind that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Spin,
    Mutex,
    Rwsem,
}

impl Kind {
    fn of(kind: KernelKind) -> Option<Self> {
        match kind {
            KernelKind::Spinlock | KernelKind::RwlockRead | KernelKind::RwlockWrite => {
                Some(Self::Spin)
            }
            KernelKind::Mutex => Some(Self::Mutex),
            KernelKind::RwsemRead | KernelKind::RwsemWrite => Some(Self::Rwsem),
            _ => None,
        }
    }
}

const MMAP_LOCK: &str = "mm->mmap_lock";
const RQ_LOCK: &str = "rq->__lock";
const BUCKET_LOCK: &str = "futex_hash_bucket->lock";
const SIGLOCK: &str = "sighand->siglock";
const LRU_LOCK: &str = "lruvec->lru_lock";
const ZONE_LOCK: &str = "zone->lock";
const PIPE_MUTEX: &str = "pipe->mutex";
const I_RWSEM: &str = "inode->i_rwsem";

/// Functions that take one lock of this kind alone, and what the kernel's source calls that.
const KNOWN: &[(Kind, &str, &[&str])] = &[
    (
        Kind::Spin,
        RQ_LOCK,
        &[
            "raw_spin_rq_lock_nested",
            "raw_spin_rq_lock",
            "_raw_spin_rq_lock_irqsave",
            "task_rq_lock",
            "__task_rq_lock",
            "__schedule",
            "sched_tick",
            "scheduler_tick",
        ],
    ),
    (Kind::Spin, SIGLOCK, &["__lock_task_sighand", "lock_task_sighand"]),
    (Kind::Spin, BUCKET_LOCK, &["futex_wait_setup", "futex_q_lock", "futex_wake"]),
    (
        Kind::Spin,
        LRU_LOCK,
        &["folio_lruvec_lock", "folio_lruvec_lock_irq", "folio_lruvec_lock_irqsave"],
    ),
    (
        Kind::Spin,
        ZONE_LOCK,
        &["rmqueue_bulk", "__rmqueue_pcplist", "free_pcppages_bulk", "free_one_page"],
    ),
    (
        Kind::Rwsem,
        MMAP_LOCK,
        &[
            "lock_mm_and_find_vma",
            "mmap_read_lock_maybe_expand",
            "vm_mmap_pgoff",
            "__vm_munmap",
            "vm_munmap",
            "do_mprotect_pkey",
            "do_madvise",
            "madvise_lock",
            "do_user_addr_fault",
            "__do_sys_brk",
            "__x64_sys_brk",
            "__mm_populate",
            "dup_mmap",
            "exit_mmap",
            "__x64_sys_mremap",
        ],
    ),
    (
        Kind::Mutex,
        PIPE_MUTEX,
        &[
            "pipe_read",
            "pipe_write",
            "anon_pipe_read",
            "anon_pipe_write",
            "pipe_release",
            "pipe_lock",
        ],
    ),
    (
        Kind::Rwsem,
        I_RWSEM,
        &[
            "ext4_buffered_write_iter",
            "ext4_dio_write_iter",
            "ext4_file_read_iter",
            "ext4_dio_read_iter",
            "xfs_ilock",
            "btrfs_inode_lock",
            "shmem_file_write_iter",
            "generic_file_write_iter",
            "generic_file_llseek",
            "iterate_dir",
            "open_last_lookups",
            "path_openat",
            "lookup_slow",
            "do_unlinkat",
            "do_rmdir",
            "filename_create",
            "filename_rmdir",
            "lock_rename",
            "lock_two_nondirectories",
            "do_renameat2",
            "do_truncate",
            "vfs_link",
            "vfs_unlink",
            "vfs_rmdir",
            "vfs_setxattr",
            "chmod_common",
            "chown_common",
            "vfs_utimes",
            "simple_recursive_removal",
        ],
    ),
];

/// The name of the lock of this kind that a function takes.
fn known(function: &str, kind: KernelKind) -> Option<&'static str> {
    let kind = Kind::of(kind)?;
    // What the compiler adds to the name of a part of a function.
    let function = function.split('.').next().unwrap_or(function);
    let row =
        KNOWN.iter().find(|(own, _, functions)| *own == kind && functions.contains(&function))?;
    Some(row.1)
}

/// Leaves what threads of these processes waited for. What was lost may have been of others.
#[must_use]
pub fn of_processes(mut counted: Kernel, pids: &HashSet<u32>) -> Kernel {
    counted.rows.retain(|row| pids.contains(&row.tgid));
    counted.owners.retain(|row| pids.contains(&row.waiter));
    counted.waits = counted.rows.iter().map(|row| row.count).sum();
    counted.waited_ns = counted.rows.iter().map(|row| row.total_ns).sum();
    counted
}

/// What was counted `before` taken from what was counted by now. The longest of the waits is known
/// where one of them was the longest of all so far; else it is 0.
#[must_use]
pub fn since(before: &Kernel, now: &Kernel) -> Kernel {
    fn key(row: &KernelRow) -> (u64, u32, &[u64], u32, u32) {
        (row.lock, row.flags, &row.stack, row.tid, row.tgid)
    }
    let known: HashMap<_, &KernelRow> = before.rows.iter().map(|row| (key(row), row)).collect();
    let row = |row: &KernelRow| {
        let Some(old) = known.get(&key(row)) else { return row.clone() };
        KernelRow {
            count: row.count.saturating_sub(old.count),
            total_ns: row.total_ns.saturating_sub(old.total_ns),
            max_ns: if row.max_ns > old.max_ns { row.max_ns } else { 0 },
            ..row.clone()
        }
    };
    Kernel {
        elapsed_ns: now.elapsed_ns.saturating_sub(before.elapsed_ns),
        cpus: now.cpus,
        rows: now.rows.iter().map(row).filter(|row| row.count > 0).collect(),
        // Those of moments are not shown.
        owners: Vec::new(),
        waits: now.waits.saturating_sub(before.waits),
        waited_ns: now.waited_ns.saturating_sub(before.waited_ns),
        lost: now.lost,
    }
}

/// Waits of everything that was counted.
pub fn build_kernel(counted: &Kernel, symbols: &Kallsyms) -> KernelReport {
    let rows: Vec<&KernelRow> = counted.rows.iter().filter(|row| row.count > 0).collect();
    let stacks: Vec<Vec<u64>> =
        rows.iter().map(|row| own(&row.stack, KernelKind::of(row.flags), symbols)).collect();
    let classes = classes(&rows, &stacks, symbols);
    let mut locks: HashMap<&(String, bool), Gathered> = HashMap::new();
    let mut waiters = HashMap::new();
    for (row, stack) in rows.iter().zip(&stacks) {
        let lock = locks.entry(&classes[&row.lock]).or_default();
        let waits = of_row(row);
        lock.waits.add(waits);
        lock.addresses.entry(row.lock).or_default().add(waits);
        let names: Vec<String> = stack.iter().map(|&at| name(at, symbols)).collect();
        lock.sites.entry((names, KernelKind::of(row.flags))).or_default().add(waits);
        for waiters in [&mut lock.waiters, &mut waiters] {
            waiters.entry((row.tid, row.tgid, row.comm.clone())).or_default().add(waits);
        }
    }
    for row in &counted.owners {
        // The class of a lock without a row is not known.
        let Some(lock) = classes.get(&row.lock).and_then(|class| locks.get_mut(class)) else {
            continue;
        };
        let waits = Waits { count: row.count, total_ns: row.total_ns, max_ns: row.max_ns };
        let owner = (row.tid, row.tgid, row.comm.clone(), row.is_reader);
        lock.owners.entry(owner).or_default().add(waits);
    }
    let lock = |((name, is_named), gathered): (&(String, bool), Gathered)| {
        let site = |((stack, kind), waits)| KernelSite { stack, kind, waits };
        let mut sites: Vec<KernelSite> = gathered.sites.into_iter().map(site).collect();
        sites.sort_by(|a, b| {
            let key = |site: &KernelSite| (std::cmp::Reverse(site.waits.total_ns), site.kind);
            (key(a), &a.stack).cmp(&(key(b), &b.stack))
        });
        let mut addresses: Vec<(u64, Waits)> = gathered.addresses.into_iter().collect();
        addresses.sort_by_key(|(at, waits)| (std::cmp::Reverse(waits.total_ns), *at));
        KernelLock {
            name: name.clone(),
            is_named: *is_named,
            addresses,
            waits: gathered.waits,
            sites,
            waiters: by_time(gathered.waiters),
            owners: owners_by_time(gathered.owners),
        }
    };
    let mut locks: Vec<KernelLock> = locks.into_iter().map(lock).collect();
    locks.sort_by(|a, b| (b.waits.total_ns, &a.name).cmp(&(a.waits.total_ns, &b.name)));
    KernelReport {
        elapsed_ns: counted.elapsed_ns,
        cpus: counted.cpus,
        locks,
        waiters: by_time(waiters),
        waits: counted.waits,
        waited_ns: counted.waited_ns,
        has_symbols: !symbols.is_empty(),
        lost: counted.lost,
    }
}

type Waiters = HashMap<(u32, u32, String), Waits>;

#[derive(Default)]
struct Gathered {
    waits: Waits,
    addresses: HashMap<u64, Waits>,
    sites: HashMap<(Vec<String>, KernelKind), Waits>,
    waiters: Waiters,
    owners: HashMap<(u32, u32, String, bool), Waits>,
}

fn of_row(row: &KernelRow) -> Waits {
    Waits { count: row.count, total_ns: row.total_ns, max_ns: row.max_ns }
}

fn by_time(waiters: Waiters) -> Vec<Waiter> {
    let waiter = |((tid, pid, name), waits)| Waiter { tid, pid, name, waits };
    let mut waiters: Vec<Waiter> = waiters.into_iter().map(waiter).collect();
    waiters.sort_by_key(|waiter| (std::cmp::Reverse(waiter.waits.total_ns), waiter.tid));
    waiters
}

fn owners_by_time(owners: HashMap<(u32, u32, String, bool), Waits>) -> Vec<Owner> {
    let owner = |((tid, pid, name, is_reader), waits)| Owner { tid, pid, name, is_reader, waits };
    let mut owners: Vec<Owner> = owners.into_iter().map(owner).collect();
    owners.sort_by(|a, b| {
        let key =
            |owner: &Owner| (std::cmp::Reverse(owner.waits.total_ns), owner.tid, owner.is_reader);
        (key(a), &a.name).cmp(&(key(b), &b.name))
    });
    owners
}

/// The stack from the function on that takes the lock.
fn own(stack: &[u64], kind: KernelKind, symbols: &Kallsyms) -> Vec<u64> {
    let is_spin = Kind::of(kind) == Some(Kind::Spin);
    let is_primitive = |address: u64| {
        // A call may be the last instruction of its function.
        let call = address.wrapping_sub(1);
        is_of(SPINNING, call, symbols)
            || !is_spin && (symbols.is_lock_code(call) || is_of(SLEEPING, call, symbols))
    };
    // The program that counts is on the stack, too, and what calls it; it has no name once it is
    // gone.
    let is_tracing = |address: &u64| {
        symbols
            .at(address.wrapping_sub(1))
            .is_some_and(|(name, _)| TRACING.iter().any(|start| name.starts_with(start)))
    };
    let traced = stack.iter().take(DEEPEST).rposition(is_tracing).map_or(0, |last| last + 1);
    let stack = stack.get(traced..).unwrap_or_default();
    let first = stack.iter().position(|&address| !is_primitive(address));
    first.map_or_else(Vec::new, |first| stack[first..].to_vec())
}

/// Whether an address is in a function of one of these names.
fn is_of(functions: &[&str], address: u64, symbols: &Kallsyms) -> bool {
    symbols.at(address).is_some_and(|(name, _)| {
        functions.iter().any(|function| match function.ends_with('_') {
            true => name.starts_with(function),
            // `down_read_killable`, and not `downgrade`.
            false => name
                .strip_prefix(function)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.'])),
        })
    })
}

/// The lock whose own spinlock a stack spins for, by the name of its class, if it is within one that sleeps.
fn outer(stack: &[u64], symbols: &Kallsyms) -> Option<(String, bool)> {
    let call = |at: &u64| at.wrapping_sub(1);
    let within = |at: &u64| is_of(SLEEPING, call(at), symbols);
    let innermost = symbols.at(call(stack.first().filter(|at| within(at))?))?.0;
    let taker = stack.iter().find(|at| !within(at) && !symbols.is_lock_code(call(at)))?;
    let (taker, _) = symbols.at(call(taker))?;
    let is_rwsem = ["rwsem_", "down_", "up_"].iter().any(|begin| innermost.starts_with(begin));
    let kind = if is_rwsem { KernelKind::RwsemWrite } else { KernelKind::Mutex };
    Some(match known(taker, kind) {
        Some(known) => (format!("{known}.wait_lock"), true),
        None => (format!("wait_lock of a lock taken in {taker}"), false),
    })
}

fn name(address: u64, symbols: &Kallsyms) -> String {
    match symbols.at(address.wrapping_sub(1)) {
        Some((name, offset)) => format!("{name}+{:#x}", offset + 1),
        None => format!("{address:#x}"),
    }
}

/// For each lock, the name of its class, and whether it is one of the kernel's source.
fn classes(
    rows: &[&KernelRow],
    stacks: &[Vec<u64>],
    symbols: &Kallsyms,
) -> HashMap<u64, (String, bool)> {
    // Waits by lock, and by the name that their stack has for it: the kernel's, and where there is none the
    // function that takes it.
    let mut named: HashMap<u64, HashMap<(String, bool), u64>> = HashMap::new();
    for (row, stack) in rows.iter().zip(stacks) {
        let taker = stack.first().and_then(|&at| symbols.at(at.wrapping_sub(1)));
        let kind = KernelKind::of(row.flags);
        let class = taker.map_or((String::new(), false), |(taker, _)| {
            let own = known(taker, kind).map(|name| (name.to_owned(), true));
            let outer = || (Kind::of(kind) == Some(Kind::Spin)).then(|| outer(stack, symbols))?;
            own.or_else(outer).unwrap_or_else(|| (taker.to_owned(), false))
        });
        *named.entry(row.lock).or_default().entry(class).or_default() += row.count;
    }
    let class = |(lock, classes): (u64, HashMap<(String, bool), u64>)| {
        // A name before a function; then that of most waits; then the first by the alphabet.
        let most = classes
            .into_iter()
            .filter(|((name, _), _)| !name.is_empty())
            .max_by(|((a, a_named), waits), ((b, b_named), others)| {
                (a_named, waits, b).cmp(&(b_named, others, a))
            })
            .map(|(class, _)| class);
        // Kernels may have few symbols of variables: what follows a mark of the linker does not
        // belong to the mark.
        let is_mark = |name: &str| ["start", "end", "stop"].iter().any(|part| name.contains(part));
        let is_part = |name: &str, offset| offset == 0 || offset < 256 && !is_mark(name);
        let symbol = symbols.at(lock).filter(|(name, offset)| is_part(name, *offset));
        let name = match (symbol, most) {
            (Some((name, 0)), _) => (name.to_owned(), true),
            (_, Some((known, true))) => (known, true),
            (Some((name, offset)), _) => (format!("{name}+{offset:#x}"), true),
            (_, Some((taker, _))) if taker.starts_with("wait_lock of ") => (taker, false),
            (_, Some((taker, _))) => (format!("taken in {taker}"), false),
            (_, None) => ("not known".to_owned(), false),
        };
        (lock, name)
    };
    named.into_iter().map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_bpf::messages::KernelOwner;

    const TEXT: &str = "ffffffff81000000 t raw_spin_rq_lock_nested\n\
                        ffffffff81000100 t schedule_something\n\
                        ffffffff81000200 t my_open\n\
                        ffffffff81000300 t native_queued_spin_lock_slowpath\n\
                        ffffffff81000400 t down_read_killable\n\
                        ffffffff81000500 t downgrade\n\
                        ffffffff81000600 t bpf_trace_run2\n\
                        ffffffff81000700 t __schedule\n\
                        ffffffff81000800 t rwsem_down_write_slowpath\n\
                        ffffffff81000900 t __vm_munmap\n\
                        ffffffff81000a00 t anon_pipe_write\n\
                        ffffffff81000b00 t do_unlinkat\n\
                        ffffffff81000c00 t try_to_wake_up\n\
                        ffffffff81002000 b my_lock\n\
                        ffffffff82000000 T __lock_text_start\nffffffff82000100 T __lock_text_end\n";

    const BASE: u64 = 0xffff_ffff_8100_0000;

    fn row(lock: u64, flags: u32, stack: &[u64], count: u64) -> KernelRow {
        let stack = stack.iter().map(|at| BASE + at).collect();
        let comm = "a".to_owned();
        let (total_ns, max_ns) = (count * 10, 10);
        KernelRow { lock, flags, stack, tid: 1, tgid: 1, comm, count, total_ns, max_ns }
    }

    #[test]
    fn what_was_counted_before_is_taken_away() {
        let kernel = |rows: Vec<KernelRow>| Kernel {
            waits: rows.iter().map(|row| row.count).sum(),
            waited_ns: rows.iter().map(|row| row.total_ns).sum(),
            elapsed_ns: rows.len() as u64,
            rows,
            ..Kernel::default()
        };
        let longer = KernelRow { max_ns: 70, ..row(0x1000, 1, &[0x10], 5) };
        let before = kernel(vec![row(0x1000, 1, &[0x10], 3), row(0x2000, 1, &[0x10], 1)]);
        let now = kernel(vec![longer, row(0x2000, 1, &[0x10], 1), row(0x2000, 2, &[0x10], 4)]);
        let new = since(&before, &now);
        let rows: Vec<_> =
            new.rows.iter().map(|r| (r.lock, r.flags, r.count, r.total_ns, r.max_ns)).collect();
        assert_eq!(rows, [(0x1000, 1, 2, 20, 70), (0x2000, 2, 4, 40, 10)]);
        assert_eq!((new.waits, new.waited_ns, new.elapsed_ns), (6, 60, 1));
        assert_eq!(since(&now, &now).rows, []);
    }

    #[test]
    fn of_other_processes_nothing_is_left() {
        let other = KernelRow { tgid: 2, ..row(0x1000, 1, &[0x10], 3) };
        let all = Kernel { rows: vec![row(0x1000, 1, &[0x10], 4), other], ..Kernel::default() };
        let own = of_processes(all, &HashSet::from([1]));
        assert_eq!((own.rows.len(), own.waits, own.waited_ns), (1, 4, 40));
    }

    #[test]
    fn locks_are_gathered_by_who_takes_them() {
        let spin = 0x310;
        let rows = vec![
            row(0x1000, 1, &[spin, 0x10, 0x110], 3),
            row(0x2000, 1, &[spin, 0x10, 0x110], 1),
            row(0x3000, 2, &[0x410, 0x210], 2),
            // With the frames of the program that counts.
            row(0x3000, 2, &[0x3000_0000, 0x610, 0x410, 0x210], 2),
            // Out of the locks' own section, and by a function of which only the name is alike.
            row(0x4000, 2, &[0x0100_0050, 0x510], 1),
            row(BASE + 0x2000, 32, &[], 9),
        ];
        let counted = Kernel { rows, waits: 16, ..Kernel::default() };
        let report = build_kernel(&counted, &Kallsyms::new(TEXT));
        let names: Vec<(&str, bool, u64, usize)> = report
            .locks
            .iter()
            .map(|lock| (lock.name.as_str(), lock.is_named, lock.waits.count, lock.addresses.len()))
            .collect();
        assert_eq!(
            names,
            [
                ("my_lock", true, 9, 1),
                ("rq->__lock", true, 4, 2),
                ("taken in my_open", false, 4, 1),
                ("taken in downgrade", false, 1, 1),
            ]
        );
        let site = &report.locks[1].sites[0];
        assert_eq!(site.stack, ["raw_spin_rq_lock_nested+0x10", "schedule_something+0x10"]);
        assert_eq!((site.kind, site.waits.count), (KernelKind::Spinlock, 4));
        assert_eq!(report.waiters[0].waits.count, 18);
    }

    /// Whatever the order of a table of hashes is: a name of the kernel's before a function, and that of most
    /// waits.
    #[test]
    fn the_class_of_a_lock_is_that_of_most_waits() {
        for _ in 0..20 {
            let rows = vec![
                // The scheduler's lock, by a thread that goes to sleep for an rwsem.
                row(0x1000, 1, &[0x310, 0x10, 0x710, 0x810, 0x910], 5),
                row(0x1000, 1, &[0x310, 0x710, 0x810, 0x910], 4),
                row(0x1000, 1, &[0x310, 0xc10], 90),
                // The lock within an rwsem, which is waited for likewise; its memory was the scheduler's once.
                row(0x2000, 1, &[0x310, 0x810, 0x910], 3),
                row(0x2000, 1, &[0x310, 0x10], 1),
                // In a function that is not known, and in two.
                row(0x3000, 1, &[0x310, 0x810, 0x210], 1),
                row(0x4000, 1, &[0x310, 0x210], 2),
                row(0x4000, 1, &[0x310, 0x510], 2),
                row(0x5000, 2, &[0x810, 0x910], 1),
                row(0x6000, 32, &[0xa10], 1),
                row(0x7000, 4, &[0x810, 0xb10], 1),
                // That function takes a spinlock, too, which has another name.
                row(0x8000, 1, &[0x310, 0xa10], 1),
            ];
            let counted = Kernel { rows, ..Kernel::default() };
            let report = build_kernel(&counted, &Kallsyms::new(TEXT));
            let name = |address| {
                let is_it =
                    |lock: &&KernelLock| lock.addresses.iter().any(|(at, _)| *at == address);
                report.locks.iter().find(is_it).unwrap().name.as_str()
            };
            assert_eq!(name(0x1000), "rq->__lock");
            assert_eq!(name(0x2000), "mm->mmap_lock.wait_lock");
            assert_eq!(name(0x3000), "wait_lock of a lock taken in my_open");
            assert_eq!(name(0x4000), "taken in downgrade");
            assert_eq!(name(0x5000), "mm->mmap_lock");
            assert_eq!(name(0x6000), "pipe->mutex");
            assert_eq!(name(0x7000), "inode->i_rwsem");
            assert_eq!(name(0x8000), "taken in anon_pipe_write");
        }
    }

    #[test]
    fn owners_are_gathered_by_class() {
        let rows = vec![row(0x6000, 32, &[0xa10], 3), row(0x6100, 32, &[0xa10], 1)];
        let owner = |lock, tid, waiter, count| KernelOwner {
            lock,
            tid,
            tgid: 5,
            comm: "o".into(),
            is_reader: false,
            waiter,
            count,
            total_ns: count * 10,
            max_ns: 10,
        };
        let owners = vec![owner(0x6000, 6, 1, 2), owner(0x6100, 6, 1, 1), owner(0x6000, 7, 2, 1)];
        let counted = Kernel { rows, owners, ..Kernel::default() };
        let owners = |counted: &Kernel| {
            let report = build_kernel(counted, &Kallsyms::new(TEXT));
            let owners = report.locks[0].owners.iter();
            owners.map(|owner| (owner.tid, owner.waits.count)).collect::<Vec<_>>()
        };
        assert_eq!(owners(&counted), [(6, 3), (7, 1)]);
        let own = of_processes(counted, &HashSet::from([1]));
        assert_eq!(owners(&own), [(6, 3)], "the other was waited for by another process");
    }

    #[test]
    fn kinds_are_told_by_flags() {
        use KernelKind::*;
        for (flags, kind) in [
            (0, Semaphore),
            (1, Spinlock),
            (3, RwlockRead),
            (5, RwlockWrite),
            (2, RwsemRead),
            (4, RwsemWrite),
            (8, RtMutex),
            (18, PercpuRwsemRead),
            (20, PercpuRwsemWrite),
            (32, Mutex),
            (33, Mutex),
        ] {
            assert_eq!(KernelKind::of(flags), kind, "{flags}");
        }
    }

    #[test]
    fn without_names_there_are_addresses() {
        let counted = Kernel { rows: vec![row(8, 1, &[0x10], 1)], ..Kernel::default() };
        let report = build_kernel(&counted, &Kallsyms::default());
        assert!(!report.has_symbols);
        assert_eq!(report.locks[0].name, "not known");
        assert_eq!(report.locks[0].sites[0].stack, ["0xffffffff81000010"]);
    }
}

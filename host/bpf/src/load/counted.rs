//! What `programs/futex.bpf.c` has counted, as rows.

use std::collections::BTreeMap;

use aya::maps::{HashMap, PerCpuHashMap};
use aya::{Ebpf, Pod};

use super::{counters, of_map, other};
use crate::messages::{FutexRow, Futexes, Lost, Refusal, StillWaiting};

/// `struct key`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Key {
    address: u64,
    object: u64,
    waiter: u64,
    waker: u64,
    pub tgid: u32,
    pub pad: u32,
}

/// `struct sum`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Sum {
    count: u64,
    total_ns: u64,
    max_ns: u64,
    timed_out: u64,
    refused: u64,
    before: u64,
    ended: u64,
}

/// `struct begun`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Begun {
    pub address: u64,
    pub object: u64,
    pub place: u64,
    pub since: u64,
    pub cut: u64,
    pub batch: u64,
    pub pc: u64,
    pub sp: u64,
    pub tgid: u32,
    pub was_cut: u32,
    pub before: u32,
    pub pad: u32,
}

// SAFETY: integers without padding between or behind them.
unsafe impl Pod for Key {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Sum {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Begun {}

/// The counters, in the order of the enumeration in C.
const COUNTERS: usize = 8;

/// The most waits under way that are read: each begins and ends meanwhile, and a map whose entries go is begun again.
const MOST_WAITS: usize = 65_536;

/// Reads the rows, and the waits that are not over. If counting is, waits that a signal cut have ended, and rows of their own;
/// else they go on soon. The time and what was missed is the caller's.
///
/// # Errors
/// If the kernel does not let us read it.
pub fn read(bpf: &Ebpf, is_over: bool) -> Result<Futexes, Refusal> {
    let map =
        |name: &str| bpf.map(name).ok_or_else(|| other(format!("the object has no map {name}")));
    let rows = PerCpuHashMap::<_, Key, Sum>::try_from(map("rows")?);
    let rows = rows.map_err(|error| of_map(&error))?;
    let mut rows: Vec<FutexRow> = rows
        .iter()
        .map(|row| row.map(|(key, sums)| row_of(&key, sums.iter())))
        .collect::<Result<_, _>>()
        .map_err(|error| of_map(&error))?;
    let inside = HashMap::<_, u32, Begun>::try_from(map("inside")?);
    let inside = inside.map_err(|error| of_map(&error))?;
    let inside: BTreeMap<u32, Begun> = inside.iter().take(MOST_WAITS).flatten().collect();
    let now = now_ns();
    let mut waiting = Vec::new();
    for (tid, begun) in inside {
        let Begun { address, object, tgid, place, since, .. } = begun;
        if begun.cut == 0 {
            let for_ns = now.saturating_sub(since);
            let before = begun.before != 0;
            waiting.push(StillWaiting { address, object, tgid, place, tid, for_ns, before });
        } else if is_over {
            // A signal ended it: the thread went on with something else.
            let total_ns = begun.cut.saturating_sub(since);
            let (count, max_ns, before) = (1, total_ns, begun.before.into());
            let row = FutexRow { address, object, tgid, place, ..FutexRow::default() };
            rows.push(FutexRow { count, total_ns, max_ns, before, ..row });
        }
    }
    let [calls, wakes, woken, rows_lost, rows_ns, begins, stacks, waitv] = counters(bpf, COUNTERS)?
        [..]
        .try_into()
        .map_err(|_| other("counters are missing".into()))?;
    let lost = Lost { rows: rows_lost, rows_ns, begins, stacks, waitv, ..Lost::default() };
    Ok(Futexes { elapsed_ns: 0, rows, waiting, calls, wakes: (wakes, woken), lost })
}

/// A row of the sums of all processors.
fn row_of<'s>(key: &Key, sums: impl Iterator<Item = &'s Sum>) -> FutexRow {
    let mut row = FutexRow {
        address: key.address,
        object: key.object,
        tgid: key.tgid,
        place: key.waiter,
        waker: key.waker,
        ..FutexRow::default()
    };
    for one in sums {
        row.count += one.count;
        row.total_ns += one.total_ns;
        row.max_ns = row.max_ns.max(one.max_ns);
        row.timed_out += one.timed_out;
        row.refused += one.refused;
        row.before += one.before;
        row.ended += one.ended;
    }
    row
}

/// The clock of bpf_ktime_get_ns.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is what is written.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

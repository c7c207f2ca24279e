//! `programs/futex.bpf.c`: calls of futex(2) that wait or wake.

use std::fmt::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Instant;

use aya::Ebpf;
use aya::Pod;
use aya::maps::{Array, HashMap, MapData, PerCpuHashMap, RingBuf};

use super::namespace::{Namespace, innermost_number};
use super::{attach, counters, load, missed, object, of_map, other, text};
use crate::messages::{FutexRow, Futexes, Lost, Place, Refusal};

/// `struct settings`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Settings {
    only: u32,
    but: u32,
    device: u64,
    inode: u64,
    reports: u32,
    pad: u32,
}

/// `struct key`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Key {
    address: u64,
    waiter: u64,
    waker: u64,
    tgid: u32,
    is_wake: u32,
}

/// `struct sum`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    total_ns: u64,
    max_ns: u64,
    timed_out: u64,
    refused: u64,
}

/// `struct begun`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Begun {
    address: u64,
    place: u64,
    since: u64,
    tgid: u32,
    is_wake: u32,
}

// SAFETY: integers without padding between or behind them.
unsafe impl Pod for Settings {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Key {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Sum {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Begun {}

/// The counters, in the order of the enumeration in C.
const COUNTERS: usize = 7;

/// Where `struct place` has its parts, and where the stack begins.
mod place {
    pub const ID: usize = 0;
    pub const TGID: usize = 8;
    pub const TID: usize = 12;
    pub const PC: usize = 16;
    pub const SP: usize = 24;
    pub const BP: usize = 32;
    pub const BYTES: usize = 40;
    pub const COMM: std::ops::Range<usize> = 48..64;
    pub const STACK: usize = 64;
}

/// The programs, attached.
pub struct Running {
    bpf: Ebpf,
    copies: RingBuf<MapData>,
    since: Instant,
    descriptors: [i32; 2],
}

impl Running {
    /// Loads and attaches them, for process `only`, or for all.
    ///
    /// # Errors
    /// If the kernel does not let us, or has no such tracepoints.
    pub fn start(only: Option<u32>) -> Result<Self, Refusal> {
        let mut bpf = load(object!("futex.bpf.o"), "rows")?;
        let settings = settings(only)?;
        let map = bpf.map_mut("settings").ok_or_else(|| other("no map of settings".into()))?;
        let mut map = Array::<_, Settings>::try_from(map).map_err(|error| of_map(&error))?;
        map.set(0, settings, 0).map_err(|error| of_map(&error))?;
        let copies = bpf.take_map("copies").ok_or_else(|| other("no map of copies".into()))?;
        let copies = RingBuf::try_from(copies).map_err(|error| of_map(&error))?;
        let end = attach(&mut bpf, "futex_exit", "sys_exit")?;
        let begin = attach(&mut bpf, "futex_enter", "sys_enter")?;
        Ok(Self { bpf, copies, since: Instant::now(), descriptors: [begin, end] })
    }

    /// Readable when there are new places.
    pub fn descriptor(&self) -> RawFd {
        self.copies.as_raw_fd()
    }

    /// The places that were met since this was last asked.
    pub fn places(&mut self) -> Vec<Place> {
        let mut places = Vec::new();
        while let Some(copy) = self.copies.next() {
            places.extend(parse(&copy).filter(|place| place.id != 0));
        }
        places
    }

    /// Detaches them, and reads what they counted.
    ///
    /// # Errors
    /// If the kernel does not let us read it.
    pub fn finish(mut self) -> Result<(Vec<Place>, Futexes), Refusal> {
        let elapsed_ns = self.since.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
        let missed = self.descriptors.into_iter().map(missed).sum();
        let mut take = |name: &str| {
            self.bpf.take_map(name).ok_or_else(|| other(format!("the object has no map {name}")))
        };
        let (rows, inside) = (take("rows")?, take("inside")?);
        let counters = counters(&self.bpf, COUNTERS)?;
        let mut places = self.places();
        // The programs go, the maps stay.
        drop(self.bpf);
        let now = now_ns();
        let map: PerCpuHashMap<_, Key, Sum> = rows.try_into().map_err(|error| of_map(&error))?;
        let mut rows = Vec::new();
        for row in map.iter() {
            let (key, sums) = row.map_err(|error| of_map(&error))?;
            let mut sum = Sum::default();
            for one in sums.iter() {
                sum.count += one.count;
                sum.total_ns += one.total_ns;
                sum.max_ns = sum.max_ns.max(one.max_ns);
                sum.timed_out += one.timed_out;
                sum.refused += one.refused;
            }
            rows.push(FutexRow {
                address: key.address,
                tgid: key.tgid,
                place: key.waiter,
                waker: key.waker,
                is_wake: key.is_wake != 0,
                count: sum.count,
                total_ns: sum.total_ns,
                max_ns: sum.max_ns,
                timed_out: sum.timed_out,
                refused: sum.refused,
            });
        }
        let map: HashMap<_, u32, Begun> = inside.try_into().map_err(|error| of_map(&error))?;
        let still = |row: Result<(u32, Begun), _>| {
            let (tid, begun) = row.ok()?;
            let waits = begun.is_wake == 0;
            let since = now.saturating_sub(begun.since);
            waits.then_some((begun.address, begun.tgid, begun.place, tid, since))
        };
        let waiting = map.iter().filter_map(still).collect();
        let [calls, rows_lost, rows_ns, begins, stacks, unmatched, waitv] =
            counters[..].try_into().map_err(|_| other("counters are missing".into()))?;
        let lost = Lost { rows: rows_lost, rows_ns, begins, stacks, unmatched, missed, waitv };
        // The entries that came meanwhile.
        while let Some(copy) = self.copies.next() {
            places.extend(parse(&copy).filter(|place| place.id != 0));
        }
        Ok((places, Futexes { elapsed_ns, rows, waiting, calls, lost }))
    }
}

/// Which processes the programs measure: in the initial PID namespace by the kernel's own numbers, in
/// another one by those of the namespace that the process is in.
fn settings(only: Option<u32>) -> Result<Settings, Refusal> {
    let (but, reports, pad) = (std::process::id(), only.unwrap_or(0), 0);
    let own = Namespace::of("self")?;
    let Namespace { device, inode } = match only {
        _ if own.is_initial() => {
            let only = reports;
            return Ok(Settings { only, but, device: 0, inode: 0, reports: 0, pad });
        }
        Some(pid) => Namespace::of(&pid.to_string())?,
        None => own,
    };
    let only = only.map(innermost_number).transpose()?.unwrap_or(0);
    // Another namespace has another process of our number.
    let but = if inode == own.inode { but } else { 0 };
    Ok(Settings { only, but, device, inode, reports, pad })
}

/// The clock of bpf_ktime_get_ns.
fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is what is written.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A `struct place`.
fn parse(bytes: &[u8]) -> Option<Place> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let half = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let size = half(place::BYTES)? as usize;
    let mut stack = String::with_capacity(2 * size);
    for byte in bytes.get(place::STACK..)?.get(..size)? {
        // Writing to a String cannot fail.
        let _ = write!(stack, "{byte:02x}");
    }
    Some(Place {
        id: word(place::ID)?,
        tgid: half(place::TGID)?,
        tid: half(place::TID)?,
        comm: text(bytes.get(place::COMM)?),
        pc: word(place::PC)?,
        sp: word(place::SP)?,
        bp: word(place::BP)?,
        stack,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_and_none_that_is_cut_short() {
        let mut bytes = vec![0; place::STACK];
        bytes[0] = 7;
        bytes[place::TGID] = 2;
        bytes[place::BYTES] = 2;
        bytes[place::COMM.start] = b'x';
        bytes.extend([0xab, 0x01, 0xff]);
        let place = parse(&bytes).unwrap();
        assert_eq!((place.id, place.tgid, place.comm.as_str()), (7, 2, "x"));
        assert_eq!(place.stack, "ab01");
        assert_eq!(parse(&bytes[..place::STACK + 1]), None);
        assert_eq!(parse(&[]), None);
    }
}

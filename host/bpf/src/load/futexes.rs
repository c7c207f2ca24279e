//! `programs/futex.bpf.c`: calls of futex(2) that wait or wake.

use std::os::fd::{AsRawFd, RawFd};
use std::time::Instant;

use aya::Ebpf;
use aya::Pod;
use aya::maps::{Array, HashMap, MapData, PerCpuHashMap, RingBuf};

use super::namespace::{Namespace, innermost_number};
use super::waiting::Sleeper;
use super::{attach, counters, digits, load, missed, object, of_map, other, text};
use crate::messages::{FutexRow, Futexes, Lost, Place, Refusal, StillWaiting};

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
    started: u64,
}

/// `struct key`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Key {
    address: u64,
    object: u64,
    waiter: u64,
    waker: u64,
    tgid: u32,
    pad: u32,
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
    before: u64,
    ended: u64,
}

/// `struct begun`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Begun {
    address: u64,
    object: u64,
    place: u64,
    since: u64,
    cut: u64,
    batch: u64,
    pc: u64,
    sp: u64,
    tgid: u32,
    was_cut: u32,
    before: u32,
    pad: u32,
}

/// `struct word`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Word {
    address: u64,
    tgid: u32,
    pad: u32,
}

// SAFETY: integers without padding between or behind them.
unsafe impl Pod for Settings {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Key {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Sum {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Begun {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Word {}

/// The counters, in the order of the enumeration in C.
const COUNTERS: usize = 8;

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
    descriptors: [i32; 3],
    /// Places of waits that began before.
    first: Vec<Place>,
}

impl Running {
    /// Loads and attaches them, for process `only`, or for all.
    ///
    /// # Errors
    /// If the kernel does not let us, or has no such tracepoints.
    pub fn start(only: Option<u32>) -> Result<Self, Refusal> {
        let mut bpf = load(object!("futex.bpf.o"), "rows")?;
        let mut settings = settings(only)?;
        set(&mut bpf, settings)?;
        let copies = bpf.take_map("copies").ok_or_else(|| other("no map of copies".into()))?;
        let copies = RingBuf::try_from(copies).map_err(|error| of_map(&error))?;
        let programs = [
            ("futex_exit", "sys_exit"),
            ("thread_exit", "sched_process_exit"),
            ("futex_enter", "sys_enter"),
        ];
        let descriptors = attach(&mut bpf, programs)?;
        // Waits that end without a begin from now on began before.
        let since = Instant::now();
        settings.started = now_ns();
        set(&mut bpf, settings)?;
        let first = began_before(&mut bpf, only, settings)?;
        Ok(Self { bpf, copies, since, descriptors, first })
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

    /// So many of the places of waits that began before, of those that this has not given yet.
    pub fn older_places(&mut self, most: usize) -> Vec<Place> {
        let most = most.min(self.first.len());
        self.first.drain(..most).collect()
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
        places.append(&mut self.first);
        // The programs go, the maps stay.
        drop(self.bpf);
        let now = now_ns();
        let map: PerCpuHashMap<_, Key, Sum> = rows.try_into().map_err(|error| of_map(&error))?;
        let mut rows = Vec::new();
        for row in map.iter() {
            let (key, sums) = row.map_err(|error| of_map(&error))?;
            let mut row = FutexRow {
                address: key.address,
                object: key.object,
                tgid: key.tgid,
                place: key.waiter,
                waker: key.waker,
                ..FutexRow::default()
            };
            for one in sums.iter() {
                row.count += one.count;
                row.total_ns += one.total_ns;
                row.max_ns = row.max_ns.max(one.max_ns);
                row.timed_out += one.timed_out;
                row.refused += one.refused;
                row.before += one.before;
                row.ended += one.ended;
            }
            rows.push(row);
        }
        let map: HashMap<_, u32, Begun> = inside.try_into().map_err(|error| of_map(&error))?;
        let mut waiting = Vec::new();
        for (tid, begun) in map.iter().flatten() {
            let Begun { address, object, tgid, place, since, .. } = begun;
            if begun.cut == 0 {
                let for_ns = now.saturating_sub(since);
                let before = begun.before != 0;
                waiting.push(StillWaiting { address, object, tgid, place, tid, for_ns, before });
            } else {
                // A signal ended it: the thread went on with something else.
                let total_ns = begun.cut.saturating_sub(since);
                let (count, max_ns, before) = (1, total_ns, begun.before.into());
                let row = FutexRow { address, object, tgid, place, ..FutexRow::default() };
                rows.push(FutexRow { count, total_ns, max_ns, before, ..row });
            }
        }
        let [calls, wakes, woken, rows_lost, rows_ns, begins, stacks, waitv] =
            counters[..].try_into().map_err(|_| other("counters are missing".into()))?;
        let lost = Lost { rows: rows_lost, rows_ns, begins, stacks, unmatched: 0, missed, waitv };
        let wakes = (wakes, woken);
        // The entries that came meanwhile.
        while let Some(copy) = self.copies.next() {
            places.extend(parse(&copy).filter(|place| place.id != 0));
        }
        Ok((places, Futexes { elapsed_ns, rows, waiting, calls, wakes, lost }))
    }
}

fn set(bpf: &mut Ebpf, settings: Settings) -> Result<(), Refusal> {
    let map = bpf.map_mut("settings").ok_or_else(|| other("no map of settings".into()))?;
    let mut map = Array::<_, Settings>::try_from(map).map_err(|error| of_map(&error))?;
    map.set(0, settings, 0).map_err(|error| of_map(&error))
}

/// Which processes the programs measure: in the initial PID namespace by the kernel's own numbers, in
/// another one by those of the namespace that the process is in.
fn settings(only: Option<u32>) -> Result<Settings, Refusal> {
    let (but, reports, pad, started) = (std::process::id(), only.unwrap_or(0), 0, 0);
    let own = Namespace::of("self")?;
    let Namespace { device, inode } = match only {
        _ if own.is_initial() => {
            let only = reports;
            return Ok(Settings { only, but, device: 0, inode: 0, reports: 0, pad, started });
        }
        Some(pid) => Namespace::of(&pid.to_string())?,
        None => own,
    };
    let only = only.map(innermost_number).transpose()?.unwrap_or(0);
    // Another namespace has another process of our number.
    let but = if inode == own.inode { but } else { 0 };
    Ok(Settings { only, but, device, inode, reports, pad, started })
}

/// Has the waits counted that began before the programs were attached; gives their places.
fn began_before(
    bpf: &mut Ebpf,
    only: Option<u32>,
    settings: Settings,
) -> Result<Vec<Place>, Refusal> {
    let mut places = Vec::new();
    for sleeper in Sleeper::all(only) {
        // Threads of nested namespaces are not measured.
        let is_nested = sleeper.innermost != sleeper.tid;
        let tid = match settings.inode {
            0 => sleeper.tid,
            _ if only.is_none() && is_nested => continue,
            _ => sleeper.innermost,
        };
        // The number of no other place: those are made of many bits.
        let (address, place) = (sleeper.address, u64::from(sleeper.tid));
        let word = Word { address, tgid: sleeper.pid, pad: 0 };
        let batch = batch(bpf, word, settings.started)?;
        let (object, cut, was_cut, before, pad) = (sleeper.object(), 0, 0, 1, 0);
        let (pc, sp, since, tgid) = (sleeper.pc, sleeper.sp, settings.started, sleeper.pid);
        let begun =
            Begun { address, object, place, since, cut, batch, pc, sp, tgid, was_cut, before, pad };
        let map = bpf.map_mut("inside").ok_or_else(|| other("no map of waits".into()))?;
        let mut inside = HashMap::<_, u32, Begun>::try_from(map).map_err(|error| of_map(&error))?;
        // A wait that began since is there already.
        if inside.insert(tid, begun, NOEXIST).is_err() {
            continue;
        }
        // If it ended meanwhile, the end is counted without this, or still to come.
        if !sleeper.is_asleep_still() {
            if inside.get(&tid, 0).is_ok_and(|now| now.since == since && now.place == place) {
                let _ = inside.remove(&tid);
            }
            continue;
        }
        places.push(sleeper.place(place, sleeper.pid));
    }
    Ok(places)
}

/// BPF_NOEXIST.
const NOEXIST: u64 = 1;

/// The batch of waits of a word that there is.
fn batch(bpf: &mut Ebpf, word: Word, started: u64) -> Result<u64, Refusal> {
    let map = bpf.map_mut("words").ok_or_else(|| other("no map of words".into()))?;
    let mut words = HashMap::<_, Word, u64>::try_from(map).map_err(|error| of_map(&error))?;
    // What is there came first.
    let _ = words.insert(word, started << 1, NOEXIST);
    Ok(words.get(&word, 0).unwrap_or(0) & !1)
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
    let stack = digits(bytes.get(place::STACK..)?.get(..size)?);
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

//! `programs/futex.bpf.c`: calls of futex(2) that wait or wake.

use std::collections::{BTreeMap, HashSet};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Instant;

use aya::maps::{Array, HashMap, Map, MapData, PerCpuHashMap, RingBuf};
use aya::programs::Program;
use aya::{Ebpf, Pod};

use super::counted::{Begun, Key, Sum, now_ns, read};
use super::namespace::{Namespace, innermost_number, own_numbers};
use super::waiting::Sleeper;
use super::{attach, digits, load, missed, object, of_map, other, text};
use crate::messages::{Futexes, Place, Refusal};

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
unsafe impl Pod for Word {}

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
    /// The processes of the places that were met.
    placed: BTreeMap<u64, u32>,
    /// The process whose threads have the numbers of its own PID namespace here.
    renumbered: Option<u32>,
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
        let renumbered = only.filter(|_| settings.inode != 0);
        let placed = BTreeMap::new();
        Ok(Self { bpf, copies, since, descriptors, first, placed, renumbered })
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
        self.placed.extend(places.iter().map(|place| (place.id, place.tgid)));
        places
    }

    /// So many of the places of waits that began before, of those that this has not given yet.
    pub fn older_places(&mut self, most: usize) -> Vec<Place> {
        let most = most.min(self.first.len());
        self.first.drain(..most).collect()
    }

    /// Reads what they counted so far; waits that are under way have no row.
    ///
    /// # Errors
    /// If the kernel does not let us read it.
    pub fn read(&self) -> Result<Futexes, Refusal> {
        let elapsed_ns = self.since.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
        let mut futexes = read(&self.bpf, false)?;
        futexes.elapsed_ns = elapsed_ns;
        futexes.lost.missed = self.descriptors.into_iter().map(missed).sum();
        if let Some(pid) = self.renumbered {
            let numbers = own_numbers(pid);
            futexes.waiting.retain_mut(|wait| match numbers.get(&wait.tid) {
                Some(&own) => {
                    wait.tid = own;
                    true
                }
                // It has ended since.
                None => false,
            });
        }
        Ok(futexes)
    }

    /// Forgets rows and places of these processes, which have ended: there is room for so many in all.
    ///
    /// # Errors
    /// If the kernel does not let us.
    pub fn forget(&mut self, ended: &HashSet<u32>) -> Result<(), Refusal> {
        let mut places = HashMap::<_, u64, u32>::try_from(map_mut(&mut self.bpf, "places")?)
            .map_err(|error| of_map(&error))?;
        self.placed.retain(|place, pid| {
            let is_kept = !ended.contains(pid);
            if !is_kept {
                // One that is not there is forgotten already.
                let _ = places.remove(place);
            }
            is_kept
        });
        let mut rows = PerCpuHashMap::<_, Key, Sum>::try_from(map_mut(&mut self.bpf, "rows")?)
            .map_err(|error| of_map(&error))?;
        let keys: Vec<Key> =
            rows.keys().flatten().filter(|key| ended.contains(&key.tgid)).collect();
        for key in keys {
            let _ = rows.remove(&key);
        }
        Ok(())
    }

    /// Detaches them, and reads what they counted.
    ///
    /// # Errors
    /// If the kernel does not let us read it.
    pub fn finish(mut self) -> Result<(Vec<Place>, Futexes), Refusal> {
        let elapsed_ns = self.since.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
        let missed = self.descriptors.into_iter().map(missed).sum();
        let mut places = self.places();
        places.append(&mut self.first);
        for (_, program) in self.bpf.programs_mut() {
            if let Program::RawTracePoint(program) = program {
                program.unload().map_err(|error| other(error.to_string()))?;
            }
        }
        let mut futexes = read(&self.bpf, true)?;
        futexes.elapsed_ns = elapsed_ns;
        futexes.lost.missed = missed;
        // The entries that came meanwhile.
        places.append(&mut self.places());
        Ok((places, futexes))
    }
}

fn map_mut<'b>(bpf: &'b mut Ebpf, name: &str) -> Result<&'b mut Map, Refusal> {
    bpf.map_mut(name).ok_or_else(|| other(format!("the object has no map {name}")))
}

fn set(bpf: &mut Ebpf, settings: Settings) -> Result<(), Refusal> {
    let map = map_mut(bpf, "settings")?;
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
        let map = map_mut(bpf, "inside")?;
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
    let map = map_mut(bpf, "words")?;
    let mut words = HashMap::<_, Word, u64>::try_from(map).map_err(|error| of_map(&error))?;
    // What is there came first.
    let _ = words.insert(word, started << 1, NOEXIST);
    Ok(words.get(&word, 0).unwrap_or(0) & !1)
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

//! `programs/kernel.bpf.c`: waits for the kernel's own locks.

use std::time::Instant;

use aya::maps::{Array, PerCpuHashMap, StackTraceMap};
use aya::programs::Program;
use aya::{Btf, Ebpf, Pod};

use super::namespace::Namespace;
use super::{attach, counters, load, missed, object, of_map, other, text};
use crate::messages::{Kernel, KernelOwner, KernelRow, Lost, Refusal};

/// `struct settings`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Settings {
    device: u64,
    inode: u64,
    has_types: u64,
}

/// `struct owned`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Owned {
    lock: u64,
    tid: u32,
    tgid: u32,
    is_reader: u32,
    waiter: u32,
}

/// `struct key`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Key {
    lock: u64,
    flags: u32,
    stack: i32,
    tid: u32,
    tgid: u32,
}

/// `struct sum`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Sum {
    count: u64,
    total_ns: u64,
    max_ns: u64,
    comm: [u8; 16],
}

impl Sum {
    /// The sums of all processors in one.
    fn of_processors<'s>(sums: impl Iterator<Item = &'s Self>) -> Self {
        let mut all = Self { count: 0, total_ns: 0, max_ns: 0, comm: [0; 16] };
        for sum in sums {
            all.count += sum.count;
            all.total_ns += sum.total_ns;
            all.max_ns = all.max_ns.max(sum.max_ns);
            if sum.count > 0 {
                all.comm = sum.comm;
            }
        }
        all
    }
}

// SAFETY: integers without padding between or behind them.
unsafe impl Pod for Settings {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Key {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Sum {}
// SAFETY: integers alone, too, without padding between them.
unsafe impl Pod for Owned {}

/// The counters, in the order of the enumeration in C.
const COUNTERS: usize = 7;

/// The programs, attached.
pub struct Running {
    bpf: Ebpf,
    since: Instant,
    descriptors: [i32; 2],
}

impl Running {
    /// Loads and attaches them.
    ///
    /// # Errors
    /// If the kernel does not let us, or has no such tracepoints.
    pub fn start() -> Result<Self, Refusal> {
        let mut bpf = load(object!("kernel.bpf.o"), "waits")?;
        let own = Namespace::of("self")?;
        let (device, inode) = if own.is_initial() { (0, 0) } else { (own.device, own.inode) };
        let has_types = Btf::from_sys_fs().is_ok().into();
        let map = bpf.map_mut("settings").ok_or_else(|| other("no map of settings".into()))?;
        let mut map = Array::<_, Settings>::try_from(map).map_err(|error| of_map(&error))?;
        map.set(0, Settings { device, inode, has_types }, 0).map_err(|error| of_map(&error))?;
        // The end first: so there is no begin without one.
        let programs = ["contention_end", "contention_begin"].map(|name| (name, name));
        let descriptors = attach(&mut bpf, programs)?;
        Ok(Self { bpf, since: Instant::now(), descriptors })
    }

    /// Reads what they counted so far.
    ///
    /// # Errors
    /// If the kernel does not let us read it.
    pub fn read(&self) -> Result<Kernel, Refusal> {
        let elapsed_ns = self.since.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
        let missed = self.descriptors.into_iter().map(missed).sum();
        read(&self.bpf, elapsed_ns, missed)
    }

    /// Detaches them, and reads what they counted.
    ///
    /// # Errors
    /// If the kernel does not let us read it.
    pub fn finish(mut self) -> Result<Kernel, Refusal> {
        let elapsed_ns = self.since.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
        let missed = self.descriptors.into_iter().map(missed).sum();
        for (_, program) in self.bpf.programs_mut() {
            if let Program::RawTracePoint(program) = program {
                program.unload().map_err(|error| other(error.to_string()))?;
            }
        }
        read(&self.bpf, elapsed_ns, missed)
    }
}

fn read(bpf: &Ebpf, elapsed_ns: u64, missed: u64) -> Result<Kernel, Refusal> {
    let map =
        |name: &str| bpf.map(name).ok_or_else(|| other(format!("the object has no map {name}")));
    let waits = PerCpuHashMap::<_, Key, Sum>::try_from(map("waits")?);
    let waits = waits.map_err(|error| of_map(&error))?;
    let stacks = StackTraceMap::try_from(map("stacks")?).map_err(|error| of_map(&error))?;
    let counters = counters(bpf, COUNTERS)?;
    let mut rows = Vec::new();
    for row in waits.iter() {
        let (key, sums) = row.map_err(|error| of_map(&error))?;
        let sum = Sum::of_processors(sums.iter());
        let stack = u32::try_from(key.stack).ok().and_then(|id| stacks.get(&id, 0).ok());
        let stack = stack.map_or_else(Vec::new, |stack| {
            stack.frames().iter().map(|frame| frame.ip).filter(|&ip| ip != 0).collect()
        });
        rows.push(KernelRow {
            lock: key.lock,
            flags: key.flags,
            stack,
            tid: key.tid,
            tgid: key.tgid,
            comm: text(&sum.comm),
            count: sum.count,
            total_ns: sum.total_ns,
            max_ns: sum.max_ns,
        });
    }
    let map = PerCpuHashMap::<_, Owned, Sum>::try_from(map("owners")?);
    let map = map.map_err(|error| of_map(&error))?;
    let mut owners = Vec::new();
    for row in map.iter() {
        let (key, sums) = row.map_err(|error| of_map(&error))?;
        let sum = Sum::of_processors(sums.iter());
        owners.push(KernelOwner {
            lock: key.lock,
            tid: key.tid,
            tgid: key.tgid,
            comm: text(&sum.comm),
            is_reader: key.is_reader != 0,
            waiter: key.waiter,
            count: sum.count,
            total_ns: sum.total_ns,
            max_ns: sum.max_ns,
        });
    }
    let [waits, waited_ns, rows_lost, rows_ns, begins, stacks_lost, unmatched] =
        counters[..].try_into().map_err(|_| other("counters are missing".into()))?;
    let lost =
        Lost { rows: rows_lost, rows_ns, begins, stacks: stacks_lost, unmatched, missed, waitv: 0 };
    let cpus = aya::util::nr_cpus().unwrap_or(1) as u64;
    Ok(Kernel { elapsed_ns, cpus, rows, owners, waits, waited_ns, lost })
}

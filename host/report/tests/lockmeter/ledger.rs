//! Ledgers of lockmeter with known contents, written row by row as the engine does.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::{MeterReport, build_with};
use lockwright_analysis::model::Symbolise;
use lockwright_analysis::symbolize::DataSymbol;
use lockwright_ledger::histogram::{RUN, bucket};
use lockwright_ledger::layout::{PAGE, clock, engines, process_state};
use lockwright_ledger::rows::meter::*;
use lockwright_ledger::rows::{Class, Module, Row, StackWords, class_origin, lock_kind, mode};
use lockwright_ledger::{Ledger, Writer};

const BYTES: usize = 4 << 20;

/// When every process starts, CLOCK_MONOTONIC; and for how long it runs unless told otherwise.
pub const START_NS: u64 = 1_000_000_000;
pub const ELAPSED_NS: u64 = 1_000_000_000;

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;

/// A process that was measured. Times are given in nanoseconds.
pub struct Process {
    writer: Writer,
    _memory: Vec<u64>,
    base: *const u8,
    names: Names,
    ticks_per_ns: u64,
    meter: u32,
}

/// One site's numbers in one thread.
#[derive(Clone, Default)]
pub struct Counts {
    pub holds: Vec<u64>,
    pub waits: Vec<u64>,
    /// Acquisitions whose hold is not among `holds`.
    pub untimed: u64,
    pub rejects: u64,
    pub timeouts: u64,
    pub spin: u64,
    pub readers_max: u32,
    /// Kind, other site, count, ns.
    pub blame: Vec<(u32, u32, u64, u64)>,
}

impl Process {
    /// A process whose clock makes `ticks_per_ns` ticks in a nanosecond; 0: it is CLOCK_MONOTONIC.
    pub fn new(pid: u32, ticks_per_ns: u64) -> Self {
        let mut memory = vec![0u64; BYTES / 8 + PAGE / 8];
        let base = (memory.as_mut_ptr() as usize).next_multiple_of(PAGE) as *mut u8;
        // SAFETY: zeroed, page aligned, nobody else's, and kept as long as the writer.
        let writer = unsafe { Writer::create(base, BYTES, |_, _| Ok(()), |_| {}) };
        let mut writer = writer.expect("room for a ledger");
        let header = writer.header();
        header.pid.store(pid, Relaxed);
        header.engines.store(engines::LOCKMETER, Relaxed);
        header.state.store(process_state::EXITED, Relaxed);
        header.start_ns.store(START_NS, Relaxed);
        header.processors.store(8, Relaxed);
        header.start_realtime_ns.store(u64::from(pid), Relaxed);
        header.end_ns.store(START_NS + ELAPSED_NS, Relaxed);
        header.token.store(pid.into(), Relaxed);
        header.hold_sample.store(1, Relaxed);
        if ticks_per_ns == 0 {
            header.clock.store(clock::MONOTONIC, Relaxed);
        } else {
            header.clock.store(clock::TSC, Relaxed);
            let end = START_NS + ELAPSED_NS;
            let pairs = [START_NS * ticks_per_ns, START_NS, end * ticks_per_ns, end];
            for (word, value) in header.clock_pairs.iter().zip(pairs) {
                word.store(value, Relaxed);
            }
        }
        for (text, field) in [("/usr/bin/server", 0), ("server\0--fast\0", 1)] {
            let text = writer.text(text.as_bytes());
            let at = if field == 0 { &writer.header().exe } else { &writer.header().cmdline };
            at[0].store(text.offset, Relaxed);
            at[1].store(text.len, Relaxed);
        }
        writer.push(Module::default()).expect("room");
        let mut this = Self {
            writer,
            _memory: memory,
            base,
            names: Names::default(),
            ticks_per_ns: ticks_per_ns.max(1),
            meter: 0,
        };
        this.meter = this.thread();
        this
    }

    pub fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// The process was killed when its clock was last read `after_ns` after its start.
    pub fn killed(&mut self, after_ns: u64) -> &mut Self {
        let header = self.writer.header();
        header.state.store(process_state::RUNNING, Relaxed);
        header.end_ns.store(0, Relaxed);
        header.clock_pairs[2].store((START_NS + after_ns) * self.ticks_per_ns, Relaxed);
        header.clock_pairs[3].store(START_NS + after_ns, Relaxed);
        self
    }

    /// It ran for so long.
    pub fn ran_for(&mut self, ns: u64) -> &mut Self {
        self.writer.header().end_ns.store(START_NS + ns, Relaxed);
        self
    }

    /// A thread that measures, as the preload library makes one.
    pub fn thread(&mut self) -> u32 {
        let capacity = 8;
        let offset = self.writer.alloc(capacity as usize * size_of::<Metered>()).expect("room");
        let base = self.writer.at(offset) as u64;
        let held = StackWords { top: base, base, offset, capacity, ..StackWords::default() };
        self.writer.push(Meter { held, threads: 1, ..Meter::default() }).expect("room")
    }

    /// A static lock.
    pub fn lock(&mut self, name: &str, kind: u8) -> u32 {
        let offset = 0x1000 + 0x1000 * self.names.variables.len() as u64;
        self.names.variables.insert(offset, name.to_owned());
        let (origin, module) = (class_origin::STATIC, 1);
        self.push(Class { kind, origin, module, offset, locks: 1, ..Class::default() })
    }

    pub fn mutex(&mut self, name: &str) -> u32 {
        self.lock(name, lock_kind::MUTEX)
    }

    /// A stack of functions, the innermost first: `name`, `name:line` or, without debug
    /// information, `name+0xoffset`; with `inline ` before it what is inlined into the next.
    pub fn stack(&mut self, functions: &[&str]) -> u32 {
        let first = self.writer.frames(&[1]).expect("room");
        let stack = lockwright_ledger::rows::Stack { len: 1, first, ..Default::default() };
        let id = self.push(stack);
        let frame = |text: &&str| {
            if let Some((name, offset)) = text.split_once("+0x") {
                let offset = u64::from_str_radix(offset, 16).expect("an offset");
                return Frame {
                    function: Some(name.to_owned()),
                    module: Some("/usr/bin/server".to_owned()),
                    offset: self.names.stacks.len() as u64 * 0x10000 + offset,
                    function_offset: Some(offset),
                    ..Frame::default()
                };
            }
            let (inlined, text) = match text.strip_prefix("inline ") {
                Some(text) => (true, text),
                None => (false, *text),
            };
            let numbered = text.rsplit_once(':').map(|(name, line)| (name, line.parse()));
            let (name, line) = match numbered {
                Some((name, Ok(line))) => (name, line),
                _ => (text, 1),
            };
            Frame {
                function: Some(name.to_owned()),
                file: Some(format!("/src/{}.c", name.split('_').next().unwrap())),
                line: Some(line),
                module: Some("/usr/bin/server".to_owned()),
                offset: 0x1234,
                function_offset: Some(0x1c),
                inlined,
                ..Frame::default()
            }
        };
        self.names.stacks.insert(id, functions.iter().map(frame).collect());
        id
    }

    /// A site that locks.
    pub fn site(&mut self, class: u32, functions: &[&str]) -> u32 {
        self.site_with(Site { class, ..Site::default() }, functions)
    }

    /// A site that read-locks.
    pub fn read_site(&mut self, class: u32, functions: &[&str]) -> u32 {
        self.site_with(Site { class, mode: mode::READ, ..Site::default() }, functions)
    }

    pub fn site_with(&mut self, site: Site, functions: &[&str]) -> u32 {
        let stack = self.stack(functions);
        let addr =
            if site.addr == 0 { 0x5555_0000 + u64::from(site.class) * 64 } else { site.addr };
        self.push(Site { stack, addr, site: u64::from(stack) + 0x40_0000, ..site })
    }

    /// What one thread counted at a site.
    pub fn cell(&mut self, site: u32, counts: &Counts) -> u32 {
        let ticks = |ns: &u64| ns * self.ticks_per_ns;
        let (holds, waits): (Vec<u64>, Vec<u64>) =
            (counts.holds.iter().map(ticks).collect(), counts.waits.iter().map(ticks).collect());
        let spin = ticks(&counts.spin);
        let blame: Vec<_> = counts.blame.iter().map(|b| (b.0, b.1, b.2, ticks(&b.3))).collect();
        for (kind, times) in [(histogram_kind::HOLD, &holds), (histogram_kind::WAIT, &waits)] {
            let mut runs: BTreeMap<usize, [u64; RUN]> = BTreeMap::new();
            for &time in times {
                runs.entry(bucket(time) / RUN).or_default()[bucket(time) % RUN] += 1;
            }
            for (run, counts) in runs {
                let run = run as u16;
                let counts16 = counts.map(|count| count as u16);
                let bucket =
                    self.push(Bucket { site, run, kind, counts: counts16, ..Bucket::default() });
                for (index, count) in (0..).zip(counts) {
                    let times = (count >> 16) as u32;
                    if times > 0 {
                        self.push(Carry { bucket, index, times, ..Carry::default() });
                    }
                }
            }
        }
        let mut first = 0;
        for (kind, other, count, ticks) in blame {
            first = self.push(Blame { kind, other, count, ticks, next: first, ..Blame::default() });
        }
        self.push(Cell {
            site,
            acquisitions: holds.len() as u64 + counts.untimed,
            holds: holds.len() as u64,
            hold_ticks: holds.iter().sum(),
            hold_max: holds.iter().copied().max().unwrap_or(0),
            contended: waits.len() as u64,
            wait_ticks: waits.iter().sum(),
            wait_max: waits.iter().copied().max().unwrap_or(0),
            rejects: counts.rejects,
            timeouts: counts.timeouts,
            spin_ticks: spin,
            readers_max: counts.readers_max,
            blame: first,
            ..Cell::default()
        })
    }

    /// What the thread of row `meter` counted at a site.
    pub fn cell_of(&mut self, meter: u32, site: u32, counts: &Counts) {
        let cell = self.cell(site, counts);
        // SAFETY: a row of this ledger, which no other thread has.
        unsafe { (*self.writer.row_ptr::<Cell>(cell)).state = meter };
    }

    /// The first thread holds a lock by way of `cell` since `after_ns` after the start.
    pub fn holds_now(&mut self, cell: u32, after_ns: u64) {
        let at = self.writer.row_ptr::<Cell>(cell) as u64;
        let since = (START_NS + after_ns) * self.ticks_per_ns;
        // SAFETY: a row of this ledger, which no other thread has.
        let meter = unsafe { &mut *self.writer.row_ptr::<Meter>(self.meter) };
        meter.held.top += size_of::<Metered>() as u64;
        meter.tid = 1;
        let top = meter.held.top;
        let held = Metered { addr: 0x10, since, cell: at, ..Metered::default() };
        // SAFETY: an element of the array that `thread` made, below its capacity in these tests.
        unsafe { (top as *mut Metered).write(held) };
    }

    /// Row of the first thread.
    pub fn first_thread(&self) -> u32 {
        self.meter
    }

    /// Thread `tid`, of row `meter`, waits at `site` for what is at `addr` since `after_ns` after
    /// the start.
    pub fn waits_now(&mut self, meter: u32, tid: u32, site: u32, addr: u64, after_ns: u64) {
        let since = (START_NS + after_ns) * self.ticks_per_ns;
        // SAFETY: a row of this ledger, which no other thread has.
        let meter = unsafe { &mut *self.writer.row_ptr::<Meter>(meter) };
        (meter.tid, meter.waiting) = (tid, site);
        (meter.waiting_for, meter.waiting_since) = (addr, since);
    }

    pub fn push<R: Row>(&mut self, row: R) -> u32 {
        self.writer.push(row).expect("room")
    }

    /// The ledger's bytes, as far as they are used.
    pub fn bytes(&self) -> Vec<u8> {
        let used = self.writer.header().used.load(Relaxed) as usize;
        // SAFETY: the memory is BYTES long from `base` on, of which `used` are handed out.
        unsafe { std::slice::from_raw_parts(self.base, used) }.to_vec()
    }

    /// What a report makes of `bytes` in the ledger's place; `None` if they are none.
    pub fn measure_as(&self, bytes: Vec<u8>) -> Option<MeterReport> {
        let ledger = Ledger::from_bytes(bytes).ok()?;
        Some(build_with(&[ledger], &[&self.names as &dyn Symbolise], &[]))
    }

    fn ledger(&self) -> Ledger {
        Ledger::from_bytes(self.bytes()).expect("a ledger")
    }
}

/// What a report makes of the processes.
pub fn measure(processes: &[&Process]) -> MeterReport {
    let ledgers: Vec<Ledger> = processes.iter().map(|process| process.ledger()).collect();
    let names: Vec<&dyn Symbolise> =
        processes.iter().map(|process| &process.names as &dyn Symbolise).collect();
    build_with(&ledgers, &names, &[])
}

/// Names for stacks and variables.
#[derive(Default)]
struct Names {
    stacks: BTreeMap<u32, Vec<Frame>>,
    /// By offset.
    variables: BTreeMap<u64, String>,
}

impl Symbolise for Names {
    fn stack(&self, id: u32) -> Rc<[Frame]> {
        self.stacks.get(&id).cloned().unwrap_or_default().into()
    }

    fn data(&self, _: u32, offset: u64) -> Option<DataSymbol> {
        let name = self.variables.get(&offset)?.clone();
        Some(DataSymbol { name, start: offset, size: 40 })
    }

    fn module_name(&self, _: u32) -> String {
        "/usr/bin/server".into()
    }

    fn notes(&self) -> Vec<lockwright_analysis::finding::ModuleNote> {
        Vec::new()
    }
}

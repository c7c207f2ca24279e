//! The measurement for machines: docs/meter.schema.json is the schema.

mod advice;
mod futex;
mod timeline;
mod values;
mod waiting;

pub use advice::{AdviceOut, all as all_advice};

use std::io;

use serde::{Serialize, Serializer};

use crate::coverage_json::{self, CompletenessOut, ModuleOut};
use crate::waiting_json::LongWaitOut;
use lockwright_analysis::finding::lock_kind::LockKind;
use lockwright_analysis::finding::{Frame, LockOrigin, Unwatched};
use lockwright_analysis::lockmeter::model::{
    Blame, Bounds, Clock, Holds, Instance, Lock, LockThread, MeterReport, Mode, Nested, Numbers,
    Process, Site, Times, Wait, WaitKind,
};
use lockwright_analysis::process_end::ProcessEnd;
use lockwright_analysis::under_way::LongWait;
use lockwright_console::plain;
use values::{ns, place_of};

/// Value of `schema`.
pub const SCHEMA: &str = "lockwright-meter";

/// Value of `version`: raised when a reader of the one before would go wrong. Fields may be added
/// without that.
pub const VERSION: u32 = 1;

/// Renders the whole measurement, whatever a view hides; ends with a newline.
pub fn render(report: &MeterReport) -> String {
    plain::json_text(&Document::new(report, None))
}

/// As [`render`], written out as it is made.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write(
    report: &MeterReport,
    long_waits: Option<&[LongWait]>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    plain::write_json(&Document::new(report, long_waits), out)
}

/// The document, to be part of another.
#[derive(Serialize)]
pub struct Document<'r> {
    schema: &'static str,
    version: u32,
    tool: Tool,
    elapsed_ns: u64,
    lost: u64,
    #[serde(flatten)]
    completeness: CompletenessOut,
    by_instance: bool,
    cost: Option<Cost>,
    processes: Vec<ProcessOut<'r>>,
    unwatched: &'r [Unwatched],
    modules: Vec<ModuleOut<'r>>,
    locks: Locks<'r>,
    waits: Vec<WaitOut<'r>>,
    waiting: Vec<waiting::WaiterOut>,
    /// Where waits were looked at while the program ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    long_waits: Option<Vec<LongWaitOut<'r>>>,
    advice: Vec<advice::AdviceOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<timeline::TimelineOut<'r>>,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Cost {
    pair_ns: f64,
    wait_ns: f64,
    call_ns: f64,
    cpu_ns: f64,
    program_cpu_ns: Option<f64>,
}

#[derive(Serialize)]
struct ProcessOut<'r> {
    pid: u32,
    exe: &'r str,
    command: &'r [String],
    exited: bool,
    end: ProcessEnd,
    elapsed_ns: u64,
    threads: u64,
    acquisitions: u64,
    locks: u64,
    clock: &'static str,
    clock_mhz: Option<f64>,
    holds: &'static str,
    hold_sample: u32,
    lost: u64,
    notes: Vec<String>,
}

/// Each is made when it is written: together they would take as much memory as the report.
struct Locks<'r>(&'r [Lock]);

impl Serialize for Locks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(lock))
    }
}

#[derive(Serialize)]
struct LockOut<'r> {
    name: &'r str,
    is_symbol: bool,
    kind: &'static str,
    origin: LockOrigin,
    created: &'r [Frame],
    locks: u64,
    measured_ns: u64,
    utilisation: f64,
    total: NumbersOut,
    sites: Vec<SiteOut<'r>>,
    readers: Option<ReadersOut>,
    blame: Vec<BlameOut>,
    instances: Vec<InstanceOut>,
    threads: Vec<ThreadOut>,
}

#[derive(Serialize)]
struct ThreadOut {
    tid: u32,
    threads: u32,
    lived_ns: f64,
    acquisitions: u64,
    contended: u64,
    hold_ns: f64,
    wait_ns: f64,
}

#[derive(Serialize)]
struct SiteOut<'r> {
    mode: &'static str,
    cond_reacquire: bool,
    place: usize,
    addr: u64,
    utilisation: f64,
    numbers: NumbersOut,
    nested: Vec<NestedOut>,
    preempted_ns: f64,
    stack: &'r [Frame],
}

#[derive(Serialize)]
struct NumbersOut {
    acquisitions: u64,
    contended: u64,
    rejects: u64,
    timeouts: u64,
    hold_ns: f64,
    hold_error_ns: f64,
    hold_unsure: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_bounds: Option<HoldBoundsOut>,
    hold: TimesOut,
    held: u64,
    wait: TimesOut,
    spin_ns: f64,
    readers_max: u64,
}

/// Where one hold in many was timed.
#[derive(Serialize)]
struct HoldBoundsOut {
    mean: BoundsOut,
    p50: BoundsOut,
    p99: BoundsOut,
}

#[derive(Serialize)]
struct BoundsOut {
    low_ns: f64,
    high_ns: Option<f64>,
}

#[derive(Serialize)]
struct TimesOut {
    count: u64,
    total_ns: f64,
    max_ns: f64,
    mean_ns: Option<f64>,
    p50_ns: Option<f64>,
    p99_ns: Option<f64>,
    buckets: Vec<BucketOut>,
}

#[derive(Serialize)]
struct BucketOut {
    ns: f64,
    count: u64,
}

#[derive(Serialize)]
struct ReadersOut {
    most: u64,
    busy: TimesOut,
}

#[derive(Serialize)]
struct BlameOut {
    waiter: usize,
    holder: Option<usize>,
    count: u64,
    ns: f64,
}

#[derive(Serialize)]
struct NestedOut {
    lock: Option<usize>,
    site: Option<usize>,
    wait: Option<usize>,
    count: u64,
    ns: f64,
}

#[derive(Serialize)]
struct InstanceOut {
    pid: u32,
    process: usize,
    inst: u32,
    addr: u64,
    total: NumbersOut,
    sites: Vec<InstanceSiteOut>,
}

#[derive(Serialize)]
struct InstanceSiteOut {
    site: usize,
    numbers: NumbersOut,
}

#[derive(Serialize)]
struct WaitOut<'r> {
    call: Option<&'static str>,
    name: Option<&'r str>,
    kind: &'static str,
    lock: Option<usize>,
    place: usize,
    waits: u64,
    blocked: u64,
    timeouts: u64,
    wait: TimesOut,
    stack: &'r [Frame],
    in_vain: u64,
    wakers: Vec<futex::WakerOut<'r>>,
    futex: Option<futex::FutexOut<'r>>,
}

impl<'r> Document<'r> {
    /// All of `report`.
    pub fn new(report: &'r MeterReport, long_waits: Option<&'r [LongWait]>) -> Self {
        Self {
            schema: SCHEMA,
            version: VERSION,
            tool: Tool { name: "lockwright", version: env!("CARGO_PKG_VERSION") },
            elapsed_ns: report.elapsed_ns,
            lost: report.lost,
            completeness: CompletenessOut::new(&report.completeness),
            by_instance: report.by_instance,
            cost: report.cost.map(|cost| Cost {
                pair_ns: ns(cost.pair_ns),
                wait_ns: ns(cost.wait_ns),
                call_ns: ns(cost.call_ns),
                cpu_ns: ns(cost.cpu_ns),
                program_cpu_ns: cost.program_cpu_ns.map(ns),
            }),
            processes: report.processes.iter().map(process).collect(),
            unwatched: &report.unwatched,
            modules: coverage_json::modules(&report.modules),
            locks: Locks(&report.locks),
            waits: report.waits.iter().map(wait).collect(),
            waiting: report.waiting.iter().map(waiting::waiter).collect(),
            long_waits: long_waits.map(|waits| waits.iter().map(LongWaitOut::new).collect()),
            advice: advice::all(report),
            timeline: report.timeline.as_ref().map(timeline::timeline),
        }
    }
}

fn process(process: &Process) -> ProcessOut<'_> {
    let (clock, clock_mhz) = match process.clock {
        Clock::Tsc { mhz } => ("tsc", Some(mhz)),
        Clock::Monotonic => ("monotonic", None),
        Clock::Unknown => ("unknown", None),
    };
    let (holds, hold_sample) = match process.holds {
        Holds::Exact => ("exact", 1),
        Holds::Sampled(n) => ("sampled", n),
        Holds::Off => ("off", 0),
    };
    ProcessOut {
        pid: process.pid,
        exe: &process.exe,
        command: &process.command,
        exited: process.exited,
        end: process.end,
        elapsed_ns: process.elapsed_ns,
        threads: process.threads,
        acquisitions: process.acquisitions,
        locks: process.locks,
        clock,
        clock_mhz,
        holds,
        hold_sample,
        lost: process.lost,
        notes: coverage_json::notes(&process.notes),
    }
}

fn lock(lock: &Lock) -> LockOut<'_> {
    LockOut {
        name: &lock.name,
        is_symbol: lock.is_symbol,
        kind: LockKind::of(lock.kind).name(),
        origin: lock.origin,
        created: &lock.created,
        locks: lock.locks,
        measured_ns: lock.measured_ns,
        utilisation: lock.utilisation(),
        total: numbers(&lock.total),
        sites: lock.sites.iter().map(|of| site(lock, of)).collect(),
        readers: lock
            .readers
            .as_ref()
            .map(|readers| ReadersOut { most: readers.most, busy: times(&readers.busy) }),
        blame: lock.blame.iter().map(blame).collect(),
        instances: lock.instances.iter().map(instance).collect(),
        threads: lock.threads.iter().map(|of| thread(lock, of)).collect(),
    }
}

fn site<'r>(lock: &Lock, site: &'r Site) -> SiteOut<'r> {
    SiteOut {
        mode: match site.mode {
            Mode::Exclusive => "exclusive",
            Mode::Write => "write",
            Mode::Read => "read",
        },
        cond_reacquire: site.cond_reacquire,
        place: site.place,
        addr: site.addr,
        utilisation: lock.utilisation_by(site),
        numbers: numbers(&site.numbers),
        nested: site.nested.iter().map(nested).collect(),
        preempted_ns: ns(site.preempted_ns()),
        stack: &site.stack,
    }
}

fn numbers(numbers: &Numbers) -> NumbersOut {
    NumbersOut {
        acquisitions: numbers.acquisitions,
        contended: numbers.contended,
        rejects: numbers.rejects,
        timeouts: numbers.timeouts,
        hold_ns: ns(numbers.hold_ns),
        hold_error_ns: ns(numbers.hold_error.ns()),
        hold_unsure: numbers.hold_error.unsure,
        hold_bounds: hold_bounds(numbers),
        hold: times(&numbers.hold),
        held: numbers.held,
        wait: times(&numbers.wait),
        spin_ns: ns(numbers.spin_ns),
        readers_max: numbers.readers_max,
    }
}

fn hold_bounds(numbers: &Numbers) -> Option<HoldBoundsOut> {
    let out = |Bounds { low, high }: Bounds| BoundsOut { low_ns: ns(low), high_ns: high.map(ns) };
    Some(HoldBoundsOut {
        mean: out(numbers.mean_hold_bounds()?),
        p50: out(numbers.hold_bounds(50.0)?),
        p99: out(numbers.hold_bounds(99.0)?),
    })
}

fn times(times: &Times) -> TimesOut {
    TimesOut {
        count: times.count,
        total_ns: ns(times.total_ns),
        max_ns: ns(times.max_ns),
        mean_ns: times.mean_ns().map(ns),
        p50_ns: times.percentile_ns(50.0).map(ns),
        p99_ns: times.percentile_ns(99.0).map(ns),
        buckets: times
            .histogram
            .buckets()
            .map(|(time, count)| BucketOut { ns: ns(time), count })
            .collect(),
    }
}

fn blame(blame: &Blame) -> BlameOut {
    BlameOut { waiter: blame.waiter, holder: blame.holder, count: blame.count, ns: ns(blame.ns) }
}

fn nested(nested: &Nested) -> NestedOut {
    let (lock, site, wait) = place_of(nested.at);
    NestedOut { lock, site, wait, count: nested.count, ns: ns(nested.ns) }
}

fn instance(instance: &Instance) -> InstanceOut {
    let site =
        |(site, of): &(usize, Numbers)| InstanceSiteOut { site: *site, numbers: numbers(of) };
    InstanceOut {
        pid: instance.pid,
        process: instance.process,
        inst: instance.inst,
        addr: instance.addr,
        total: numbers(&instance.total),
        sites: instance.sites.iter().map(site).collect(),
    }
}

fn thread(lock: &Lock, thread: &LockThread) -> ThreadOut {
    ThreadOut {
        tid: thread.tid,
        threads: thread.threads,
        lived_ns: ns(thread.lived_ns),
        acquisitions: thread.acquisitions(),
        contended: thread.contended(),
        hold_ns: ns(thread.hold_ns(lock)),
        wait_ns: ns(thread.wait_ns()),
    }
}

fn wait(wait: &Wait) -> WaitOut<'_> {
    WaitOut {
        call: wait.call,
        name: wait.name.as_deref(),
        kind: match wait.kind {
            WaitKind::Condition => "condition",
            WaitKind::Semaphore => "semaphore",
            WaitKind::Barrier => "barrier",
            WaitKind::Join => "join",
            WaitKind::Once => "once",
            WaitKind::Call => "call",
            WaitKind::Futex => "futex",
            WaitKind::Other => "other",
        },
        lock: wait.lock,
        place: wait.place,
        waits: wait.waits,
        blocked: wait.slept(),
        timeouts: wait.timeouts,
        wait: times(&wait.wait),
        stack: &wait.stack,
        in_vain: wait.in_vain,
        wakers: wait.wakers.iter().map(futex::waker).collect(),
        futex: wait.futex.as_ref().map(futex::futex),
    }
}

//! `lockwright-lab torture TYPE`: one lock under torture.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::json;

use super::interrupts::Interrupts;
use super::verdict::{Verdict, end};
use crate::args::TortureArgs;
use lockwright_console::error::Error;
use lockwright_console::sink::Sink;
use lockwright_console::status::Status;
use lockwright_console::streams::Streams;
use lockwright_lab::torture::{self, Fault, Freed, Parameters, RtBoost, Statistics, Type, Watcher};

/// How long without an option that says it.
const SHUTDOWN: Duration = Duration::from_secs(30);

/// Threads that go through the objects that are freed.
const FREEING_THREADS: usize = 3;

/// Tortures a lock, as long as nobody interrupts it.
pub fn run(args: &TortureArgs, seed: u64, one: &Type, output: &Streams) -> Verdict {
    let parameters = parameters(args, seed);
    remark(args, one, output);
    let mut lines = Lines { text: String::new(), live: !output.is_in_file() };
    lines.add(&start(one, &parameters));
    let (statistics, interrupted) = stress(one, &parameters, &mut lines);
    lines.add(&format!("{statistics}\n"));
    let freed = (statistics.is_ok() && !interrupted && args.extent.objects > 0 && can_free(one))
        .then(|| torture::freed(one, FREEING_THREADS, args.extent.objects as usize));
    if let Some(freed) = freed {
        lines.add(&text_of(freed));
    }
    let ok = statistics.is_ok() && freed.is_none_or(|freed| freed.touched + freed.fail == 0);
    lines.add(&end(one.name, ok));
    Verdict {
        ok,
        text: lines.rest(),
        json: json!({
            "torture_type": one.name, "parameters": parameters, "statistics": statistics,
            "freed": freed, "interrupted": interrupted, "ok": ok,
        }),
    }
}

/// Whether its last holder may free it; or may not and is to be found out.
fn can_free(one: &Type) -> bool {
    match one.fault {
        None => one.frees,
        Some(fault) => fault == Fault::Touch,
    }
}

fn parameters(args: &TortureArgs, seed: u64) -> Parameters {
    let (extent, disturbance) = (&args.extent, &args.disturbance);
    let two_each = || 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let threads = |wanted: Option<u32>| wanted.map_or_else(two_each, |n| n as usize);
    let shutdown = if extent.acquisitions > 0 { Duration::ZERO } else { SHUTDOWN };
    Parameters {
        nwriters_stress: threads(extent.nwriters_stress),
        nreaders_stress: threads(extent.nreaders_stress),
        shutdown_secs: extent.shutdown_secs.unwrap_or(shutdown),
        acquisitions: extent.acquisitions,
        restart_after: disturbance.restart_after,
        onoff_holdoff: disturbance.onoff_holdoff,
        onoff_interval: disturbance.onoff_interval,
        shuffle_interval: disturbance.shuffle_interval,
        stat_interval: extent.stat_interval,
        stutter: disturbance.stutter,
        long_hold: Duration::from_millis(disturbance.long_hold.into()),
        nested_locks: disturbance.nested_locks.into(),
        rt_boost: match disturbance.rt_boost {
            0 => RtBoost::Never,
            1 => RtBoost::RtMutex,
            _ => RtBoost::Sleeping,
        },
        rt_boost_factor: disturbance.rt_boost_factor,
        acq_writer_lim: Duration::from_millis(disturbance.acq_writer_lim.into()),
        signals: disturbance.signals,
        stops: disturbance.stops,
        seed,
        stall: extent.stall,
    }
}

/// Says what of the parameters does not do what it says.
fn remark(args: &TortureArgs, one: &Type, output: &Streams) {
    let (extent, disturbance) = (&args.extent, &args.disturbance);
    if extent.nreaders_stress.is_some_and(|n| n > 0) && !one.readers {
        output.note(&Error::new(format!(
            "`{}` has no readers: nreaders_stress does nothing",
            one.name
        )));
    }
    if !disturbance.onoff_interval.is_zero() {
        output.note(&Error::new(
            "onoff_interval: a program cannot take CPUs off line; its threads are kept off one instead",
        ));
    }
    if disturbance.rt_boost > 0 && !one.sleeps {
        output.note(&Error::new(format!(
            "rt_boost does nothing to `{}`: its waiters do not sleep, and with a real-time priority could keep its holder from running",
            one.name
        )));
    }
}

/// The kernel's first line.
fn start(one: &Type, parameters: &Parameters) -> String {
    let Parameters { nwriters_stress, nested_locks, seed, .. } = parameters;
    let readers = if one.readers { parameters.nreaders_stress } else { 0 };
    let shutdown = parameters.shutdown_secs.as_secs_f64();
    let acquisitions = parameters.acquisitions;
    format!(
        "{}-torture:--- Start of test: nwriters_stress={nwriters_stress} nreaders_stress={readers} \
         nested_locks={nested_locks} shutdown_secs={shutdown} acquisitions={acquisitions} seed={seed}\n",
        one.name
    )
}

fn text_of(freed: Freed) -> String {
    let wrong = if freed.touched + freed.fail > 0 { "!!!" } else { "" };
    let Freed { objects, touched, fail } = freed;
    format!("Objects: Freed: {objects}  Touched afterwards: {touched}  Fail: {fail} {wrong}\n")
}

/// The run, and whether somebody has interrupted it.
fn stress(one: &Type, parameters: &Parameters, lines: &mut Lines) -> (Statistics, bool) {
    let mut watch = Watch {
        interrupts: Interrupts::take(),
        interrupted: false,
        status: Status::new(),
        name: one.name,
        begin: Instant::now(),
        lines,
    };
    let statistics = torture::stress(one, parameters, &mut watch);
    (statistics, watch.interrupted)
}

/// What is printed: as it comes, or, if it goes to a file, all in the end.
struct Lines {
    text: String,
    live: bool,
}

impl Lines {
    fn add(&mut self, text: &str) {
        if self.live {
            // If standard output is closed, nobody wants to know.
            let _ = Sink::Stdout.add(text);
        } else {
            self.text.push_str(text);
        }
    }

    /// What was not printed.
    fn rest(self) -> String {
        self.text
    }
}

/// Shows how it goes, and ends it where somebody interrupts it.
struct Watch<'l> {
    interrupts: Interrupts,
    interrupted: bool,
    status: Status,
    name: &'static str,
    begin: Instant,
    lines: &'l mut Lines,
}

impl Watcher for Watch<'_> {
    fn goes_on(&mut self, now: &Statistics) -> bool {
        let mut line =
            format!("{} s, {} writes", self.begin.elapsed().as_secs(), now.writes.total());
        if !now.reads.acquired.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(line, ", {} reads", now.reads.total());
        }
        self.status.show(&format!("{}: {line}", self.name));
        self.interrupted |= self.interrupts.pending();
        !self.interrupted
    }

    fn show(&mut self, now: &Statistics) {
        let lines = &mut *self.lines;
        self.status.aside(|| lines.add(&format!("{now}\n")));
    }
}

//! The figures of simulated runs: for people, and for machines.

use std::fmt::Write;

use lockwright_lab::bench::grouped;
use lockwright_sim::machine::Machine;
use lockwright_sim::workload::Figures;
use lockwright_sim::{Class, NANOSECOND, Place};
use serde_json::{Value, json};

use super::shape::Shape;
use crate::args::SimArgs;

/// A run.
pub struct Row {
    pub lock: String,
    /// It is of a user's library.
    pub is_own: bool,
    pub shape: Shape,
    pub figures: Figures,
}

/// What a part of the time went into.
struct Share<'f> {
    place: &'f Place,
    class: Class,
    /// Its part of all threads' time.
    part: f64,
}

impl Row {
    /// Whether the lock did what no lock may.
    pub fn has_failed(&self) -> bool {
        self.figures.intrusions > 0 || !self.figures.outcome.stuck.is_empty()
    }

    /// All threads' time, in picoseconds.
    fn time(&self) -> f64 {
        self.figures.outcome.tasks.iter().map(|task| task.total() as f64).sum::<f64>().max(1.0)
    }

    /// What the most time went into, of memory: waiting for a line counts for what the line did most.
    fn main_share(&self) -> Option<Share<'_>> {
        let places = self.figures.outcome.places.iter();
        let place = places.max_by_key(|place| place.traffic())?;
        let misses = Class::ALL.into_iter().skip(1);
        let class = misses.max_by_key(|&class| place.time[class as usize])?;
        let part = place.traffic() as f64 / self.time();
        (place.traffic() > 0).then_some(Share { place, class, part })
    }

    fn json(&self) -> Value {
        let Self { lock, shape, figures, .. } = self;
        let (least, most) = figures.least_and_most();
        let nanoseconds = |time: u64| time as f64 / NANOSECOND as f64;
        let traffic =
            figures.outcome.places.iter().filter(|place| place.count.iter().any(|n| *n > 0));
        let traffic = traffic.map(|place| {
            let classes = Class::ALL.into_iter().filter(|&class| place.count[class as usize] > 0);
            let classes: Vec<Value> = classes
                .map(|class| {
                    json!({
                        "class": class,
                        "accesses": place.count[class as usize],
                        "nanoseconds": nanoseconds(place.time[class as usize]),
                    })
                })
                .collect();
            json!({ "place": place.name, "classes": classes, "waiting_ns": nanoseconds(place.wait) })
        });
        let more: serde_json::Map<String, Value> =
            figures.more.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        json!({
            "lock": lock,
            "threads": shape.threads,
            "cpus": shape.cpus,
            "operations": figures.operations,
            "operations_per_second": figures.rate(),
            "min": least,
            "max": most,
            "not_excluded": figures.intrusions,
            "stuck_threads": figures.outcome.stuck,
            "more": more,
            "traffic": traffic.collect::<Vec<_>>(),
        })
    }
}

/// Names of the family's locks fit into it.
const NAME_WIDTH: usize = 14;

/// All runs of a command.
pub struct Page<'a> {
    /// What was asked for.
    pub args: &'a SimArgs,
    /// Where it ran.
    pub machine: &'a Machine,
    /// In their order.
    pub rows: &'a [Row],
}

impl Page<'_> {
    /// For machines.
    pub fn json(&self) -> Value {
        let Self { args, machine, rows } = self;
        json!({
            "machine": machine.name,
            "workload": args.workload,
            "virtual_cpus": args.vcpus.is_some(),
            "seconds": args.seconds,
            "seed": args.seed,
            "runs": rows.iter().map(Row::json).collect::<Vec<_>>(),
        })
    }

    /// For people.
    pub fn text(&self) -> String {
        let Self { args, machine, rows } = self;
        let mut out = String::new();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            out,
            "{} on {}: {} s of virtual time, seed {}\n",
            args.workload, machine.name, args.seconds, args.seed
        );
        let _ = writeln!(
            out,
            "  {:<width$} {:>7} {:>5} {:>14} {:>9} {:>11} {:>11} {:>11} {:>7}  where the time of memory goes",
            "lock",
            if args.vcpus.is_some() { "vCPUs" } else { "threads" },
            "CPUs",
            "operations/s",
            "to first",
            "min",
            "avg",
            "max",
            "min/max",
            width = self.name_width(),
        );
        for row in *rows {
            self.line(&mut out, row);
        }
        out.push('\n');
        let first = "To first: operations a second against the first lock of as many threads. Min, avg, max: operations of a thread.";
        let _ = writeln!(out, "{first}");
        let _ = writeln!(
            out,
            "A simulation: docs/lab/simulator.md says what is modelled and how far it is from what was published."
        );
        let is_over_committed = |row: &Row| row.shape.threads > row.shape.cpus;
        if rows.iter().any(|row| row.lock == "unfair" && is_over_committed(row)) {
            let _ = writeln!(
                out,
                "With more threads than CPUs the unfair lock is far from that: do not rely on its rows."
            );
        }
        out
    }

    /// The width of the column of locks.
    fn name_width(&self) -> usize {
        self.rows.iter().map(|row| row.lock.len()).max().unwrap_or(0).max(NAME_WIDTH)
    }

    fn line(&self, out: &mut String, row: &Row) {
        let Row { lock, shape, figures, .. } = row;
        let (least, most) = figures.least_and_most();
        let sum: u64 = figures.operations.iter().sum();
        let first = self
            .rows
            .iter()
            .find(|other| other.shape == *shape)
            .map_or(0.0, |other| other.figures.rate());
        let share = row.main_share().map_or_else(String::new, |share| {
            let (percent, place) = (share.part * 100.0, &share.place.name);
            format!("{percent:.0} %: {place} (a line {})", share.class.sentence())
        });
        let _ = writeln!(
            out,
            "  {lock:<width$} {:>7} {:>5} {:>14} {:>9.2} {:>11} {:>11} {:>11} {:>7.3}  {share}",
            shape.threads,
            shape.cpus,
            grouped(figures.rate().round() as u64),
            if first > 0.0 { figures.rate() / first } else { 0.0 },
            grouped(least),
            grouped(sum / u64::from(shape.threads.max(1))),
            grouped(most),
            if most > 0 { least as f64 / most as f64 } else { 0.0 },
            width = self.name_width(),
        );
        for (name, value) in &figures.more {
            let _ = writeln!(out, "      {name}: {value:.3}");
        }
        if figures.intrusions > 0 {
            let times = grouped(figures.intrusions);
            let _ =
                writeln!(out, "      !!! it did not exclude: {times} times two threads were in it");
        }
        let stuck = figures.outcome.stuck.len();
        if stuck > 0 {
            let _ = writeln!(out, "      !!! {stuck} threads wait for ever");
        }
        if self.args.traffic {
            for place in &figures.outcome.places {
                traffic(out, place, row.time());
            }
        }
    }
}

/// A place's traffic, class by class.
fn traffic(out: &mut String, place: &Place, all: f64) {
    let percent = |time: u64| time as f64 / all * 100.0;
    if place.traffic() == 0 {
        return;
    }
    let _ = writeln!(
        out,
        "      {}: {:.1} % of all threads' time",
        place.name,
        percent(place.traffic())
    );
    for class in Class::ALL {
        let (count, time) = (place.count[class as usize], place.time[class as usize]);
        if count > 0 {
            let _ = writeln!(
                out,
                "        {:>14} times a line {}: {:.1} %",
                grouped(count),
                class.sentence(),
                percent(time)
            );
        }
    }
    let _ = writeln!(out, "        waiting for others' accesses: {:.1} %", percent(place.wait));
}

//! `lockwright-lab sim --explore`: locks under many schedules.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use lockwright_lab::bench::grouped;
use lockwright_sim::explore::{
    Exploration, FAULTS, Failure, Findings, KINDS, Kind, MOST_THREADS, Search, Step, Wrong,
};
use lockwright_sim::library::LibraryLock;
use serde_json::{Value, json};

use super::fault::{FAILED, unknown};
use crate::args::SimArgs;
use lockwright_console::error::{Error, Result, exit};
use lockwright_console::shell::quoted;
use lockwright_console::status::Status;
use lockwright_console::streams::Streams;

/// How many threads there are, where nothing is said.
const THREADS: u32 = 4;

/// How many of a thread's last steps are shown.
const LAST_STEPS: usize = 8;

/// A lock that was explored.
struct Row<'a> {
    kind: Kind,
    /// Those that have it.
    libraries: &'a [PathBuf],
    exploration: Exploration,
    findings: Findings,
}

/// Explores the locks.
///
/// # Errors
/// If nothing is called so, there are too many threads, or a file cannot be written.
pub fn run(args: &SimArgs, libraries: &[LibraryLock], output: &mut Streams) -> Result<u8> {
    let kinds = kinds(args, libraries)?;
    let status = Status::new();
    let mut rows = Vec::new();
    for threads in args.threads.clone().unwrap_or_else(|| vec![THREADS]) {
        if threads > MOST_THREADS {
            let wrong = format!("--explore can have {MOST_THREADS} threads at most, not {threads}");
            return Err(Error::with_code(exit::USAGE, wrong));
        }
        for kind in &kinds {
            let exploration = exploration(args, threads);
            let findings = exploration.explore(kind, &mut |done| {
                let (name, done) = (kind.name, grouped(done));
                status.show(&format!("{name}, {threads} threads: {done} schedules"));
            });
            let is_own = libraries.iter().any(|lock| lock.name == kind.name);
            let libraries = if is_own { &args.lock_library[..] } else { &[] };
            rows.push(Row { kind: *kind, libraries, exploration, findings });
        }
    }
    drop(status);
    let has_failed = rows.iter().any(|row| row.findings.failure.is_some());
    output.write_json_text(&format!("{:#}\n", json(args, &rows)))?;
    output.list(&text(&rows))?;
    Ok(if has_failed { FAILED } else { 0 })
}

fn kinds(args: &SimArgs, libraries: &[LibraryLock]) -> Result<Vec<Kind>> {
    let own: Vec<Kind> = libraries.iter().copied().map(Kind::of_library).collect();
    let mut kinds = Vec::new();
    match &args.lock {
        None if own.is_empty() => kinds.extend(KINDS),
        None => kinds.extend(own),
        Some(names) => {
            for name in names {
                let of_library = own.iter().find(|kind| kind.name == name);
                match of_library.or_else(|| Kind::named(name)) {
                    Some(kind) => kinds.push(*kind),
                    None if name == "all" => kinds.extend(KINDS),
                    None => return Err(unknown("lock to be explored", name)),
                }
            }
        }
    }
    Ok(kinds)
}

fn exploration(args: &SimArgs, threads: u32) -> Exploration {
    let (seed, explore) = (args.seed, &args.explore);
    let search = match (&explore.schedule, explore.preemptions) {
        (Some(schedule), _) => Search::Given { seed, schedule: schedule.clone() },
        (None, Some(deviations)) => Search::Bounded { seed, deviations },
        (None, None) => Search::Random { seed },
    };
    Exploration { threads, operations: explore.operations, search, count: explore.count }
}

/// What is wrong, as a sentence without an end.
fn sentence(wrong: &Wrong) -> String {
    let names = |threads: &[u32]| {
        let names: Vec<String> = threads.iter().map(u32::to_string).collect();
        match names.split_last() {
            Some((last, [])) => format!("thread {last}"),
            Some((last, others)) => format!("threads {} and {last}", others.join(", ")),
            None => "no thread".to_owned(),
        }
    };
    let plural = |threads: &[u32], one: &'static str, many: &'static str| {
        if threads.len() == 1 { one } else { many }
    };
    match wrong {
        Wrong::NotExcluded(threads) => format!("{} hold it at the same time", names(threads)),
        Wrong::Asleep(threads) => {
            let sleep = plural(threads, "sleeps", "sleep");
            format!("{} {sleep}, and nobody is left to wake them", names(threads))
        }
        Wrong::NoProgress(threads) => {
            let spin = plural(threads, "does", "do");
            format!("{} {spin} not get on, however long they run", names(threads))
        }
        Wrong::Overtaken(thread, times) => {
            let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
            format!(
                "thread {thread} waited, and was overtaken {times}: more than the lock promises"
            )
        }
        Wrong::Torn(thread, first, second) => format!(
            "thread {thread} read what was half written: {first} and {second}, which are written \
             together"
        ),
        Wrong::GaveUp(thread, early) => {
            format!("thread {thread} was refused the lock {early} ns before its deadline")
        }
        Wrong::Panicked(thread, why) => format!("thread {thread} panicked: {why}"),
    }
}

/// In a word, for machines.
const fn name(wrong: &Wrong) -> &'static str {
    match wrong {
        Wrong::NotExcluded(_) => "not-excluded",
        Wrong::Asleep(_) => "asleep-for-ever",
        Wrong::NoProgress(_) => "no-progress",
        Wrong::Overtaken(..) => "overtaken",
        Wrong::Torn(..) => "torn-read",
        Wrong::GaveUp(..) => "refused-early",
        Wrong::Panicked(..) => "panicked",
    }
}

impl Row<'_> {
    /// The command that finds the failure again, in the schedule that `which` names.
    fn command(&self, failure: &Failure, which: &str) -> String {
        let Exploration { threads, operations, .. } = self.exploration;
        let libraries = self
            .libraries
            .iter()
            .map(|path| format!(" --lock-library {}", quoted(&path.to_string_lossy())));
        let libraries: String = libraries.collect();
        format!(
            "lockwright-lab sim --explore{libraries} --lock {} --threads {threads} --operations {operations} \
             --seed {} {which}",
            self.kind.name, failure.seed
        )
    }

    /// The command that shows the failure again.
    fn again(&self, failure: &Failure) -> String {
        self.command(failure, &format!("--schedule {}", failure.schedule))
    }

    /// The command that finds the failure again, as it was found.
    fn seeded(&self, failure: &Failure) -> Option<String> {
        let is_random = matches!(self.exploration.search, Search::Random { .. });
        is_random.then(|| self.command(failure, "--count 1"))
    }
}

/// The last steps of each thread, in the order in which they were done.
fn last_steps(steps: &[Step]) -> Vec<&Step> {
    let mut left: BTreeMap<u32, usize> = BTreeMap::new();
    let is_last = |step: &&Step| {
        let taken = left.entry(step.thread).or_default();
        *taken += 1;
        *taken <= LAST_STEPS
    };
    let mut last: Vec<&Step> = steps.iter().rev().filter(is_last).collect();
    last.reverse();
    last
}

/// What a step did to its word.
fn effect(step: &Step) -> String {
    match (&step.word, step.values) {
        (Some(word), Some((before, after))) if before != after => {
            format!("{word}: {before:#x} -> {after:#x}")
        }
        (Some(word), Some((value, _))) => format!("{word}: {value:#x}"),
        (Some(word), None) => word.clone(),
        (None, _) => String::new(),
    }
}

fn text(rows: &[Row<'_>]) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        out,
        "  {:<17} {:>7} {:>10} {:>10} {:>13} {:>9} {:>8}  result",
        "lock", "threads", "schedules", "distinct", "points", "overtaken", "promised"
    );
    for Row { kind, exploration, findings, .. } in rows {
        let result = match &findings.failure {
            Some(failure) => format!("!!! {}", name(&failure.wrong)),
            None if findings.is_complete => "ok: all schedules of the bound".to_owned(),
            None => "ok".to_owned(),
        };
        let _ = writeln!(
            out,
            "  {:<17} {:>7} {:>10} {:>10} {:>13} {:>9} {:>8}  {result}",
            kind.name,
            exploration.threads,
            grouped(findings.schedules),
            grouped(findings.distinct),
            grouped(findings.points),
            findings.overtaken,
            kind.overtakes.map_or_else(|| "-".to_owned(), |most| most.to_string()),
        );
    }
    for row in rows {
        if let Some(failure) = &row.findings.failure {
            fail(&mut out, row, failure);
        }
    }
    out.push_str(
        "\nOvertaken: how often a waiter saw others get the lock that came after it had begun to wait.\n\
         Promised: how often that is at most, where the lock says so.\n\
         All is sequentially consistent: what weak memory does to a lock is not looked for.\n",
    );
    out
}

fn fail(out: &mut String, row: &Row<'_>, failure: &Failure) {
    let Row { kind, exploration, .. } = row;
    let wrong = sentence(&failure.wrong);
    let _ = writeln!(out, "\n!!! {}, {} threads: {wrong}.\n", kind.name, exploration.threads);
    let _ = writeln!(out, "  The last steps of each thread:");
    for step in last_steps(&failure.steps) {
        let line = format!(
            "  {:>6}  thread {:<2}  {:<9}  {:<40}  {}",
            step.point,
            step.thread,
            step.what.name(),
            effect(step),
            step.source.map(|source| source.to_string()).unwrap_or_default()
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let _ =
        writeln!(out, "\n  Again, in as few deviations as were found:\n    {}", row.again(failure));
    if let Some(seeded) = row.seeded(failure) {
        let _ = writeln!(out, "  Again, as it was found:\n    {seeded}");
    }
}

fn json(args: &SimArgs, rows: &[Row<'_>]) -> Value {
    let steps = |failure: &Failure| -> Vec<Value> {
        let step = |step: &Step| {
            json!({
                "point": step.point,
                "thread": step.thread,
                "what": step.what.name(),
                "word": step.word,
                "before": step.values.map(|values| values.0),
                "after": step.values.map(|values| values.1),
                "place": step.source.map(|source| source.to_string()),
            })
        };
        last_steps(&failure.steps).into_iter().map(step).collect()
    };
    let failure = |row: &Row<'_>, failure: &Failure| {
        json!({
            "wrong": name(&failure.wrong),
            "text": sentence(&failure.wrong),
            "seed": failure.seed,
            "schedule": failure.schedule.to_string(),
            "again": row.again(failure),
            "last_steps": steps(failure),
        })
    };
    let runs = rows.iter().map(|row| {
        let Row { kind, exploration, findings, .. } = row;
        json!({
            "lock": kind.name,
            "planted_fault": FAULTS.iter().any(|fault| fault.name == kind.name),
            "threads": exploration.threads,
            "operations": exploration.operations,
            "schedules": findings.schedules,
            "distinct": findings.distinct,
            "points": findings.points,
            "complete": findings.is_complete,
            "overtaken": findings.overtaken,
            "overtaken_at_most": kind.overtakes,
            "failure": findings.failure.as_ref().map(|found| failure(row, found)),
        })
    });
    json!({
        "seed": args.seed,
        "preemptions": args.explore.preemptions,
        "explored": runs.collect::<Vec<_>>(),
    })
}

//! What advice would bring: programs with a lock that is waited for, and the same with the remedy applied.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Run, Scratch, build, program, under};

/// A change and its interval, in percent.
#[derive(Clone, Copy)]
struct Change {
    likely: f64,
    low: f64,
    high: f64,
}

impl Change {
    fn of(value: &Value) -> Option<Self> {
        let part = |name| Some(value[name].as_f64()? * 100.0);
        Some(Self { likely: part("likely")?, low: part("low")?, high: part("high")? })
    }
}

/// The first advice of a rule.
fn advice<'r>(run: &'r Run, rule: &str) -> &'r Value {
    let advice = run.report()["advice"].as_array().expect("advice");
    advice.iter().find(|of| of["rule"] == rule).unwrap_or_else(|| panic!("{rule}: {}", run.stderr))
}

#[test]
fn advice_says_what_it_would_bring() {
    let scratch = Scratch::new();
    let page = scratch.join("page.html");
    let options = ["--html", page.to_str().expect("a name")];
    let job = under("meter", &options, program("remedies.c")).current_dir(scratch.path());
    let run = job.args(["ask", "before", "1000"]).run();
    let estimate = &advice(&run, "lock held across a sleep")["estimate"];
    assert_eq!(estimate["why_none"].is_null(), estimate["waits"].is_object(), "{estimate}");
    // A machine that others use may do what no model foresees.
    if estimate["waits"].is_object() {
        let [waits, throughput] =
            ["waits", "throughput"].map(|of| Change::of(&estimate[of]).expect("a change"));
        for Change { likely, low, high } in [waits, throughput] {
            assert!(low <= likely && likely <= high, "{estimate}");
        }
        assert!(waits.likely < 0.0, "{estimate}");
        let said = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("did not hold it during the call of"), "{}", run.stderr);
        assert!(said.contains(": waits -"), "{}", run.stderr);
        let html = std::fs::read_to_string(page).expect("a page");
        assert!(html.contains("did not hold it during the call of"), "no estimate in the page");
    }
}

#[test]
fn a_program_that_the_model_does_not_reproduce_has_no_estimate() {
    let run =
        under("meter", &[] as &[&str], program("remedies.c")).args(["together", "before"]).run();
    let estimate = &advice(&run, "lock held across a sleep")["estimate"];
    assert!(estimate["waits"].is_null() && estimate["throughput"].is_null(), "{estimate}");
    let why = estimate["why_none"].as_str().expect("a reason");
    assert!(why.starts_with("the model misses what was measured"), "{why}");
    assert!(
        run.stderr.contains("no estimate: the model misses what was measured"),
        "{}",
        run.stderr
    );
}

/// A pair of programs.
struct Pair {
    /// Its name in docs/advice.md.
    name: &'static str,
    rule: &'static str,
    program: PathBuf,
    arguments: Vec<&'static str>,
    /// What the names of the locks have in common that it is about.
    locks: &'static [&'static str],
}

fn pairs() -> Vec<Pair> {
    const SLEEP: &str = "lock held across a sleep";
    const PLACE: &str = "hold dominated by one place";
    const SATURATED: &str = "one saturated place";
    const WRITERS: &str = "writers wait for readers";
    let own = |name, rule, locks| {
        let (program, arguments) = (program("remedies.c"), vec![name]);
        Pair { name, rule, program, arguments, locks }
    };
    let mut pairs = vec![
        own("journal", SLEEP, &["lock"]),
        own("ask", SLEEP, &["lock"]),
        own("dominated", PLACE, &["lock"]),
        own("divided", SATURATED, &["lock", "parts"]),
        own("busy", SATURATED, &["lock", "parts"]),
        own("written", WRITERS, &["table"]),
    ];
    let library = |file: &str| Path::new("/usr/lib/x86_64-linux-gnu").join(file).exists();
    if Path::new("/usr/include/sqlite3.h").exists() {
        let program = build("remedies_sqlite.c", &["-lsqlite3"]);
        for (name, rule, argument) in
            [("SQLite, sync", SLEEP, "sync"), ("SQLite, query", PLACE, "query")]
        {
            let (program, arguments) = (program.clone(), vec![argument]);
            pairs.push(Pair { name, rule, program, arguments, locks: &["recursive mutex"] });
        }
    }
    if library("liblmdb.so.0") {
        let program = build("remedies_lmdb.c", &["-l:liblmdb.so.0"]);
        let arguments = vec!["sync"];
        pairs.push(Pair { name: "LMDB", rule: SLEEP, program, arguments, locks: &["liblmdb"] });
    }
    if Path::new("/usr/bin/python3").exists() {
        let script =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/remedies_logging.py");
        let (program, arguments) = (PathBuf::from("/usr/bin/python3"), vec![script, "sync"]);
        pairs.push(Pair {
            name: "Python's logging",
            rule: SLEEP,
            program,
            arguments,
            locks: &["Handler"],
        });
    }
    pairs
}

/// What was measured in a run, of the locks of a pair.
#[derive(Clone, Copy)]
struct Figures {
    /// The mean wait for an acquisition, ns.
    wait: f64,
    /// Acquisitions a second.
    rate: f64,
}

impl Pair {
    fn run(&self, which: &str) -> Run {
        let scratch = Scratch::new();
        let job = under("meter", &[] as &[&str], &self.program).current_dir(scratch.path());
        job.args(&self.arguments).args([which, "2000"]).run()
    }

    fn is_of(&self, lock: &Value) -> bool {
        let name = lock["name"].as_str().unwrap_or_default();
        self.locks.iter().any(|part| name.contains(part))
    }

    fn figures(&self, run: &Run) -> Figures {
        let report = run.report();
        let locks = report["locks"].as_array().expect("locks");
        let sum = |path: &str| -> f64 {
            let of_pair = locks.iter().filter(|lock| self.is_of(lock));
            of_pair.filter_map(|lock| lock.pointer(path)?.as_f64()).sum()
        };
        let (waits, acquisitions) = (sum("/total/wait/total_ns"), sum("/total/acquisitions"));
        let seconds = report["elapsed_ns"].as_f64().expect("a time") / 1e9;
        Figures { wait: waits / acquisitions, rate: acquisitions / seconds }
    }

    /// The estimate for the rule's advice on its locks: of waits, and of the throughput.
    fn estimate(&self, run: &Run) -> Option<(Change, Option<Change>)> {
        let report = run.report();
        let advice = report["advice"].as_array().expect("advice");
        let of_lock = advice.iter().find(|of| {
            let lock = &report["locks"][of["lock"].as_u64().expect("a lock") as usize];
            of["rule"] == self.rule && self.is_of(lock)
        })?;
        let estimate = &of_lock["estimate"];
        Some((Change::of(&estimate["waits"])?, Change::of(&estimate["throughput"])))
    }
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn middle(changes: &[Change]) -> Change {
    let of = |part: fn(&Change) -> f64| median(changes.iter().map(part));
    Change { likely: of(|c| c.likely), low: of(|c| c.low), high: of(|c| c.high) }
}

/// Makes the table of docs/advice.md: for each pair as many runs without the remedy and with it, in turn, and the medians.
#[test]
#[ignore = "takes ten minutes, and is as good as the machine is quiet; it prints the table of docs/advice.md"]
fn predicted_and_actual() {
    let rounds =
        std::env::var("LOCKWRIGHT_ROUNDS").map_or(7, |text| text.parse().expect("a number"));
    let only = std::env::var("LOCKWRIGHT_PAIR").ok();
    let mut table = String::from(
        "| program | advice | estimates | waits: predicted | actual | throughput: predicted | actual |\n|---|---|---|---|---|---|---|\n",
    );
    let (mut inside, mut all) = ([0, 0], [0, 0]);
    for pair in pairs().iter().filter(|pair| only.as_ref().is_none_or(|only| only == pair.name)) {
        let (mut waits, mut rates, mut before, mut after) = (vec![], vec![], vec![], vec![]);
        for _ in 0..rounds {
            let run = pair.run("before");
            before.push(pair.figures(&run));
            if let Some((wait, rate)) = pair.estimate(&run) {
                waits.push(wait);
                rates.extend(rate);
            }
            after.push(pair.figures(&pair.run("after")));
        }
        let change = |of: fn(&Figures) -> f64| {
            (median(after.iter().map(of)) / median(before.iter().map(of)) - 1.0) * 100.0
        };
        let actual = [change(|figures| figures.wait), change(|figures| figures.rate)];
        let mut cells = Vec::new();
        for (index, predicted) in [&waits, &rates].into_iter().enumerate() {
            let Change { likely, low, high } = middle(predicted);
            // As the report rounds.
            let hit = low.round() <= actual[index].round() && actual[index].round() <= high.round();
            if !predicted.is_empty() {
                all[index] += 1;
                inside[index] += usize::from(hit);
            }
            let mark = if hit { "" } else { " *" };
            cells.push(format!(
                "{likely:+.0} % ({low:+.0} to {high:+.0}) | {:+.0} %{mark}",
                actual[index]
            ));
        }
        let estimates = format!("{} of {rounds}", waits.len());
        writeln!(table, "| {} | {} | {estimates} | {} |", pair.name, pair.rule, cells.join(" | "))
            .expect("a string");
        eprintln!("{table}");
    }
    eprintln!(
        "waits within the interval: {} of {}; throughput: {} of {}",
        inside[0], all[0], inside[1], all[1]
    );
}

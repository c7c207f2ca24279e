//! The programs measured: each a row of one table, with how its time per unit of work is found.

use super::arm::{Arm, Bench, installed, said};
use super::usage::Usage;
use super::{mariadb, memcached};

/// How long one run of a program that takes a time lasts.
pub const RUN_MS: &str = "150";
/// The same where it only matters that it runs.
pub const SMOKE_MS: &str = "20";

/// One line of the table: a measurement that is repeated in both arms.
pub struct Workload {
    /// What runs.
    pub name: String,
    /// What the measured number is.
    pub unit: &'static str,
    /// The ratio to stay below under `check`.
    pub aim: Option<f64>,
    /// The ratios to stay below under `meter`: every hold timed, and few.
    pub meter_aims: Option<[f64; 2]>,
    /// Runs it once in an arm; the time it took, in `unit`.
    pub measure: Box<dyn FnMut(Arm) -> Result<f64, String>>,
}

/// A workload, or the name of one that cannot run here and why.
pub type Candidate = Result<Workload, (String, String)>;

/// Aims of `meter` for a program that does little else than lock and unlock.
const PAIR: [f64; 2] = [2.2, 1.4];
/// For one whose threads are after the same locks.
const SATURATED: [f64; 2] = [1.2, 1.1];
/// For one that has other things to do.
const OTHER: [f64; 2] = [1.03, 1.01];

/// All that are wanted by name; what the others need is not even built.
pub fn all(
    bench: &'static Bench,
    wanted: &dyn Fn(&str) -> bool,
    server_arms: &'static [Arm],
) -> Vec<Candidate> {
    let mut list = Vec::new();
    locks(bench, &mut list);
    list.retain(|candidate| wanted(name_of(candidate)));
    for (name, make) in [
        (SQLITE, sqlite as fn(&'static Bench) -> Result<Workload, String>),
        (KYOTO_CABINET, kyoto_cabinet),
        (ROCKSDB, rocksdb),
    ] {
        if wanted(name) {
            list.push(make(bench).map_err(|why| (name.to_owned(), why)));
        }
    }
    if wanted(MEMCACHED) {
        let candidate = memcached(bench, server_arms);
        list.push(candidate.map_err(|why| (MEMCACHED.to_owned(), why)));
    }
    if wanted(MARIADB) {
        list.extend(mariadb(bench, server_arms));
    }
    list
}

const SQLITE: &str = "SQLite, 2 shared connections, 4 threads";
const KYOTO_CABINET: &str = "kccachetest order, 4 threads";
const ROCKSDB: &str = "RocksDB db_bench readrandom, 8 threads";
const MEMCACHED: &str = "memcached, 4 threads, 4 clients";
const MARIADB: &str = "MariaDB, sysbench";

fn name_of(candidate: &Candidate) -> &str {
    match candidate {
        Ok(workload) => &workload.name,
        Err((name, _)) => name,
    }
}

fn locks(bench: &'static Bench, list: &mut Vec<Candidate>) {
    let program = match bench.build("locks", &[]) {
        Ok(program) => program,
        Err(why) => return list.push(Err(("lock pairs".to_owned(), why))),
    };
    let mut add = |name: String, what: &'static str, threads: u32, aim, meter_aims| {
        let program = program.clone();
        let milliseconds = if bench.smoke { SMOKE_MS } else { RUN_MS };
        list.push(Ok(Workload {
            name,
            unit: "ns/round",
            aim,
            meter_aims,
            measure: Box::new(move |arm| {
                let threads = threads.to_string();
                number(&said(bench.command(arm, &program).args([what, &threads, milliseconds]))?)
            }),
        }));
    };
    add("mutex pair, uncontended".to_owned(), "mutex", 1, Some(1.4), Some(PAIR));
    add("nested mutex pairs".to_owned(), "nested", 1, None, None);
    add("mutex pairs, depth 3".to_owned(), "depth3", 1, None, None);
    add("rwlock pair, shared".to_owned(), "rdlock", 1, None, None);
    add("rwlock pair, exclusive".to_owned(), "wrlock", 1, None, None);
    add("mutex initialised, pair, destroyed".to_owned(), "init", 1, None, None);
    for threads in [2, 4, 8, 16] {
        add(format!("mutex pair, own lock, {threads} threads"), "mutex", threads, None, None);
    }
    for threads in [2, 4, 8, 16] {
        add(
            format!("mutex pair, one lock, {threads} threads"),
            "shared",
            threads,
            None,
            Some(SATURATED),
        );
    }
}

/// A child that takes one lock, with the arms that it is compared in.
pub fn forks(bench: &'static Bench, wanted: &dyn Fn(&str) -> bool) -> Vec<(Arm, Candidate)> {
    let arms = [(Arm::Check, "check"), (Arm::Meter, "meter"), (Arm::Run, "run")];
    let named = arms.map(|(arm, name)| (arm, format!("fork, one lock, exit; `{name}`")));
    let wanted = named.into_iter().filter(|(_, name)| wanted(name));
    wanted.map(|(arm, name)| (arm, fork(bench, &name).map_err(|why| (name, why)))).collect()
}

fn fork(bench: &'static Bench, name: &str) -> Result<Workload, String> {
    let program = bench.build("fork", &[])?;
    let milliseconds = if bench.smoke { SMOKE_MS } else { RUN_MS };
    Ok(Workload {
        name: name.to_owned(),
        unit: "us/fork",
        aim: Some(2.0),
        meter_aims: None,
        measure: Box::new(move |arm| {
            number(&said(bench.command(arm, &program).arg(milliseconds))?)
        }),
    })
}

fn sqlite(bench: &'static Bench) -> Result<Workload, String> {
    let program = bench.build("sqlite", &["-lsqlite3"])?;
    let milliseconds = if bench.smoke { SMOKE_MS } else { RUN_MS };
    Ok(Workload {
        name: SQLITE.to_owned(),
        unit: "ns/statement",
        aim: Some(1.1),
        meter_aims: Some(SATURATED),
        measure: Box::new(move |arm| {
            number(&said(bench.command(arm, &program).arg(milliseconds))?)
        }),
    })
}

fn kyoto_cabinet(bench: &'static Bench) -> Result<Workload, String> {
    let program = installed("kccachetest", "kyotocabinet-utils")?;
    let records = if bench.smoke { "2000" } else { "40000" };
    Ok(Workload {
        name: KYOTO_CABINET.to_owned(),
        unit: "s",
        aim: Some(1.1),
        meter_aims: Some(SATURATED),
        measure: Box::new(move |arm| {
            let text = said(bench.command(arm, &program).args(["order", "-th", "4", records]))?;
            // It times each of its phases itself.
            let phases = text.lines().filter_map(|line| line.strip_prefix("time: "));
            let total: f64 = phases.map(number).sum::<Result<f64, _>>()?;
            if total > 0.0 { Ok(total) } else { Err(format!("no times in: {text}")) }
        }),
    })
}

fn rocksdb(bench: &'static Bench) -> Result<Workload, String> {
    let program = installed("db_bench", "rocksdb-tools")?;
    let database = bench.work.join("rocksdb");
    let keys = if bench.smoke { 2_000 } else { 50_000 };
    let options = vec![format!("--db={}", database.display()), format!("--num={keys}")];
    said(bench.command(Arm::Native, &program).arg("--benchmarks=fillrandom").args(&options))?;
    let reads = format!("--reads={}", if bench.smoke { 500 } else { 30_000 });
    Ok(Workload {
        name: ROCKSDB.to_owned(),
        unit: "us/read",
        aim: Some(1.1),
        meter_aims: Some(OTHER),
        measure: Box::new(move |arm| {
            let mut command = bench.command(arm, &program);
            command.args([
                "--benchmarks=readrandom",
                "--use_existing_db=1",
                "--threads=8",
                "--seed=1",
                &reads,
            ]);
            let text = said(command.args(&options))?;
            let line =
                text.lines().find(|l| l.starts_with("readrandom")).ok_or_else(|| text.clone())?;
            number(
                line.split(':')
                    .nth(1)
                    .and_then(|rest| rest.split_whitespace().next())
                    .unwrap_or(""),
            )
        }),
    })
}

/// Servers, here and below, are one for each arm and stay up throughout; each round asks one after
/// the other.
fn memcached(bench: &'static Bench, arms: &'static [Arm]) -> Result<Workload, String> {
    let servers = memcached::Servers::start(bench, arms)?;
    let batches = if bench.smoke { 20 } else { 1500 };
    Ok(Workload {
        name: MEMCACHED.to_owned(),
        unit: "s",
        aim: Some(1.1),
        meter_aims: Some(OTHER),
        measure: Box::new(move |arm| servers.load(arm, batches)),
    })
}

fn mariadb(bench: &'static Bench, arms: &'static [Arm]) -> Vec<Candidate> {
    let scripts = ["oltp_read_write", "oltp_point_select"];
    let servers = match mariadb::Servers::start(bench, arms) {
        Ok(servers) => std::rc::Rc::new(servers),
        Err(why) => return vec![Err((MARIADB.to_owned(), why))],
    };
    scripts
        .into_iter()
        .map(|script| {
            let servers = servers.clone();
            let events = match (bench.smoke, script) {
                (true, "oltp_point_select") => 200,
                (true, _) => 20,
                (false, "oltp_point_select") => 3000,
                (false, _) => 250,
            };
            Ok(Workload {
                name: format!("{MARIADB} {script}"),
                unit: "s",
                aim: Some(1.03),
                meter_aims: Some(OTHER),
                measure: Box::new(move |arm| servers.sysbench(arm, script, events)),
            })
        })
        .collect()
}

/// Programs that allocate and free a lot, and know of no locks or few.
pub fn allocating(bench: &'static Bench, wanted: &dyn Fn(&str) -> bool) -> Vec<Candidate> {
    let mut list = Vec::new();
    for (name, threads) in [(JSON, "1"), (JSON_THREADS, "4")] {
        if wanted(name) {
            list.push(json(bench, name, threads).map_err(|why| (name.to_owned(), why)));
        }
    }
    if wanted(COMPILE) {
        list.push(compile(bench).map_err(|why| (COMPILE.to_owned(), why)));
    }
    list
}

const JSON: &str = "JSON parsed into a tree and freed";
const JSON_THREADS: &str = "the same, 4 threads";
const COMPILE: &str = "cc -O2 -c of a generated file";

fn json(bench: &'static Bench, name: &str, threads: &'static str) -> Result<Workload, String> {
    let program = bench.build("json", &[])?;
    let milliseconds = if bench.smoke { SMOKE_MS } else { RUN_MS };
    Ok(Workload {
        name: name.to_owned(),
        unit: "ns/value",
        aim: Some(1.03),
        meter_aims: None,
        measure: Box::new(move |arm| {
            number(&said(bench.command(arm, &program).args([threads, milliseconds]))?)
        }),
    })
}

/// The compiler and its children are what is watched; a small program takes their time, so that the
/// tool's own start and report do not count.
fn compile(bench: &'static Bench) -> Result<Workload, String> {
    let program = bench.build("timed", &[])?;
    let source = bench.work.join("generated.c");
    let functions = if bench.smoke { 10 } else { 100 };
    let text: String = (0..functions).map(function).collect();
    std::fs::write(&source, text).map_err(|e| format!("{}: {e}", source.display()))?;
    let object = bench.work.join("generated.o");
    Ok(Workload {
        name: COMPILE.to_owned(),
        unit: "s",
        aim: Some(1.03),
        meter_aims: None,
        measure: Box::new(move |arm| {
            let mut command = bench.command(arm, &program);
            command.args(["cc", "-O2", "-c", "-o"]).args([&object, &source]);
            Usage::parse(&said(&mut command)?).map(|usage| usage.used.cpu)
        }),
    })
}

/// A function that the optimiser has something to do with.
fn function(i: u32) -> String {
    format!(
        "unsigned f{i}(const unsigned *a, unsigned n)\n{{\n\tunsigned sum = {i}, *p, t[16] = {{0}};\n\
         \tfor (unsigned k = 0; k < n; k++) {{\n\t\tp = &t[(a[k] ^ {i}u) % 16];\n\
         \t\tswitch (a[k] % 5) {{\n\t\tcase 0: sum += *p; break;\n\t\tcase 1: sum ^= ++*p; break;\n\
         \t\tcase 2: *p += sum << (k % 31); break;\n\t\tdefault: sum = sum * 31 + a[k]; }}\n\t}}\n\
         \tfor (unsigned k = 0; k < 16; k++)\n\t\tsum = (sum >> 3 | sum << 29) + t[k];\n\treturn sum;\n}}\n"
    )
}

/// The number that a text is.
fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| format!("not a number: {text}"))
}

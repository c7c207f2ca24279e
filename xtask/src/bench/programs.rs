//! `cargo xtask bench programs`: whole programs natively, under each of the tool's commands, and under Helgrind and
//! DRD: time from start to end without the report, and memory at its peak.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockwright_lab::stats::{self, Estimate};
use serde_json::{Value, json};

use super::arm::{Bench, installed, said};
use super::{BenchOptions, conclude, machine};

/// What is compared with the program alone.
const ARMS: [(&str, &[&str]); 5] = [
    ("check", &["check", "--exit-code", "0"]),
    ("meter", &["meter"]),
    ("run", &["run", "--exit-code", "0"]),
    ("helgrind", &["valgrind", "--tool=helgrind"]),
    ("drd", &["valgrind", "--tool=drd"]),
];

/// How many of them are the tool's own.
const OWN: usize = 3;

/// Rounds of the others: they are so far away that few tell.
const ROUNDS_OF_OTHERS: usize = 2;

/// Ratios to stay below under the tool: for programs that do little but lock, and for others.
const SATURATED: f64 = 1.10;
const OTHER: f64 = 1.03;

/// Runs the command in its arguments and writes to the file named first how long that took, in seconds, and how much
/// memory it had at most, in KiB. What runs this is in neither, but that no process counts for less than the Python
/// that it was forked from (some 10 MiB).
const MEASURE: &str = "import resource, subprocess, sys, time
begun = time.monotonic()
code = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
took = time.monotonic() - begun
open(sys.argv[1], 'w').write(f'{took} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}')
sys.exit(code)";

/// A program with its arguments.
struct Program {
    name: &'static str,
    command: Vec<String>,
    aim: f64,
}

/// One run.
#[derive(Clone, Copy)]
struct Measured {
    seconds: f64,
    kib: f64,
}

struct Line {
    name: &'static str,
    aim: f64,
    seconds: f64,
    mib: f64,
    /// KiB that the tool may have for so many locks and threads.
    allowance: f64,
    /// By arm: the ratio of the times, and KiB more.
    arms: Vec<(Estimate, f64)>,
}

/// Runs it.
pub fn run(bench: &'static Bench, options: &BenchOptions) -> Result<(), String> {
    let rounds = if options.smoke { 1 } else { usize::from(options.rounds) };
    let wanted = |name: &str| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    installed("valgrind", "valgrind")?;
    let (mut lines, mut skipped) = (Vec::new(), Vec::new());
    for candidate in programs(bench)? {
        match candidate {
            Ok(program) if wanted(program.name) => {
                eprintln!("{} ...", program.name);
                lines.push(compare(bench, &program, rounds)?);
            }
            Ok(_) => {}
            Err(missing) => skipped.push(missing),
        }
    }
    print!("{}", text(&lines, rounds, &skipped));
    conclude(options, &to_json(&lines, rounds), skipped.is_empty())
}

/// All that are installed, and why the others are not measured.
fn programs(bench: &Bench) -> Result<Vec<Result<Program, String>>, String> {
    let text = bench.work.join("text");
    let words: String = (0u64..if bench.smoke { 50_000 } else { 3_000_000 })
        .map(|n| format!("{:x} ", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40))
        .collect();
    std::fs::write(&text, words).map_err(|e| format!("{}: {e}", text.display()))?;
    let text = text.display().to_string();
    let threads = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/real/threads.py");
    let threads = threads.display().to_string();
    let database = format!("--db={}", bench.work.join("whole").display());
    let (records, keys) = if bench.smoke { ("500", "500") } else { ("60000", "20000") };
    let keys = format!("--num={keys}");
    let rows: [(&str, &str, &str, &[&str], f64); 6] = [
        (
            "kccachetest",
            "kccachetest",
            "kyotocabinet-utils",
            &["order", "-th", "4", records],
            SATURATED,
        ),
        (
            "RocksDB db_bench",
            "db_bench",
            "rocksdb-tools",
            &["--benchmarks=fillseq,readrandom", "--threads=4", &keys, &database],
            OTHER,
        ),
        ("xz -T2", "xz", "xz-utils", &["-T2", "-0", "--block-size=1MiB", "-c", &text], OTHER),
        ("zstd -T2", "zstd", "zstd", &["-q", "-T2", "-c", &text], OTHER),
        ("pigz -p 2", "pigz", "pigz", &["-p", "2", "-c", &text], OTHER),
        ("python threads", "/usr/bin/python3", "python3", &[&threads], OTHER),
    ];
    let row = |(name, program, package, arguments, aim): (_, _, _, &[&str], _)| {
        let program: PathBuf = installed(program, package)?;
        let mut command = vec![program.display().to_string()];
        command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        Ok(Program { name, command, aim })
    };
    Ok(rows.into_iter().map(row).collect())
}

fn compare(bench: &Bench, program: &Program, rounds: usize) -> Result<Line, String> {
    let mut native = Vec::new();
    let mut arms: Vec<Vec<(f64, f64)>> = vec![Vec::new(); ARMS.len()];
    for round in 0..rounds {
        let count = if round < ROUNDS_OF_OTHERS { ARMS.len() } else { OWN };
        // None is the program alone. Who goes first takes turns.
        let mut order: Vec<Option<usize>> =
            std::iter::once(None).chain((0..count).map(Some)).collect();
        let len = order.len();
        order.rotate_left(round % len);
        let mut measured = Vec::new();
        for arm in order {
            measured.push((arm, measure(bench, program, arm)?));
        }
        let alone = measured.iter().find(|(arm, _)| arm.is_none()).ok_or("no native run")?.1;
        native.push(alone);
        for (arm, of) in measured {
            if let Some(arm) = arm {
                arms[arm].push((of.seconds / alone.seconds, of.kib - alone.kib));
            }
        }
    }
    let (locks, threads) = watched(bench)?;
    let median =
        |of: fn(&Measured) -> f64| stats::median(&native.iter().map(of).collect::<Vec<_>>());
    Ok(Line {
        name: program.name,
        aim: program.aim,
        seconds: median(|m| m.seconds),
        mib: median(|m| m.kib) / 1024.0,
        allowance: 16.0 * 1024.0 + locks * 64.0 / 1024.0 + threads * 64.0,
        arms: arms
            .into_iter()
            .map(|runs| {
                let (ratios, more): (Vec<f64>, Vec<f64>) = runs.into_iter().unzip();
                (stats::estimate(&ratios), stats::median(&more))
            })
            .collect(),
    })
}

/// Runs it once.
fn measure(bench: &Bench, program: &Program, arm: Option<usize>) -> Result<Measured, String> {
    let result = bench.work.join("measured");
    let mut command = match arm {
        Some(own @ ..OWN) => {
            let mut command = Command::new(&bench.lockwright);
            command.args(ARMS[own].1).args(["--output", "/dev/null", "--json"]);
            command.arg(bench.work.join(ARMS[own].0)).args(["--", "/usr/bin/python3"]);
            command
        }
        _ => Command::new("/usr/bin/python3"),
    };
    command.args(["-c", MEASURE]).arg(&result);
    if let Some(other @ OWN..) = arm {
        command.args(ARMS[other].1);
    }
    said(command.args(&program.command))?;
    let text = std::fs::read_to_string(&result).map_err(|e| e.to_string())?;
    let mut numbers = text.split(' ').map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(seconds)), Some(Ok(kib))) => Ok(Measured { seconds, kib }),
        _ => Err(format!("not two numbers: {text}")),
    }
}

/// Locks and threads of the last run under `check`.
fn watched(bench: &Bench) -> Result<(f64, f64), String> {
    let file = bench.work.join(ARMS[0].0);
    let report = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let report: Value = serde_json::from_slice(&report).map_err(|e| e.to_string())?;
    let count = |what: &str| report["summary"][what].as_f64().ok_or(format!("no {what}"));
    Ok((count("locks")?, count("threads")?))
}

fn text(lines: &[Line], rounds: usize, skipped: &[String]) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    for (name, value) in machine() {
        let _ = writeln!(out, "{name:>18}: {}", value.as_str().unwrap_or_default());
    }
    for line in lines {
        let _ = writeln!(
            out,
            "\n{}: {:.3} s and {:.1} MiB alone; aims: {:.2} times, {:.1} MiB more",
            line.name,
            line.seconds,
            line.mib,
            line.aim,
            line.allowance / 1024.0
        );
        for ((arm, _), (ratio, more)) in ARMS.iter().zip(&line.arms) {
            let _ = writeln!(
                out,
                "  {arm:<9} {:>7.2} times ({:.2} to {:.2}) {:>8.1} MiB more",
                ratio.median,
                ratio.low,
                ratio.high,
                more / 1024.0
            );
        }
    }
    let _ = writeln!(
        out,
        "\n{rounds} rounds (helgrind and drd: {}), arms interleaved; medians, and intervals of order statistics.",
        rounds.min(ROUNDS_OF_OTHERS)
    );
    for why in skipped {
        let _ = writeln!(out, "skipped: {why}");
    }
    out
}

fn to_json(lines: &[Line], rounds: usize) -> Value {
    let arm = |((name, _), (ratio, more)): (&(&str, &[&str]), &(Estimate, f64))| json!({ "arm": name, "ratio": ratio.median, "low": ratio.low, "high": ratio.high, "kib_more": more });
    let line = |line: &Line| {
        json!({
            "name": line.name, "seconds": line.seconds, "mib": line.mib, "aim": line.aim,
            "allowance_kib": line.allowance,
            "arms": ARMS.iter().zip(&line.arms).map(arm).collect::<Vec<_>>(),
        })
    };
    json!({ "machine": machine(), "rounds": rounds, "results": lines.iter().map(line).collect::<Vec<_>>() })
}

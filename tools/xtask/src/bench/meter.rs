//! `cargo xtask bench meter`: what `lockwright meter` costs, every hold timed or few of them,
//! compared with bpftrace's probes and Helgrind.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::{Map, Value, json};

use super::arm::{Arm, Bench, said};
use super::comparison::{BenchOptions, conclude, machine};
use super::fresh_folder::fresh_folder;
use super::table;
use super::workload::{self, Workload};
use lockwright_measure::stats::{self, Estimate};

/// What is compared with the program alone.
const ARMS: [(Arm, &str); 4] = [
    (Arm::Meter, "exact"),
    (Arm::Sampled, "sampled"),
    (Arm::Uprobes, "uprobes"),
    (Arm::Helgrind, "helgrind"),
];

/// Servers are only run under the tool itself, and so is RocksDB: the others are too slow for them.
const SERVER_ARMS: &[Arm] = &[Arm::Native, Arm::Meter, Arm::Sampled];

/// Rounds of the others: they are so far away that few tell.
const ROUNDS_OF_OTHERS: usize = 3;

/// What a ledger may take for 64 threads with 1,000 call sites each.
const LEDGER_AIM: u64 = 32 << 20;

/// One workload in all arms.
struct Line {
    name: String,
    unit: &'static str,
    native: f64,
    /// By arm; `None` where it was not run.
    ratios: [Option<Estimate>; ARMS.len()],
    aims: Option<[f64; 2]>,
}

/// Runs it.
pub fn run(bench: &'static Bench, options: &BenchOptions) -> Result<(), String> {
    let rounds = if options.smoke { 2 } else { usize::from(options.rounds) };
    let wanted = |name: &str| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let machine = machine();
    let (mut lines, mut skipped, mut arms) = (Vec::new(), Vec::new(), Vec::new());
    for (arm, name) in ARMS {
        match bench.can(arm) {
            Ok(()) => arms.push(arm),
            Err(why) => skipped.push((name.to_owned(), why)),
        }
    }
    for candidate in workload::all(bench, &wanted, SERVER_ARMS) {
        match candidate {
            Ok(mut workload) => {
                eprintln!("{} ...", workload.name);
                lines.push(compare(&mut workload, &mut arms, rounds, &mut skipped)?);
            }
            Err(missing) => skipped.push(missing),
        }
    }
    let ledger = if wanted("ledger") { Some(ledger_bytes(bench)?) } else { None };
    // Whether the others can run says nothing of the tool.
    let is_complete = skipped.iter().all(|(name, _)| ARMS.iter().any(|(_, arm)| arm == name));
    print!("{}", text(&machine, &lines, rounds, ledger, &skipped));
    conclude(options, &to_json(&machine, &lines, rounds, ledger, &skipped), is_complete)?;
    // Unlike a time it is the program's doing, not the machine's.
    match ledger {
        Some(bytes) if bytes > LEDGER_AIM => {
            Err("the ledger of many sites is too large".to_owned())
        }
        _ => Ok(()),
    }
}

fn compare(
    workload: &mut Workload,
    arms: &mut Vec<Arm>,
    rounds: usize,
    skipped: &mut Vec<(String, String)>,
) -> Result<Line, String> {
    // Helgrind runs one thread at a time: many that are never done waiting for each other take it
    // minutes.
    let is_large =
        ["MariaDB", "memcached", "RocksDB"].iter().any(|name| workload.name.starts_with(name))
            || ["8 threads", "16 threads"].iter().any(|many| workload.name.ends_with(many));
    let mut ratios: [Vec<f64>; ARMS.len()] = Default::default();
    let mut native = Vec::new();
    for round in 0..rounds {
        let mut order = vec![Arm::Native];
        order.extend(arms.iter().filter(|&&arm| match arm {
            Arm::Uprobes | Arm::Helgrind => {
                !is_large && round < rounds.div_ceil(2).min(ROUNDS_OF_OTHERS)
            }
            _ => true,
        }));
        // The arms take turns to go first: a later one may find warmer caches, or a hotter
        // processor.
        let arms_of_round = order.len();
        order.rotate_left(round % arms_of_round);
        let mut measured = Vec::new();
        for arm in order {
            match (workload.measure)(arm) {
                Ok(value) => measured.push((arm, value)),
                // Its probes depend on what else the kernel is doing. Not tried again.
                Err(_) if arm == Arm::Uprobes => {
                    arms.retain(|&other| other != arm);
                    let why = format!("from {} on: its probes did not attach", workload.name);
                    skipped.push(("uprobes".to_owned(), why));
                }
                Err(why) => return Err(format!("{}: {why}", workload.name)),
            }
        }
        let of = |arm: Arm| measured.iter().find(|(a, _)| *a == arm).map(|(_, value)| *value);
        let alone = of(Arm::Native).ok_or("no native run")?;
        native.push(alone);
        for (ratios, (arm, _)) in ratios.iter_mut().zip(ARMS) {
            ratios.extend(of(arm).map(|value| value / alone));
        }
    }
    Ok(Line {
        name: workload.name.clone(),
        unit: workload.unit,
        native: stats::median(&native),
        ratios: ratios.map(|sample| (!sample.is_empty()).then(|| stats::estimate(&sample))),
        aims: workload.meter_aims,
    })
}

/// What the ledger of 64 threads with 1,000 call sites each takes on the disk.
fn ledger_bytes(bench: &Bench) -> Result<u64, String> {
    let program = bench.build("many_sites", &[])?;
    let folder = fresh_folder(bench.work.join("ledger"))?;
    let rounds = if bench.smoke { "10" } else { "1000" };
    let mut command = std::process::Command::new(&bench.lockwright);
    command.args(["meter", "--keep", "--output", "/dev/null", "--ledger-dir"]).arg(&folder);
    said(command.arg("--").arg(program).args(["64", rounds]))?;
    let mut bytes = 0;
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| e.to_string())?.flatten() {
            let metadata = entry.metadata().map_err(|e| e.to_string())?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|e| e == "lwl") {
                // In blocks of 512: the file itself is as long as it may ever grow.
                bytes += metadata.blocks() * 512;
            }
        }
    }
    if bytes == 0 { Err("many_sites left no ledger".to_owned()) } else { Ok(bytes) }
}

fn text(
    machine: &Map<String, Value>,
    lines: &[Line],
    rounds: usize,
    ledger: Option<u64>,
    skipped: &[(String, String)],
) -> String {
    let mut out = table::facts(machine);
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "\n{:<40} {:>12}  {:<24} {:<24} {:>8} {:>8}",
        "times of native, `lockwright meter`", "native", "exact", "sampled", "uprobes", "helgrind"
    );
    for line in lines {
        let [exact, sampled, uprobes, helgrind] = &line.ratios;
        let aim = |i: usize| line.aims.map(|aims| aims[i]);
        let native = format!("{:.4} {}", line.native, line.unit.split('/').next().unwrap_or(""));
        let _ = writeln!(
            out,
            "{:<40} {native:>12}  {:<24} {:<24} {:>8} {:>8}",
            line.name,
            judged(exact.as_ref(), aim(0)),
            judged(sampled.as_ref(), aim(1)),
            plain(uprobes.as_ref()),
            plain(helgrind.as_ref()),
        );
    }
    let _ = writeln!(
        out,
        "{rounds} rounds, arms interleaved (uprobes and helgrind: {}); ratios to native are medians, with \
         intervals of 95 %\nconfidence where there are rounds enough, and the aim.",
        rounds.div_ceil(2).min(ROUNDS_OF_OTHERS)
    );
    if let Some(bytes) = ledger {
        let _ = writeln!(
            out,
            "\nledger of 64 threads with 1,000 call sites each: {:.1} MiB (aim: at most {} MiB, {})",
            bytes as f64 / f64::from(1 << 20),
            LEDGER_AIM >> 20,
            if bytes <= LEDGER_AIM { "met" } else { "missed" },
        );
    }
    for (name, why) in skipped {
        let _ = writeln!(out, "\nskipped: {name}: {}", why.trim());
    }
    out
}

/// `1.18 (1.15-1.21) 1.20 met`.
fn judged(ratio: Option<&Estimate>, aim: Option<f64>) -> String {
    let Some(ratio) = ratio else { return "-".to_owned() };
    let measured = format!("{:.2} ({:.2}-{:.2})", ratio.median, ratio.low, ratio.high);
    let Some(aim) = aim else { return measured };
    format!("{measured} {aim:.2}{}", table::verdict(ratio, aim))
}

fn plain(ratio: Option<&Estimate>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:.1}", ratio.median))
}

fn to_json(
    machine: &Map<String, Value>,
    lines: &[Line],
    rounds: usize,
    ledger: Option<u64>,
    skipped: &[(String, String)],
) -> Value {
    let line = |line: &Line| {
        let ratios: Map<String, Value> = ARMS
            .iter()
            .zip(&line.ratios)
            .filter_map(|((_, name), ratio)| Some((*name, ratio.as_ref()?)))
            .map(|(name, r)| {
                let ratio = json!({
                    "ratio": r.median, "low": r.low, "high": r.high, "confidence": r.confidence,
                });
                (name.to_owned(), ratio)
            })
            .collect();
        json!({
            "name": line.name, "unit": line.unit, "native": line.native, "ratios": ratios,
            "aims": line.aims,
        })
    };
    let skipped: Vec<_> =
        skipped.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect();
    json!({
        "machine": machine, "rounds": rounds, "results": lines.iter().map(line).collect::<Vec<_>>(),
        "ledger_bytes": ledger, "ledger_aim": LEDGER_AIM, "skipped": skipped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aim_is_judged_by_the_interval() {
        let ratio = |low, high, confidence| Estimate { median: 1.1, low, high, confidence };
        let judge = |ratio, aim| judged(Some(&ratio), aim);
        assert_eq!(judge(ratio(1.05, 1.15, 0.96), Some(1.2)), "1.10 (1.05-1.15) 1.20 met");
        assert_eq!(judge(ratio(1.05, 1.15, 0.96), Some(1.0)), "1.10 (1.05-1.15) 1.00 missed");
        assert_eq!(judge(ratio(1.05, 1.15, 0.96), Some(1.1)), "1.10 (1.05-1.15) 1.10 open");
        assert_eq!(judge(ratio(1.05, 1.15, 0.5), Some(1.1)), "1.10 (1.05-1.15) 1.10");
        assert_eq!(judge(ratio(1.05, 1.15, 0.5), None), "1.10 (1.05-1.15)");
    }
}

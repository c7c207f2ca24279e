//! `cargo xtask bench simulated`: the published tables compared with simulated ones, and the locks on machines larger
//! than this one: docs/lab/simulated.md. All of it is virtual time, so it does not matter what else this machine does.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::process::Command;

use clap::Args;
use serde_json::Value;

use super::in_tables;
use super::pages::{SIMULATED, same_headings};
use crate::builds::lab_build;
use crate::workspace::{output, root, target_dir};
/// The directory of its plots, from the page.
const PLOTS: &str = "bench/simulated";

/// How it is simulated.
#[derive(Debug, Args)]
pub struct SimulatedOptions {
    /// Runs too short to mean anything: does all of it still run?
    #[arg(long, conflicts_with = "write")]
    pub smoke: bool,

    /// Write docs/lab/simulated.md and its plots, and its figures into docs/lab/tables.md, instead of to standard
    /// output.
    #[arg(long)]
    pub write: bool,
}

impl SimulatedOptions {
    /// `--smoke` and nothing else.
    pub fn smoke() -> Self {
        Self { smoke: true, write: false }
    }
}

/// Locks on a machine.
struct Picture {
    /// The name of its plot.
    name: &'static str,
    title: &'static str,
    about: &'static str,
    arguments: &'static [&'static str],
}

/// Each run of them is this long, in virtual seconds.
const SECONDS: &str = "0.1";

const PICTURES: &[Picture] = &[
    Picture {
        name: "scaling",
        title: "From 1 to 144 CPUs",
        about: "Four sockets of 18 cores with two threads each, a thread on each CPU: one acquisition after the other of \
                one lock. `hybrid_mutex` is `lockwright::sync::Mutex`: a sleeping thread gets a turn of half a millisecond, so 144 \
                threads take 70 ms to have one each.",
        arguments: &[
            "--machine=broadwell-72",
            "--workload=micro",
            "--lock=hybrid_mutex,qspinlock,pvqlock,hybrid,mcs,cna,unfair,ticket",
            "--sweep=cpus=1..144",
        ],
    },
    Picture {
        name: "torture",
        title: "The same, as locktorture has it",
        about: "Now and then a section takes 2 µs; with more threads there are fewer of these.",
        arguments: &[
            "--machine=broadwell-72",
            "--workload=locktorture",
            "--lock=hybrid_mutex,qspinlock,pvqlock,hybrid,mcs,cna,unfair,ticket",
            "--sweep=cpus=1..144",
        ],
    },
    Picture {
        name: "over-commit",
        title: "More threads than CPUs",
        about: "36 CPUs, on which up to 144 threads take turns by the scheduler, without a hypervisor: the purpose of a \
                mutex of user space. `std` is Rust's, `glibc` the C library's; the spinning locks are for comparison.",
        arguments: &[
            "--machine=e5-2699v3",
            "--workload=micro",
            "--lock=hybrid_mutex,std,parking_lot,glibc,mutex,semaphore,pvqlock,hybrid,unfair,mcs",
            "--cpus=36",
            "--threads=36,54,72,108,144",
        ],
    },
    Picture {
        name: "watched",
        title: "Below lockwright's own engines",
        about: "A program that takes a lock every microsecond, one time in 512 a shared one, natively and below `check` and \
                `meter`. Known locks touch nothing that threads share. A new lock, and its destruction, take the \
                lock of the process's core: `-objects` have a new lock every 64 acquisitions, `-new` for each.",
        arguments: &[
            "--machine=broadwell-72",
            "--workload=watched",
            "--lock=unwatched,check,meter,check-objects,meter-objects,check-new,meter-new",
            "--sweep=cpus=1..144",
        ],
    },
];

/// Simulates all of it.
///
/// # Errors
/// If something cannot be built, fails, or, in a smoke run, is not what the page in the sources has.
pub fn run(options: &SimulatedOptions) -> Result<(), String> {
    let lockwright = lab_build(options.smoke)?;
    let plots = match options.write {
        true => root().join("docs/lab").join(PLOTS),
        false => target_dir().join("bench/simulated"),
    };
    // Plots of what is no longer simulated shall go.
    let _ = fs::remove_dir_all(&plots);
    fs::create_dir_all(&plots).map_err(|e| format!("{}: {e}", plots.display()))?;
    let sim = |arguments: &[String]| -> Result<Value, String> {
        let mut command = Command::new(&lockwright);
        command.arg("sim").args(arguments).args(["--json", "-", "--output", "/dev/null"]);
        let text = output(command)?;
        serde_json::from_str(&text).map_err(|e| format!("lockwright-lab sim {arguments:?}: {e}"))
    };
    let mut page = String::from(HEADING);
    eprintln!("What was published ...");
    let seconds = if options.smoke { "0.0001" } else { "0.2" };
    truth(&mut page, &sim(&[format!("--truth={seconds}")])?)?;
    for picture in PICTURES {
        eprintln!("{} ...", picture.title);
        let mut arguments: Vec<String> =
            picture.arguments.iter().map(|&argument| argument.to_owned()).collect();
        let seconds = if options.smoke { "0.0001" } else { SECONDS };
        arguments.push(format!("--seconds={seconds}"));
        let command = arguments.join(" ");
        let file = plots.join(picture.name).with_extension("svg");
        arguments.push(format!("--plot={}", file.display()));
        draw(&mut page, picture, &command, &sim(&arguments)?)?;
    }
    if options.write {
        let file = root().join(SIMULATED);
        fs::write(&file, page).map_err(|e| format!("{}: {e}", file.display()))?;
        return in_tables::update();
    }
    print!("{page}");
    if !options.smoke {
        return Ok(());
    }
    same_headings(&page, SIMULATED, "simulated")?;
    in_tables::check()
}

const HEADING: &str = "# Published figures and larger machines, simulated

`cargo xtask bench simulated --write` makes this page. All times are virtual. [simulator.md](simulator.md) has the model, its
constants, the fits, and the reasons for misses. Trust the order of locks and the shape of curves as far as the first
tables here support them, and no absolute figure. [tables.md](tables.md) has the same publications on a real machine.

";

/// The published figures next to the simulated ones: first how many miss, then a table for each
/// source.
fn truth(page: &mut String, truth: &Value) -> Result<(), String> {
    let list = |name: &str| truth[name].as_array().ok_or(format!("no {name} in --truth"));
    let (figures, claims) = (list("figures")?, list("claims")?);
    let of = |value: &Value| value["source"].as_str().unwrap_or_default().to_owned();
    let sources: BTreeSet<String> = figures.iter().chain(claims).map(of).collect();
    let from = |list: &'_ [Value], source: &str| -> Vec<Value> {
        list.iter().filter(|value| of(value) == source).cloned().collect()
    };
    misses(page, figures, claims, &sources);
    for source in sources {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(page, "## {}\n", title(&source));
        let head = "| | published | simulated | error | of the effect | |";
        let _ = writeln!(page, "{head}\n|---|--:|--:|--:|--:|---|");
        for figure in from(figures, &source) {
            let number = |name: &str| figure[name].as_f64().unwrap_or(f64::NAN);
            let (published, simulated) = (number("published"), number("simulated"));
            let hundredths = |error: f64| format!("{:+.0} %", error * 100.0);
            let effect = figure["error_of_effect"].as_f64().map(hundredths).unwrap_or_default();
            let text = |name: &str| figure[name].as_str().unwrap_or_default();
            let _ = writeln!(
                page,
                "| {} | {published:.3} | {simulated:.3} | {} | {effect} | {} |",
                text("what"),
                hundredths(simulated / published - 1.0),
                text("judgement"),
            );
        }
        let _ = writeln!(page);
        for claim in from(claims, &source) {
            let text = |name: &str| claim[name].as_str().unwrap_or_default();
            let verdict = if holds(&claim) { "holds" } else { "**does not hold**" };
            let _ = writeln!(
                page,
                "- {}: published {}; simulated {}: {verdict}",
                text("claim"),
                text("published"),
                text("simulated")
            );
        }
        let _ = writeln!(page);
    }
    Ok(())
}

/// What a source is called.
fn title(source: &str) -> String {
    source
        .parse()
        .map_or(source.to_owned(), |number| lockwright_lab::tables::name(number).to_owned())
}

fn holds(claim: &Value) -> bool {
    claim["holds"].as_bool() == Some(true)
}

/// How many figures and claims miss, by source.
fn misses(page: &mut String, figures: &[Value], claims: &[Value], sources: &BTreeSet<String>) {
    let is_predicted = |figure: &&Value| figure["fitted"].as_bool() == Some(false);
    let is_missed = |figure: &&Value| figure["missed"].as_bool() != Some(false);
    let counts = |source: Option<&str>| {
        let is_of = |value: &&Value| source.is_none_or(|source| value["source"] == source);
        let predicted: Vec<_> = figures.iter().filter(is_of).filter(is_predicted).collect();
        let of_claims: Vec<_> = claims.iter().filter(is_of).collect();
        [
            predicted.iter().filter(|figure| is_missed(figure)).count(),
            predicted.len(),
            of_claims.iter().filter(|claim| !holds(claim)).count(),
            of_claims.len(),
        ]
    };
    let [missed, predicted, broken, all] = counts(None);
    let _ = writeln!(
        page,
        "## Misses\n\n{missed} of {predicted} figures that no constant was fitted to miss the published ones, and {broken} \
         of {all} claims do not hold. A figure is as published if it is within 25 %. Two ratios near one are always \
         that close, so of a ratio the effect, its difference from one, has to be within 25 % as well. An effect of \
         less than 1 % counts as none.\n"
    );
    let _ = writeln!(page, "| | figures missed | of | claims that do not hold | of |");
    let _ = writeln!(page, "|---|--:|--:|--:|--:|");
    for source in sources {
        let [missed, predicted, broken, all] = counts(Some(source));
        let _ = writeln!(page, "| {} | {missed} | {predicted} | {broken} | {all} |", title(source));
    }
    let _ = writeln!(page, "\n{NOT_SIMULATED}\n");
}

/// Published figures that have no row.
const NOT_SIMULATED: &str = "Published and not simulated: the builds with lockdep's debug counters (+55.2 % on one socket, \
                             +51.6 % on four); the seconds of builds, of which only ratios are compared; the 197 \
                             successes without an exchange (`@cnt[0]`) of Song's patch; the rows of `kernel_flag`'s \
                             sites, whose counts and mean holds are what the simulated program is made of, and so the \
                             lock's mean hold (6.0 us, 7.2 us after the patches).";

/// Operations of each lock over the numbers of threads, and the plot.
fn draw(page: &mut String, picture: &Picture, command: &str, runs: &Value) -> Result<(), String> {
    let rows = runs["runs"].as_array().ok_or("no runs")?;
    let threads = |run: &Value| run["threads"].as_u64().unwrap_or(0);
    let columns: BTreeSet<u64> = rows.iter().map(threads).collect();
    let mut locks: Vec<&str> = Vec::new();
    for run in rows {
        let lock = run["lock"].as_str().unwrap_or_default();
        if !locks.contains(&lock) {
            locks.push(lock);
        }
    }
    let _ = writeln!(page, "## {}\n\n{}\n", picture.title, picture.about);
    let _ = writeln!(page, "    lockwright-lab sim {command}\n");
    let _ = writeln!(
        page,
        "Millions of operations a second, by threads; last: the slowest thread's share of the fastest, at {} threads.\n",
        columns.last().unwrap_or(&0)
    );
    let heads: String = columns.iter().map(|column| format!(" {column} |")).collect();
    let _ = writeln!(page, "| |{heads} min/max |\n|---|{}", "--:|".repeat(columns.len() + 1));
    for lock in locks {
        let of = |column: &u64| {
            rows.iter()
                .find(|run| threads(run) == *column && run["lock"] == lock)
                .unwrap_or(&Value::Null)
        };
        let rate =
            |column: &u64| of(column)["operations_per_second"].as_f64().unwrap_or(f64::NAN) / 1e6;
        let rates: String =
            columns.iter().map(|column| format!(" {:.2} |", rate(column))).collect();
        let last = columns.last().map_or(&Value::Null, of);
        let count = |name: &str| last[name].as_f64().unwrap_or(f64::NAN);
        let _ = writeln!(page, "| {lock} |{rates} {:.3} |", count("min") / count("max"));
    }
    let name = picture.name;
    let _ = writeln!(page, "\n![{}]({PLOTS}/{name}.svg)\n", picture.title);
    Ok(())
}

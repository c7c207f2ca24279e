//! `cargo xtask test`: every check there is, from one table. CI runs the same.
//!
//! The checks run in two lanes at once. Tests of whole programs sleep a lot; the other lane builds and computes
//! meanwhile. The second lane is a process of this program, whose output follows when it has ended. A lane that has
//! run all of its checks takes those of the other that have not begun, so both end at nearly the same time.

mod cargo_tests;
mod checks;
mod failed_tests;
mod features;
mod lane;
mod processors;
mod sample;
mod smoke;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use crate::burners::Burners;
use crate::packages;
use crate::skips::{self, Skips};
use checks::{CHECKS, Check, Lane};
use lane::{Background, Outcome, Turns};
use processors::Processors;
pub use sample::{Build, Extent};

/// Runs every check, or the named ones.
///
/// Some checks repeat one kind of test many times. Without names and without `--all` they run a part of it, which the
/// commit chooses.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Names of checks, which then run whole; `--list` shows them.
    #[arg(value_name = "CHECK")]
    pub only: Vec<String>,

    /// Lists the checks instead of running them.
    #[arg(long)]
    pub list: bool,

    /// Runs every check whole, as before a release.
    #[arg(long)]
    pub all: bool,

    /// Lets so many processes burn CPU at the same time: no test may depend on time or load.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub burners: usize,

    /// Runs the checks so many times in a row, up to the first time that one fails.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub times: usize,

    /// Runs the checks of the second lane, and writes their outcomes to FILE.
    #[arg(long, value_name = "FILE", hide = true)]
    pub second_lane: Option<PathBuf>,
}

/// Runs the checks; every one, also after one has failed.
///
/// # Errors
/// When one failed or does not exist.
pub fn run(args: &TestArgs) -> Result<(), String> {
    if args.list {
        for check in CHECKS {
            let when = if check.is_long { " (by name, or with --all)" } else { "" };
            println!("{:<8} {}{when}", check.name, check.what);
        }
        return Ok(());
    }
    if let Some(unknown) =
        args.only.iter().find(|name| !CHECKS.iter().any(|check| check.name == **name))
    {
        return Err(format!(
            "there is no check {unknown:?}; `cargo xtask test --list` shows what there is"
        ));
    }
    let extent = match args.all || !args.only.is_empty() {
        true => Extent::Whole,
        false => Extent::of_commit(),
    };
    if let Some(file) = &args.second_lane {
        return lane::write(file, &run_lane(Lane::Second, extent)?);
    }
    if args.only.is_empty() {
        packages::install()?;
    }
    let _burners = Burners::start(args.burners)?;
    for time in 1..=args.times {
        if args.times > 1 {
            eprintln!("\n== time {time} of {}, beside {} burners", args.times, args.burners);
        }
        skips::forget();
        match args.only.is_empty() {
            true => summary(&both_lanes(args.all, extent)?)?,
            false => {
                let named = CHECKS.iter().filter(|c| args.only.iter().any(|name| name == c.name));
                summary(&named.map(|check| run_one(check, extent)).collect::<Vec<_>>())?;
            }
        }
    }
    Ok(())
}

/// All checks, in two lanes. The outcomes are in the order of the table.
fn both_lanes(all: bool, extent: Extent) -> Result<Vec<Outcome>, String> {
    eprintln!("{extent}");
    let (start, begin) = (Instant::now(), Processors::now());
    Turns::forget()?;
    let second = Background::start(all)?;
    let mut outcomes = run_lane(Lane::First, extent)?;
    let alone = Instant::now();
    let others = second.wait();
    eprintln!("\n== the checks that ran at the same time");
    outcomes.extend(others.join()?);
    outcomes.sort_by_key(|outcome| CHECKS.iter().position(|check| check.name == outcome.name));
    let (per_cent, idle) = Processors::now().idle_since(begin);
    eprintln!(
        "\nboth lanes took {:.0} s, of which the first waited {:.0} s for the second; the processors had nothing to do in \
         {per_cent:.0} % of their time ({idle:.0} s)",
        start.elapsed().as_secs_f64(),
        alone.elapsed().as_secs_f64()
    );
    Ok(outcomes)
}

/// The lane's checks, and then those of the other lane that have not begun.
fn run_lane(lane: Lane, extent: Extent) -> Result<Vec<Outcome>, String> {
    let due = CHECKS.iter().filter(|check| extent == Extent::Whole || !check.is_long);
    let (own, others): (Vec<_>, Vec<_>) = due.partition(|check| check.lane == lane);
    let mut outcomes = Vec::new();
    for check in own.into_iter().chain(others) {
        if Turns::take(check.name)? {
            outcomes.push(run_one(check, extent));
        }
    }
    Ok(outcomes)
}

fn run_one(check: &Check, extent: Extent) -> Outcome {
    eprintln!("\n== {}: {}", check.name, check.what);
    let (start, before) = (Instant::now(), processors::taken());
    let failed = (check.run)(extent).err();
    let processors = processors::taken() - before;
    let seconds = start.elapsed().as_secs_f64();
    Outcome { name: check.name.to_owned(), seconds, processors, failed }
}

/// Prints what came of the checks, details of failures first: a reader of CI's output sees the end of it.
///
/// # Errors
/// If a check failed.
fn summary(outcomes: &[Outcome]) -> Result<(), String> {
    for Outcome { name, failed, .. } in outcomes {
        if let Some((_, details)) = failed.as_ref().and_then(|why| why.split_once('\n')) {
            print!("\n== {name}\n{}\n", details.trim_end());
        }
    }
    println!();
    let skips = Skips::read();
    let (mut passed, mut failed) = (0, 0);
    for Outcome { name, seconds, processors, failed: why } in outcomes {
        let verdict = match (why, skips.reason(name)) {
            (Some(why), _) => {
                failed += 1;
                format!("FAILED: {}", why.lines().next().unwrap_or_default())
            }
            (None, Some(why)) => format!("skipped: {why}"),
            (None, None) => {
                passed += 1;
                "passed".to_owned()
            }
        };
        println!("{name:<8} {seconds:>5.0} s {processors:>5.0} s of processors  {verdict}");
    }
    println!(
        "{passed} checks passed, {failed} failed; {} tests or checks were skipped; {:.0} s of processors in all",
        skips.count(),
        outcomes.iter().map(|outcome| outcome.processors).sum::<f64>()
    );
    for (why, times) in skips.reasons() {
        println!("  skipped {times}: {why}");
    }
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} of {} checks failed", outcomes.len())),
    }
}

//! `cargo xtask test`: every check there is, from one table. CI runs the same.
//!
//! The checks run in two lanes at once. Tests of whole programs sleep a lot; the other lane builds and computes
//! meanwhile. The second lane is a process of this program, whose output follows when it has ended.

mod cargo_tests;
mod checks;
mod failed_tests;
mod features;
mod lane;
mod sample;
mod smoke;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use crate::burners::Burners;
use crate::packages;
use crate::skips::{self, Skips};
pub(crate) use cargo_tests::TESTED_APART;
use checks::{CHECKS, Check, Lane};
use lane::{Background, Outcome};
pub use sample::Extent;

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
            println!("{:<8} {}", check.name, check.what);
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
        let outcomes = run_all(CHECKS.iter().filter(|check| check.lane == Lane::Second), extent);
        return lane::write(file, &outcomes);
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
                summary(&run_all(named, extent))?;
            }
        }
    }
    Ok(())
}

/// All checks, in two lanes. The outcomes are in the order of the table.
fn both_lanes(all: bool, extent: Extent) -> Result<Vec<Outcome>, String> {
    eprintln!("{extent}");
    let second = Background::start(all)?;
    let mut outcomes = run_all(CHECKS.iter().filter(|check| check.lane == Lane::First), extent);
    eprintln!("\n== the checks that ran at the same time");
    outcomes.extend(second.join()?);
    outcomes.sort_by_key(|outcome| CHECKS.iter().position(|check| check.name == outcome.name));
    Ok(outcomes)
}

fn run_all<'c>(checks: impl Iterator<Item = &'c Check>, extent: Extent) -> Vec<Outcome> {
    checks.map(|check| run_one(check, extent)).collect()
}

fn run_one(check: &Check, extent: Extent) -> Outcome {
    eprintln!("\n== {}: {}", check.name, check.what);
    let start = Instant::now();
    let failed = (check.run)(extent).err();
    Outcome { name: check.name.to_owned(), seconds: start.elapsed().as_secs_f64(), failed }
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
    for Outcome { name, seconds, failed: why } in outcomes {
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
        println!("{name:<8} {seconds:>5.0} s  {verdict}");
    }
    println!(
        "{passed} checks passed, {failed} failed; {} tests or checks were skipped",
        skips.count()
    );
    for (why, times) in skips.reasons() {
        println!("  skipped {times}: {why}");
    }
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} of {} checks failed", outcomes.len())),
    }
}

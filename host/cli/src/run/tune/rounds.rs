//! The runs of a comparison: each arm once a round, in random order.

use std::time::Instant;

use super::arm::{Arm, Runner};
use super::trial::{self, End, Trial};
use super::verdict::Better;
use crate::args::{MetricArgs, Pattern};
use crate::run::path_search;
use crate::run::watch::signals::Signals;
use lockwright_console::error::{Error, Result, exit};
use lockwright_report::prose::words::plain;

/// Exit code where a run failed, or printed no number.
const RUN_FAILED: u8 = 1;

/// Lines of a failed run's output that are shown.
const SHOWN_LINES: usize = 20;

/// What is compared.
#[derive(Clone, Debug)]
pub enum Metric {
    /// Seconds by the clock.
    Time,
    /// A number that the command prints.
    Printed(Pattern, Better),
}

impl Metric {
    /// What the user asked for.
    pub fn of(args: &MetricArgs) -> Self {
        let better = if args.higher { Better::Higher } else { Better::Lower };
        args.metric.clone().map_or(Self::Time, |pattern| Self::Printed(pattern, better))
    }

    /// Whether more is better.
    pub fn better(&self) -> Better {
        match self {
            Self::Time => Better::Lower,
            Self::Printed(_, better) => *better,
        }
    }

    /// The figure of a run, or why it has none.
    fn figure(&self, trial: &Trial) -> std::result::Result<f64, String> {
        let Self::Printed(pattern, _) = self else { return Ok(trial.elapsed) };
        let pattern_text = pattern.as_str();
        let found = pattern
            .last(&trial.said)
            .ok_or_else(|| format!("printed nothing that `{pattern_text}` matches"))?;
        let found = String::from_utf8_lossy(found);
        match found.trim().parse() {
            Ok(number) if f64::is_finite(number) && number > 0.0 => Ok(number),
            _ => Err(format!("printed `{}`, which is no number above 0", plain(&found))),
        }
    }
}

/// What one run has come to.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// What is compared.
    pub value: f64,
    /// Seconds by the clock.
    pub elapsed: f64,
    /// Seconds of processor time.
    pub cpu: f64,
}

/// The runs so far.
#[derive(Debug)]
pub struct Measured {
    /// By round, only whole ones, and by arm.
    pub rounds: Vec<Vec<Figure>>,
    /// The signal that ended it before its time.
    pub interrupted: Option<i32>,
}

/// Runs all arms for so many rounds, in an order that follows from `seed`; `progress` is called
/// before each run.
///
/// # Errors
/// If a run fails, or has no figure.
pub fn measure(
    runner: &Runner,
    arms: &[Arm],
    rounds: u16,
    metric: &Metric,
    seed: u64,
    progress: &mut dyn FnMut(&str),
) -> Result<Measured> {
    let signals = Signals::take()
        .map_err(|error| Error::new(format!("cannot prepare for signals: {error}")))?;
    let mut random = fastrand::Rng::with_seed(seed);
    let begun = Instant::now();
    let mut measured = Measured { rounds: Vec::new(), interrupted: None };
    for round in 1..=rounds {
        let mut order: Vec<usize> = (0..arms.len()).collect();
        random.shuffle(&mut order);
        let mut figures = vec![None; arms.len()];
        for arm in order {
            let left = time_left(begun, round - 1, rounds);
            progress(&format!("round {round} of {rounds}: {}{left}", arms[arm]));
            let ended = trial::run(runner.command(&arms[arm]), &signals);
            match ended.map_err(|error| not_run(runner, &arms[arm], &error))? {
                End::Own(trial) => figures[arm] = Some(figure(&trial, metric, &arms[arm], round)?),
                End::Interrupted(signal) => {
                    measured.interrupted = Some(signal);
                    return Ok(measured);
                }
            }
        }
        measured.rounds.push(figures.into_iter().flatten().collect());
    }
    Ok(measured)
}

/// About how long it takes from here, once a round is over.
fn time_left(begun: Instant, done: u16, rounds: u16) -> String {
    if done == 0 {
        return String::new();
    }
    let each = begun.elapsed().as_secs_f64() / f64::from(done);
    format!("; the rounds that are left take about {:.0} s", each * f64::from(rounds - done))
}

fn figure(trial: &Trial, metric: &Metric, arm: &Arm, round: u16) -> Result<Figure> {
    let failed = |what: &str| failure(trial, arm, round, what);
    if !trial.status.success() {
        return Err(failed(&format!("failed: {}", trial.status)));
    }
    let value = metric.figure(trial).map_err(|why| failed(&why))?;
    Ok(Figure { value, elapsed: trial.elapsed, cpu: trial.cpu })
}

/// The error of a run that is of no use, with the end of what it printed.
fn failure(trial: &Trial, arm: &Arm, round: u16, what: &str) -> Error {
    let said = String::from_utf8_lossy(&trial.said);
    let lines: Vec<String> = said.lines().map(str::to_owned).collect();
    let end = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    let error =
        Error::with_code(RUN_FAILED, format!("the run with `{arm}` in round {round} {what}"));
    let error = match end {
        [] => error.note("it printed nothing"),
        end => error.printed(end.iter().cloned()),
    };
    match arm.lock() {
        None => error.help("see whether the command runs by itself, without input"),
        Some(lock) => error.help(format!(
            "see whether it runs with this lock: `lockwright swap --lock {lock} -- COMMAND`; without \
             it: --locks"
        )),
    }
}

/// The error of a run that did not begin.
fn not_run(runner: &Runner, arm: &Arm, error: &std::io::Error) -> Error {
    let file = if arm.lock().is_some() { &runner.tool } else { &runner.file };
    let code = match error.kind() {
        std::io::ErrorKind::NotFound => exit::NOT_FOUND,
        _ => exit::NOT_RUNNABLE,
    };
    Error::with_code(code, format!("cannot run `{}`: {error}", file.display()))
}

/// What runs `argv`, with `tool` for its locks.
///
/// # Errors
/// If there is no such program, or it cannot be executed.
pub fn runner(argv: &[std::ffi::OsString], tool: std::path::PathBuf) -> Result<Runner> {
    let file = path_search::find(&argv[0], std::env::var_os("PATH").as_deref())?;
    Ok(Runner { file, argv: argv.to_vec(), tool })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    /// Stands in for lockwright: `swap --lock NAME -o FILE -- COMMAND` runs the command with NAME in its
    /// environment. No test depends on how long anything takes: the commands say their own figures.
    struct Fake(PathBuf);

    impl Fake {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir();
            let file = dir.join(format!("lockwright-tune-{name}-{}", std::process::id()));
            // Not written by this process: a child that another test forks meanwhile has it open for
            // writing until it executes something, and so long nobody can execute it.
            let made = Command::new("/bin/sh")
                .args(["-c", "printf %s \"$1\" >\"$0\" && chmod 700 \"$0\""])
                .arg(&file)
                .arg("#!/bin/sh\nlock=$3\nshift 6\nLOCK=$lock exec \"$@\"\n")
                .status();
            assert!(made.unwrap().success());
            Self(file)
        }

        fn measure(&self, script: &str, locks: &[&str]) -> Result<Measured> {
            let argv = ["sh", "-c", script].map(Into::into);
            let locks: Vec<String> = locks.iter().map(|lock| (*lock).to_owned()).collect();
            let metric = Metric::Printed("ops ([-0-9.a-z]+)".parse().unwrap(), Better::Higher);
            let runner = runner(&argv, self.0.clone())?;
            measure(&runner, &Arm::all(&locks), 3, &metric, 7, &mut |_| {})
        }
    }

    impl Drop for Fake {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    const SCRIPT: &str = "case ${LOCK:-native} in native) echo ops 100;; quick) echo ops 150 >&2;; \
                          slow) echo ops 50;; broken) echo oh no; exit 3;; dumb) ;; \
                          wrong) echo ops none;; zero) echo ops 0;; esac";

    #[test]
    fn each_arm_runs_once_a_round_with_its_lock() {
        let fake = Fake::new("arms");
        let measured = fake.measure(SCRIPT, &["quick", "slow"]).unwrap();
        let values: Vec<Vec<f64>> = measured
            .rounds
            .iter()
            .map(|round| round.iter().map(|figure| figure.value).collect())
            .collect();
        assert_eq!(values, vec![vec![100.0, 100.0, 150.0, 50.0]; 3]);
        assert_eq!(measured.interrupted, None);
    }

    #[test]
    fn a_run_that_fails_is_named_with_what_it_printed() {
        let fake = Fake::new("fails");
        let told = |lock: &str| {
            let error = fake.measure(SCRIPT, &["quick", lock]).unwrap_err();
            assert_eq!(error.code(), RUN_FAILED);
            error.to_string()
        };
        let text = told("broken");
        assert!(text.contains("`broken` in round 1 failed: exit status: 3"), "{text}");
        assert!(text.contains("oh no") && text.contains("--lock broken"), "{text}");
        let text = told("dumb");
        assert!(text.contains("printed nothing that `ops") && text.contains("`dumb`"), "{text}");
        assert!(told("wrong").contains("printed `none`"), "{text}");
        assert!(told("zero").contains("printed `0`"), "{text}");
    }

    #[test]
    fn a_command_that_is_not_there_is_told_before_anything_runs() {
        let error = runner(&["no-such-command".into()], "lockwright".into()).unwrap_err();
        assert_eq!(error.code(), exit::NOT_FOUND);
    }

    #[test]
    fn the_order_is_random_and_follows_from_the_seed() {
        let order = |seed| {
            let mut said = Vec::new();
            let argv = ["true".into()];
            let runner = runner(&argv, "/bin/true".into()).unwrap();
            let arms = Arm::all(&["a".to_owned(), "b".to_owned()]);
            measure(&runner, &arms, 4, &Metric::Time, seed, &mut |what| {
                said.push(what.split([':', ';']).nth(1).unwrap().to_owned());
            })
            .unwrap();
            said
        };
        assert_eq!(order(1), order(1));
        assert!((2..9).any(|seed| order(seed) != order(1)));
    }
}

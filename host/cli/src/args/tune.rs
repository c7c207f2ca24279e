//! `lockwright tune`: which locks, how often, and what counts.

use std::ffi::OsString;
use std::str::FromStr;

use clap::Args;
use regex::bytes::Regex;

use crate::manual;
use lockwright_console::args::OutputArgs;

/// Run a command with one lock after the other instead of the C library's, and name the fastest.
///
/// In each round the command runs once with each lock, and twice with the C library's own locks, in
/// random order. The tool compares times within rounds. The two runs with the same locks show how
/// much chance does on this machine; a lock must differ by more than that. The command's output is
/// not shown, and its input is empty.
#[derive(Debug, Args)]
#[command(override_usage = "lockwright tune [OPTIONS] -- COMMAND [ARGS]...")]
#[command(after_long_help = manual::TUNE.help())]
pub struct TuneArgs {
    /// Where the outcome goes; without -o, to standard output.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The locks to try, by the names that `lockwright swap --lock list` shows. Those whose waiters
    /// only spin may take very long with more threads than CPUs. `native`, the C library's own, is
    /// tried in any case; alone, it shows how much runs differ by themselves.
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "hybrid,pvqspinlock"
    )]
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new(), help_heading = "Comparison")]
    pub locks: Vec<String>,

    /// Rounds, in each of which each lock has its turn.
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Comparison")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,

    /// What counts.
    #[command(flatten)]
    pub metric: MetricArgs,

    /// The command to run, looked up in PATH, and its arguments.
    #[arg(required = true, trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// What counts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Comparison")]
pub struct MetricArgs {
    /// Compare a number that the command prints, not the time it takes: what the first group of
    /// REGEX matches, in the last match in all of standard output and standard error. Say which is
    /// better: --higher or --lower.
    #[arg(long, value_name = "REGEX", requires = "direction")]
    pub metric: Option<Pattern>,

    /// The higher the number, the better: operations a second.
    #[arg(long, group = "direction", requires = "metric")]
    pub higher: bool,

    /// The lower the number, the better: a time.
    #[arg(long, group = "direction", requires = "metric")]
    pub lower: bool,
}

/// A regular expression whose first group is a number.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let regex = Regex::new(text).map_err(|error| error.to_string())?;
        if regex.captures_len() < 2 {
            return Err(
                "it has no group: put the number in parentheses, as in 'ops: ([0-9.]+)'".to_owned()
            );
        }
        Ok(Self(regex))
    }
}

impl Pattern {
    /// What was typed.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// What the first group matches where the expression matches last.
    pub fn last<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        self.0.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_bytes())).last()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn tune(args: &[&str]) -> Result<TuneArgs, clap::Error> {
        match Cli::try_parse_from(["lockwright", "tune"].iter().chain(args))?.command {
            Command::Tune(args) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_metric_has_a_direction() {
        let pattern = ["--metric", "([0-9]+) ops"];
        let args = tune(&[&pattern[..], &["--higher", "--", "true", "--lower"]].concat()).unwrap();
        assert!(args.metric.higher && !args.metric.lower);
        assert_eq!(args.command, ["true", "--lower"]);
        assert!(tune(&[&pattern[..], &["true"]].concat()).is_err());
        assert!(tune(&["--higher", "true"]).is_err());
        assert!(tune(&[&pattern[..], &["--higher", "--lower", "true"]].concat()).is_err());
    }

    #[test]
    fn locks_are_named_with_commas() {
        assert_eq!(tune(&["--locks", "a,b", "true"]).unwrap().locks, ["a", "b"]);
        assert!(tune(&["--locks", "a,,b", "true"]).is_err());
        assert!(tune(&["--rounds", "0", "true"]).is_err());
        assert!(tune(&[]).is_err());
    }

    #[test]
    fn the_last_match_counts() {
        let pattern: Pattern = "rate[:=] *([0-9.]+)?".parse().unwrap();
        assert_eq!(pattern.last(b"rate: 1\nx rate=2.5 y\nrate: none"), Some(&b"2.5"[..]));
        assert_eq!(pattern.last(b"\xff rate: 7 \xff"), Some(&b"7"[..]));
        assert_eq!(pattern.last(b"speed: 7"), None);
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        assert!("[".parse::<Pattern>().is_err());
        assert!("[0-9]+".parse::<Pattern>().unwrap_err().contains("parentheses"));
    }
}

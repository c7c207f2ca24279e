//! How a program is run, and what is measured of it: options of each command that starts one.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

/// How the program is run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub struct RunArgs {
    /// Keep the ledgers for `lockwright report`, and print where they are.
    #[arg(long)]
    pub keep: bool,

    /// Directory for ledgers. Each run makes its own directory there.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub ledger_dir: Option<PathBuf>,

    /// Record where each heap block is allocated. Locks without an initialiser (`std::mutex`) then
    /// form classes by the object that they are part of, not by the place that first takes them.
    /// This makes malloc and free slower.
    #[arg(long)]
    pub track_allocations: bool,

    /// Leave out locks that a compiler has inlined: Rust's std::sync and parking_lot. Otherwise the code that takes and
    /// releases them is changed in the process's memory before it runs.
    #[arg(long)]
    pub no_inlined: bool,

    /// Which child processes to watch: `all`, `none`, or those whose executable has one of these
    /// names, in which `*` and `?` match. The program itself is always watched.
    #[arg(long, value_name = "all|none|NAME", value_delimiter = ',', default_value = "all", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub follow: Vec<String>,
}

/// What is measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measurement")]
pub struct MeteringArgs {
    /// Which holds to time: `exact` times every hold; `sample` or `sample:N` times one in N (64) at
    /// random, which is cheaper; `off` times none. Acquisitions are always counted, and waits are
    /// always timed.
    #[arg(long, value_name = "HOW", default_value = "exact")]
    pub hold: HoldTiming,

    /// Record and show each lock of a class separately. This takes more memory.
    #[arg(long)]
    pub instances: bool,

    /// While the program runs, serve the counters of --openmetrics at http://ADDRESS:PORT/metrics, for
    /// Prometheus, and profiles at /debug/pprof/mutex, for `go tool pprof`. With port 0 a free one is
    /// chosen, and said.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
}

/// Which holds are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldTiming {
    /// Every one.
    Exact,
    /// One in so many, at random.
    Sample(u32),
    /// None.
    Off,
}

/// One hold in so many is timed where the user does not say.
const SAMPLE: u32 = 64;

impl FromStr for HoldTiming {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "exact" => Ok(Self::Exact),
            None if text == "off" => Ok(Self::Off),
            None if text == "sample" => Ok(Self::Sample(SAMPLE)),
            Some(("sample", n)) => match n.parse() {
                // What the preload library reads: six digits.
                Ok(n @ 2..=999_999) => Ok(Self::Sample(n)),
                _ => Err(format!("`{n}` is no sampling distance: a number from 2 to 999999")),
            },
            _ => Err("one of exact, sample, sample:N, off".into()),
        }
    }
}

impl fmt::Display for HoldTiming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Sample(n) => write!(f, "sample:{n}"),
            Self::Off => f.write_str("off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_are_timed_as_asked() {
        let hold = |text: &str| text.parse::<HoldTiming>().map(|timing| timing.to_string());
        assert_eq!(hold("exact").unwrap(), "exact");
        assert_eq!(hold("sample").unwrap(), "sample:64");
        assert_eq!(hold("sample:1000").unwrap(), "sample:1000");
        assert_eq!(hold("off").unwrap(), "off");
        for wrong in ["sample:1", "sample:x", "sample:", "often", ""] {
            assert!(hold(wrong).is_err(), "{wrong}");
        }
    }
}

//! What the sections `mutexes` and `rwlocks` of `lockwright-lab bench locks` sweep over.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// What `lockwright-lab bench locks --only mutexes` and `--only rwlocks` sweep over.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sweep of mutexes and rwlocks")]
pub struct SweepArgs {
    /// With `full`, measure every combination in 10 rounds. That takes hours, which the status line
    /// shows.
    #[arg(long, value_name = "HOW", default_value = "quick")]
    pub sweep: SweepOver,

    /// Threads.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<Vec<u16>>,

    /// Lengths of sections, as 0, 100ns, 1us or 2ms.
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = short_time)]
    pub sections: Option<Vec<Duration>>,

    /// Work between two sections, in sections.
    #[arg(long, value_name = "TIMES", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub gaps: Option<Vec<u32>>,

    /// Locks, of which each section takes one at random.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub locks: Option<Vec<u16>>,

    /// Hundredths of the sections of reader-writer locks that only read.
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
    pub reads: Option<Vec<u8>>,

    /// With a further thread on each CPU that never sleeps.
    #[arg(long, value_name = "WHEN")]
    pub hog: Option<Hog>,

    /// Measure only N of the combinations, chosen at random by the seed: an unbiased sample of the
    /// sweep, where all of it would take too long.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub cells: Option<u16>,

    /// Only locks whose name contains one of these.
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    pub among: Vec<String>,

    /// Where the libraries of C and C++ locks are that `cargo xtask bench peers` builds in a source
    /// tree. Without them the report says which locks are missing.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub peers: Option<PathBuf>,

    /// Fail if any of these libraries is missing.
    #[arg(long, requires = "peers")]
    pub complete: bool,

    /// Also write plots there, as SVG: throughput over threads.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub plot: Option<PathBuf>,

    /// Seed for the order of runs and the choice of combinations.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// How much is swept over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SweepOver {
    /// Some minutes.
    Quick,
    /// Hours.
    Full,
}

/// Whether each CPU has something else to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Hog {
    /// Never.
    No,
    /// Always.
    Yes,
    /// Each cell without and with it.
    Both,
}

/// A time that a lock is held for: a number and a unit; 0 needs none.
fn short_time(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| "not a time, as 100ns or 1us".to_owned())?;
    let unit_ns = match unit {
        "" if number == 0 => 1,
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        _ => return Err("a unit is missing: ns, us or ms".to_owned()),
    };
    let time = number.checked_mul(unit_ns).map(Duration::from_nanos);
    time.filter(|time| *time <= Duration::from_secs(1)).ok_or("more than a second".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(short_time("0"), Ok(Duration::ZERO));
        assert_eq!(short_time("100ns"), Ok(Duration::from_nanos(100)));
        assert_eq!(short_time("10us"), Ok(Duration::from_micros(10)));
        for wrong in ["10", "", "us", "1.5us", "2s", "1001ms", "99999999999999999999ns"] {
            assert!(short_time(wrong).is_err(), "{wrong}");
        }
    }
}

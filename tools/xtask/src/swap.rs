//! `cargo xtask swap`: servers and other programs on the locks of the family, for a while.

use std::process::Command;

use clap::Args;

use crate::workspace::{cargo_command, output, succeeds};

/// The tests that do it; without this command each takes a few seconds, on the hybrid mutex.
const TESTS: &str = "swap::real::keeps::";

/// Runs MariaDB, memcached, redis, RocksDB, SQLite and programs that pack under `lockwright swap`,
/// and checks that nothing is lost. What takes more than two minutes for one step hangs.
#[derive(Debug, Args)]
pub struct SwapArgs {
    /// Programs: mariadb, memcached, redis, ...; all of them if none is named.
    #[arg(value_name = "PROGRAM")]
    pub only: Vec<String>,

    /// How long each works on each lock, at the least.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub seconds: u64,

    /// On these locks; `all`: on each that `lockwright swap --lock list` shows.
    #[arg(long, value_name = "LOCKS", default_value = "hybrid")]
    pub locks: String,
}

/// Runs them, one after the other.
///
/// # Errors
/// When something was lost, or is not there.
pub fn run(args: &SwapArgs) -> Result<(), String> {
    let mut listed = tests();
    listed.args(["--list", TESTS]);
    let list = output(listed)?;
    let names: Vec<&str> = list.lines().filter_map(name).collect();
    if let Some(unknown) = args.only.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("there is no {unknown:?}; there are: {}", names.join(", ")));
    }
    let mut tests = tests();
    tests.args(["--test-threads=1", "--nocapture"]);
    match args.only.as_slice() {
        [] => tests.arg(TESTS),
        some => tests.arg("--exact").args(some.iter().map(|name| format!("{TESTS}{name}"))),
    };
    tests.env("LOCKWRIGHT_SWAP_SECONDS", args.seconds.to_string());
    tests.env("LOCKWRIGHT_SWAP_LOCKS", &args.locks);
    // A program that is not installed fails instead of being left out.
    succeeds(tests.env("LOCKWRIGHT_CI", "1"))
}

/// The end to end tests; the caller adds which.
fn tests() -> Command {
    let mut cargo = cargo_command();
    cargo.args(["test", "--quiet", "--package", "lockwright-cli", "--test", "e2e", "--"]);
    cargo
}

/// The program of a line of their list.
fn name(line: &str) -> Option<&str> {
    line.strip_prefix(TESTS)?.strip_suffix(": test")
}

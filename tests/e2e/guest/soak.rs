//! A server under load for a while: what the tool keeps of it does not grow with the work.
//!
//! `LOCKWRIGHT_SOAK_SECONDS=1800 cargo test -p lockwright-cli --test e2e soak::` soaks for half an
//! hour.

use std::time::{Duration, Instant};

use lockwright_ledger::Ledger;

use crate::harness::{Running, Scratch, check, ledgers, native, repeats};
use crate::programs::known;
use crate::programs::mariadb::{Served, Tools, serve};

/// How long it soaks in `cargo xtask test --all`, if `LOCKWRIGHT_SOAK_SECONDS` does not say. Else the rounds are counted.
const WHOLE_SECONDS: u32 = 120;

/// Rounds at the least, however slow the machine. After the first, all that is to be learned has
/// been seen once.
const ROUNDS: usize = 6;

/// What the ledger may gain from the first round to the last: rows for what is rare.
const GROWTH: u64 = 1 << 20;

/// What the process may gain: InnoDB's buffer pool, which fills with old versions of rows; the
/// tool's share is in no way told apart. One object or lock forgotten at each transaction would be
/// more within the half hour.
const RESIDENT: u64 = 96 << 20;

#[test]
fn mariadb_does_not_fill_the_ledger() {
    let Some(tools) = Tools::find() else { return };
    let usual = repeats(WHOLE_SECONDS, 0).into();
    let seconds = std::env::var("LOCKWRIGHT_SOAK_SECONDS").ok();
    let seconds = seconds.map_or(usual, |text| text.parse().expect("a number of seconds"));
    let scratch = Scratch::new();
    let fresh = scratch.join("fresh");
    tools.install(&fresh);

    let mut used = Vec::new();
    let mut resident = Vec::new();
    let job = check(&tools.server);
    let watched = serve(&tools, job, &fresh, &scratch.join("watched"), |s, run, pid| {
        soak(&tools, s, Duration::from_secs(seconds), || {
            used.push(ledger(run));
            resident.push(resident_bytes(pid));
        })
    });
    let rounds = used.len();
    let Served { run, answers } = watched;
    assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
    assert_eq!(run.count("lost"), 0);
    known::judge("mariadb", &run);

    // However many rounds, the tables are as long as without the tool.
    let natively =
        serve(&tools, native(&tools.server), &fresh, &scratch.join("native"), |s, _, _| {
            soak(&tools, s, Duration::ZERO, || ())
        });
    assert_eq!(natively.answers, answers);

    let (first, last) = (used[0], used[rounds - 1]);
    let mut sizes = used;
    sizes.dedup();
    eprintln!("{rounds} rounds: the ledger's bytes were {sizes:?}");
    assert!(last <= first + GROWTH, "in {rounds} rounds: {sizes:?}");
    let (first, last) = (resident[0], resident[rounds - 1]);
    eprintln!("resident from {first} to {last} bytes");
    assert!(last <= first + RESIDENT, "in {rounds} rounds: {resident:?}");
}

/// Rounds of the same load on the same tables until the time is over.
fn soak(
    tools: &Tools,
    socket: &std::path::Path,
    time: Duration,
    mut after: impl FnMut(),
) -> String {
    tools.sql(socket, "CREATE DATABASE bank");
    tools.sysbench(socket, "oltp_read_write", &["prepare"]);
    let begun = Instant::now();
    let mut rounds = 0;
    while rounds < ROUNDS || begun.elapsed() < time {
        let options =
            ["--threads=4", "--events=800", "--time=0", "--mysql-ignore-errors=all", "run"];
        tools.sysbench(socket, "oltp_read_write", &options);
        rounds += 1;
        after();
    }
    tools.sql(socket, "SELECT COUNT(*) FROM bank.sbtest1; CHECK TABLE bank.sbtest1, bank.sbtest2")
}

/// Bytes that the ledger has used.
fn ledger(running: &Running) -> u64 {
    let kept = ledgers(&running.ledger_dir());
    Ledger::open(&kept[0]).expect("readable at any time").header().used
}

/// Bytes of the process that are in memory.
fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

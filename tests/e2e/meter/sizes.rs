//! The size of a ledger on disk.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use super::run::{EXACT, finish, start};
use crate::harness::{ledgers, program, signal, until};

/// Threads, and call sites of each.
const THREADS: u64 = 64;
const SITES: u64 = 1000;

/// The benchmark's: with holds of all lengths, and with waits.
fn many_sites() -> PathBuf {
    program("../../tools/xtask/src/bench/programs/many_sites.c")
}

#[test]
fn many_threads_with_many_sites_fit_into_32_mib() {
    const ROUNDS: u64 = 100;
    let threads = THREADS.to_string();
    let mut running = start(EXACT, &many_sites(), &[&threads, &ROUNDS.to_string()]);
    until("the end", || (!running.is_running()).then_some(()));
    let on_disk: u64 = ledgers(&running.ledger_dir())
        .iter()
        // In blocks of 512: the file itself is as long as it may ever grow.
        .map(|path| fs::metadata(path).expect("a ledger").blocks() * 512)
        .sum();
    assert!(on_disk <= 32 << 20, "{on_disk} bytes");
    let run = finish(running);
    let total = run.report.total();
    assert_eq!(total.acquisitions, THREADS * SITES * ROUNDS);
    assert_eq!(total.hold.count, total.acquisitions);
    assert_eq!(
        total.hold.histogram.count(),
        total.acquisitions,
        "those in shared buckets included"
    );
    assert_eq!(total.wait.histogram.count(), total.contended);
}

#[test]
fn kills_lose_nothing_of_what_is_shared() {
    for delay in [50, 150, 300] {
        let running = start(EXACT, &many_sites(), &[&THREADS.to_string(), "1000000"]);
        let pid = running.program_id();
        std::thread::sleep(Duration::from_millis(delay));
        signal(pid, libc::SIGKILL);
        let total = finish(running).report.total();
        let missing = total.hold.count.checked_sub(total.hold.histogram.count());
        // Each thread may have been counting one.
        assert!(missing.is_some_and(|missing| missing <= THREADS), "{delay} ms: {total:?}");
    }
}

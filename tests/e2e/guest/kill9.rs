//! `kill -9` at random moments: every ledger is readable, nothing published is lost.

use std::time::Duration;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Node, Thread};

use crate::harness::{check_with, ledgers, program, repeats, signal, until};

#[test]
fn kills_lose_nothing() {
    let program = program("pairs.c");
    let mut random = 0x2545_f491_4f6c_dd1du64;
    let mut most = 0;
    for round in 0..repeats(200, 50) {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let delay = Duration::from_micros(random >> 33 & 0x7fff);

        let mut running = check_with(&["--keep", "-o", "/dev/null"], &program).spawn();
        let pid = running.program_id();
        std::thread::sleep(delay);
        signal(pid, libc::SIGKILL);
        until("the end", || (!running.is_running()).then_some(()));

        let kept = ledgers(&running.ledger_dir());
        assert_eq!(kept.len(), 1, "round {round}: {kept:?} {}", running.stderr());
        let ledger = Ledger::open(&kept[0]).unwrap_or_else(|e| panic!("round {round}: {e}"));
        let header = *ledger.header();
        let nested = ledger.rows::<Node>().filter(|(_, node)| node.parent != 0).count() as u64;
        let acquired: u64 = ledger.rows::<Thread>().map(|(_, thread)| thread.acquisitions).sum();

        let run = running.wait();
        let promised = run.stdout.iter().filter(|&&b| b == b'.').count() as u64;
        assert_eq!((header.lost, header.stopped), (0, 0), "round {round}");
        assert!(
            nested >= promised,
            "round {round}: {nested} pairs in the ledger, {promised} promised"
        );
        assert!(
            acquired >= 2 * promised,
            "round {round}: {acquired} acquisitions, {promised} pairs"
        );
        let report = run.report();
        assert!(run.count("contexts") >= promised, "round {round}: {:#}", report["summary"]);
        most = most.max(promised);
    }
    assert!(most > 100, "some runs got somewhere: at most {most} pairs");
}

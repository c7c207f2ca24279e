//! A server that makes a thread for each request: its ledger does not grow, and is whole whenever it
//! is read or the server is killed.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;

use lockwright_ledger::rows::{Evidence, Hold, Node, Segment, Thread, segment_kind};
use lockwright_ledger::{Header, Ledger};

use crate::harness::{check_with, ledgers, program, repeats, signal, under, until};

/// Threads of two runs: the first are enough for all that a ledger is to keep.
const FEW: &str = "8000";
const MANY: &str = "24000";

/// What the second may have more: threads overlap by chance, so rows are removed at other times.
/// 410 bytes for each thread were 6.5 MB.
const MORE: u64 = 1 << 20;

/// What a ledger has.
#[derive(Debug)]
struct Size {
    used: u64,
    threads: usize,
    segments: usize,
    nodes: usize,
    holds: usize,
}

impl Size {
    fn of(ledger: &Ledger) -> Self {
        Self {
            used: ledger.header().used,
            threads: ledger.rows::<Thread>().count(),
            segments: ledger.rows::<Segment>().count(),
            nodes: ledger.rows::<Node>().count(),
            holds: ledger.rows::<Hold>().count(),
        }
    }
}

/// The ledger after so many requests, and the report's text.
fn after(command: &str, arguments: &[&str]) -> (Size, String) {
    let mut running =
        under(command, &["--keep", "--all"], program("requests.c")).args(arguments).spawn();
    let dir = running.ledger_dir();
    until("the end", || (!running.is_running()).then_some(()));
    let kept = ledgers(&dir);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let ledger = Ledger::open(&kept[0]).expect("a ledger");
    assert_eq!((ledger.header().lost, ledger.header().stopped), (0, 0));
    let (size, run) = (Size::of(&ledger), running.wait());
    assert_eq!(run.text().trim(), arguments[0], "{}", run.stderr);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    (size, run.stderr.clone())
}

#[test]
fn the_ledger_of_a_steady_server_does_not_grow() {
    for command in ["check", "run"] {
        let (few, _) = after(command, &[FEW]);
        let (many, _) = after(command, &[MANY]);
        eprintln!("{command}: {few:?}, {many:?}");
        assert!(many.used <= few.used + MORE, "{command}: {few:?}, {many:?}");
        assert!(many.threads <= 16_384 && many.segments <= 32_768, "{command}: {many:?}");
        assert!(many.nodes <= few.nodes + 64, "{command}: {few:?}, {many:?}");
    }
}

/// Each thread takes the lock that its creator held.
#[test]
fn the_ledger_of_a_server_that_creates_threads_with_a_lock_held_does_not_grow() {
    let (few, _) = after("check", &[FEW, "held"]);
    let (many, text) = after("check", &[MANY, "held"]);
    eprintln!("{few:?}, {many:?}");
    assert!(many.used <= few.used + MORE, "{few:?}, {many:?}");
    assert!(many.holds < 1 << 13 && many.segments <= 32_768, "{many:?}");
    assert!(!text.contains("were created with locks held more often"), "{text}");
}

/// After so many threads, each created with a lock held that it takes, two more are created so. Two that
/// take two locks in both orders can still deadlock. If instead the creator takes the two before it
/// releases the first lock, the thread never meets it.
#[test]
fn an_inversion_after_many_threads_created_with_a_lock_held_is_likely() {
    for count in ["0", "20000"] {
        for (locks, grade) in [("inverted", "likely"), ("ordered", "ordered")] {
            let program = program("created_under_lock.c");
            let run = check_with(&["--all"], program).args([locks, count]).run();
            let expected = [("circular-dependency", grade)];
            assert_eq!(run.verdicts(), expected, "{locks} {count}: {}", run.stderr);
        }
    }
}

/// Each thread comes after a routine of `pthread_once` by one segment, however often it calls, and though
/// its row was another thread's that had called, too.
#[test]
fn each_thread_comes_after_a_routine_once_also_in_a_row_that_another_had() {
    // Of so many, most have had a row that another had before.
    for count in [1, 4000] {
        let mut running = check_with(&["--keep", "-o", "/dev/null"], program("once_requests.c"))
            .args([count.to_string()])
            .spawn();
        let dir = running.ledger_dir();
        until("the end", || (!running.is_running()).then_some(()));
        let ledger = Ledger::open(&ledgers(&dir)[0]).expect("a ledger");
        let (last, _) = ledger.rows::<Thread>().max_by_key(|(id, _)| *id).expect("threads");
        assert_eq!(last, count + 1);
        assert!(ledger.rows::<Thread>().count() < 2000, "rows are used again");
        let after = |row: &Segment| row.kind == segment_kind::INITIALISED && row.thread == last;
        let peers: Vec<u32> = ledger
            .rows::<Segment>()
            .filter(|(_, row)| after(row))
            .map(|(_, row)| row.peer)
            .collect();
        assert_eq!(peers.len(), 1, "{count}: {peers:?}");
        let routine = ledger.get::<Segment>(peers[0]).expect("the segment in which it ended");
        assert_eq!(routine.thread, 1);
        running.wait();
    }
}

/// One thread after the other, each joined before the next: all that they did is in one order. What the
/// first thread did, which waits for them, is not.
fn assert_in_one_order(ledger: &Ledger) {
    let (first, _) = ledger.rows::<Thread>().next().expect("a thread");
    let of_request = |&segment: &u32| {
        ledger.get::<Segment>(segment).expect("what has evidence is there").thread != first
    };
    let segments = ledger.rows::<Evidence>().map(|(_, row)| row.segment);
    let segments: BTreeSet<u32> = segments.filter(of_request).collect();
    assert!(segments.len() > 64, "{} segments", segments.len());
    // A segment's past has lower numbers.
    for (&first, &last) in segments.iter().zip(segments.iter().skip(1)) {
        let (mut open, mut seen) = (vec![last], HashSet::new());
        while let Some(at) = open.pop().filter(|_| !seen.contains(&first)) {
            let row = ledger.get::<Segment>(at).unwrap_or_default();
            open.extend(
                [row.prev, row.peer].into_iter().filter(|&id| id >= first && seen.insert(id)),
            );
        }
        assert!(seen.contains(&first), "{first} does not come before {last}");
    }
}

const KILLS: u32 = 12;

#[test]
fn a_server_that_is_read_at_any_time_and_killed_at_any_time_leaves_a_whole_ledger() {
    let program = program("requests.c");
    let (mut in_removal, mut looks) = (0, 0);
    for round in 0..KILLS {
        let mut running = check_with(&["--keep", "-o", "/dev/null"], &program).spawn();
        let pid = running.program_id();
        let has_served = |out: Vec<u8>| out.iter().filter(|&&byte| byte == b'.').count() >= 2;
        until("threads enough", || has_served(running.stdout()).then_some(()));
        let dir = running.ledger_dir();
        for _ in 0..5 {
            let ledger = Ledger::open(&ledgers(&dir)[0]).expect("readable at any time");
            if !ledger.is_torn() {
                assert_in_one_order(&ledger);
                looks += 1;
            }
        }
        signal(pid, libc::SIGKILL);
        until("the end", || (!running.is_running()).then_some(()));
        let ledger = Ledger::open(&ledgers(&dir)[0]).unwrap_or_else(|e| panic!("{round}: {e}"));
        assert!(!ledger.is_torn(), "round {round}");
        assert_eq!(ledger.header().lost, 0, "round {round}");
        assert_in_one_order(&ledger);
        in_removal += ledger.header().removals & 1;
        let run = running.wait();
        assert_eq!(run.verdicts(), [], "{}", run.stderr);
    }
    eprintln!("{looks} copies of running servers; {in_removal} of {KILLS} killed in a removal");
    assert!(looks > 0);
}

/// A removal of rows from the ledger is under way.
fn is_removing(ledger: &File) -> bool {
    let mut word = [0; 4];
    ledger.read_exact_at(&mut word, offset_of!(Header, removals) as u64).expect("a header");
    u32::from_ne_bytes(word) & 1 == 1
}

/// All threads of the process have stopped.
fn has_stopped(pid: u32) -> bool {
    let mut tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process");
    tasks.all(|task| {
        let stat = std::fs::read_to_string(task.expect("a thread").path().join("stat"));
        // A thread that has ended meanwhile does nothing any more.
        stat.map_or(true, |stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T")))
    })
}

/// Stops the process in the midst of a removal.
fn stop_in_removal(pid: u32, ledger: &Path) {
    let ledger = File::open(ledger).expect("a ledger");
    until("a stop in a removal", || {
        // The process looks at rows for longer than a removal takes.
        (0..1_000_000).find(|_| is_removing(&ledger))?;
        signal(pid, libc::SIGSTOP);
        until("the stop", || has_stopped(pid).then_some(()));
        is_removing(&ledger).then_some(()).or_else(|| {
            signal(pid, libc::SIGCONT);
            None
        })
    });
}

/// The next reader finds what the removal had done by then. Requests take two locks in both orders, one
/// after the other: an order that is lost would show as a likely deadlock. A possible one is found of any
/// ledger of so many threads, as it has no evidence of those between the first and the last.
#[test]
fn a_server_killed_in_the_midst_of_a_removal_leaves_a_whole_ledger_and_no_false_finding() {
    let program = program("requests.c");
    for round in 0..repeats(KILLS, 5) {
        let mut running =
            check_with(&["--keep", "-o", "/dev/null"], &program).args(["-1", "both"]).spawn();
        let pid = running.program_id();
        until("requests", || running.stdout().contains(&b'.').then_some(()));
        let dir = running.ledger_dir();
        stop_in_removal(pid, &ledgers(&dir)[0]);
        signal(pid, libc::SIGKILL);
        until("the end", || (!running.is_running()).then_some(()));
        let ledger = Ledger::open(&ledgers(&dir)[0]).unwrap_or_else(|e| panic!("{round}: {e}"));
        assert_eq!(ledger.header().removals & 1, 1, "round {round}");
        assert!(!ledger.is_torn(), "round {round}");
        assert_eq!(ledger.header().lost, 0, "round {round}");
        assert_in_one_order(&ledger);
        let run = running.wait();
        let is_possible =
            |&(kind, grade): &(&str, &str)| (kind, grade) == ("circular-dependency", "possible");
        assert!(run.verdicts().iter().all(is_possible), "{:?}", run.verdicts());
    }
}

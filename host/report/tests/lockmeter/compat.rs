//! lockmeter's table: the layout of one that it printed, and none of its faults.

use lockwright_ledger::rows::lock_kind;
use lockwright_ledger::rows::meter::{Cell, Meter, Readers, blame_kind};
use lockwright_report::lockmeter::compat::{CompatOptions, NOT_COPIED, Thresholds, render};
use std::sync::atomic::Ordering::Relaxed;

use super::ledger::{Counts, MS, Process, US, measure};

/// The sites of `kernel_flag` in a published table of Linux 2.4.17 under dbench on 8 processors:
/// place, requests, contended ones, sum of holds in us, the longest in ns, and the same of the
/// waits. The sums are those that its rounded means, utilisations and processor times leave room
/// for, if 194.6 s were measured.
const DBENCH: &[(&str, u64, u64, u64, u64, u64, u64)] = &[
    ("do_exit+0xd8", 193, 44, 1488223, 55000000, 103972, 37000000),
    ("ext2_delete_inode+0x20", 153921, 22934, 4905406, 1510000, 481614, 6383000),
    ("ext2_discard_prealloc+0x20", 756626, 285248, 1011818, 345000, 8873760, 8684000),
    ("ext2_get_block+0x54", 1939931, 694495, 16320758, 937000, 27779800, 23000000),
    ("lookup_hash+0x7c", 77244, 28426, 2820553, 706000, 1485662, 32000000),
    ("notify_change+0x50", 20480, 3830, 155648, 383000, 68940, 662000),
    ("open_namei+0x444", 20480, 6205, 12288, 62000, 223380, 4789000),
    ("open_namei+0x4dc", 559692, 254660, 505960, 385000, 7628320, 7313000),
    ("real_lookup+0x64", 8881, 2886, 202076, 513000, 129870, 4047000),
    ("schedule+0x508", 1072, 675, 120064, 28000000, 25650, 487000),
    ("sys_lseek+0x70", 4477600, 1343280, 4475800, 432000, 54834620, 14000000),
    ("sys_rename+0x19c", 31200, 9953, 2616150, 1109000, 386195, 6229000),
    ("vfs_create+0x9c", 153770, 65660, 138327, 444000, 2035460, 6619000),
    ("vfs_create+0xf8", 153770, 25218, 9533740, 1026000, 556142, 5356000),
    ("vfs_mkdir+0x94", 1772, 1414, 3721, 59000, 55146, 455000),
    ("vfs_mkdir+0xf4", 1772, 510, 210868, 500000, 24480, 806000),
    ("vfs_readdir+0x68", 4, 3, 136, 84000, 60, 32000),
    ("vfs_rmdir+0x118", 1919, 649, 1151, 49000, 247269, 42000000),
    ("vfs_rmdir+0x1c4", 1919, 393, 53732, 850000, 23187, 2681000),
    ("vfs_statfs+0x4c", 3, 1, 23, 7900, 8, 8000),
    ("vfs_unlink+0x114", 153761, 49357, 103487, 241000, 1771247, 8798000),
    ("vfs_unlink+0x17c", 153761, 18913, 7823115, 905000, 378260, 8115000),
    // What the table as published leaves out of the lock's own line.
    ("~rest+0x1", 154203, 61862, 428_154, 100_000, 3_917_414, 100_000),
];

const DBENCH_NS: u64 = 194_600_000_000;

fn options(contention: f64, utilisation: f64) -> CompatOptions {
    CompatOptions { thresholds: Thresholds { contention, utilisation } }
}

fn table(processes: &[&Process]) -> String {
    render(&measure(processes), &options(0.0, 0.0))
}

/// The lines of a section.
fn section<'t>(text: &'t str, title: &str) -> Vec<&'t str> {
    text.lines()
        .skip_while(|line| !line.starts_with(title))
        .take_while(|line| !line.starts_with("- -") && !line.starts_with("__"))
        .collect()
}

/// The line of a place or lock.
fn line<'t>(lines: &[&'t str], name: &str) -> &'t str {
    lines
        .iter()
        .find(|line| line.ends_with(&format!(" {name}")))
        .unwrap_or_else(|| panic!("{lines:#?}"))
}

#[test]
fn a_published_table_comes_out_as_it_was_printed() {
    let mut p = Process::new(1, 0);
    p.ran_for(DBENCH_NS);
    let lock = p.mutex("kernel_flag");
    for &(place, acquisitions, contended, hold_us, hold_max, wait_us, wait_max) in DBENCH {
        let site = p.site(lock, &[place]);
        p.push(Cell {
            site,
            acquisitions,
            holds: acquisitions,
            hold_ticks: hold_us * US,
            hold_max,
            contended,
            wait_ticks: wait_us * US,
            wait_max,
            ..Cell::default()
        });
    }
    let text = table(&[&p]);
    let expected = include_str!("../../../../tests/golden/meter-compat-kernel-flag.txt");
    let lines = section(&text, "SPINLOCKS");
    assert_eq!(
        lines[..3],
        [
            "SPINLOCKS         HOLD            WAIT",
            "  UTIL  CON    MEAN(  MAX )   MEAN(  MAX )(% CPU)     TOTAL NOWAIT SPIN RJECT  NAME",
            "",
        ]
    );
    assert_eq!(
        line(&lines, "*TOTAL*"),
        "       32.6%  6.0us(  55ms)   39us(  42ms)( 7.1%)   8823974 67.4% 32.6%    0%  *TOTAL*"
    );
    let shown: Vec<_> =
        lines[5..].iter().filter(|line| !line.is_empty() && !line.ends_with("~rest+0x1")).collect();
    for (shown, expected) in shown.iter().zip(expected.lines()) {
        assert_eq!(**shown, expected);
    }
    assert_eq!(shown.len(), expected.lines().count());
}

/// lockmeter knew return addresses: an inlined function's are in what it was inlined into.
#[test]
fn what_is_inlined_into_several_functions_has_several_callers() {
    let mut p = Process::new(1, 0);
    let class = p.mutex("lock");
    for (function, acquisitions) in [("first", 2), ("second", 3)] {
        let site = p.site(class, &["inline push:7", function]);
        p.push(Cell { site, acquisitions, ..Cell::default() });
    }
    let text = table(&[&p]);
    let lines = section(&text, "SPINLOCKS");
    for (name, total) in [("lock", 5), ("first+0x1c", 2), ("second+0x1c", 3)] {
        let line = line(&lines, name);
        assert!(line.contains(&format!("{total:10}  100%")), "{line}");
    }
}

#[test]
fn spinlocks_and_mutexes_share_a_section_and_rwlocks_have_two() {
    let mut p = Process::new(1, 0);
    let (mutex, spin) = (p.mutex("mutex"), p.lock("spin", lock_kind::SPIN));
    let rwlock = p.lock("table", lock_kind::RWLOCK);
    for (class, place) in [(mutex, "a"), (spin, "b"), (rwlock, "c")] {
        let site = p.site(class, &[place]);
        p.cell(site, &Counts { holds: vec![20 * US], ..Counts::default() });
    }
    let read = p.read_site(rwlock, &["d"]);
    let waits = vec![3 * US];
    p.cell(read, &Counts { holds: vec![MS, 2 * MS], waits, readers_max: 2, ..Counts::default() });
    p.push(Readers {
        class: rwlock,
        max: 2,
        periods: 1,
        ticks: 2 * MS,
        max_ticks: 2 * MS,
        ..Readers::default()
    });
    let text = table(&[&p]);
    let spinlocks = section(&text, "SPINLOCKS");
    line(&spinlocks, "mutex");
    assert_eq!(
        line(&spinlocks, "spin"),
        " 0.00%    0%   20us(  20us)    0us                        1  100%    0%    0%  spin"
    );
    let reads = section(&text, "RWLOCK READS");
    assert_eq!(
        reads[3..],
        [
            "       50.0%                               3.0us( 3.0us)(0.00%)         2 50.0% 50.0%  *TOTAL*",
            "",
            " 0.20% 50.0%  1500us     2 2000us(2000us)  3.0us( 3.0us)(0.00%)         2 50.0% 50.0%  table",
            "       50.0%                               3.0us( 3.0us)(0.00%)         2 50.0% 50.0%    d+0x1c",
            "",
        ]
    );
    let writes = section(&text, "RWLOCK WRITES");
    assert_eq!(
        writes[3..6],
        [
            "          0%   20us(  20us)    0us                   0us                 1  100%    0%(   0%)  *TOTAL*",
            "",
            " 0.00%    0%   20us(  20us)    0us                   0us                 1  100%    0%(   0%)  table",
        ]
    );
}

#[test]
fn a_place_that_takes_several_locks_stands_alone() {
    let mut p = Process::new(1, 0);
    for name in ["one", "two"] {
        let class = p.mutex(name);
        for place in [name, "both"] {
            let site = p.site(class, &[place]);
            p.cell(site, &Counts { holds: vec![MS; 3], ..Counts::default() });
        }
    }
    let text = table(&[&p]);
    let lines = section(&text, "SPINLOCKS");
    let names: Vec<_> = lines[3..].iter().map(|line| line.get(77..).unwrap_or("")).collect();
    assert_eq!(
        names,
        [
            "  *TOTAL*",
            "",
            "  one",
            "    one+0x1c",
            "",
            "  two",
            "    two+0x1c",
            "",
            "  both+0x1c",
            ""
        ]
    );
    let total = |name: &str| line(&lines, name)[49..59].trim().parse::<u64>().unwrap();
    assert_eq!(["*TOTAL*", "one", "two", "both+0x1c"].map(total), [12, 3, 3, 6]);
}

#[test]
fn thresholds_select_locks_and_leave_totals() {
    let mut p = Process::new(1, 0);
    for (name, waits, hold) in [("busy", 5, MS), ("long", 0, 500 * MS), ("idle", 0, US)] {
        let class = p.mutex(name);
        let site = p.site(class, &[name]);
        let waits = vec![MS; waits];
        p.cell(site, &Counts { holds: vec![hold; 10], waits, ..Counts::default() });
    }
    let report = measure(&[&p]);
    let shown = |contention, utilisation| {
        let text = render(&report, &options(contention, utilisation));
        let lines = section(&text, "SPINLOCKS");
        assert_eq!(line(&lines, "*TOTAL*")[49..59].trim(), "30");
        ["busy", "long", "idle"]
            .map(|name| lines.iter().any(|line| line.ends_with(&format!("  {name}"))))
    };
    assert_eq!(shown(0.0, 0.0), [true, true, true]);
    assert_eq!(shown(0.5, 0.0), [true, false, false]);
    assert_eq!(shown(0.0, 0.5), [false, true, false]);
    assert_eq!(shown(0.5, 0.5), [false, false, false]);
}

#[test]
fn callers_are_functions_that_have_code() {
    let mut p = Process::new(1, 0);
    let class = p.mutex("lock");
    for place in ["f+0x100", "f+0x20", "std::mutex::lock", "e"] {
        let site = p.site(class, &[place, "main+0x9"]);
        p.cell(site, &Counts { holds: vec![MS], ..Counts::default() });
    }
    let text = table(&[&p]);
    let callers: Vec<_> = section(&text, "SPINLOCKS")
        .iter()
        .filter_map(|line| line.get(81..).filter(|_| line[77..].starts_with("    ")))
        .collect();
    assert_eq!(callers, ["e+0x1c", "f+0x20", "f+0x100", "main+0x9"]);
}

/// Fault: writer-writer waits counted twice in WAIT (ALL).
#[test]
fn writer_writer_waits_are_counted_once() {
    let mut p = Process::new(1, 0);
    let class = p.lock("table", lock_kind::RWLOCK);
    let read = p.read_site(class, &["read"]);
    let (a, b) = (p.site(class, &["a"]), p.site(class, &["b"]));
    p.cell(read, &Counts { holds: vec![MS], ..Counts::default() });
    // Six of ten waits of 2 ms were for the other writer, and four for readers.
    let blame = vec![(blame_kind::HOLDER, b, 6, 12 * MS), (blame_kind::HOLDER, read, 4, 8 * MS)];
    let waits = vec![2 * MS; 10];
    p.cell(a, &Counts { holds: vec![MS; 20], waits, blame, ..Counts::default() });
    // Five, all for writers, the longest 3 ms.
    let blame = vec![(blame_kind::HOLDER, a, 5, 7 * MS)];
    let waits = vec![MS, MS, MS, MS, 3 * MS];
    p.cell(b, &Counts { holds: vec![MS; 20], waits, blame, ..Counts::default() });
    let text = table(&[&p]);
    let lines = section(&text, "RWLOCK WRITES");
    assert_eq!(
        line(&lines, "a+0x1c"),
        "  2.0% 50.0% 1000us(1000us) 2000us(2000us)(0.25%) 2000us(   ?  )        20 50.0% 20.0%(30.0%)    a+0x1c"
    );
    assert_eq!(
        line(&lines, "b+0x1c"),
        "  2.0% 25.0% 1000us(1000us) 1400us(3000us)(0.09%) 1400us(3000us)        20 75.0%    0%(25.0%)    b+0x1c"
    );
    // 27 ms of waits in all, of 15: what counts twice would have 46 ms.
    assert!(
        line(&lines, "table").contains(" 1800us(3000us)(0.34%) 1727us(   ?  )        40"),
        "{lines:#?}"
    );
}

/// The longest wait of all is the longest for a writer only if there were no others.
#[test]
fn the_longest_wait_for_a_writer_is_not_one_for_readers() {
    let mut p = Process::new(1, 0);
    let class = p.lock("table", lock_kind::RWLOCK);
    let read = p.read_site(class, &["read"]);
    let (a, b) = (p.site(class, &["a"]), p.site(class, &["b"]));
    p.cell(read, &Counts { holds: vec![MS], ..Counts::default() });
    let wait = |holder, ns| vec![(blame_kind::HOLDER, holder, 1, ns)];
    let (waits, blame) = (vec![9 * MS], wait(read, 9 * MS));
    p.cell(a, &Counts { holds: vec![MS], waits, blame, ..Counts::default() });
    // Woken, it had to wait for a processor.
    let (waits, mut blame) = (vec![2 * MS], wait(a, MS));
    blame.push((blame_kind::HOLDER, 0, 1, MS));
    p.cell(b, &Counts { holds: vec![MS], waits, blame, ..Counts::default() });
    let text = table(&[&p]);
    let lines = section(&text, "RWLOCK WRITES");
    assert!(line(&lines, "a+0x1c").contains("(9000us)(0.11%)    0us           "), "{lines:#?}");
    assert!(line(&lines, "b+0x1c").contains(") 1000us(2000us)"), "{lines:#?}");
    assert!(line(&lines, "table").contains("(9000us)(0.14%) 1000us(   ?  )"), "{lines:#?}");
}

/// Fault: HOLD MEAN divided by attempts, rejects included.
#[test]
fn hold_mean_is_over_holds() {
    let mut p = Process::new(1, 0);
    let class = p.mutex("lock");
    let site = p.site(class, &["try"]);
    p.cell(
        site,
        &Counts { holds: vec![100 * US; 2], rejects: 6, timeouts: 0, ..Counts::default() },
    );
    let text = table(&[&p]);
    let expected =
        " 0.02% 75.0%  100us( 100us)    0us                        8 25.0%    0% 75.0%    try+0x1c";
    assert_eq!(line(&section(&text, "SPINLOCKS"), "try+0x1c"), expected);
}

/// Fault: 32-bit counters.
#[test]
fn counters_have_64_bits() {
    let mut p = Process::new(1, 0);
    let class = p.mutex("lock");
    let site = p.site(class, &["f"]);
    let acquisitions = (1 << 33) + 1;
    p.push(Cell { site, acquisitions, rejects: 1 << 32, ..Cell::default() });
    let text = table(&[&p]);
    assert!(
        line(&section(&text, "SPINLOCKS"), "lock").contains("12884901889 66.7%    0% 33.3%"),
        "{text}"
    );
}

/// Fault: tables of fixed size, whose overflow the report keeps to itself.
#[test]
fn losses_are_announced_at_the_head() {
    let mut p = Process::new(1, 0);
    assert!(table(&[&p]).contains("\n0 records lost.\n"));
    p.writer().header().lost.store(3, Relaxed);
    p.push(Meter { lost: 4, ..Meter::default() });
    let text = table(&[&p]);
    let (head, _) = text.split_once("SPINLOCKS").unwrap();
    assert!(head.contains("WARNING: 7 records lost"), "{head}");
    // And all places of the program stay apart, however many.
    let class = p.mutex("lock");
    for place in 0..3000 {
        let site = p.site(class, &[&format!("place{place}")]);
        p.push(Cell { site, acquisitions: 1, ..Cell::default() });
    }
    let text = table(&[&p]);
    let lines = section(&text, "SPINLOCKS");
    assert_eq!(lines.iter().filter(|line| line.contains("    place")).count(), 3000);
}

/// Fault: the longest of all periods shown as that of the last one.
#[test]
fn the_longest_is_of_this_measurement() {
    let of = |holds: Vec<u64>| {
        let mut p = Process::new(1, 0);
        let class = p.mutex("lock");
        let site = p.site(class, &["f"]);
        p.cell(site, &Counts { holds, ..Counts::default() });
        let text = table(&[&p]);
        line(&section(&text, "SPINLOCKS"), "lock")[12..27].to_owned()
    };
    assert_eq!([of(vec![50 * MS]), of(vec![MS])], ["   50ms(  50ms)", " 1000us(1000us)"]);
}

#[test]
fn the_head_says_what_is_different() {
    let text = table(&[&Process::new(1, 0)]);
    for fault in NOT_COPIED {
        assert!(text.contains(fault), "{fault}");
    }
    assert!(text.contains("Program: server --fast\n") && text.contains("All (8) CPUs"), "{text}");
    assert!(line(&section(&text, "SPINLOCKS"), "*TOTAL*").contains("         0    0%    0%    0%"));
}

#[test]
fn places_that_asked_for_nothing_have_no_line() {
    let mut p = Process::new(1, 0);
    let class = p.mutex("lock");
    let (asks, again) = (p.site(class, &["asks"]), p.site(class, &["again"]));
    p.cell(asks, &Counts { holds: vec![US], ..Counts::default() });
    p.cell(again, &Counts::default());
    let text = table(&[&p]);
    assert!(text.contains("asks+0x1c") && !text.contains("again+0x1c"), "{text}");
}

#[test]
fn the_page_has_every_fault_and_its_test() {
    let page = include_str!("../../../../docs/lockmeter.md");
    let tests = [
        include_str!("compat.rs"),
        include_str!("model.rs"),
        include_str!("../../../../tests/e2e/output/lockmeter_faults.rs"),
        include_str!("../../../../tests/e2e/meter/full.rs"),
        include_str!("../../../../tests/e2e/meter/inflation.rs"),
        include_str!("../../../../tests/e2e/meter/times.rs"),
    ];
    for fault in NOT_COPIED {
        assert!(page.contains(&format!("| {fault} | `")), "{fault}");
    }
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.ends_with("` |"));
    let mut named = 0;
    for name in rows.filter_map(|row| row.rsplit(" | ").next()).flat_map(|cell| cell.split('`')) {
        if name.contains('_') {
            let is_test = tests.iter().any(|test| test.contains(&format!("#[test]\nfn {name}(")));
            assert!(is_test, "no test {name}");
            named += 1;
        }
    }
    assert!(named > NOT_COPIED.len(), "{named}");
}

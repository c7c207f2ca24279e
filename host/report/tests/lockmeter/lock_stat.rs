//! The table of /proc/lock_stat: each column where the sample in the kernel's
//! Documentation/locking/lockstat.rst has it, and read back as the tools do that read the kernel's.

use std::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::meter::{Cell, Site, blame_kind};
use lockwright_ledger::rows::{lock_kind, mode};
use lockwright_report::lockmeter::compat::{CompatOptions, render_lock_stat};

use super::ledger::{Counts, MS, Process, US, measure};

fn table(process: &Process) -> String {
    render_lock_stat(&measure(&[process]), &CompatOptions::default())
}

/// An rwlock with the numbers of one line each, and a mutex that nobody waited for.
fn sample() -> Process {
    let mut p = Process::new(1, 0);
    p.writer().header().bounces.store(1, Relaxed);
    let lock = p.lock("accounts", lock_kind::RWLOCK);
    let writes = Site {
        class: lock,
        contended_bounces: 46,
        wait_least: !260,
        bounces: 47_291,
        hold_least: !160,
        ..Site::default()
    };
    let write = p.site_with(writes, &["transfer+0x57"]);
    let reads = Site {
        class: lock,
        mode: mode::READ,
        contended_bounces: 37,
        wait_least: !1_310,
        bounces: 212_344,
        hold_least: !100,
        ..Site::default()
    };
    let read = p.site_with(reads, &["total+0x1d4"]);
    let waited =
        |blame: &[(u32, u32, u64, u64)]| Counts { blame: blame.to_vec(), ..Counts::default() };
    // The holders that each waited for: cells without counts of their own.
    p.cell(
        write,
        &waited(&[(blame_kind::HOLDER, read, 80, US), (blame_kind::HOLDER, write, 4, US)]),
    );
    p.cell(read, &waited(&[(blame_kind::HOLDER, write, 100, US), (blame_kind::HOLDER, 0, 3, US)]));
    p.push(Cell {
        site: write,
        contended: 84,
        wait_max: 939_100,
        wait_ticks: 16_371_530,
        acquisitions: 2_922_365,
        holds: 2_922_365,
        hold_max: 2_220_301_690,
        hold_ticks: 17_464_026_916_320,
        ..Cell::default()
    });
    p.push(Cell {
        site: read,
        contended: 100,
        wait_max: 299_502_610,
        wait_ticks: 325_629_520,
        acquisitions: 34_316_685,
        holds: 34_316_685,
        hold_max: 7_744_910,
        hold_ticks: 95_016_910_200,
        ..Cell::default()
    });
    let quiet = p.mutex("quiet");
    let once = Site { class: quiet, hold_least: !500, ..Site::default() };
    let site = p.site_with(once, &["main+0x10"]);
    p.push(Cell {
        site,
        acquisitions: 1,
        holds: 1,
        hold_ticks: 500,
        hold_max: 500,
        ..Cell::default()
    });
    p
}

#[test]
fn each_column_stands_where_the_kernels_does() {
    let text = table(&sample());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "lock_stat version 0.4");
    assert_eq!(lines[1], "-".repeat(221));
    let titles = concat!(
        "                              class name    con-bounces    contentions   waittime-min",
        "   waittime-max waittime-total   waittime-avg    acq-bounces   acquisitions   holdtime-min",
        "   holdtime-max holdtime-total   holdtime-avg"
    );
    assert_eq!(lines[2], titles);
    assert_eq!(lines[3], "-".repeat(221));
    let expected = [
        "",
        concat!(
            "                              accounts-W:            46             84           0.26",
            "         939.10       16371.53         194.90          47291        2922365           0.16",
            "     2220301.69 17464026916.32        5975.99"
        ),
        concat!(
            "                              accounts-R:            37            100           1.31",
            "      299502.61      325629.52        3256.30         212344       34316685           0.10",
            "        7744.91    95016910.20           2.77"
        ),
        "                              ----------",
        "                                accounts            100          [<00000000000101d4>] total+0x1d4/0x1d4",
        "                                accounts             84          [<0000000000000057>] transfer+0x57/0x57",
        "                              ----------",
        "                                accounts            104          [<0000000000000057>] transfer+0x57/0x57",
        "                                accounts             80          [<00000000000101d4>] total+0x1d4/0x1d4",
        "",
    ];
    assert_eq!(lines[4..4 + expected.len()], expected, "{text}");
    assert_eq!(lines[14], ".".repeat(221));
    assert_eq!(lines[15], "");
    let quiet = concat!(
        "                                   quiet:             0              0           0.00",
        "           0.00           0.00           0.00              0              1           0.50",
        "           0.50           0.50           0.50"
    );
    assert_eq!(lines[16], quiet);
    assert_eq!(lines.len(), 17, "nobody waited for the last: it has no points");
}

/// What readers of lock_stat do: a class is a line with a colon, its values are the words after the
/// last one.
fn read_back(text: &str) -> Vec<(String, Vec<f64>)> {
    let classes = text.lines().filter_map(|line| line.rsplit_once(':'));
    let read = |(name, values): (&str, &str)| {
        let values = values.split_whitespace().map(|value| value.parse().expect("a number"));
        (name.trim().to_owned(), values.collect())
    };
    classes.map(read).collect()
}

#[test]
fn readers_of_the_format_survive_whatever_a_lock_is_called() {
    let mut p = Process::new(1, 0);
    let names = [
        "plain",
        "std::map<int, a b>::lock",
        "a very long name of a lock that does not fit the forty columns there are: x",
        "another very long name of a lock that does not fit the forty columns there are: x",
    ];
    for name in names {
        let class = p.mutex(name);
        let site = p.site(class, &["operator new(unsigned long)+0x3"]);
        let counts = Counts { holds: vec![MS], waits: vec![MS], ..Counts::default() };
        p.cell(site, &counts);
    }
    let text = table(&p);
    // Bounces were not counted: that is said, in a line that is no class.
    assert!(
        text.starts_with("lock_stat version 0.4\n*WARNING* bounces were not counted"),
        "{text}"
    );
    let classes = read_back(&text);
    assert_eq!(classes.len(), names.len(), "{text}");
    let mut seen = std::collections::HashSet::new();
    for (name, values) in &classes {
        assert!(!name.contains(char::is_whitespace) && name.len() <= 40, "{name:?}");
        assert!(seen.insert(name), "{name} is there twice");
        assert_eq!(values.len(), 12, "{text}");
        // What is known is there: the least is that of the distribution.
        assert!((values[2] - 1000.0).abs() < 10.0 && (values[8] - 1000.0).abs() < 10.0, "{text}");
        assert_eq!((values[0], values[1], values[6], values[7]), (0.0, 1.0, 0.0, 1.0), "{text}");
    }
    for line in text.lines().filter(|line| line.contains("[<")) {
        assert_eq!(line.split_whitespace().count(), 4, "name, count, address, symbol: {line}");
        assert_eq!(line.find("[<"), Some(65), "{line}");
    }
}

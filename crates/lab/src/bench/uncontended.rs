//! What a lock costs that nobody else wants: acquisition and release in a thread that is not alone in its
//! process, as C libraries skip atomic instructions in one that is.

use std::hint::black_box;
use std::sync::mpsc;
use std::time::Instant;

use lockwright::platform::linux::Linux;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock};
use serde_json::json;

use super::report::Section;
use super::{Options, glibc};
use crate::stats;

pub const NAME: &str = "uncontended";

/// Pairs in one run of a row: about a millisecond.
const PAIRS: u32 = 100_000;

/// A lock and a way to take it.
struct Row {
    name: &'static str,
    /// Nanoseconds of a pair, by one run.
    run: fn() -> f64,
}

/// A row: an expression that makes the lock, and one that takes and releases it.
macro_rules! row {
    ($name:literal, $lock:expr, |$by:ident| $pair:expr) => {
        Row {
            name: $name,
            run: || {
                let lock = $lock;
                let $by = black_box(&lock);
                let begin = Instant::now();
                for _ in 0..PAIRS {
                    $pair;
                }
                begin.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS)
            },
        }
    };
}

/// A row of one of our exclusive locks.
macro_rules! ours {
    ($name:literal, $lock:expr) => {
        row!($name, $lock, |lock| {
            lock.lock();
            // SAFETY: taken right above.
            unsafe { lock.unlock() }
        })
    };
}

/// What the others are compared with.
const BASELINE: &str = "glibc pthread_mutex";

const ROWS: &[Row] = &[
    row!("glibc pthread_mutex", glibc::mutex(), |lock| lock.pair()),
    row!("glibc pthread_spinlock", glibc::spinlock(), |lock| lock.pair()),
    row!("glibc pthread_rwlock, read", glibc::rwlock(), |lock| lock.read_pair()),
    row!("glibc pthread_rwlock, write", glibc::rwlock(), |lock| lock.write_pair()),
    row!("std Mutex", std::sync::Mutex::new(()), |lock| drop(black_box(lock.lock()))),
    row!("std RwLock, read", std::sync::RwLock::new(()), |lock| drop(black_box(lock.read()))),
    row!("std RwLock, write", std::sync::RwLock::new(()), |lock| drop(black_box(lock.write()))),
    row!("parking_lot Mutex", parking_lot::Mutex::new(()), |lock| drop(black_box(lock.lock()))),
    row!("parking_lot RwLock, read", parking_lot::RwLock::new(()), |lock| drop(black_box(
        lock.read()
    ))),
    row!("parking_lot RwLock, write", parking_lot::RwLock::new(()), |lock| drop(black_box(
        lock.write()
    ))),
    ours!("tas", lockwright::tas::RawTas::new()),
    ours!("ticket", lockwright::ticket::RawTicket::new()),
    ours!("mcs", lockwright::mcs::RawMcs::new()),
    ours!("qspinlock", lockwright::qspinlock::RawQspinlock::new()),
    ours!("pvqspinlock, hybrid", RawPvQspinlock::<Linux, Hybrid>::new()),
    ours!("mutex", lockwright::mutex::RawMutex::new()),
    ours!("rtmutex", lockwright::rtmutex::RawRtMutex::new()),
    row!("ww_mutex", lockwright::ww_mutex::RawWwMutex::<Linux>::new_in(), |lock| {
        // SAFETY: without a context, and released right after.
        unsafe {
            black_box(lock.lock(None)).ok();
            lock.unlock();
        }
    }),
    ours!(
        "bkl over a spinlock",
        lockwright::bkl::RawBkl::<Linux, lockwright::ticket::RawTicket<Linux>>::new_in()
    ),
    ours!(
        "bkl over a semaphore",
        lockwright::bkl::RawBkl::<Linux, lockwright::semaphore::RawBinary<Linux>>::new_in()
    ),
    ours!("local_lock", lockwright::local_lock::RawLocalLock::new()),
    row!("seqlock, write", lockwright::seqlock::RawSeqLock::new(), |lock| {
        lock.write_lock();
        // SAFETY: taken right above.
        unsafe { lock.write_unlock() }
    }),
    row!("qrwlock, read", lockwright::qrwlock::RawQrwLock::new(), |lock| {
        lock.read_lock();
        // SAFETY: taken right above.
        unsafe { lock.read_unlock() }
    }),
    row!("qrwlock, write", lockwright::qrwlock::RawQrwLock::new(), |lock| {
        lock.write_lock();
        // SAFETY: taken right above.
        unsafe { lock.write_unlock() }
    }),
    row!("percpu-rwsem, read", lockwright::percpu_rwsem::RawPercpuRwSem::<Linux>::new(), |lock| {
        lock.down_read();
        // SAFETY: taken right above.
        unsafe { lock.up_read() }
    }),
    row!("percpu-rwsem, write", lockwright::percpu_rwsem::RawPercpuRwSem::<Linux>::new(), |lock| {
        lock.down_write();
        // SAFETY: taken right above.
        unsafe { lock.up_write() }
    }),
    row!("rwsem, read", lockwright::rwsem::RawRwSem::new(), |lock| {
        lock.down_read();
        // SAFETY: taken right above.
        unsafe { lock.up_read() }
    }),
    row!("rwsem, write", lockwright::rwsem::RawRwSem::new(), |lock| {
        lock.down_write();
        // SAFETY: taken right above.
        unsafe { lock.up_write() }
    }),
    row!("semaphore", lockwright::semaphore::RawSemaphore::new(1), |lock| {
        lock.down();
        lock.up();
    }),
];

/// Each row in each round; medians and, against the baseline of the same round, ratios.
/// None if none is wanted.
pub fn measure(options: &Options) -> Option<Section> {
    let wants = |row: &&Row| options.wants(NAME) || options.wants(row.name);
    ROWS.iter().find(wants)?;
    let rows: Vec<_> = ROWS.iter().filter(|row| row.name == BASELINE || wants(row)).collect();
    let (end, ended) = mpsc::channel::<()>();
    // The second thread: asleep until we are through.
    let second = std::thread::spawn(move || ended.recv().is_err());
    let rounds: Vec<Vec<f64>> =
        (0..options.rounds * 3).map(|_| rows.iter().map(|row| (row.run)()).collect()).collect();
    drop(end);
    second.join().expect("it only waits");
    let baseline = rows.iter().position(|row| row.name == BASELINE).expect("it is never left out");
    let mut section = Section {
        title: "Uncontended: acquire and release, a second thread alive".to_owned(),
        columns: vec!["lock", "ns", "against glibc", "interval"],
        rows: Vec::new(),
        notes: vec![format!(
            "{} runs of {PAIRS} pairs each, the locks taking turns; medians, and the median of the runs' ratios to \
             {BASELINE} in the same turn.",
            rounds.len(),
        )],
        json: json!([]),
    };
    let mut results = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let ns: Vec<_> = rounds.iter().map(|round| round[index]).collect();
        let ratios: Vec<_> = rounds.iter().map(|round| round[index] / round[baseline]).collect();
        let (ns, ratio) = (stats::median(&ns), stats::estimate(&ratios));
        section.rows.push(vec![
            row.name.to_owned(),
            format!("{ns:.1}"),
            format!("{:.2}", ratio.median),
            format!("{:.2} to {:.2}", ratio.low, ratio.high),
        ]);
        results.push(json!({
            "lock": row.name, "ns": ns, "ratio": ratio.median, "low": ratio.low, "high": ratio.high,
            "confidence": ratio.confidence,
        }));
    }
    section.json = results.into();
    Some(section)
}

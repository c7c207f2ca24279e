//! The cost of an uncontended lock: acquisition and release in a thread that is not alone
//! in its process, as C libraries skip atomic instructions in one that is.

use std::hint::black_box;
use std::sync::mpsc;
use std::time::Instant;

use lockwright::platform::linux::Linux;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock};
use serde_json::json;

use super::exclusion;
use super::fault::Fault;
use super::report::Section;
use super::{Options, glibc};
use lockwright_measure::stats;

pub const NAME: &str = "uncontended";

/// Pairs in one run of a row: about a millisecond.
const PAIRS: u32 = 100_000;

/// A lock and a way to take it.
struct Row {
    name: &'static str,
    /// Nanoseconds of a pair, by one run.
    run: fn() -> f64,
    /// Whether it excludes the threads that it should.
    excludes: fn() -> bool,
}

/// Nanoseconds of a pair.
#[inline(always)]
fn timed(pair: impl Fn()) -> f64 {
    let begin = Instant::now();
    (0..PAIRS).for_each(|_| pair());
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS)
}

/// A row: an expression that makes the lock, and statements that take it, run the section, and
/// release it. A lock taken for reading also says how it is taken for writing. A row may have its
/// own test of exclusion instead of the one with threads.
macro_rules! row {
    ($name:literal, $lock:expr, |$by:ident, $section:ident| $pair:block, excludes: $excludes:expr) => {
        Row {
            name: $name,
            run: || {
                let lock = $lock;
                let $by = black_box(&lock);
                let $section = || ();
                timed(|| $pair)
            },
            excludes: $excludes,
        }
    };
    ($name:literal, $lock:expr, |$by:ident, $section:ident| $pair:block) => {
        row!($name, $lock, |$by, $section| $pair, excludes: || {
            let lock = $lock;
            let $by = &lock;
            exclusion::excludes(&|$section: exclusion::Section<'_>| $pair)
        })
    };
    ($name:literal, $lock:expr, |$by:ident, $section:ident| $read:block, writes: $write:block) => {
        row!($name, $lock, |$by, $section| $read, excludes: || {
            let lock = $lock;
            let $by = &lock;
            exclusion::excludes_readers(
                &|$section: exclusion::Section<'_>| $write,
                &|$section: exclusion::Section<'_>| $read,
            )
        })
    };
}

/// A row of one of our exclusive locks.
macro_rules! ours {
    ($name:literal, $lock:expr) => {
        row!($name, $lock, |lock, section| {
            lock.lock();
            section();
            // SAFETY: `lock` above took the lock for this thread.
            unsafe { lock.unlock() }
        })
    };
}

/// Statements between the functions that take and release one of our locks.
macro_rules! between {
    ($lock:ident, $section:ident, $take:ident, $release:ident) => {{
        $lock.$take();
        $section();
        // SAFETY: the first statement of this block took the lock for this thread.
        unsafe { $lock.$release() }
    }};
}

/// Statements in the scope of a guard.
macro_rules! guarded {
    ($guard:expr, $section:ident) => {{
        let guard = $guard;
        black_box(&guard);
        $section();
    }};
}

/// What the others are compared with.
const BASELINE: &str = "glibc pthread_mutex";

const ROWS: &[Row] = &[
    row!("glibc pthread_mutex", glibc::mutex(), |lock, section| { lock.locked(section) }),
    row!("glibc pthread_spinlock", glibc::spinlock(), |lock, section| { lock.locked(section) }),
    row!("glibc pthread_rwlock, read", glibc::rwlock(), |lock, section| { lock.read(section) },
        writes: { lock.written(section) }),
    row!("glibc pthread_rwlock, write", glibc::rwlock(), |lock, section| { lock.written(section) }),
    row!("std Mutex", std::sync::Mutex::new(()), |lock, section| {
        guarded!(lock.lock(), section)
    }),
    row!("std RwLock, read", std::sync::RwLock::new(()), |lock, section| { guarded!(lock.read(), section) },
        writes: { guarded!(lock.write(), section) }),
    row!("std RwLock, write", std::sync::RwLock::new(()), |lock, section| {
        guarded!(lock.write(), section)
    }),
    row!("parking_lot Mutex", parking_lot::Mutex::new(()), |lock, section| {
        guarded!(lock.lock(), section)
    }),
    row!("parking_lot RwLock, read", parking_lot::RwLock::new(()), |lock, section| { guarded!(lock.read(), section) },
        writes: { guarded!(lock.write(), section) }),
    row!("parking_lot RwLock, write", parking_lot::RwLock::new(()), |lock, section| {
        guarded!(lock.write(), section)
    }),
    ours!("tas", lockwright::tas::RawTas::new()),
    ours!("ticket", lockwright::ticket::RawTicket::new()),
    ours!("mcs", lockwright::mcs::RawMcs::new()),
    ours!("qspinlock", lockwright::qspinlock::RawQspinlock::new()),
    ours!("pvqspinlock, hybrid", RawPvQspinlock::<Linux, Hybrid>::new()),
    ours!("hybrid mutex", lockwright::hybrid_mutex::RawHybridMutex::new()),
    row!("sync::Mutex", lockwright::sync::Mutex::new(()), |lock, section| {
        guarded!(lock.lock(), section)
    }),
    row!("sync::RwLock, read", lockwright::sync::RwLock::new(()), |lock, section| { guarded!(lock.read(), section) },
        writes: { guarded!(lock.write(), section) }),
    row!("sync::RwLock, write", lockwright::sync::RwLock::new(()), |lock, section| {
        guarded!(lock.write(), section)
    }),
    ours!("mutex", lockwright::mutex::RawMutex::new()),
    ours!("rtmutex", lockwright::rtmutex::RawRtMutex::new()),
    row!("ww_mutex", lockwright::ww_mutex::RawWwMutex::<Linux>::new_in(), |lock, section| {
        // SAFETY: there is no context, so nothing has to outlive the lock.
        black_box(unsafe { lock.lock(None) }).ok();
        section();
        // SAFETY: taken above: without a context nothing is refused.
        unsafe { lock.unlock() }
    }),
    ours!(
        "bkl over a spinlock",
        lockwright::bkl::RawBkl::<Linux, lockwright::ticket::RawTicket<Linux>>::new_in()
    ),
    ours!(
        "bkl over a semaphore",
        lockwright::bkl::RawBkl::<Linux, lockwright::semaphore::RawBinary<Linux>>::new_in()
    ),
    // A lock of one thread: it excludes a handler of that thread.
    row!("local_lock", lockwright::local_lock::RawLocalLock::new(),
    |lock, section| { between!(lock, section, lock, unlock) },
    excludes: || {
        let lock = lockwright::local_lock::RawLocalLock::new();
        exclusion::excludes_itself(|section| between!(lock, section, lock, unlock), || lock.try_lock())
    }),
    row!("seqlock, write", lockwright::seqlock::RawSeqLock::new(), |lock, section| {
        between!(lock, section, write_lock, write_unlock)
    }),
    row!("qrwlock, read", lockwright::qrwlock::RawQrwLock::new(),
        |lock, section| { between!(lock, section, read_lock, read_unlock) },
        writes: { between!(lock, section, write_lock, write_unlock) }),
    row!("qrwlock, write", lockwright::qrwlock::RawQrwLock::new(), |lock, section| {
        between!(lock, section, write_lock, write_unlock)
    }),
    row!("percpu-rwsem, read", lockwright::percpu_rwsem::RawPercpuRwSem::<Linux>::new(),
        |lock, section| { between!(lock, section, down_read, up_read) },
        writes: { between!(lock, section, down_write, up_write) }),
    row!(
        "percpu-rwsem, write",
        lockwright::percpu_rwsem::RawPercpuRwSem::<Linux>::new(),
        |lock, section| { between!(lock, section, down_write, up_write) }
    ),
    row!("rwsem, read", lockwright::rwsem::RawRwSem::new(),
        |lock, section| { between!(lock, section, down_read, up_read) },
        writes: { between!(lock, section, down_write, up_write) }),
    row!("rwsem, write", lockwright::rwsem::RawRwSem::new(), |lock, section| {
        between!(lock, section, down_write, up_write)
    }),
    row!("semaphore", lockwright::semaphore::RawSemaphore::new(1), |lock, section| {
        lock.down();
        section();
        lock.up();
    }),
];

/// Each row in each round; medians and, against the baseline of the same round, ratios.
/// None if none is wanted.
///
/// # Errors
/// If one of the locks does not exclude.
pub fn measure(options: &Options) -> Result<Option<Section>, Fault> {
    measure_of(ROWS, options)
}

fn measure_of(all: &[Row], options: &Options) -> Result<Option<Section>, Fault> {
    let wants = |row: &&Row| options.wants(NAME) || options.wants(row.name);
    if !all.iter().any(|row| wants(&row)) {
        return Ok(None);
    }
    let rows: Vec<_> = all.iter().filter(|row| row.name == BASELINE || wants(row)).collect();
    if let Some(row) = rows.iter().find(|row| !(row.excludes)()) {
        return Err(Fault::not_exclusive(row.name));
    }
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
    Ok(Some(section))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No lock at all.
    struct Nothing;

    impl Nothing {
        fn lock(&self) {}
        /// # Safety
        /// The caller need not promise anything: there is no lock.
        unsafe fn unlock(&self) {}
    }

    #[test]
    fn a_planted_lock_that_does_not_exclude_is_not_timed() {
        const PLANTED: &[Row] = &[
            row!("glibc pthread_mutex", glibc::mutex(), |lock, section| { lock.locked(section) }),
            ours!("nothing", Nothing),
        ];
        let found = (0..100).find_map(|_| measure_of(PLANTED, &Options::smoke()).err());
        assert_eq!(found, Some(Fault::not_exclusive("nothing")));
    }
}

//! A report without locks says why, and what to do.

use super::page::Page;

const REMEDIES: &[&str] = &[
    "lockwright sees calls of the pthread functions (mutexes, rwlocks, spinlocks) through the dynamic loader.",
    "If the program has locks of its own, made of futexes or atomics (Go, Java, Rust's std::sync), annotate",
    "them: see lockwright.h. If it only starts another that takes locks, that one was perhaps static, setuid,",
    "or started without LD_PRELOAD and LOCKWRIGHT_DIR in its environment: run it under lockwright itself.",
];

/// Writes it.
pub fn write(page: &mut Page<'_>) {
    let exited = page.report.processes.iter().all(|process| process.end.is_exit());
    let why = match page.report.lost {
        0 if page.report.waits.iter().any(|wait| wait.futex.is_some()) => {
            "no lock calls seen, but waits at futexes, of which locks are made"
        }
        0 if exited => "no lock calls seen: nothing to report",
        // A daemon's first process is over before the one that works has begun.
        0 => "no lock calls seen up to now: nothing to report yet, if it still runs",
        _ => {
            "no lock calls recorded: the ledger had no room for any; name a roomier place with --ledger-dir"
        }
    };
    let why = page.style.warning(why);
    page.line("");
    page.line(&why);
    if page.report.explained {
        return;
    }
    REMEDIES.iter().for_each(|line| page.line(&format!("  {line}")));
}

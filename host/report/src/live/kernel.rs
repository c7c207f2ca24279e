//! A moment by what the kernel's tracepoints counted about its own locks. Only waits are known.

use std::collections::HashMap;

use super::moment::{Lock, Moment, Place, Process, Site, Thread, Totals};
use crate::prose::kernel_locks::{kind, kinds};
use crate::prose::words::plain;
use lockwright_analysis::traced::{KernelReport, Waits};

/// Sites kept of a lock.
const MOST_SITES: usize = 32;

/// Threads kept: those that waited longest.
const MOST_THREADS: usize = 1_000;

/// The moment that a report up to now is of.
pub fn of_kernel(report: &KernelReport) -> Moment {
    let mut threads: HashMap<(u32, u32), Thread> = HashMap::new();
    for waiter in report.locks.iter().flat_map(|lock| &lock.waiters) {
        let thread = threads.entry((waiter.pid, waiter.tid)).or_insert_with(|| Thread {
            pid: waiter.pid,
            tid: waiter.tid,
            name: plain(&waiter.name),
            ..Thread::default()
        });
        thread.wait_ns += waiter.waits.total_ns as f64;
    }
    let mut threads: Vec<Thread> = threads.into_values().collect();
    threads.sort_by(|a, b| b.wait_ns.total_cmp(&a.wait_ns).then(a.tid.cmp(&b.tid)));
    threads.truncate(MOST_THREADS);
    let locks: Vec<Lock> = report
        .locks
        .iter()
        .map(|lock| Lock {
            id: plain(&lock.name),
            name: plain(&lock.name),
            kind: kinds(lock),
            locks: lock.addresses.len() as u64,
            totals: totals(lock.waits),
            sites: lock
                .sites
                .iter()
                .take(MOST_SITES)
                .map(|site| Site {
                    how: kind(site.kind).to_owned(),
                    place: place(&site.stack),
                    totals: totals(site.waits),
                    rates: None,
                })
                .collect(),
            ..Lock::default()
        })
        .collect();
    Moment {
        counts_waits: true,
        processes: vec![Process {
            pid: 0,
            command: "the kernel's own locks".to_owned(),
            runs: true,
            elapsed_ns: report.elapsed_ns,
            locks: locks.len() as u64,
        }],
        locks,
        threads,
        ..Moment::default()
    }
}

fn totals(waits: Waits) -> Totals {
    Totals {
        contended: waits.count,
        wait_ns: waits.total_ns as f64,
        longest_wait_ns: waits.max_ns as f64,
        ..Totals::default()
    }
}

fn place(stack: &[String]) -> Place {
    let mut functions = stack.iter().map(|function| plain(function));
    Place {
        text: functions.next().unwrap_or_default(),
        source: String::new(),
        callers: functions.map(|function| format!("called from {function}")).collect(),
    }
}

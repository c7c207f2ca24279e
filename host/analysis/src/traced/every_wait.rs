//! All locks that a program's threads waited for, in one list: the locks whose calls are seen, those
//! made of futexes, and the kernel's own.

use super::Waits;
use super::kernel::{KernelLock, KernelReport};
use crate::lockmeter::model::{Lock, MeterReport, Times, Wait};

/// A lock that threads waited for.
#[derive(Clone, Copy, Debug)]
pub struct EveryWait<'r> {
    /// Which.
    pub lock: Waited<'r>,
    /// The waits.
    pub waits: Waits,
}

/// What was waited for.
#[derive(Clone, Copy, Debug)]
pub enum Waited<'r> {
    /// A class of locks whose calls are seen.
    Lock(&'r Lock),
    /// A lock made of a futex, at one place.
    Futex(&'r Wait),
    /// A class of the kernel's locks.
    Kernel(&'r KernelLock),
}

/// All of them, the longest waits in all first.
pub fn every_wait<'r>(measured: &'r MeterReport, kernel: &'r KernelReport) -> Vec<EveryWait<'r>> {
    let locks = measured.locks.iter();
    let locks = locks.map(|lock| (Waited::Lock(lock), of_times(&lock.total.wait)));
    let futexes = measured.waits.iter().filter(|wait| wait.is_for_lock());
    let futexes = futexes.map(|wait| (Waited::Futex(wait), of_times(&wait.wait)));
    let kernel = kernel.locks.iter().map(|lock| (Waited::Kernel(lock), lock.waits));
    let all = locks.chain(futexes).chain(kernel).filter(|(_, waits)| waits.count > 0);
    let mut all: Vec<_> = all.map(|(lock, waits)| EveryWait { lock, waits }).collect();
    // Stable: what is equal stays in the order of its own list.
    all.sort_by_key(|wait| std::cmp::Reverse(wait.waits.total_ns));
    all
}

fn of_times(times: &Times) -> Waits {
    let ns = |time: f64| time.max(0.0).round() as u64;
    Waits { count: times.count, total_ns: ns(times.total_ns), max_ns: ns(times.max_ns) }
}

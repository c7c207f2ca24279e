//! All locks that a program's threads waited for, in one list: the locks whose calls are seen, those
//! made of futexes, those within libraries, and the kernel's own.

use super::Waits;
use super::futexes::{FutexLock, FutexReport, Stack};
use super::kernel::{KernelLock, KernelReport};
use crate::finding::Frame;
use crate::lockmeter::model::{Lock, MeterReport, Times, Wait};
use crate::symbolize::is_runtime;

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
    /// A lock made of a futex by code whose calls are not seen: libraries', or a program's that is not
    /// watched.
    Inner(&'r FutexLock),
    /// A class of the kernel's locks.
    Kernel(&'r KernelLock),
}

/// All of them, the longest waits in all first.
pub fn every_wait<'r>(
    measured: &'r MeterReport,
    futexes: &'r FutexReport,
    kernel: &'r KernelReport,
) -> Vec<EveryWait<'r>> {
    let locks = measured.locks.iter();
    let locks = locks.map(|lock| (Waited::Lock(lock), of_times(&lock.total.wait)));
    let inner = futexes.locks.iter().filter(|lock| !is_seen(&lock.sites));
    let inner = inner.map(|lock| (Waited::Inner(lock), lock.waits));
    let futexes = measured.waits.iter().filter(|wait| wait.is_for_lock());
    let futexes = futexes.map(|wait| (Waited::Futex(wait), of_times(&wait.wait)));
    let kernel = kernel.locks.iter().map(|lock| (Waited::Kernel(lock), lock.waits));
    let all = locks.chain(futexes).chain(inner).chain(kernel).filter(|(_, waits)| waits.count > 0);
    let mut all: Vec<_> = all.map(|(lock, waits)| EveryWait { lock, waits }).collect();
    // Stable: what is equal stays in the order of its own list.
    all.sort_by_key(|wait| std::cmp::Reverse(wait.waits.total_ns));
    all
}

/// Whether waits for a lock are made by calls that the preload library sees: it is between the program and
/// the C library then.
fn is_seen(sites: &[(Stack, Waits)]) -> bool {
    let is_module = |frame: &Frame, name: &str| {
        frame.module.as_deref().is_some_and(|module| module.ends_with(name))
    };
    let preload = |frame: &Frame| is_module(frame, "/liblockwright.so");
    let own = |frame: &&Frame| {
        preload(frame) || frame.module.as_deref().is_none_or(|module| !is_runtime(module))
    };
    sites.first().is_some_and(|(stack, _)| stack.iter().find(own).is_some_and(preload))
}

fn of_times(times: &Times) -> Waits {
    let ns = |time: f64| time.max(0.0).round() as u64;
    Waits { count: times.count, total_ns: ns(times.total_ns), max_ns: ns(times.max_ns) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_preload_library_sees_is_not_listed_twice() {
        let stack = |modules: &[&str]| -> Vec<(Stack, Waits)> {
            let frame =
                |module: &&str| Frame { module: Some((*module).into()), ..Frame::default() };
            vec![(modules.iter().map(frame).collect(), Waits::default())]
        };
        let (libc, preload) = ("/lib/libc.so.6", "/opt/liblockwright.so");
        assert!(is_seen(&stack(&[libc, libc, preload, "/bin/app", preload, libc])));
        // The library begins each thread.
        assert!(!is_seen(&stack(&[libc, libc, "/bin/app", preload, libc])));
        assert!(!is_seen(&stack(&["/lib/libglib-2.0.so.0", preload])));
        assert!(!is_seen(&[]));
    }
}

//! Threads that start together, each of which takes its own times.
//!
//! The thread that starts them cannot take them: where there are more threads than CPUs, it runs
//! again after some of the others, or all, have ended.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;
use serde::Serialize;

use super::fault::Fault;
use crate::cpus;

/// What threads share is kept this many bytes apart: two cache lines, as x86 processors fetch them
/// in pairs.
pub const APART: usize = 128;

/// A value that shares no cache line with others.
#[repr(align(128))]
pub struct Padded<T>(pub T);

const _: () = assert!(align_of::<Padded<u8>>() == APART);

/// One worker's own times, in nanoseconds.
#[derive(Clone, Copy)]
struct Span {
    /// CLOCK_MONOTONIC when it began to work.
    begin: u64,
    /// Likewise, when it ended.
    end: u64,
    /// The CPU time between.
    cpu: u64,
}

/// The times of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Nanoseconds from the first worker's start to the last worker's end.
    pub elapsed_ns: u64,
    /// Nanoseconds from start to end of the worker for which they were longest.
    pub longest_ns: u64,
    /// Nanoseconds of CPU time of all workers together.
    pub cpu_ns: u64,
    /// CPUs that they could run on.
    pub cpus: usize,
    /// How many they were.
    pub workers: usize,
}

impl Times {
    fn of(spans: &[Span], cpus: usize) -> Self {
        let begin = spans.iter().map(|span| span.begin).min().unwrap_or(0);
        let end = spans.iter().map(|span| span.end).max().unwrap_or(0);
        Self {
            elapsed_ns: end - begin,
            longest_ns: spans.iter().map(|span| span.end - span.begin).max().unwrap_or(0),
            cpu_ns: spans.iter().map(|span| span.cpu).sum(),
            cpus,
            workers: spans.len(),
        }
    }

    /// Seconds from the first worker's start to the last worker's end.
    pub fn seconds(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }

    /// The share that the workers had of the CPU time that there was for so many: less than all of it
    /// where they slept, or others ran.
    pub fn share(&self) -> f64 {
        let most = self.elapsed_ns as f64 * self.cpus.min(self.workers) as f64;
        self.cpu_ns as f64 / most.max(1.0)
    }

    /// Whether the time is one that the CPUs can do: `cpus` of them give no more than `cpus`
    /// seconds of CPU time a second. One in a hundred is left to the clocks, which are two.
    ///
    /// # Errors
    /// If it is not. `arm` is what was measured.
    pub fn check(&self, arm: &str) -> Result<(), Fault> {
        let limit = self.elapsed_ns as f64 * self.cpus as f64 * 1.01;
        if self.cpu_ns as f64 <= limit && self.longest_ns <= self.elapsed_ns {
            return Ok(());
        }
        Err(Fault::TooFast {
            arm: arm.to_owned(),
            elapsed: Duration::from_nanos(self.elapsed_ns),
            cpu_time: Duration::from_nanos(self.cpu_ns),
            cpus: self.cpus,
        })
    }
}

/// Below this share of the CPUs threads that never sleep were disturbed by other programs.
const QUIET: f64 = 0.9;

/// A warning about runs of threads that never sleep, if other processes used their CPUs.
pub fn disturbed<'t>(all: impl Iterator<Item = &'t Times>) -> Option<String> {
    let shares: Vec<_> = all.map(Times::share).collect();
    let disturbed = shares.iter().filter(|share| **share < QUIET).count();
    (disturbed > 0).then(|| {
        format!(
            "Not a quiet machine: in {disturbed} of {} runs other programs had more than {:.0} % of the CPUs. Such runs \
             say little of threads that meet: mostly one runs at a time.",
            shares.len(),
            100.0 * (1.0 - QUIET)
        )
    })
}

/// Lets `threads` threads begin `work` at the same moment; `work` gets the thread's index. The
/// calling thread runs `meanwhile` once they have started. Returns the times and the threads'
/// results.
pub fn run<T: Send>(
    threads: usize,
    work: impl Fn(usize) -> T + Sync,
    meanwhile: impl FnOnce(),
) -> (Times, Vec<T>) {
    let (start, work) = (&Barrier::new(threads + 1), &work);
    let (spans, results): (Vec<_>, Vec<_>) = thread::scope(|scope| {
        let one = |index| {
            move || {
                start.wait();
                let (begin, cpu) = (Linux::now(), cpu_time());
                let result = work(index);
                let cpu = cpu_time() - cpu;
                (Span { begin, end: Linux::now(), cpu }, result)
            }
        };
        let workers: Vec<_> = (0..threads).map(|index| scope.spawn(one(index))).collect();
        start.wait();
        meanwhile();
        workers.into_iter().map(|worker| worker.join().expect("a worker panicked")).unzip()
    });
    (Times::of(&spans, cpus::count()), results)
}

/// Nanoseconds of CPU time of the calling thread.
fn cpu_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time; each thread has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::sync::Mutex;
    use std::time::Instant;

    use super::*;

    fn spin() {
        (0..10_000u32).for_each(|step| {
            black_box(step);
        });
    }

    #[test]
    fn each_worker_works_once_and_within_the_time() {
        let own = Mutex::new(Vec::new());
        let work = |index: usize| {
            let begin = Instant::now();
            spin();
            own.lock().unwrap().push(begin.elapsed());
            index
        };
        let (times, results) = run(40, work, || ());
        assert_eq!(results, (0..40).collect::<Vec<_>>());
        times.check("spinning").unwrap();
        let longest = own.into_inner().unwrap().into_iter().max().unwrap();
        assert!(Duration::from_nanos(times.elapsed_ns) >= longest, "{times:?}");
        assert!(times.cpu_ns > 0, "{times:?}");
    }

    #[test]
    fn the_time_is_from_the_first_start_to_the_last_end() {
        let span = |begin, end| Span { begin, end, cpu: 2 };
        let times = Times::of(&[span(5, 9), span(3, 6), span(7, 8)], 2);
        assert_eq!(times, Times { elapsed_ns: 6, longest_ns: 4, cpu_ns: 6, cpus: 2, workers: 3 });
        assert_eq!(times.share(), 0.5);
    }

    #[test]
    fn a_machine_that_is_not_quiet_is_told_of() {
        let times = |cpu_ns| Times { elapsed_ns: 10, longest_ns: 10, cpu_ns, cpus: 2, workers: 4 };
        assert_eq!(disturbed([times(20), times(19)].iter()), None);
        let told = disturbed([times(20), times(9)].iter()).expect("half of the CPUs were missing");
        assert!(told.contains("in 1 of 2 runs"), "{told}");
    }

    /// The figures of a benchmark whose main thread took the time: 40 threads were through with
    /// most of their work when it ran again.
    #[test]
    fn a_time_below_what_the_cpus_can_do_is_found() {
        let ms = 1_000_000;
        let times = Times {
            elapsed_ns: 247 * ms,
            longest_ns: 200 * ms,
            cpu_ns: 626 * ms,
            cpus: 2,
            workers: 40,
        };
        let fault = times.check("assume free").unwrap_err();
        assert_eq!(
            fault.to_string(),
            "the time measured of `assume free` cannot be: 247.0ms on 2 CPUs for 626.0ms of CPU time"
        );
        Times { elapsed_ns: 313 * ms, ..times }.check("assume free").unwrap();
    }
}

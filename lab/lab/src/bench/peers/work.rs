//! One run: threads take locks of one type, as a cell says, until the main thread stops them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

use super::super::fault::Fault;
use super::super::workers::{self, Padded};
use super::functions::Call;
use super::futex::{Calls, Tracepoint};
use super::hog::Hog;
use super::outcome::{Outcome, Waits};
use super::place::{Own, Slot};
use super::spin::{Calibration, spin};
use super::sweep::Cell;
use super::table::Peer;
use super::usage;

/// What the threads of a run share.
struct Run<'r> {
    slots: &'r [Slot],
    writer: Pair,
    reader: Pair,
    /// Hundredths that read.
    reads: u8,
    /// Steps with a lock held, and without.
    steps: [u64; 2],
    /// One in so many acquisitions of a thread is timed.
    sampling: u64,
    stop: &'r Padded<AtomicBool>,
    futex: Option<Tracepoint>,
}

/// How a run is made, whatever the cell and the lock.
#[derive(Clone, Copy)]
pub struct How {
    /// What this machine does in a time.
    pub calibration: Calibration,
    /// How long the threads take locks.
    pub interval: Duration,
    /// Where to count the calls of the kernel's futex, which makes them slower.
    pub futex: Option<Tracepoint>,
}

/// How a lock is taken and released.
#[derive(Clone, Copy)]
struct Pair {
    take: Call,
    release: Call,
}

/// What one thread did.
struct Done {
    operations: u64,
    /// Those of them that wrote.
    writes: u64,
    /// Those that saw a writer at work.
    torn: u64,
    switches: u64,
    futex_calls: Option<u64>,
    waits: Histogram<u64>,
}

/// Runs a cell with a lock.
///
/// # Errors
/// If the lock does not exclude, or the times cannot be.
pub fn run(peer: &Peer, cell: &Cell, how: &How) -> Result<Outcome, Fault> {
    let How { calibration, interval, futex } = *how;
    let functions = &peer.functions;
    let slots: Vec<_> = (0..cell.locks).map(|_| Slot::new(functions)).collect();
    let stop = Padded(AtomicBool::new(false));
    let writer = Pair { take: functions.lock, release: functions.unlock };
    let reader = Pair {
        take: functions.read_lock.unwrap_or(functions.lock),
        release: functions.read_unlock.unwrap_or(functions.unlock),
    };
    let held = calibration.steps(cell.section_ns);
    let run = Run {
        slots: &slots,
        writer,
        reader,
        reads: cell.reads,
        steps: [held, held * u64::from(cell.gap)],
        sampling: calibration.sampling(cell.section_ns),
        stop: &stop,
        futex,
    };
    let hog = cell.hog.then(Hog::burn);
    let (times, done) = workers::run(
        cell.threads,
        |index| run.work(index),
        || {
            thread::sleep(interval);
            // Relaxed: it orders nothing.
            stop.0.store(true, Relaxed);
        },
    );
    drop(hog);
    let written: Option<u64> = slots.iter().map(Slot::written).sum();
    let writes = done.iter().map(|done| done.writes).sum();
    if written != Some(writes) || done.iter().any(|done| done.torn > 0) {
        return Err(Fault::not_exclusive(peer.name));
    }
    times.check(&format!("{}, {cell}", peer.name))?;
    let mut waits = histogram();
    for done in &done {
        waits.add(&done.waits).expect("it grows");
    }
    Ok(Outcome {
        times,
        operations: done.iter().map(|done| done.operations).collect(),
        switches: done.iter().map(|done| done.switches).sum(),
        waits: Waits::of(&waits),
        futex_calls: done.iter().map(|done| done.futex_calls).sum(),
    })
}

/// A histogram of nanoseconds, to two digits; it grows.
fn histogram() -> Histogram<u64> {
    Histogram::new(2).expect("two digits are few enough")
}

impl Run<'_> {
    /// What each thread does.
    fn work(&self, index: usize) -> Done {
        let mut random = fastrand::Rng::with_seed(index as u64);
        let mut own = Own::new();
        let own = own.pointer();
        let calls = self.futex.and_then(|at| Calls::begin(at).ok());
        let mut done = Done {
            operations: 0,
            writes: 0,
            torn: 0,
            switches: usage::switches(),
            futex_calls: None,
            waits: histogram(),
        };
        // Not all threads at once.
        let mut untimed = index as u64 % self.sampling;
        // Each thread has one section at least, however late it starts: so no figure is a
        // division by nothing.
        loop {
            let slot = match self.slots {
                [one] => one,
                many => &many[random.usize(..many.len())],
            };
            let reads = self.reads > 0 && random.u8(..100) < self.reads;
            let pair = if reads { self.reader } else { self.writer };
            let mut waited = None;
            if untimed == 0 {
                let begin = Linux::now();
                // SAFETY: a lock of this type, and memory of this thread's own.
                unsafe { (pair.take)(slot.lock(), own) };
                waited = Some(Linux::now() - begin);
                untimed = self.sampling;
            } else {
                // SAFETY: `slot` has a lock of this type, and `own` is memory of this thread's own.
                unsafe { (pair.take)(slot.lock(), own) };
            }
            untimed -= 1;
            let section = || spin(self.steps[0]);
            if reads {
                done.torn += u64::from(slot.is_torn(section));
            } else {
                slot.write(section);
                done.writes += 1;
            }
            // SAFETY: taken above, by the same pair.
            unsafe { (pair.release)(slot.lock(), own) };
            if let Some(waited) = waited {
                done.waits.record(waited).expect("it grows");
            }
            done.operations += 1;
            spin(self.steps[1]);
            // Relaxed: it orders nothing.
            if self.stop.0.load(Relaxed) {
                break;
            }
        }
        done.switches = usage::switches() - done.switches;
        done.futex_calls = calls.and_then(|calls| calls.count().ok());
        done
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::{MUTEXES, RWLOCKS};
    use super::super::table::NOTHING;
    use super::*;

    const HOW: How = How {
        calibration: Calibration { steps_per_ns: 1.0, clock_ns: 1.0 },
        interval: Duration::from_millis(3),
        futex: None,
    };
    const CELL: Cell = Cell { threads: 4, section_ns: 10, gap: 1, locks: 2, reads: 0, hog: false };

    fn short(peer: &Peer, cell: &Cell) -> Result<Outcome, Fault> {
        run(peer, cell, &HOW)
    }

    #[test]
    fn every_lock_excludes() {
        for peer in MUTEXES {
            let outcome = short(peer, &CELL).unwrap();
            assert!(outcome.operations.iter().all(|n| *n > 0), "{}", peer.name);
            assert_eq!(outcome.operations.len(), 4, "{}", peer.name);
            // The first thread times its first.
            assert!(outcome.waits.timed > 0, "{}", peer.name);
        }
        for peer in RWLOCKS {
            short(peer, &Cell { reads: 50, hog: true, ..CELL }).unwrap();
        }
    }

    #[test]
    fn a_planted_lock_that_does_not_exclude_is_found() {
        for reads in [0, 50] {
            let cell = Cell { reads, ..CELL };
            let fault = (0..1000).find_map(|_| short(&NOTHING, &cell).err());
            assert_eq!(fault, Some(Fault::not_exclusive("nothing")));
        }
    }

    #[test]
    fn one_thread_excludes_itself_whatever_the_lock() {
        let cell = Cell { threads: 1, ..CELL };
        let outcome = short(&NOTHING, &cell).unwrap();
        assert_eq!(outcome.operations.len(), 1);
        assert_eq!(outcome.min_over_max(), 1.0);
    }
}

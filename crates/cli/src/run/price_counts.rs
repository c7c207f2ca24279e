//! What a program did that has a price.

use lockwright_analysis::Recording;
use lockwright_analysis::lockmeter::model::{MeterReport, WaitKind};
use lockwright_ledger::rows::{event, lock_kind};

use super::prices::Prices;

/// What a program did that costs something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Locks taken, or tried for in vain: two steps as well. Not those of the next two.
    pub pairs: u64,
    /// Reader-writer locks taken.
    pub reads: u64,
    /// Semaphores taken that are used as locks.
    pub semaphores: u64,
    /// Semaphores tried for in vain.
    pub tries: u64,
    /// Posts of semaphores that are no locks.
    pub hand_overs: u64,
    /// Condition waits.
    pub cond_waits: u64,
    /// Signals of condition variables.
    pub signals: u64,
    /// Waits for a lock.
    pub waits: u64,
    /// Calls that may sleep, with a lock held, and other waits.
    pub calls: u64,
    /// Programs that were loaded.
    pub loads: u64,
    /// What the start and the slow path took, as measured.
    pub recording_ns: u64,
}

impl Counts {
    /// What `recording` counts of a program that was checked, with so many acquisitions, of which
    /// so many found the lock held.
    pub fn of_checked(recording: &Recording, acquisitions: u64, contended: u64) -> Self {
        let known = Self::of_recording(recording);
        // These acquisitions are counted among all, but have prices of their own.
        let others = known.reads + known.semaphores + known.cond_waits;
        Self { pairs: acquisitions.saturating_sub(others), waits: contended, ..known }
    }

    /// The same of one that was measured, with what `report` counts; `recording` has counts of its
    /// own only if it was checked, too.
    pub fn of_measured(recording: &Recording, report: &MeterReport) -> Self {
        let known = Self::of_recording(recording);
        let mut reads = 0;
        let mut pairs = 0;
        for lock in &report.locks {
            let all = lock.total.acquisitions + lock.total.rejects;
            match lock.kind {
                lock_kind::RWLOCK | lock_kind::RWLOCK_WRITER => reads += all,
                _ => pairs += all,
            }
        }
        let waits_of = |is_it: fn(&WaitKind) -> bool| {
            let waits = report.waits.iter().filter(|wait| is_it(&wait.kind));
            waits.map(|wait| wait.waits).sum::<u64>()
        };
        let cond_waits = waits_of(|kind| *kind == WaitKind::Condition);
        let semaphores = match known.semaphores + known.hand_overs {
            0 => waits_of(|kind| *kind == WaitKind::Semaphore),
            _ => known.semaphores,
        };
        Self {
            pairs: pairs.saturating_sub(cond_waits),
            reads,
            semaphores,
            cond_waits,
            waits: report.total().contended,
            calls: waits_of(|kind| !matches!(kind, WaitKind::Condition | WaitKind::Semaphore)),
            ..known
        }
    }

    fn of_recording(recording: &Recording) -> Self {
        let count = |event: usize| recording.events[event];
        Self {
            reads: count(event::RWLOCK),
            semaphores: count(event::SEMAPHORE),
            tries: count(event::FAILED_TRY),
            hand_overs: count(event::HAND_OVER),
            cond_waits: count(event::COND_WAIT),
            signals: count(event::SIGNAL),
            loads: recording.loads,
            recording_ns: recording.cpu_ns,
            ..Self::default()
        }
    }

    /// Each count but that of pairs, and its price.
    pub fn others(&self, prices: &Prices) -> impl Iterator<Item = (u64, f64)> {
        [
            (self.reads, prices.read_ns),
            (self.semaphores, prices.semaphore_ns),
            (self.tries, prices.try_ns),
            (self.hand_overs, prices.hand_over_ns),
            (self.cond_waits, prices.cond_wait_ns),
            (self.signals, prices.signal_ns),
            (self.waits, prices.wait_ns),
            (self.calls, prices.call_ns),
            (self.loads, prices.load_ns),
        ]
        .into_iter()
    }
}

//! What a program did that has a price.

use lockwright_analysis::Recording;
use lockwright_analysis::lockmeter::model::{MeterReport, WaitKind};
use lockwright_ledger::rows::{event, lock_kind};

/// What a program did that costs something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Locks taken, or tried for in vain: two steps as well. Not those of the next two.
    pub pairs: u64,
    /// Reader-writer locks taken.
    pub reads: u64,
    /// Semaphores taken that are used as locks: at no price, as for condition waits.
    pub semaphores: u64,
    /// Condition waits, which take their mutex again: at no price, as the library measures what it does in them.
    pub cond_waits: u64,
    /// Calls that may sleep, with a lock held, and other waits.
    pub calls: u64,
    /// Programs that were loaded.
    pub loads: u64,
    /// What the start and the slow path took, as measured.
    pub recording_ns: u64,
}

impl Counts {
    /// What `recording` counts of a program that was checked, with so many acquisitions.
    pub fn of_checked(recording: &Recording, acquisitions: u64) -> Self {
        let known = Self::of_recording(recording);
        // These acquisitions are counted among all, but have prices of their own.
        let others = known.reads + known.semaphores + known.cond_waits;
        Self { pairs: acquisitions.saturating_sub(others), ..known }
    }

    /// The same of one that was measured, with what `report` counts; `recording` has counts of its
    /// own only if it was checked, too.
    pub fn of_measured(recording: &Recording, report: &MeterReport) -> Self {
        let known = Self::of_recording(recording);
        let mut taken = Self::default();
        for lock in &report.locks {
            *taken.of_kind(lock.kind) += lock.total.acquisitions + lock.total.rejects;
        }
        let waits_of = |is_it: fn(&WaitKind) -> bool| {
            let waits = report.waits.iter().filter(|wait| is_it(&wait.kind));
            waits.map(|wait| wait.waits).sum::<u64>()
        };
        let cond_waits = waits_of(|kind| *kind == WaitKind::Condition);
        Self {
            pairs: taken.pairs.saturating_sub(cond_waits),
            reads: taken.reads,
            semaphores: taken.semaphores,
            cond_waits,
            calls: waits_of(|kind| !matches!(kind, WaitKind::Condition | WaitKind::Semaphore)),
            ..known
        }
    }

    /// The one that counts how often locks of `kind` were taken.
    fn of_kind(&mut self, kind: u8) -> &mut u64 {
        match kind {
            lock_kind::RWLOCK | lock_kind::RWLOCK_WRITER => &mut self.reads,
            lock_kind::SEMAPHORE | lock_kind::COUNTING => &mut self.semaphores,
            _ => &mut self.pairs,
        }
    }

    fn of_recording(recording: &Recording) -> Self {
        let count = |event: usize| recording.events[event];
        Self {
            reads: count(event::RWLOCK),
            semaphores: count(event::SEMAPHORE),
            cond_waits: count(event::COND_WAIT),
            loads: recording.loads,
            recording_ns: recording.cpu_ns,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::lockmeter::model::{Times, Wait};

    use super::*;

    /// One of the first event, two of the second, and so on.
    fn recording() -> Recording {
        Recording { cpu_ns: 9, loads: 1, events: std::array::from_fn(|event| event as u64 + 1) }
    }

    fn wait(kind: WaitKind, waits: u64) -> Wait {
        Wait {
            kind,
            call: None,
            name: None,
            lock: None,
            stack: std::rc::Rc::default(),
            place: 0,
            waits,
            blocked: 0,
            timeouts: 0,
            wait: Times::default(),
            in_vain: 0,
            futex: None,
            wakers: Vec::new(),
        }
    }

    #[test]
    fn an_acquisition_of_another_kind_is_no_mutex_pair() {
        let counts = Counts::of_checked(&recording(), 100);
        assert_eq!((counts.reads, counts.semaphores, counts.cond_waits), (1, 2, 5));
        // Condition waits take their mutex again.
        assert_eq!((counts.pairs, counts.calls), (100 - 1 - 2 - 5, 0));
        assert_eq!((counts.loads, counts.recording_ns), (1, 9));
    }

    #[test]
    fn what_the_meter_counts_has_the_price_of_its_kind() {
        let waits = vec![
            wait(WaitKind::Condition, 11),
            wait(WaitKind::Semaphore, 12),
            wait(WaitKind::Join, 13),
            wait(WaitKind::Call, 14),
        ];
        let report = MeterReport { waits, ..MeterReport::default() };
        let counts = Counts::of_measured(&Recording::default(), &report);
        // Waits for semaphores are measured in the program.
        assert_eq!((counts.cond_waits, counts.calls), (11, 27));
    }

    #[test]
    fn semaphores_that_are_locks_are_no_mutexes() {
        let mut counts = Counts::default();
        *counts.of_kind(lock_kind::MUTEX) += 1;
        *counts.of_kind(lock_kind::RWLOCK) += 2;
        *counts.of_kind(lock_kind::SEMAPHORE) += 4;
        *counts.of_kind(lock_kind::COUNTING) += 8;
        assert_eq!((counts.pairs, counts.reads, counts.semaphores), (1, 2, 12));
    }
}

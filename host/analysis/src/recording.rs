//! The cost of recording a run, as its processes measured it.

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Thread, event};

/// What it took to record processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// CPU time of the start and of the slow path, ns.
    pub cpu_ns: u64,
    /// Programs that were loaded: forked processes are not.
    pub loads: u64,
    /// What the threads did that costs other than a lock and unlock, by [`event`]. lockdep alone counts it.
    pub events: [u64; event::ALL],
}

impl Recording {
    /// Adds up all processes of a run.
    pub fn of(ledgers: &[Ledger]) -> Self {
        ledgers.iter().fold(Self::default(), |mut all, ledger| {
            all.add(ledger);
            all
        })
    }

    /// Adds a process.
    pub fn add(&mut self, ledger: &Ledger) {
        let header = ledger.header();
        let slow_ns = slow_ns(header.slow_entries, header.slow_timed, header.slow_cpu_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(slow_ns).saturating_add(header.start_cpu_ns);
        self.loads += u64::from(header.parent_token == 0);
        let threads = ledger.rows::<Thread>().map(|(_, row)| row.events);
        for events in threads.chain([header.removed_events]) {
            for (sum, count) in self.events.iter_mut().zip(events) {
                *sum = sum.saturating_add(count);
            }
        }
    }
}

/// The timed entries stand for all.
fn slow_ns(entries: u64, timed: u64, timed_ns: u64) -> u64 {
    match timed {
        0 => 0,
        timed => (timed_ns as f64 * (entries as f64 / timed as f64)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::slow_ns;

    #[test]
    fn timed_entries_stand_for_those_that_were_not_timed() {
        assert_eq!(slow_ns(64, 64, 6400), 6400);
        assert_eq!(slow_ns(1000, 900, 9000), 10_000);
        // Entries of which none was timed have no known cost.
        assert_eq!(slow_ns(1000, 0, 0), 0);
    }
}

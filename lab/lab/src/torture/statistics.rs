//! The results of torture, in the kernel's form.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::Serialize;

/// Writers or readers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Acquisitions by thread.
    pub acquired: Vec<u64>,
    /// Trylocks refused, and deadlines that came.
    pub refused: u64,
    /// Times that a thread was there that must not be.
    pub fail: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// The writers.
    pub writes: Side,
    /// The readers.
    pub reads: Side,
    /// Writes that are not in the data.
    pub lost: u64,
    /// Threads that never got the lock again.
    pub stalled: usize,
    /// Writers that waited for longer than `acq_writer_lim`.
    pub late: u64,
    /// The longest wait of a writer, in nanoseconds, where there is such a limit.
    pub longest_wait_ns: u64,
    /// Signals handled meanwhile.
    pub signals: u64,
    /// Signals of which the handler stopped its thread for a while.
    pub stops: u64,
    /// Writes of handlers that were not alone.
    pub signal_fail: u64,
    /// Times that a thread got a real-time priority.
    pub boosts: u64,
    /// Times that it was refused one.
    pub boosts_refused: u64,
    /// Times that the threads were moved to other CPUs.
    pub moves: u64,
}

impl Side {
    /// Acquisitions of all threads.
    pub fn total(&self) -> u64 {
        self.acquired.iter().sum()
    }
}

impl Statistics {
    /// Whether the lock did what a lock should.
    pub fn is_ok(&self) -> bool {
        let fails = [self.writes.fail, self.reads.fail, self.lost, self.signal_fail, self.late];
        fails == [0; 5] && self.stalled == 0
    }
}

impl Display for Side {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let max = self.acquired.iter().max().unwrap_or(&0);
        let min = self.acquired.iter().min().unwrap_or(&0);
        // The kernel's marks: unfair, wrong.
        let unfair = if max / 2 > *min { "???" } else { "" };
        let wrong = if self.fail > 0 { "!!!" } else { "" };
        let (total, refused, fail) = (self.total(), self.refused, self.fail);
        write!(f, "Total: {total}  Max/Min: {max}/{min} {unfair}  Fail: {fail} {wrong}")?;
        if refused > 0 { write!(f, " Refused: {refused}") } else { Ok(()) }
    }
}

impl Display for Statistics {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Writes:  {}", self.writes)?;
        if !self.reads.acquired.is_empty() {
            write!(f, "\nReads :  {}", self.reads)?;
        }
        if self.signals > 0 {
            let Self { signals, stops, signal_fail, .. } = self;
            write!(f, "\nSignals: Total: {signals}  Stops: {stops}  Fail: {signal_fail}")?;
        }
        if self.moves > 0 {
            write!(f, "\nThreads moved to other CPUs: {}", self.moves)?;
        }
        if self.boosts + self.boosts_refused > 0 {
            let Self { boosts, boosts_refused, .. } = self;
            write!(f, "\nReal-time boosts: {boosts}  Refused: {boosts_refused}")?;
        }
        if self.late > 0 {
            let longest = Duration::from_nanos(self.longest_wait_ns);
            write!(f, "\n{} writers waited for too long, up to {longest:.1?} !!!", self.late)?;
        }
        if self.lost > 0 {
            write!(f, "\n{} writes are lost !!!", self.lost)?;
        }
        if self.stalled > 0 {
            write!(f, "\n{} threads wait for ever !!!", self.stalled)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_the_kernels() {
        let writes = Side { acquired: vec![7, 3], refused: 0, fail: 0 };
        let reads = Side { acquired: vec![4, 4], refused: 2, fail: 1 };
        let statistics = Statistics { writes, reads, lost: 3, ..Statistics::default() };
        assert_eq!(
            statistics.to_string(),
            "Writes:  Total: 10  Max/Min: 7/3   Fail: 0 \n\
             Reads :  Total: 8  Max/Min: 4/4   Fail: 1 !!! Refused: 2\n\
             3 writes are lost !!!"
        );
        assert!(!statistics.is_ok());
    }
}

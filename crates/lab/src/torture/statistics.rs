//! What came of torture, in the kernel's form.

use std::fmt::{self, Display, Formatter};

/// Writers or readers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// Acquisitions by thread.
    pub acquired: Vec<u64>,
    /// Trylocks refused, and deadlines that came.
    pub refused: u64,
    /// Times that somebody was there who must not be.
    pub fail: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The writers.
    pub writes: Side,
    /// The readers.
    pub reads: Side,
    /// Writes that are not in the data.
    pub lost: u64,
    /// Threads that never got the lock again.
    pub stalled: usize,
    /// Signals handled meanwhile.
    pub signals: u64,
    /// Writes of handlers that were not alone.
    pub signal_fail: u64,
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
        let fails = [self.writes.fail, self.reads.fail, self.lost, self.signal_fail];
        fails == [0; 4] && self.stalled == 0
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
        write!(
            f,
            "Total: {total}  Max/Min: {max}/{min} {unfair}  Refused: {refused}  Fail: {fail} {wrong}"
        )
    }
}

impl Display for Statistics {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Writes:  {}", self.writes)?;
        if !self.reads.acquired.is_empty() {
            write!(f, "\nReads:   {}", self.reads)?;
        }
        if self.signals > 0 {
            write!(f, "\nSignals: Total: {}  Fail: {}", self.signals, self.signal_fail)?;
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

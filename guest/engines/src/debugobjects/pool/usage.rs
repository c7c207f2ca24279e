//! How many records are in use on the average of late.

/// An average that forgets: each period counts an eighth.
pub(super) struct Usage {
    /// The average, in 256ths.
    average: u64,
}

/// Length of a period, ns.
pub(super) const PERIOD: u64 = 10_000_000;

impl Usage {
    pub const fn new() -> Self {
        Self { average: 0 }
    }

    /// So many are in use after that many periods more.
    pub fn sees(&mut self, used: u64, periods: u64) {
        // After 64 periods what was before counts two parts in 10,000.
        for _ in 0..periods.min(64) {
            self.average = (self.average * 7 + (used << 8)) / 8;
        }
    }

    /// More are in use than on the average.
    pub fn rises(&self, used: u64) -> bool {
        used << 8 > self.average + (1 << 8)
    }
}

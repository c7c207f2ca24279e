//! How a long analysis shows that it is alive.

/// What takes its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Ledgers are read.
    Reading,
    /// Cycles of locks are searched.
    LockCycles,
    /// Cycles of lock classes are searched.
    ClassCycles,
    /// Cycles of all runs are searched.
    RunCycles,
}

/// Told by the analysis how far it is.
pub trait Progress {
    /// A stage of `total` steps begins; 0 where nobody can tell.
    fn stage(&self, stage: Stage, total: u64);
    /// `by` further steps of the stage are done.
    fn advance(&self, by: u64);
    /// So many combinations of occurrences were looked at to judge the cycles of the stage.
    fn looked(&self, _: u64) {}
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _: Stage, _: u64) {}
    fn advance(&self, _: u64) {}
}

//! The possible answers.

/// What follows a try that has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailedTry {
    /// The caller goes on without the lock, as far as is known.
    #[default]
    GivesUp,
    /// It waits for the lock, whatever happens.
    Waits,
    /// It waits, but not for ever.
    WaitsForATime,
    /// It waits for the lock after it has released others: those that one call takes together.
    BacksOff,
}

//! Why the effect of a remedy is not known.

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// Holds were not timed.
    HoldsNotTimed,
    /// There are hardly any waits.
    FewWaits,
    /// It is not known which threads take the lock.
    ThreadsUnknown,
    /// There are too many threads.
    ManyThreads,
    /// The model's waits are not those that were measured: so many times as long, with so many times the acquisitions.
    NotReproduced {
        /// The waits.
        waits: f64,
        /// The acquisitions a second.
        rate: f64,
    },
}

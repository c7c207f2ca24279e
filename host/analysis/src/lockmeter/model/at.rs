//! A place in a measurement.

/// Something waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum At {
    /// A lock, at one of its sites.
    Lock {
        /// Index into [`super::MeterReport::locks`].
        lock: usize,
        /// Index into [`super::Lock::sites`].
        site: usize,
    },
    /// Something else: index into [`super::MeterReport::waits`].
    Wait(usize),
    /// The ledger does not say.
    Unknown,
}

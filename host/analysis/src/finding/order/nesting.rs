//! Locks of one class that are nested.

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Distinct pairs of locks that were nested, by the order of their addresses.
    Pairs {
        /// The outer has the lower address.
        ascending: usize,
        /// It has the higher one.
        descending: usize,
    },
    /// No pair was taken both ways, but that proves nothing.
    NoPairBothWays,
    /// Pairs were taken both ways, and one lock of each was only read.
    PairsBothWaysRead,
}

//! A trial of a held lock, whichever engine keeps the lock.

/// A candidate, of the held locks: the host wants to know whether the function that took it returns
/// with it, and is reminded of this when the lock is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// A return address within the function that is tried.
    pub address: u64,
    /// Where its frame ends, as the host encodes it.
    pub frame: u64,
}

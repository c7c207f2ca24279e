//! A wait under way, as the waiting thread keeps it.

use super::board::Place;
use super::cell::CellRef;

/// A wait under way.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Where; 0: there is none.
    pub site: u32,
    /// For what: an address.
    pub addr: u64,
    /// Since when.
    pub since: u64,
}

/// A wait for a lock, from its beginning to its end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Contention {
    /// For what; 0 marks a free place.
    pub addr: u64,
    /// Since when.
    pub begun: u64,
    /// In which acquisition.
    pub cell: CellRef,
    /// Where it is on the lock's board.
    pub place: Option<Place>,
    /// The wait that it interrupted.
    pub outer: Waiting,
}

//! What came of making a finding happen, by `lockwright confirm`.

use serde::Serialize;

/// Runs in which the threads of a finding were held up until each was at its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Confirmation {
    /// How many runs there were.
    pub runs: u32,
    /// In how many the threads deadlocked as the finding says.
    pub deadlocked: u32,
    /// In how many there was another deadlock.
    pub other_deadlocks: u32,
    /// What came of each path, in the order of the finding's steps; paths that are the same are one.
    pub paths: Vec<SteeredPath>,
}

/// A place at which threads were held up, in all runs together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SteeredPath {
    /// Index of the first of the finding's steps that is there.
    pub step: usize,
    /// Threads that came there.
    pub arrivals: u64,
    /// How many were held up.
    pub pauses: u64,
    /// How many met the threads at the other paths, with the locks that close the cycle.
    pub met: u64,
    /// How many went on since their time was up.
    pub timed_out: u64,
    /// How many went on since a thread waited for a lock that they held.
    pub in_the_way: u64,
    /// How many came while threads were held up at another path with other locks.
    pub elsewhere: u64,
    /// The longest that one was held up, ns.
    pub longest_ns: u64,
    /// Where a thread waited for a lock that another held which was held up here: function and line.
    pub waiter: Option<String>,
}

//! A cycle of threads that wait for each other.

/// Most threads of a cycle.
pub(super) const MOST: usize = 64;

/// Threads that wait for each other: each one for a lock of the next, the last one for a lock of the first.
pub(crate) struct Cycle {
    threads: [u32; MOST],
    len: usize,
}

impl Cycle {
    /// Of no more than [`MOST`] threads.
    pub(super) fn of(ids: impl IntoIterator<Item = u32>) -> Self {
        let mut cycle = Self { threads: [0; MOST], len: 0 };
        for (thread, id) in cycle.threads.iter_mut().zip(ids) {
            *thread = id;
            cycle.len += 1;
        }
        cycle
    }

    pub(super) fn threads(&self) -> &[u32] {
        &self.threads[..self.len]
    }
}

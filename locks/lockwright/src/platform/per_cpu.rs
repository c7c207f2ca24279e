//! The locks' data for each CPU.

use super::per_task::PerTask;
use super::word::{Atomic, Word};
use crate::event::Counts;
use crate::visible_readers::VisibleReaders;
use crate::{osq, pv_hash, qnode};

/// The locks' storage of one CPU. A platform keeps one for each in statics; [`PerCpu::new`] makes
/// one.
///
/// Invariant: zeroed memory is a valid new one where zeroed words are words of 0, so that a
/// platform can have many without touching them.
#[repr(align(64))]
pub struct PerCpu<W: Word, L: Atomic<usize>> {
    /// 1 while its thread sleeps in [`Word::wait`], where the platform tells: see
    /// [`super::Platform::is_running`].
    pub sleeping: W,
    pub(crate) osq: osq::Node<W>,
    pub(crate) qnodes: qnode::Nodes<W, L>,
    pub(crate) buckets: pv_hash::Buckets<W, L>,
    pub(crate) visible_readers: VisibleReaders<W, L>,
    /// Its task, where CPUs are threads.
    pub task: PerTask<W, L>,
    pub(crate) counts: Counts<L>,
}

impl<W: Word, L: Atomic<usize>> PerCpu<W, L> {
    /// Storage of a CPU that holds and waits for nothing.
    pub fn new() -> Self {
        Self {
            sleeping: W::new(0),
            osq: osq::Node::new(),
            qnodes: qnode::Nodes::new(),
            buckets: pv_hash::Buckets::new(),
            visible_readers: VisibleReaders::new(),
            task: PerTask::new(),
            counts: Counts::new(),
        }
    }
}

impl<W: Word, L: Atomic<usize>> Default for PerCpu<W, L> {
    fn default() -> Self {
        Self::new()
    }
}

//! Robust mutexes whose owner ended with them. The thread that takes one next learns of that (EOWNERDEAD), and so comes after all that
//! the owner did.

use crate::index::{Index, hash};
use crate::lockdep::recorder::Recorder;

/// The last segments of threads that ended with a robust mutex held, which nobody has taken since.
pub(crate) struct DeadOwners {
    /// By instance of the mutex.
    index: Index,
}

impl DeadOwners {
    pub(crate) const fn new() -> Self {
        Self { index: Index::new() }
    }

    /// A thread ends with the mutex `inst` held; `segment` is its last.
    pub(crate) fn add(&mut self, recorder: &mut Recorder, inst: u32, segment: u32) {
        if inst == 0 || segment == 0 {
            return;
        }
        // Nobody was seen to take it after an earlier death.
        if let Some(earlier) = self.take(recorder, inst) {
            recorder.unpin_segment(earlier);
        }
        recorder.pin_segment(segment);
        self.index.insert(&mut recorder.writer, key(inst), segment);
    }

    /// A thread has taken the mutex. Returns the last segment of its dead owner, which the caller unpins. `None` if that was
    /// not seen to end, as if it is another process's.
    pub(crate) fn take(&mut self, recorder: &Recorder, inst: u32) -> Option<u32> {
        let segment = self.index.get(&recorder.writer, key(inst))?;
        self.index.remove(&recorder.writer, key(inst));
        Some(segment)
    }
}

fn key(inst: u32) -> u64 {
    hash(&[u64::from(inst)])
}

//! A CPU's place in an optimistic spin queue.

use crate::platform::Word;

/// In place of the number of a CPU, plus 1.
pub(super) const NOBODY: u32 = 0;

/// A CPU's place in a queue.
pub(crate) struct Node<W> {
    /// The follower. A thread that exchanges it for [`NOBODY`] has taken the follower: neither the
    /// follower nor its predecessor can leave meanwhile.
    pub(super) next: W,
    pub(super) prev: W,
    /// 1 once the lock has been passed on to it.
    pub(super) locked: W,
}

impl<W: Word> Node<W> {
    pub(crate) fn new() -> Self {
        Self { next: W::new(NOBODY), prev: W::new(NOBODY), locked: W::new(0) }
    }
}

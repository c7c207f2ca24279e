//! Locks that nobody but the thread which made them can know yet.
//!
//! A constructor often locks the new object X and then takes the lock R of the registry that it
//! enters X in; everybody else takes R before X. That looks like a cycle and is none: while the
//! constructor waits for R nobody can wait for X. What shows it is that the thread has given up
//! nothing since X was made: a thread that learns of X later must take a lock that this thread
//! releases (or be created by it, or meet it at a barrier, ...) after that. Memory handed over by a
//! bare atomic store is not seen.
//!
//! It costs the fast path nothing: acquisitions are counted anyway, each makes the held array one
//! longer, and each release one shorter; so the difference of the two counts what was given up.

use lockwright_ledger::rows::BIRTHS;

use super::state::ThreadState;

/// A stretch of one thread's time in which it gives up nothing that others could learn from. 0 is
/// none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch(pub u64);

impl ThreadState {
    /// The stretch that the thread is in.
    pub fn stretch(&self) -> Stretch {
        // Where entries were given up that are still there this is less than it will be once they
        // are gone, and never again: a stretch that seems over too soon does no harm.
        let released = self.row.acquisitions.wrapping_sub(u64::from(self.depth()));
        // A segment is one thread's. Only equality counts, so the low half of the rest will do: a
        // stretch is not taken for another before the thread has given up 2^32 locks in one
        // segment.
        let given_up = released.wrapping_add(self.row.shared);
        Stretch(u64::from(self.segment()) << 32 | given_up & 0xffff_ffff)
    }

    /// The thread has told others of something in a way that is no release of a lock.
    pub fn shares(&mut self) {
        self.row.shared += 1;
    }

    /// The thread has made lock `inst`, now or before in the same stretch.
    pub fn born(&mut self, inst: u32) {
        let stretch = self.stretch().0;
        if self.row.births_in != stretch {
            (self.row.births_in, self.row.births) = (stretch, [0; BIRTHS]);
        }
        self.row.births.rotate_right(1);
        self.row.births[0] = inst;
    }

    /// The thread has made locks in the stretch that it is in.
    pub(crate) fn has_births(&self) -> bool {
        self.row.births_in != 0 && self.stretch().0 == self.row.births_in
    }

    /// Lock `inst` is one of those.
    pub(crate) fn has_born(&self, inst: u32) -> bool {
        inst != 0 && self.row.births.contains(&inst)
    }
}

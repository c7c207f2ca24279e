//! Locks that have a row of their own, or a hold that another thread awaits, to be asked for without the core's lock.
//!
//! A pair of classes that has its fill of contexts ([`super::recorder`]) has one more, which stands for all other locks of
//! the classes. Which of the two a lock is in depends on whether it was recorded by itself: a lock that never was is in
//! that one, so that a thread that has been there knows the context of each such lock.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Bits: locks whose numbers are that far apart share one. 32 KiB, of which a program touches a page for 32,768 locks.
const BITS: usize = 1 << 18;

/// Marks by the numbers of locks. They are never taken away: one that is there too much costs time only.
#[derive(Debug)]
pub struct RecordedLocks {
    words: [AtomicU64; BITS / 64],
}

impl Default for RecordedLocks {
    fn default() -> Self {
        Self::new()
    }
}

impl RecordedLocks {
    /// None yet.
    pub const fn new() -> Self {
        Self { words: [const { AtomicU64::new(0) }; BITS / 64] }
    }

    fn word(&self, inst: u32) -> (&AtomicU64, u64) {
        let bit = inst as usize % BITS;
        (&self.words[bit / 64], 1 << (bit % 64))
    }

    /// The lock is about to have a row, or a hold that is awaited. The caller has the core's lock.
    pub(crate) fn note(&self, inst: u32) {
        let (word, bit) = self.word(inst);
        // Relaxed: a thread asks only for pairs of classes of which it has learnt, by the core's lock, that they have had their
        // fill. All rows that these led to were noted before.
        if word.load(Relaxed) & bit == 0 {
            word.store(word.load(Relaxed) | bit, Relaxed);
        }
    }

    /// False: the lock has no row, or has had none when the calling thread last had the core's lock.
    #[inline]
    pub fn may_have(&self, inst: u32) -> bool {
        let (word, bit) = self.word(inst);
        // Relaxed: as in `note`.
        word.load(Relaxed) & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_noted_is_there() {
        static LOCKS: RecordedLocks = RecordedLocks::new();
        let locks = &LOCKS;
        for inst in [1, 63, 130, 100_000] {
            assert!(!locks.may_have(inst), "{inst}");
            locks.note(inst);
            assert!(locks.may_have(inst), "{inst}");
            assert!(!locks.may_have(inst + 1) && !locks.may_have(inst - 1), "{inst}");
        }
        assert!(locks.may_have(1 + BITS as u32), "which shares its bit");
    }
}

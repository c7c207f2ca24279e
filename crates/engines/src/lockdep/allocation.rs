//! Classes of locks that lie in heap blocks: by where the block was allocated and where in it they lie. A
//! structure has few locks, each a class of its own; a block with many is an array, and they are one.

use lockwright_ledger::rows::ANY_OFFSET;

use super::core::Core;
use super::key::hash;

/// Places in the blocks of one allocation that make classes of their own.
const OFFSETS_PER_STACK: u32 = 8;

impl Core {
    /// What the class of a lock at `offset` of a block allocated at `frames` goes by.
    pub(super) fn offset_in_block(&mut self, frames: &[u64], offset: u64) -> u64 {
        let stack = hash(frames);
        let place = hash(&[stack, offset]);
        if self.offsets.get(&self.writer, place).is_some() {
            return offset;
        }
        let seen = self.offsets.get(&self.writer, stack).unwrap_or(0);
        // Places beyond are not remembered: arrays may be long.
        if seen == OFFSETS_PER_STACK {
            return ANY_OFFSET;
        }
        self.offsets.insert(&mut self.writer, stack, seen + 1);
        self.offsets.insert(&mut self.writer, place, seen + 1);
        offset
    }
}

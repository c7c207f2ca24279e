//! Blocks of code that we have put near a module ([`crate::interpose::inlined`]): no unwind table covers them, but where they
//! call something the stack is always as deep.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

/// Blocks at most: one for each module.
pub const MOST: usize = 64;

/// A block, and its module.
struct Block {
    /// Where it begins and ends; 0 and 0: there is none.
    start: AtomicU64,
    end: AtomicU64,
    /// Where its module begins.
    module: AtomicU64,
}

static BLOCKS: [Block; MOST] = [const {
    Block { start: AtomicU64::new(0), end: AtomicU64::new(0), module: AtomicU64::new(0) }
}; MOST];
static LEN: AtomicUsize = AtomicUsize::new(0);

fn free() -> Option<usize> {
    BLOCKS.iter().position(|block| block.end.load(Relaxed) == 0)
}

/// There is room for another.
pub fn has_room() -> bool {
    free().is_some()
}

/// A block of `module` is there from `start` to below `end`. One caller at a time.
pub fn add(module: u64, start: u64, end: u64) {
    let Some(n) = free() else { return };
    BLOCKS[n].module.store(module, Relaxed);
    BLOCKS[n].start.store(start, Relaxed);
    BLOCKS[n].end.store(end, Relaxed);
    // Pairs with the Acquire in `has`.
    LEN.store(LEN.load(Relaxed).max(n + 1), Release);
}

/// The modules that begin in `[from, to)` are gone: calls `f` with where each block of theirs begins and ends.
pub fn remove(from: u64, to: u64, mut f: impl FnMut(u64, u64)) {
    for block in &BLOCKS[..LEN.load(Relaxed)] {
        let end = block.end.load(Relaxed);
        if end != 0 && (from..to).contains(&block.module.load(Relaxed)) {
            block.end.store(0, Relaxed);
            f(block.start.swap(0, Relaxed), end);
        }
    }
}

/// `address` is in one.
#[inline]
pub fn has(address: u64) -> bool {
    // Acquire pairs with the Release in `add`: the entries below are complete. A thread that asks about a block is called from there, so it stays.
    let blocks = &BLOCKS[..LEN.load(Acquire)];
    blocks
        .iter()
        .any(|block| (block.start.load(Relaxed)..block.end.load(Relaxed)).contains(&address))
}

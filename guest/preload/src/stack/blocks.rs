//! Blocks of code that we have put near a module ([`crate::interpose::inlined`]): no unwind table covers them, but where they
//! call something the stack is always as deep.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

/// Blocks at most: one for each module.
pub const MOST: usize = 64;

/// Where each begins and ends.
static BLOCKS: [[AtomicU64; 2]; MOST] = [const { [const { AtomicU64::new(0) }; 2] }; MOST];
static LEN: AtomicUsize = AtomicUsize::new(0);

/// There is room for another.
pub fn has_room() -> bool {
    LEN.load(Relaxed) < MOST
}

/// A block is there from `start` to below `end`, for good. One caller at a time.
pub fn add(start: u64, end: u64) {
    let n = LEN.load(Relaxed);
    let Some([from, to]) = BLOCKS.get(n) else { return };
    from.store(start, Relaxed);
    to.store(end, Relaxed);
    // Pairs with the Acquire in `has`.
    LEN.store(n + 1, Release);
}

/// `address` is in one.
#[inline]
pub fn has(address: u64) -> bool {
    // Acquire pairs with the Release in `add`: the entries below are complete.
    BLOCKS[..LEN.load(Acquire)]
        .iter()
        .any(|[from, to]| (from.load(Relaxed)..to.load(Relaxed)).contains(&address))
}

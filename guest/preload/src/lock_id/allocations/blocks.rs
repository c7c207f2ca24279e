//! Live blocks of the heap, found by any address in them: a shadow of the heap, 16 bytes for every
//! 32.
//!
//! Blocks of [`LEAST`] bytes are at least that far apart, so in 32 bytes at most one begins. Its
//! slot is at the end of a radix tree over the address: one store records a block and one takes it
//! off, without a lock and without ever moving anything. The tree grows with the heap; pages of it
//! that shadow no block are never touched.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};

use lockwright_engines::lockdep::Stretch;

use crate::os::sys;

/// Smaller blocks hold no lock (but a spinlock) and are not recorded.
pub const LEAST: usize = 40;

/// Bytes of the heap that a slot stands for.
const GRANULE: u64 = 32;
/// Bytes of the heap that a leaf stands for.
const LEAF: u64 = 1 << 24;
/// Pages, as far as `Leaf::begun` is concerned.
const PAGE: u64 = 4096;
/// Leaves of a middle node, and middle nodes: together 47 bits, which is what user space has.
const MIDDLE: usize = 1 << 11;
const TOP: usize = 1 << 12;

/// How far before an address its block may begin.
const LARGEST: u64 = 1 << 34;

const _: () = assert!(GRANULE <= LEAST as u64);
const _: () = assert!(LEAF * MIDDLE as u64 * TOP as u64 == 1 << 47);

#[repr(C)]
struct Slot {
    /// Size 40 bits, stack 22, offset in the granule in units of 8 2; 0 if no block begins there.
    what: AtomicU64,
    /// [`Block::stretch`]; stored before `what`.
    stretch: AtomicU64,
}

#[repr(C)]
struct Leaf {
    /// A bit for each page in which a block ever began, so that a search need not look at the
    /// others.
    begun: [AtomicU64; (LEAF / PAGE / 64) as usize],
    slots: [Slot; (LEAF / GRANULE) as usize],
}

#[repr(C)]
struct Middle {
    leaves: [AtomicPtr<Leaf>; MIDDLE],
}

static TREE: [AtomicPtr<Middle>; TOP] = [const { AtomicPtr::new(core::ptr::null_mut()) }; TOP];

/// What is known of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Bytes asked for.
    pub size: u64,
    /// Number of the stack of its allocation.
    pub stack: u32,
    /// When it was allocated, and by which thread.
    pub stretch: Stretch,
}

/// Numbers of stacks are below.
pub const STACKS: u32 = 1 << 22;

impl Block {
    fn pack(&self, start: u64) -> u64 {
        self.size.min((1 << 40) - 1) << 24 | u64::from(self.stack) << 2 | start >> 3 & 3
    }

    fn unpack(what: u64, stretch: u64) -> Self {
        let stack = (what >> 2) as u32 & (STACKS - 1);
        Self { size: what >> 24, stack, stretch: Stretch(stretch) }
    }
}

/// The node that `slot` points to.
#[inline(always)]
fn node<T>(slot: &AtomicPtr<T>) -> Option<&'static T> {
    // Acquire pairs with the Release in `make`. (A mapping is zeroed for everybody, but let it be
    // theirs.)
    // SAFETY: a slot is null or points to a zeroed mapping of a `T`, which stays mapped.
    unsafe { slot.load(Acquire).as_ref() }
}

/// As [`node`], made if it is not there. A zeroed mapping must be a valid node.
#[cold]
fn make<T>(slot: &AtomicPtr<T>) -> Option<&'static T> {
    if let Some(node) = node(slot) {
        return Some(node);
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use changes.
    let new = unsafe { sys::mmap(size_of::<T>(), libc::PROT_READ | libc::PROT_WRITE, flags, -1) };
    if new <= 0 {
        return None;
    }
    let new = new as *mut T;
    // SAFETY: ours. It is sparse, so huge pages would waste it; and core dumps are the program's
    // own.
    unsafe {
        sys::madvise(new.cast(), size_of::<T>(), libc::MADV_NOHUGEPAGE);
        sys::madvise(new.cast(), size_of::<T>(), libc::MADV_DONTDUMP);
    }
    // Release pairs with the Acquire in `node` and in other threads' attempts here.
    match slot.compare_exchange(core::ptr::null_mut(), new, AcqRel, Acquire) {
        // SAFETY: zeroed, which is a valid node.
        Ok(_) => Some(unsafe { &*new }),
        Err(theirs) => {
            // SAFETY: nobody has seen ours; theirs stays mapped.
            unsafe {
                sys::munmap(new.cast(), size_of::<T>());
                Some(&*theirs)
            }
        }
    }
}

#[inline(always)]
fn top(address: u64) -> Option<&'static AtomicPtr<Middle>> {
    TREE.get((address / LEAF) as usize / MIDDLE)
}

/// The leaf of `address`, if there is one.
#[inline(always)]
fn leaf(address: u64) -> Option<&'static Leaf> {
    node(&node(top(address)?)?.leaves[(address / LEAF) as usize % MIDDLE])
}

#[cold]
fn make_leaf(address: u64) -> Option<&'static Leaf> {
    make(&make(top(address)?)?.leaves[(address / LEAF) as usize % MIDDLE])
}

fn slot(leaf: &Leaf, address: u64) -> &Slot {
    &leaf.slots[(address % LEAF / GRANULE) as usize]
}

/// Records the block at `start`. False where there is no memory for it.
#[inline(always)]
pub fn insert(start: u64, block: Block) -> bool {
    let Some(leaf) = leaf(start).or_else(|| make_leaf(start)) else { return false };
    let page = start % LEAF / PAGE;
    let (begun, bit) = (&leaf.begun[page as usize / 64], 1 << (page % 64));
    if begun.load(Relaxed) & bit == 0 {
        begun.fetch_or(bit, Relaxed);
    }
    let slot = slot(leaf, start);
    slot.stretch.store(block.stretch.0, Relaxed);
    // Release pairs with the Acquire in `find`. A thread that looks for a lock in the block got its
    // address after this, in a way that orders the two anyhow.
    slot.what.store(block.pack(start), Release);
    true
}

/// Takes the block at `start` off.
pub fn remove(start: u64) -> Option<Block> {
    let slot = slot(leaf(start)?, start);
    // Relaxed: a thread that frees a block got it from its allocator, and no other thread may use
    // it any more.
    let what = slot.what.load(Relaxed);
    if what == 0 || what & 3 != start >> 3 & 3 {
        return None;
    }
    slot.what.store(0, Relaxed);
    Some(Block::unpack(what, slot.stretch.load(Relaxed)))
}

/// The block that `address` lies in, and where it starts.
pub fn find(address: u64) -> Option<(u64, Block)> {
    let mut from = address;
    loop {
        if address - from > LARGEST {
            return None;
        }
        let base = from & !(LEAF - 1);
        if let Some((start, block)) = leaf(base).and_then(|leaf| last(leaf, base, from)) {
            return (address - start < block.size).then_some((start, block));
        }
        from = base.checked_sub(1)?;
    }
}

/// The last block of a leaf that begins at or before `from`.
fn last(leaf: &Leaf, base: u64, from: u64) -> Option<(u64, Block)> {
    let mut page = (from - base) / PAGE;
    loop {
        let upto = u64::MAX >> (63 - page % 64);
        let begun = leaf.begun[page as usize / 64].load(Relaxed) & upto;
        if begun == 0 {
            page = (page & !63).checked_sub(1)?;
            continue;
        }
        page = page & !63 | u64::from(begun.ilog2());
        let first = page * (PAGE / GRANULE);
        let end = ((from - base) / GRANULE).min(first + PAGE / GRANULE - 1);
        for i in (first..=end).rev() {
            let slot = &leaf.slots[i as usize];
            // Acquire pairs with the Release in `insert`.
            let what = slot.what.load(Acquire);
            let start = base + i * GRANULE + (what & 3) * 8;
            if what != 0 && start <= from {
                return Some((start, Block::unpack(what, slot.stretch.load(Relaxed))));
            }
        }
        page = page.checked_sub(1)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(size: u64, stack: u32) -> Block {
        Block { size, stack, stretch: Stretch(9 << 32 | 7) }
    }

    #[test]
    fn a_block_is_found_by_each_of_its_addresses_until_it_is_gone() {
        let at = 0x1234_5000_0010;
        assert!(insert(at, block(100, 5)));
        assert_eq!(find(at), Some((at, block(100, 5))));
        assert_eq!(find(at + 99), Some((at, block(100, 5))));
        assert_eq!(find(at + 100), None);
        assert_eq!(find(at - 1), None);
        assert_eq!(remove(at - 8), None, "none begins there");
        assert_eq!(remove(at), Some(block(100, 5)));
        assert_eq!((find(at), remove(at)), (None, None));
    }

    #[test]
    fn the_nearest_counts() {
        let at = 0x1111_0000_0000;
        // The second begins in the granule in which the first ends.
        assert!(insert(at, block(40, 1)) && insert(at + 48, block(64, 2)));
        assert_eq!(find(at + 39), Some((at, block(40, 1))));
        assert_eq!(find(at + 47), None);
        assert_eq!(find(at + 48), Some((at + 48, block(64, 2))));
    }

    #[test]
    fn large_blocks_are_searched_back_to_their_start() {
        let at = 0x2222_00ff_f000;
        let size = 5 * LEAF + 77;
        assert!(insert(at, block(size, STACKS - 1)));
        assert_eq!(find(at + size - 1), Some((at, block(size, STACKS - 1))));
        assert_eq!(find(at + size), None);
    }

    #[test]
    fn addresses_beyond_user_space_are_refused() {
        assert!(!insert(1 << 47, block(64, 1)));
        assert_eq!((find(1 << 47), remove(1 << 47)), (None, None));
    }
}

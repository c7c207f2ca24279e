//! Hash buckets: trackers by the page-sized chunk that their object begins in.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU64};

use super::lock::Locked;
use super::tracker::Tracker;

/// Bits of an address within its chunk: a page.
pub(super) const CHUNK_SHIFT: u32 = 12;

/// Buckets, the kernel's number.
const BUCKETS: usize = 1 << 14;

/// Buckets of a group: a page of them.
const GROUP: usize = 256;
const GROUPS: usize = BUCKETS / GROUP;

/// All buckets. All zero at first, so that those which nobody uses take no memory.
pub struct Buckets {
    chains: [Locked<Chain>; BUCKETS],
    /// Groups of which some bucket has had an object, a bit for each: pages of others need not be looked at.
    used: [AtomicU64; GROUPS / 64],
}

impl Default for Buckets {
    fn default() -> Self {
        Self::new()
    }
}

impl Buckets {
    /// Without objects.
    pub const fn new() -> Self {
        Self {
            chains: [const { Locked::new(Chain::new()) }; BUCKETS],
            used: [const { AtomicU64::new(0) }; GROUPS / 64],
        }
    }

    /// One of them.
    #[inline(always)]
    pub(super) fn get(&self, i: usize) -> &Locked<Chain> {
        &self.chains[i]
    }

    /// The bucket is about to get an object.
    #[inline]
    pub(super) fn note(&self, i: usize) {
        let (word, bit) = (&self.used[i / GROUP / 64], 1 << (i / GROUP % 64));
        // Relaxed: as in `Chain::is_empty`.
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }

    /// How many may have objects.
    pub(super) fn count_used(&self) -> usize {
        // Relaxed: as in `Chain::is_empty`.
        let groups: u32 = self.used.iter().map(|word| word.load(Relaxed).count_ones()).sum();
        groups as usize * GROUP
    }

    /// Those.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> {
        // Relaxed: as in `Chain::is_empty`.
        let is_used = |group: &usize| self.used[group / 64].load(Relaxed) >> (group % 64) & 1 != 0;
        (0..GROUPS).filter(is_used).flat_map(|group| group * GROUP..(group + 1) * GROUP)
    }
}

/// The bucket of a chunk, by its number.
pub(super) fn of_chunk(chunk: u64) -> usize {
    // Fibonacci hashing: the multiplier is 2^64 over the golden ratio, and the high bits index.
    (chunk.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BUCKETS.trailing_zeros())) as usize
}

/// A bucket's trackers. Changed under the bucket's lock.
pub(super) struct Chain {
    /// Atomic only for [`Chain::is_empty`], which is asked without the lock.
    head: AtomicPtr<Tracker>,
}

impl Chain {
    pub const fn new() -> Self {
        Self { head: AtomicPtr::new(null_mut()) }
    }

    /// It has none. Asked without the lock the answer holds for objects that nobody can be adding
    /// now. Relaxed: a thread that may give up an object's memory learned of the object in a way
    /// that orders the two.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.load(Relaxed).is_null()
    }

    /// The object of that address and type, and how many were looked at.
    #[inline(always)]
    pub fn find(&self, addr: u64, type_id: u32) -> (*mut Tracker, u64) {
        let mut seen = 0;
        for at in self.iter() {
            seen += 1;
            // SAFETY: a chain's trackers are live.
            let tracker = unsafe { &*at };
            if tracker.addr == addr && tracker.descr.type_id == type_id {
                return (at, seen);
            }
        }
        (null_mut(), seen)
    }

    /// Adds a tracker.
    ///
    /// # Safety
    /// The lock is held. The tracker is live, and in no chain.
    pub unsafe fn insert(&self, tracker: *mut Tracker) {
        // SAFETY: `tracker` is live and in no chain yet, so only the caller, who holds the lock,
        // accesses it.
        unsafe { (*tracker).next = self.head.load(Relaxed) };
        self.head.store(tracker, Relaxed);
    }

    /// Takes a tracker out. One store: a fork may come before or after it.
    ///
    /// # Safety
    /// The lock is held. The tracker is in the chain.
    pub unsafe fn remove(&self, tracker: *mut Tracker) {
        // SAFETY: in the chain, so live, as are those before it; the walk comes to it.
        unsafe {
            let mut before = self.head.load(Relaxed);
            if before == tracker {
                return self.head.store((*tracker).next, Relaxed);
            }
            while (*before).next != tracker {
                before = (*before).next;
            }
            (*before).next = (*tracker).next;
        }
    }

    /// Its trackers; one that was given out may be removed before the next is asked for.
    pub fn iter(&self) -> impl Iterator<Item = *mut Tracker> + use<> {
        let mut at = self.head.load(Relaxed);
        core::iter::from_fn(move || {
            let tracker = at;
            // SAFETY: a chain's trackers are live, and end with null; one that is removed keeps its
            // link.
            at = unsafe { tracker.as_ref() }?.next;
            Some(tracker)
        })
    }
}

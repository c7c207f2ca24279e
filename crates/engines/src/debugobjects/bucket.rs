//! Hash buckets: trackers by the page-sized chunk that their object begins in.

use core::ptr::null_mut;

use super::tracker::Tracker;

/// Bits of an address within its chunk: a page.
pub(super) const CHUNK_SHIFT: u32 = 12;

/// Buckets, the kernel's number.
pub(super) const BUCKETS: usize = 1 << 14;

/// The bucket of a chunk, by its number.
pub(super) fn of_chunk(chunk: u64) -> usize {
    // Fibonacci hashing: the multiplier is 2^64 over the golden ratio, and the high bits index.
    (chunk.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BUCKETS.trailing_zeros())) as usize
}

/// A bucket's trackers.
pub(super) struct Chain {
    head: *mut Tracker,
}

impl Chain {
    pub const fn new() -> Self {
        Self { head: null_mut() }
    }

    /// The object of that address and type, and how many were looked at.
    pub fn find(&self, addr: u64, type_id: u32) -> (*mut Tracker, u64) {
        let (mut at, mut seen) = (self.head, 0);
        // SAFETY: a chain's trackers are live, and end with null.
        while let Some(tracker) = unsafe { at.as_ref() } {
            seen += 1;
            if tracker.addr == addr && tracker.descr.type_id == type_id {
                break;
            }
            at = tracker.next;
        }
        (at, seen)
    }

    /// Adds a tracker.
    ///
    /// # Safety
    /// It is in no chain.
    pub unsafe fn insert(&mut self, tracker: *mut Tracker) {
        // SAFETY: a live tracker, the caller's promise.
        unsafe { (*tracker).next = self.head };
        self.head = tracker;
    }

    /// Takes a tracker out that is in the chain. One store: a fork may come before or after it.
    pub fn remove(&mut self, tracker: *mut Tracker) {
        let mut link = &raw mut self.head;
        // SAFETY: the tracker is in the chain, so the walk comes to it; its links are live.
        unsafe {
            while *link != tracker {
                link = &raw mut (**link).next;
            }
            *link = (*tracker).next;
        }
    }

    /// Its trackers; one that was given out may be removed before the next is asked for.
    pub fn iter(&self) -> impl Iterator<Item = *mut Tracker> + use<> {
        let mut at = self.head;
        core::iter::from_fn(move || {
            let tracker = at;
            // SAFETY: a chain's trackers are live, and end with null; removing one leaves its link.
            at = unsafe { tracker.as_ref() }?.next;
            Some(tracker)
        })
    }
}

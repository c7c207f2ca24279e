//! Runs of buckets: lists of them, and counting in a run that several threads share. `run_owner.rs` decides
//! which cell has runs of its own.

use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicU16, AtomicU64};

use lockwright_ledger::rows::meter::{Bucket, Site};

/// What is to be done that takes the engine's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// There are no buckets for this value yet, or it is time for the cell to have its own.
    Run,
    /// The count at this index of the bucket row has wrapped.
    Carry(u32, u32),
}

/// The run of a list that begins at address `first`, null if it has none.
///
/// # Safety
/// The list is one of mapped rows.
pub(super) unsafe fn find(first: u64, run: u16, kind: u16) -> *mut Bucket {
    let mut at = first as *mut Bucket;
    // SAFETY: by contract the list consists of mapped rows; none of these fields changes.
    while let Some(bucket) = unsafe { at.as_ref() }
        && (bucket.run != run || bucket.kind != kind)
    {
        at = bucket.next_at as *mut Bucket;
    }
    at
}

/// First of the list of shared runs that `run` is in if the site has it.
///
/// # Safety
/// `site` is a mapped row.
pub(super) unsafe fn first_shared(site: *mut Site, run: u16) -> u64 {
    // SAFETY: by contract `site` is a mapped row. Acquire pairs with the Release in `run_owner::provide`: the
    // row at the address is complete.
    unsafe { head(site, run) }.load(Acquire)
}

/// The word of that.
///
/// # Safety
/// As [`first_shared`].
pub(super) unsafe fn head<'a>(site: *mut Site, run: u16) -> &'a AtomicU64 {
    // SAFETY: by contract `site` is a mapped row; 8-aligned, and only used as an atomic.
    unsafe { AtomicU64::from_ptr(&raw mut (*site).shared[usize::from(run) % 8]) }
}

/// Counts in a shared run.
///
/// # Safety
/// `bucket` is a mapped row, `index` below [`lockwright_ledger::histogram::RUN`].
pub(super) unsafe fn count_shared(bucket: *mut Bucket, index: usize) -> Option<Missing> {
    // SAFETY: by contract `bucket` is a mapped row, and `index` is within its counts; 2-aligned,
    // and of a shared row only used as an atomic.
    unsafe {
        let count = AtomicU16::from_ptr((&raw mut (*bucket).counts).cast::<u16>().add(index));
        // Relaxed: it publishes nothing else.
        let is_full = count.fetch_add(1, Relaxed) == u16::MAX;
        is_full.then(|| Missing::Carry((*bucket).id, index as u32))
    }
}

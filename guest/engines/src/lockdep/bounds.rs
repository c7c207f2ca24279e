//! Bounds of what a program that runs for ever would record for ever.
//!
//! A thread that ends leaves nothing behind unless something else needs it (`reclaim.rs`), and a hold
//! that has ended goes likewise (`ended_holds.rs`). Some records need threads by themselves: holds
//! that threads hand on to each other and never pass, semaphores and barriers, signals. A program
//! that runs for ever has ever more of them. So each kind has a bound, and the header names those
//! that were reached. Where such records order threads, the header also has the last segment before
//! orders may be missing. The reader is not sure of later segments.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::Writer;
use lockwright_ledger::layout::bounded;

/// Holds ([`lockwright_ledger::rows::Hold`]) at a time: those of locks that are held, those that
/// threads await, and those that separate evidence. The rows of others are used again
/// (`ended_holds.rs`).
pub(super) const MOST_HOLDS: u64 = 1 << 13;

/// Segments at a time that begin with a lock that only can have been free after such a hold.
pub(super) const MOST_PASSES: u32 = 1 << 13;

/// Elements of lists of holds, at a time.
pub(super) const MOST_IN_LISTS: u64 = 1 << 15;

/// Barriers and semaphores: with the segments of all their rounds, some 10 MB.
pub(super) const MOST_SYNCS: u64 = 1 << 12;

/// Signals at one place, by all threads.
pub(super) const MOST_OF_PLACE: u32 = 512;

/// Uses of one class with one signal, by all threads.
pub(super) const MOST_USES: u32 = 512;

/// Acquisitions of one thread in one context that are counted to learn of such uses.
pub(super) const MOST_LOOKS: u64 = 1 << 14;

/// No more is recorded of these kinds, [`bounded`] bits.
#[cold]
pub(super) fn reached(writer: &mut Writer, kinds: u32) {
    let header = writer.header();
    // Relaxed: words by themselves, which readers find old or new.
    let orders = kinds & !bounded::USES != 0 && header.orders_until.load(Relaxed) == 0;
    if orders {
        let [_, newest, ..] = &header.last_numbers;
        header.orders_until.store(newest.load(Relaxed), Relaxed);
    }
    header.bounded.fetch_or(kinds, Relaxed);
}

//! Which thread began the life of a lock, by the lock's number: the one that initialised it or, where nobody did, took it first.
//!
//! It is known of locks that were made lately, which suffices: the ledger keeps it of a lock that is nested, from its first
//! nesting on. Nothing is written for most births: numbers are given out by the supply, and a supply is one thread's.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::os::tls;

/// So many numbers a thread takes at a time, which follow one another.
pub const SUPPLY: u32 = 64;

/// The latest supplies, each where its first number leads to. 16 KiB, of which a program touches a page for each 32,768 locks.
static SUPPLIES: [AtomicU64; 2048] = [const { AtomicU64::new(0) }; 2048];

/// The latest numbers that were given out alone.
static ALONE: [AtomicU64; 512] = [const { AtomicU64::new(0) }; 512];

/// Counts the ledgers that this process and those that it was forked from have begun: what a parent has noted is not the
/// child's, whose numbers begin at 1.
static LEDGER: AtomicU32 = AtomicU32::new(0);

/// A new ledger begins, with numbers of its own.
pub fn start() {
    // Relaxed: no second thread is there yet.
    LEDGER.fetch_add(1, Relaxed);
}

/// The calling thread has taken a supply that begins with `first`.
pub fn note_supply(first: u32) {
    note(&SUPPLIES[supply_place(first / SUPPLY)], first);
}

/// A lock of the calling thread has been given a number that may be of no supply.
pub fn note_alone(inst: u32) {
    note(&ALONE[inst as usize % ALONE.len()], inst);
}

/// The thread that made lock `inst`, 0 if that is not known any more.
pub fn of(inst: u32) -> u32 {
    let alone = || made_by(&ALONE[inst as usize % ALONE.len()], inst..=inst);
    // A supply may begin anywhere.
    let near = [inst / SUPPLY, (inst / SUPPLY).wrapping_sub(1)];
    let of_supply =
        |near| made_by(&SUPPLIES[supply_place(near)], inst.saturating_sub(SUPPLY - 1)..=inst);
    alone().or_else(|| near.into_iter().find_map(of_supply)).unwrap_or(0)
}

fn supply_place(number: u32) -> usize {
    number as usize % SUPPLIES.len()
}

/// Numbers of threads that a word has room for.
const MOST_THREADS: u32 = 1 << 24;

fn note(word: &AtomicU64, first: u32) {
    // SAFETY: the calling thread's state, or that of all detached ones.
    let thread = unsafe { &*tls::raw() }.id();
    let known = if thread < MOST_THREADS { thread } else { 0 };
    // Relaxed: the word says all by itself.
    word.store(pack(first, LEDGER.load(Relaxed), known), Relaxed);
}

/// The thread that a word names, if its number is one of `firsts`.
fn made_by(word: &AtomicU64, firsts: core::ops::RangeInclusive<u32>) -> Option<u32> {
    // Relaxed: the word says all by itself.
    let (word, ledger) = (word.load(Relaxed), LEDGER.load(Relaxed));
    let (first, thread) = ((word >> 32) as u32, word as u32 % MOST_THREADS);
    (firsts.contains(&first) && word == pack(first, ledger, thread)).then_some(thread)
}

const fn pack(first: u32, ledger: u32, thread: u32) -> u64 {
    (first as u64) << 32 | (ledger % (1 << 8) * MOST_THREADS) as u64 | thread as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_its_thread_for_its_ledger_only() {
        let word = AtomicU64::new(pack(130, LEDGER.load(Relaxed), 7));
        assert_eq!(made_by(&word, 130..=130), Some(7));
        assert_eq!(made_by(&word, 67..=130), Some(7));
        assert_eq!(made_by(&word, 131..=131), None);
        assert_eq!(made_by(&word, 60..=129), None);
        let of_parent = AtomicU64::new(pack(130, LEDGER.load(Relaxed).wrapping_sub(1), 7));
        assert_eq!(made_by(&of_parent, 130..=130), None);
    }
}

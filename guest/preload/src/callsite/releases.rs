//! The releases of locks that undecided call sites took: whether they were released before the
//! function returned, or after. The verdict needs the first late one only, and forgets; the search
//! for locks that were never released needs both.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_ledger::site;

/// What is known of the lock calls that return to an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Releases {
    /// Releases within the function, as far as they were looked at.
    pub inside: u8,
    /// One was released after the function had returned.
    pub outside: bool,
}

/// A word: address << 16 | details, free if 0.
const SLOTS: usize = 1 << 14;
static TABLE: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];

/// Slots that are looked at for one address. If none is free nothing is known of it.
const PROBES: usize = 16;

const ADDRESS: u32 = 16;
const INSIDE: u64 = 0xff;
const OUTSIDE: u64 = 1 << 8;
const ON_RECORD: u64 = 1 << 9;

// Every access is Relaxed: a word says nothing about other memory.

fn first_slot(address: u64) -> usize {
    (address.wrapping_mul(site::MIX) >> 50) as usize
}

fn find(address: u64) -> Option<(&'static AtomicU64, u64)> {
    if address >> (64 - ADDRESS) != 0 {
        return None;
    }
    let first = first_slot(address);
    (first..first + PROBES).find_map(|i| {
        let slot = &TABLE[i % SLOTS];
        let word = slot.load(Relaxed);
        (word == 0 || word >> ADDRESS == address).then_some((slot, word))
    })
}

/// Applies `change` to the word of `address`, and gives that as it was before.
fn update(address: u64, change: impl Fn(u64) -> u64) -> u64 {
    // It writes to the slot's page before `find` reads it: one page fault instead of two, where the
    // page is new or a forked child's.
    let _ = TABLE[first_slot(address)].compare_exchange(0, 0, Relaxed, Relaxed);
    loop {
        let Some((slot, old)) = find(address) else { return 0 };
        let now = if old == 0 { address << ADDRESS } else { old };
        if slot.compare_exchange(old, change(now), Relaxed, Relaxed).is_ok() {
            return now;
        }
    }
}

/// What is known of `address`.
pub fn of(address: u64) -> Releases {
    let word = find(address).map_or(0, |(_, word)| word);
    Releases { inside: (word & INSIDE) as u8, outside: word & OUTSIDE != 0 }
}

/// A lock was released before the function returned. Says whether that is news for the record.
pub fn inside(address: u64) -> bool {
    let count = |word| if word & INSIDE == INSIDE { word } else { word + 1 };
    let old = update(address, count);
    old & ON_RECORD != 0 && old & INSIDE != INSIDE
}

/// A lock was released after the function had returned. Says whether that is news for the record.
pub fn outside(address: u64) -> bool {
    update(address, |word| word | OUTSIDE) & (ON_RECORD | OUTSIDE) == ON_RECORD
}

/// A hold of a lock taken there is recorded, and wants to know of later releases.
pub fn record(address: u64) {
    update(address, |word| word | ON_RECORD);
}

/// Forgets what is known of addresses in `[from, to)`: other code may come to lie there.
pub fn forget(from: u64, to: u64) {
    for slot in &TABLE {
        let word = slot.load(Relaxed);
        if word != 0 && (from..to).contains(&(word >> ADDRESS)) {
            // Lost to a thread that releases at this moment: it forgets at the next unloading.
            let _ = slot.compare_exchange(word, word & !((1 << ADDRESS) - 1), Relaxed, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_release_are_remembered() {
        assert_eq!(of(0x1000), Releases::default());
        assert!(!inside(0x1000) && !outside(0x1000), "nothing is on record");
        assert!(!inside(0x1000));
        assert_eq!(of(0x1000), Releases { inside: 2, outside: true });
        forget(0x1000, 0x1001);
        assert_eq!(of(0x1000), Releases::default());
    }

    #[test]
    fn the_record_is_told_what_comes_later() {
        record(0x2000);
        assert!(inside(0x2000) && inside(0x2000), "each of them");
        assert!(outside(0x2000));
        assert!(!outside(0x2000), "once");
    }

    #[test]
    fn counts_end() {
        for _ in 0..300 {
            inside(0x3000);
        }
        assert_eq!(of(0x3000).inside, 255);
        record(0x3000);
        assert!(!inside(0x3000), "no news");
    }
}

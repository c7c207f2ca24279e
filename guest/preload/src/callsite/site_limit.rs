//! How many call sites past wrappers there may be: code that is made at run time, or a lock taken
//! at every depth of a recursion, must not fill the ledger with them.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// The most sites that are longer than the return address of the lock call.
const MOST: u32 = 1 << 16;

/// Twice as many slots, so that a search ends soon. Each has a part of a site's hash, so two sites can count as one. That admits
/// one more, and does nothing else.
const SLOTS: usize = 2 * MOST as usize;
static ADMITTED: [AtomicU32; SLOTS] = [const { AtomicU32::new(0) }; SLOTS];
#[unsafe(link_section = "lockwright_forked")]
static COUNT: AtomicU32 = AtomicU32::new(0);
static IS_FULL: AtomicBool = AtomicBool::new(false);

// Every access is Relaxed: a set of numbers that say nothing about other memory.

/// What stands for a site: never 0.
#[derive(Clone, Copy)]
struct Key {
    first_slot: usize,
    part: u32,
}

impl Key {
    fn of(site: u64) -> Self {
        let hash = site.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { first_slot: (hash >> 47) as usize, part: (hash >> 15) as u32 | 1 }
    }

    /// The slot that has it, or the free one that could.
    fn find(self) -> (&'static AtomicU32, u32) {
        let mut i = self.first_slot;
        loop {
            let slot = &ADMITTED[i % SLOTS];
            let found = slot.load(Relaxed);
            // There always is a free one: `MOST` ends the filling, a few threads late at most.
            if found == 0 || found == self.part {
                return (slot, found);
            }
            i += 1;
        }
    }
}

/// Whether `site` may be used, or is used: false once there are too many others.
#[inline]
pub fn is_open(site: u64) -> bool {
    !IS_FULL.load(Relaxed) || Key::of(site).find().1 != 0
}

/// `site` is about to be recorded. False: there are too many.
pub fn admit(site: u64) -> bool {
    let key = Key::of(site);
    // Most are new. This exchange writes to the slot's page before `find` reads it: in a forked
    // child the page is copied by one page fault instead of two.
    let _ = ADMITTED[key.first_slot].compare_exchange(0, 0, Relaxed, Relaxed);
    loop {
        let (slot, found) = key.find();
        if found != 0 {
            return true;
        }
        if COUNT.load(Relaxed) >= MOST {
            IS_FULL.store(true, Relaxed);
            return false;
        }
        if slot.compare_exchange(0, key.part, Relaxed, Relaxed).is_ok() {
            COUNT.fetch_add(1, Relaxed);
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_and_no_more() {
        let site = |i: u32| 1 << 63 | u64::from(i);
        assert!(is_open(site(0)), "not full yet");
        for i in 0..MOST {
            assert!(admit(site(i)));
        }
        assert!(!admit(site(MOST)));
        assert!(!is_open(site(MOST)));
        assert!(admit(site(7)) && is_open(site(7)));
    }
}

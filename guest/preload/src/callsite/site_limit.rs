//! How many call sites past wrappers there may be: code that is made at run time, or a lock taken
//! at every depth of a recursion, must not fill the ledger with them.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The most sites that are longer than the return address of the lock call.
const MOST: u32 = 1 << 16;

/// Twice as many slots, so that a search ends soon.
const SLOTS: usize = 2 * MOST as usize;
static ADMITTED: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
#[unsafe(link_section = "lockwright_forked")]
static COUNT: AtomicU32 = AtomicU32::new(0);
static IS_FULL: AtomicBool = AtomicBool::new(false);

// Every access is Relaxed: a set of numbers that say nothing about other memory.

fn first_slot(site: u64) -> usize {
    (site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 47) as usize
}

/// The slot of `site`, or the free one that could be.
fn find(site: u64) -> (&'static AtomicU64, u64) {
    let mut i = first_slot(site);
    loop {
        let slot = &ADMITTED[i % SLOTS];
        let found = slot.load(Relaxed);
        // There always is a free one: `MOST` ends the filling, a few threads late at most.
        if found == 0 || found == site {
            return (slot, found);
        }
        i += 1;
    }
}

/// Whether `site` may be used, or is used: false once there are too many others.
#[inline]
pub fn is_open(site: u64) -> bool {
    !IS_FULL.load(Relaxed) || find(site).1 == site
}

/// `site` is about to be recorded. False: there are too many.
pub fn admit(site: u64) -> bool {
    // Most are new. This exchange writes to the slot's page before `find` reads it: in a forked
    // child the page is copied by one page fault instead of two.
    let _ = ADMITTED[first_slot(site)].compare_exchange(0, 0, Relaxed, Relaxed);
    loop {
        let (slot, found) = find(site);
        if found == site {
            return true;
        }
        if COUNT.load(Relaxed) >= MOST {
            IS_FULL.store(true, Relaxed);
            return false;
        }
        if slot.compare_exchange(0, site, Relaxed, Relaxed).is_ok() {
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

//! The cache of unwinding rules: by an instruction's address, how its caller is found.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Direct-mapped rule cache. An entry is (pc ^ bits, bits): two relaxed words that only agree if
/// they were stored together, so that racing writers cannot mix two rules.
const CACHE: usize = 8192;
static RULES: [[AtomicU64; 2]; CACHE] = [const { [const { AtomicU64::new(0) }; 2] }; CACHE];

/// The entry for this address.
pub fn slot(pc: u64) -> &'static [AtomicU64; 2] {
    &RULES[(pc.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51) as usize]
}

/// Forgets all rules: a module was unloaded, its addresses may come to mean something else.
pub fn forget_rules() {
    for [key, bits] in &RULES {
        key.store(0, Relaxed);
        bits.store(0, Relaxed);
    }
}

//! Keys: 64-bit hashes of identities. Multiply and fold, as cheap as a chain key must be.

pub(super) use crate::index::hash;

const K1: u64 = 0x9e37_79b9_7f4a_7c15;
const K2: u64 = 0xd6e8_feb8_6659_fd93;
const K3: u64 = 0xff51_afd7_ed55_8ccd;

/// Extends `key` by an acquisition: `what` is the lock (instance, or class where nothing is held),
/// `site` the call site. Mixes well into the high bits, which index the cache; all 64 are compared.
#[inline(always)]
pub fn extend(key: u64, what: u32, mode: u16, site: u64) -> u64 {
    // The usual mode is 0 and then costs nothing.
    let what = u64::from(what) ^ u64::from(mode).wrapping_mul(K3);
    let new = (site.rotate_left(32) ^ what).wrapping_mul(K1);
    (key ^ new).wrapping_mul(K2)
}

/// The key of what is nested inside instance `inst` taken with look-up key `key`.
#[inline(always)]
pub fn nested(key: u64, inst: u32) -> u64 {
    // A sum is enough: the next `extend` multiplies it.
    key.wrapping_add(u64::from(inst))
}

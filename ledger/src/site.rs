//! Call sites past wrappers: [`crate::rows::Node::site`] where the return address of the lock call
//! does not say who wanted the lock.
//!
//! A wrapper is a function that is called for the lock that it returns with. Bit 63 of such a site
//! is set, which it is in no address; bits 56 to 62 say how many frames at the top of the context's
//! stack are known to be wrappers'; the rest is a hash of the return addresses from the lock call
//! to the function that wanted it.

/// Bits of the hash.
const HASH: u32 = 56;

/// What the addresses of a hash are mixed by.
pub const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of one return address more. The hash of the first is the address itself.
#[inline(always)]
pub const fn extend(hash: u64, address: u64) -> u64 {
    hash.wrapping_mul(MIX).wrapping_add(address)
}

/// A site past `wrappers` wrappers, fewer than 128.
#[inline]
pub const fn deep(wrappers: u32, hash: u64) -> u64 {
    (1 << 7 | wrappers as u64) << HASH | self::hash(hash)
}

/// The hash alone. The hash of a return address is the address itself.
#[inline]
pub const fn hash(site: u64) -> u64 {
    site & ((1 << HASH) - 1)
}

/// How many frames at the top of the context's stack are known to be wrappers'.
pub const fn wrappers(site: u64) -> u32 {
    if site >> 63 == 0 { 0 } else { (site >> HASH) as u32 & 127 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_counted_in_deep_sites_only() {
        assert_eq!(wrappers(deep(3, u64::MAX)), 3);
        assert_eq!(wrappers(deep(0, 7)), 0);
        assert_eq!(wrappers(0x7fff_ffff_ffff), 0);
    }
}

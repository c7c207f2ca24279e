//! Keys: 64-bit hashes of identities. Multiply and fold, as cheap as a chain key must be.

pub(super) use crate::index::hash;

use lockwright_ledger::site;

use super::acquire::Ident;

const K2: u64 = 0xd6e8_feb8_6659_fd93;
const K3: u64 = 0xff51_afd7_ed55_8ccd;

/// Extends `key` by the acquisition of a lock, with others held or not; what follows is to be
/// applied to the result. Mixes well into the high bits, which index the cache; all 64 are
/// compared.
///
/// A lock taken with nothing held depends on nothing: its class is enough, so that walking over a
/// million instances stays one cached chain.
#[inline(always)]
pub fn of_lock(key: u64, ident: Ident, mode: u16, is_first: bool) -> u64 {
    let what = if is_first { ident.0 >> 32 } else { ident.0 << 32 };
    // The usual mode is 0 and then costs nothing.
    let what = what.wrapping_add(u64::from(mode).wrapping_mul(K3));
    key.wrapping_add(what).wrapping_mul(K2)
}

/// The rest: by the call site, whose highest eight bits do not matter; they are no part of the hash
/// that a site past wrappers is. It is a mere sum, so that neither half waits for the other, and
/// other sites are soon tried.
#[inline(always)]
pub fn at_site(key: u64, site: u64) -> u64 {
    key.wrapping_add(site.wrapping_mul(site::MIX) << 8)
}

/// The key of what is nested inside a lock taken with look-up key `key`.
#[inline(always)]
pub fn nested(key: u64, ident: Ident) -> u64 {
    // The low half is the instance, where the next lock's instance adds nothing: no two pairs of
    // instances have the same sum.
    key.wrapping_add(ident.0)
}

/// Hash of a text.
pub(super) fn text_hash(text: &[u8]) -> u64 {
    text.chunks(8).fold(text.len() as u64, |h, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash(&[h, u64::from_le_bytes(word)])
    })
}

//! Acquisitions that a thread repeats: of the same lock, at the same place, with the same locks held. What one notes of its lock
//! is kept for the next, which then has to look up neither the lock's identity nor the chain.
//!
//! It is for locks that are known by their address. The preload library reads this in assembly
//! (`interpose/inlined/short_ways.rs`); the fields have the names and order of those of [`Held`].

use lockwright_ledger::rows::Held;

use crate::lockdep::acquire::Ident;
use crate::lockdep::key;

/// An acquisition. Zeros are none: no lock's address is 0.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Repeated {
    /// Address of the lock.
    pub addr: u64,
    /// As [`Held::key`].
    pub key: u64,
    /// As [`Held::site`]: the return address.
    pub site: u64,
    /// [`Held::inst`] and [`Held::class`], as one word.
    pub lock: u64,
    /// [`Held::node`], [`Held::mode`] and [`Held::flags`], as one word.
    pub node: u64,
    /// When it is the same again, by [`Repeated::when`].
    pub when: u64,
    pub(super) reserved: [u64; 2],
}

/// What tells places apart in [`Repeated::when`], and in which slot each is: odd, and of many bits.
pub const MIX: u32 = 0x3779_b9b1;

impl Repeated {
    /// A hash of the place, of what is held below the lock, and of an era. What is below is its [`Held::key`]: as that has all that
    /// is held, and where the thread is, the lock itself is not among those. Eras differ in bits of all ranks ([`ERAS_APART`]).
    pub const fn when(site: u64, below: u64, era: u64) -> u64 {
        mixed(site).wrapping_add(below).wrapping_add(era)
    }
}

const fn mixed(site: u64) -> u64 {
    site.wrapping_mul(MIX as u64)
}

/// What is added to the number of an era for the next. Locks that were known by their address may have gone when it ends.
pub const ERAS_APART: u64 = 0x9e37_79b9_7f4a_7c15;

const _: () = assert!(size_of::<Repeated>() == 1 << SHIFT);

/// Bits of the address of one that are the same for all.
const SHIFT: u32 = 6;

/// How many are kept: 4 KiB a thread, which only threads touch that take such locks.
const SLOTS: usize = 1 << INDEX_BITS;
const INDEX_BITS: u32 = 6;

/// How far the sum of address and mixed site is shifted, and what is left of it then: the offset of the slot. Locks that are
/// neighbours differ above their lowest two bits.
pub const INDEX_SHIFT: u32 = SHIFT - 2;
/// See [`INDEX_SHIFT`].
pub const INDEX_MASK: u32 = (SLOTS as u32 - 1) << SHIFT;

/// All of a thread.
#[derive(Debug)]
#[repr(C)]
pub struct Repeats {
    slots: [Repeated; SLOTS],
}

impl Repeats {
    /// None yet.
    pub const EMPTY: Self = Self {
        slots: [Repeated { addr: 0, key: 0, site: 0, lock: 0, node: 0, when: 0, reserved: [0; 2] };
            SLOTS],
    };

    /// The slot of an acquisition.
    pub(super) fn slot(&mut self, addr: u64, site: u64) -> &mut Repeated {
        let offset = (addr.wrapping_add(mixed(site)) << INDEX_SHIFT) as u32 & INDEX_MASK;
        &mut self.slots[offset as usize >> SHIFT]
    }

    /// Forgets those that made the chain of this key.
    pub(crate) fn forget(&mut self, chain: u64) {
        let nested = |slot: &Repeated| key::nested(chain, Ident(slot.lock));
        for slot in self.slots.iter_mut().filter(|slot| slot.key == nested(slot)) {
            slot.addr = 0;
        }
    }
}

const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(Repeated, key) == offset_of!(Held, key));
    assert!(offset_of!(Repeated, site) == offset_of!(Held, site));
    assert!(offset_of!(Repeated, lock) == offset_of!(Held, inst));
    assert!(offset_of!(Repeated, node) == offset_of!(Held, node));
    assert!(offset_of!(Held, flags) == offset_of!(Held, node) + 6);
};

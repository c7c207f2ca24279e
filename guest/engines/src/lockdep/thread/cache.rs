//! The chains that a thread has validated, by their keys, and the context of each.

use super::repeated::Repeats;

/// Entries. Direct mapped; 16 KiB a thread, of which a program touches as many lines as it has
/// chains.
const SLOTS: usize = 1 << INDEX_BITS;

/// The highest bits of a key index.
const INDEX_BITS: u32 = 10;

/// The chains. Zeros are none, as no chain's key is 0.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Cache {
    slots: [Slot; SLOTS],
    /// Acquisitions whose chains these are.
    pub repeats: Repeats,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Slot {
    key: u64,
    node: u32,
    reserved: u32,
}

impl Cache {
    /// None yet.
    pub const EMPTY: Self =
        Self { slots: [Slot { key: 0, node: 0, reserved: 0 }; SLOTS], repeats: Repeats::EMPTY };

    /// Whether the chain is remembered, and its context if so.
    #[inline(always)]
    pub(crate) fn look_up(&self, key: u64) -> (u32, bool) {
        let slot = self.slots[index(key)];
        (slot.node, slot.key == key)
    }

    /// Forgets a chain.
    pub(crate) fn forget(&mut self, key: u64) {
        if self.look_up(key).1 {
            self.slots[index(key)] = Slot { key: 0, node: 0, reserved: 0 };
        }
        self.repeats.forget(key);
    }

    /// Remembers a chain, and may overwrite another.
    pub(crate) fn remember(&mut self, key: u64, node: u32) {
        self.slots[index(key)] = Slot { key, node, reserved: 0 };
    }
}

#[inline(always)]
fn index(key: u64) -> usize {
    (key >> (u64::BITS - INDEX_BITS)) as usize
}

//! What the host reports of a lock, and of its acquisition.

use lockwright_ledger::rows::Held;

/// Which lock: its instance number (one per life of the lock, from 1) and its class row, as stamped
/// into the lock or kept in a side table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Ident(pub u64);

impl Ident {
    /// No lock.
    pub const NONE: Self = Self(0);

    /// Packs the two.
    pub const fn new(inst: u32, class: u32) -> Self {
        Self((class as u64) << 32 | inst as u64)
    }

    /// Instance.
    #[inline(always)]
    pub const fn inst(self) -> u32 {
        self.0 as u32
    }

    /// Class row.
    #[inline(always)]
    pub const fn class(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// An acquisition, as the host reports it.
#[derive(Clone, Copy, Debug)]
pub struct Acquire {
    /// Address of the lock.
    pub addr: u64,
    /// Which lock it is.
    pub ident: Ident,
    /// [`lockwright_ledger::rows::mode`] bits.
    pub mode: u16,
    /// Return address of the call, or what else the host tells call sites apart by.
    pub site: u64,
}

impl Acquire {
    /// The acquisition that a held lock is of.
    pub(crate) fn of(held: &Held) -> Self {
        Self {
            addr: held.addr,
            ident: Ident::new(held.inst, held.class),
            mode: held.mode,
            site: held.site,
        }
    }
}

//! The parts that holders have in a wait.

use lockwright_ledger::rows::meter::BOARD_SITES;

/// Whose holds a wait was for.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Shares {
    pub(super) len: usize,
    pub(super) all: [Share; BOARD_SITES + 1],
}

/// One holder site's part of a wait. Site 0: nobody held the lock that we know of; the waiter was
/// being woken, or holders too many to tell apart had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Share {
    /// The site.
    pub site: u32,
    /// Its part.
    pub ticks: u64,
}

impl Shares {
    /// None known.
    pub const NONE: Self = Self { len: 0, all: [Share { site: 0, ticks: 0 }; BOARD_SITES + 1] };

    /// All of a wait is one site's part.
    pub fn of(site: u32, ticks: u64) -> Self {
        let mut shares = Self::NONE;
        shares.push(site, ticks);
        shares
    }

    pub(super) fn push(&mut self, site: u32, ticks: u64) {
        if ticks != 0
            && let Some(share) = self.all.get_mut(self.len)
        {
            *share = Share { site, ticks };
            self.len += 1;
        }
    }

    /// The parts.
    pub fn all(&self) -> &[Share] {
        &self.all[..self.len]
    }

    /// Takes off `site` what it had held before the wait began.
    pub fn deduct(&mut self, site: u32, ticks: u64) {
        if let Some(share) = self.all[..self.len].iter_mut().find(|share| share.site == site) {
            share.ticks = share.ticks.saturating_sub(ticks);
        }
    }

    /// Adds to the part of `site`.
    pub fn add(&mut self, site: u32, ticks: u64) {
        match self.all[..self.len].iter_mut().find(|share| share.site == site) {
            Some(share) => share.ticks += ticks,
            None => self.push(site, ticks),
        }
    }

    /// The parts of holders that are known, together.
    pub fn held(&self) -> u64 {
        let known = self.all().iter().filter(|share| share.site != 0);
        known.map(|share| share.ticks).fold(0, u64::saturating_add)
    }

    /// Makes the parts add up to `wait`: what is left is nobody's; where readers held the lock at
    /// the same time, each has its part of the time that they had it.
    pub fn settle(&mut self, wait: u64) {
        let sum: u64 = self.all[..self.len].iter().map(|share| share.ticks).sum();
        if sum > wait {
            for share in &mut self.all[..self.len] {
                share.ticks = (u128::from(share.ticks) * u128::from(wait) / u128::from(sum)) as u64;
            }
            return;
        }
        self.add(0, wait - sum);
    }
}

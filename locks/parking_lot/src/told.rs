//! Reports a lock to the tool: each step of an acquisition, in its order.

use lockwright::annotate::{Flags, Lock, is_off};

/// Known to the tool by its address.
pub struct Told(Lock);

impl Told {
    pub const fn new() -> Self {
        Self(Lock::new())
    }

    /// An acquisition by `take`, after a try. Both say whether the lock was taken.
    #[inline]
    pub fn takes(
        &self,
        flags: Flags,
        tries: impl FnOnce() -> bool,
        take: impl FnOnce() -> bool,
    ) -> bool {
        if is_off() { take() } else { self.takes_told(flags, tries, take) }
    }

    #[cold]
    fn takes_told(
        &self,
        flags: Flags,
        tries: impl FnOnce() -> bool,
        take: impl FnOnce() -> bool,
    ) -> bool {
        self.0.acquire(flags);
        let had = tries() || {
            self.0.contended();
            take()
        };
        if had {
            self.0.acquired()
        } else {
            self.0.abandoned()
        }
        had
    }

    /// A try, which is over.
    #[inline]
    pub fn tried(&self, flags: Flags, had: bool) -> bool {
        if !is_off() {
            let failed = if had { Flags::EXCLUSIVE } else { Flags::FAILED };
            self.0.acquire(flags | Flags::TRY | failed);
        }
        had
    }

    /// It is about to be released.
    #[inline]
    pub fn releases(&self) {
        if !is_off() {
            self.0.release();
        }
    }

    /// A held lock changes its mode, without having been free.
    #[inline]
    pub fn becomes(&self, flags: Flags) {
        if !is_off() {
            self.0.release();
            self.0.acquire(flags | Flags::TRY);
        }
    }
}

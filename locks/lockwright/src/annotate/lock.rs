//! A user-defined lock, as it is annotated.

use core::cell::UnsafeCell;
use core::ffi::c_void;

use super::{Subject, tool};

/// How a lock is acquired; combined with `|`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// As a mutex.
    pub const EXCLUSIVE: Self = Self(0);
    /// Shared with other readers.
    pub const READ: Self = Self(1);
    /// A trylock that has succeeded: the lock is held already, [`Lock::acquired`] is not needed.
    pub const TRY: Self = Self(2);
    /// The holder may take it again.
    pub const RECURSIVE: Self = Self(4);
    /// It can back out.
    pub const TIMED: Self = Self(8);
    /// With [`Flags::TRY`]: a trylock that has failed. Nothing follows.
    pub const FAILED: Self = Self(16);
    /// As [`Flags::READ`], and it waits behind a writer that waits.
    pub const FAIR_READ: Self = Self(Self::READ.0 | 32);
    /// As [`Flags::READ`], and it may become the writer: it excludes others that may.
    pub const UPGRADABLE_READ: Self = Self(Self::READ.0 | 64);
    /// As [`Flags::UPGRADABLE_READ`], and it waits behind a writer that waits.
    pub const FAIR_UPGRADABLE_READ: Self = Self(Self::FAIR_READ.0 | Self::UPGRADABLE_READ.0);
}

impl core::ops::BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Tells the tool of a lock that it does not see. It locks nothing itself: put it into your lock,
/// whose identity is its address, and call it from there.
///
/// A lock must not move while it is held. Moved, it is another lock.
#[derive(Debug, Default)]
pub struct Lock {
    /// Not a zero-sized type: two locks must not share an address.
    place: UnsafeCell<u8>,
}

// SAFETY: only the address is used.
unsafe impl Sync for Lock {}

// SAFETY: a pointer to itself; sort 0 is a lock known by its address.
unsafe impl Subject for Lock {
    const SORT: u32 = 0;
    #[inline(always)]
    fn address(&self) -> *const c_void {
        self.place.get().cast_const().cast()
    }
}

impl Lock {
    /// A lock of no name: its class is the static that it is, or the place where it is first taken.
    pub const fn new() -> Self {
        Self { place: UnsafeCell::new(0) }
    }

    /// See [`super::set_name`].
    #[inline(always)]
    pub fn set_name(&self, name: &str) {
        super::set_name(self, name);
    }

    /// A life begins here, in memory that may have had another lock before: its class is the place
    /// of this call. Not needed where [`Lock::new`] and the end of what it made say so.
    #[inline(always)]
    pub fn begin(&self) {
        if let Some(tell) = tool::lock_init() {
            // SAFETY: the tool's function; only the address is used, and no name.
            unsafe { tell(self.address(), core::ptr::null(), 0) };
        }
    }

    /// Its life is over, though the memory stays. Not needed where it is dropped.
    #[inline(always)]
    pub fn end(&self) {
        if let Some(tell) = tool::lock_destroy() {
            // SAFETY: the tool defines this function so, and uses the address only as the lock's
            // identity.
            unsafe { tell(self.address()) };
        }
    }

    /// About to acquire: before the thread may have to wait.
    #[inline(always)]
    pub fn acquire(&self, flags: Flags) {
        if let Some(tell) = tool::acquire() {
            // SAFETY: the tool's function; only the address is used.
            unsafe { tell(self.address(), flags.0) };
        }
    }

    /// The thread has to wait; to be called once, before it does. Without it no deadlock is seen as
    /// it happens.
    #[inline(always)]
    pub fn contended(&self) {
        if let Some(tell) = tool::contended() {
            // SAFETY: the tool defines this function so, and uses the address only as the lock's
            // identity.
            unsafe { tell(self.address()) };
        }
    }

    /// The lock is held now.
    #[inline(always)]
    pub fn acquired(&self) {
        if let Some(tell) = tool::acquired() {
            // SAFETY: the tool defines this function so, and uses the address only as the lock's
            // identity.
            unsafe { tell(self.address()) };
        }
    }

    /// The acquisition came to nothing: a timeout.
    #[inline(always)]
    pub fn abandoned(&self) {
        if let Some(tell) = tool::abandoned() {
            // SAFETY: the tool defines this function so, and uses the address only as the lock's
            // identity.
            unsafe { tell(self.address()) };
        }
    }

    /// Right before the lock is released.
    #[inline(always)]
    pub fn release(&self) {
        if let Some(tell) = tool::release() {
            // SAFETY: the tool defines this function so, and uses the address only as the lock's
            // identity.
            unsafe { tell(self.address()) };
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.end();
    }
}

//! Users' locks: libraries that are loaded, whose locks run here as those of the family do.
//!
//! `include/lockwright/sim.h` and [`lockwright::lock_library`] are the two ways to write one. What is
//! between it and the simulator is in [`lockwright::lock_library::abi`].

mod host;
mod load;

use std::ffi::c_void;
use std::ptr::NonNull;

use lockwright::lock_library::abi;

pub use host::{Misuse, on_misuse};
pub use load::{Refused, load};

/// A kind of lock of a library.
#[derive(Clone, Copy, Debug)]
pub struct LibraryLock {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Checked when it was loaded.
    functions: &'static abi::Lock,
}

impl LibraryLock {
    pub(crate) const fn size(self) -> usize {
        self.functions.size
    }

    pub(crate) const fn align(self) -> usize {
        self.functions.align
    }

    pub(crate) const fn has_readers(self) -> bool {
        self.functions.read_lock.is_some()
    }

    pub(crate) const fn has_deadlines(self) -> bool {
        self.functions.lock_until.is_some()
    }

    /// How often waiters may be overtaken, if it promises that.
    pub(crate) fn overtakes(self) -> Option<u32> {
        let most = self.functions.overtakes.checked_sub(1)?;
        Some(u32::try_from(most).unwrap_or(u32::MAX))
    }

    /// Makes a free lock there: of its size and alignment, zeros, and for as long as it is used.
    pub(crate) fn make(self, at: NonNull<u8>) -> Made {
        let at: *mut c_void = at.as_ptr().cast();
        if let Some(init) = self.functions.init {
            // SAFETY: the library asks for this call, and `at` is memory of its lock's size and
            // alignment.
            unsafe { init(at) };
        }
        Made { functions: self.functions, at }
    }
}

/// A lock that a library has made.
///
/// A caller of `unlock` has the lock, and a caller of `read_unlock` reads.
pub(crate) struct Made {
    functions: &'static abi::Lock,
    at: *mut c_void,
}

// SAFETY: only simulated threads use it, which are fibers of one thread.
unsafe impl Send for Made {}
// SAFETY: only simulated threads use it, which are fibers of one thread.
unsafe impl Sync for Made {}

// SAFETY, of all calls: it was made by the library at this place, and is used as a lock is.
impl Made {
    /// Takes it: true.
    pub fn lock(&self) -> bool {
        let lock = self.functions.lock.expect("checked when it was loaded");
        // SAFETY: the library made its lock at this address, and the memory stays.
        unsafe { lock(self.at) };
        true
    }

    pub fn unlock(&self) {
        let unlock = self.functions.unlock.expect("checked when it was loaded");
        // SAFETY: the library made its lock at this address, and the caller holds it.
        unsafe { unlock(self.at) };
    }

    /// Takes it if that can be done at once; where it has no trylock, in any case.
    pub fn try_lock(&self) -> bool {
        // SAFETY: the library made its lock at this address, and the memory stays.
        self.functions
            .try_lock
            .map_or_else(|| self.lock(), |try_lock| unsafe { try_lock(self.at) != 0 })
    }

    /// Takes it, or gives up at the deadline; where it knows none, takes it.
    pub fn lock_until(&self, deadline: u64) -> bool {
        // SAFETY: the library made its lock at this address, and the memory stays.
        self.functions
            .lock_until
            .map_or_else(|| self.lock(), |lock_until| unsafe { lock_until(self.at, deadline) != 0 })
    }

    /// Takes it to read; where that is no difference, to write.
    pub fn read_lock(&self) -> bool {
        let Some(read_lock) = self.functions.read_lock else { return self.lock() };
        // SAFETY: the library made its lock at this address, and the memory stays.
        unsafe { read_lock(self.at) };
        true
    }

    pub fn try_read_lock(&self) -> bool {
        // SAFETY: the library made its lock at this address, and the memory stays.
        self.functions.try_read_lock.map_or_else(
            || self.read_lock(),
            |try_read_lock| unsafe { try_read_lock(self.at) != 0 },
        )
    }

    pub fn read_unlock(&self) {
        let Some(read_unlock) = self.functions.read_unlock else { return self.unlock() };
        // SAFETY: the library made its lock at this address, and the caller reads.
        unsafe { read_unlock(self.at) };
    }
}

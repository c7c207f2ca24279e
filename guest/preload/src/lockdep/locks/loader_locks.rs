//! The loader's locks, as locks like the program's. Both are recursive.
//!
//! `dlopen` and `dlclose` take one, glibc's `dl_load_lock`: it is held while the constructors and
//! destructors run of what is loaded and unloaded. `dl_iterate_phdr` takes the other,
//! `dl_load_write_lock`, and holds it while its callback runs. A thread that needs one for a moment
//! only, to look up a symbol or to add to the list what it loads, is not seen.
//!
//! A callback that a long jump leaves, and a child forked within one, leave the lock taken: in the
//! child it is the parent's thread that owns it. So the record keeps it as held, as it is.

use lockwright_engines::lockdep::{Acquire, Ident};
use lockwright_ledger::rows::{LOADER_LOCK, OBJECT_LIST_LOCK};

use crate::callsite::Return;
use crate::lock_id::by_address::UserLock;
use crate::lock_id::identity;
use crate::lock_id::unstamped;
use crate::lockdep::watch;
use crate::os::tls;

/// A lock that the C library keeps to itself: known by the address of this.
pub struct Lock {
    /// The name of its class.
    name: &'static str,
}

/// Held while something is loaded or unloaded.
pub static LOADER: Lock = Lock { name: LOADER_LOCK };

/// Held while the list of what is loaded is gone through.
pub static OBJECT_LIST: Lock = Lock { name: OBJECT_LIST_LOCK };

impl Lock {
    fn address(&'static self) -> u64 {
        &raw const *self as u64
    }

    fn ident(&'static self) -> Option<Ident> {
        let this = self.address() as *const UserLock;
        unstamped::find(self.address()).or_else(|| {
            // SAFETY: known by its address; there is no memory to look at.
            unsafe {
                identity::rename(this, |core, kind, known| match known {
                    Some(ident) => Some(ident),
                    None => core.name_lock(None, kind, self.name.as_bytes(), &[]),
                })
            }
        })
    }
}

/// The calling thread is about to call into the loader, which takes `lock`, by the call that
/// returns to `site`. The order is recorded from here on. Returns whether the lock counts as held until [`leave`].
///
/// # Safety
/// That call has not returned.
pub unsafe fn enter(lock: &'static Lock, site: u64, back: Return) -> bool {
    let Some(thread) = watch::thread() else { return false };
    let Some(ident) = lock.ident() else { return false };
    let addr = lock.address();
    if thread.recurse_uncounted(addr) {
        return true;
    }
    let lock = Acquire { addr, ident, mode: 0, site };
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    let is_reserved = unsafe { watch::before_past(thread, lock, back) };
    if is_reserved {
        // Nobody of the program's has acquired anything that is to be counted.
        thread.inherited(addr);
    }
    is_reserved
}

/// The calling thread comes back from the loader.
pub fn leave(lock: &'static Lock) {
    // In a child that was forked meanwhile the thread's state is another.
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        watch::released(thread, lock.address(), None);
    }
}

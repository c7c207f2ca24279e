//! The loader's lock, as a lock like the program's: `dlopen` and `dlclose` take it, and it is held
//! while the constructors and destructors run of what is loaded and unloaded (glibc's
//! `dl_load_lock`, which is recursive). A thread that needs it for a moment only, to look up a
//! symbol for example, is not seen.

use lockwright_engines::lockdep::{Acquire, Ident};
use lockwright_ledger::rows::LOADER_LOCK;

use super::watch;
use crate::callsite::Return;
use crate::lock_id::by_address::UserLock;
use crate::lock_id::identity;
use crate::os::tls;

/// What it is known by: the C library keeps the lock itself to itself.
static LOADER: u64 = 0;

fn address() -> u64 {
    &raw const LOADER as u64
}

fn ident() -> Option<Ident> {
    let this = address() as *const UserLock;
    identity::unstamped(address()).or_else(|| {
        // SAFETY: known by its address; there is no memory to look at.
        unsafe {
            identity::rename(this, |core, kind, known| match known {
                Some(ident) => Some(ident),
                None => core.name_lock(None, kind, LOADER_LOCK.as_bytes(), &[]),
            })
        }
    })
}

/// The calling thread is about to call into the loader, by the call that returns to `site`. The
/// order is on record from here on. Returns whether the lock counts as held until [`leave`].
///
/// # Safety
/// That call has not returned.
pub unsafe fn enter(site: u64, back: Return) -> bool {
    let Some(thread) = watch::thread() else { return false };
    let Some(ident) = ident() else { return false };
    if thread.recurse_uncounted(address()) {
        return true;
    }
    let lock = Acquire { addr: address(), ident, mode: 0, site };
    // SAFETY: the caller's promise.
    let is_reserved = unsafe { watch::before_past(thread, lock, back) };
    if is_reserved {
        // Nobody of the program's has acquired anything that is to be counted.
        thread.inherited(address());
    }
    is_reserved
}

/// The calling thread comes back from the loader.
pub fn leave() {
    // In a child that was forked meanwhile the thread's state is another.
    // SAFETY: as `watch::thread`.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        watch::released(thread, address(), None);
    }
}

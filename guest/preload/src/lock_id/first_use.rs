//! A lock that has not been met is about to be used. The check of the objects' bytes is called
//! then: the bytes may be no lock's, or a destroyed lock's.

use super::identity::Identify;
use crate::os::upcall::Upcall;

/// Given what the lock is, one of [`lock_kind`], and its address.
///
/// [`lock_kind`]: lockwright_ledger::rows::lock_kind
pub type Tell = fn(u8, u64);

/// Known from the constructor on.
pub static TELL: Upcall<Tell> = Upcall::none();

/// The calling thread is about to use the lock, of which no identity is known.
///
/// # Safety
/// `lock` points to such an object.
pub unsafe fn tell<T: Identify>(lock: *const T) {
    if let Some(tell) = TELL.get() {
        // SAFETY: the caller promises that `lock` points to an object of type `T`, as `kind` asks.
        tell(unsafe { T::kind(lock) }, lock as u64);
    }
}

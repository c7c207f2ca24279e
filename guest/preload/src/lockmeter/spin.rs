//! Spinlocks.

use core::ffi::c_int;

use libc::pthread_spinlock_t;

use super::acquire::Counted;
use super::hold;
use crate::libc::real;
use crate::lock_id::by_address::SpinLock;

type Spin = *mut pthread_spinlock_t;

impl Counted for SpinLock {}

/// `pthread_spin_unlock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_spin_unlock`.
pub unsafe extern "C-unwind" fn unlock(l: Spin, _site: u64) -> c_int {
    // SAFETY: the next `pthread_spin_unlock` gets the program's own `l` unchanged, as without us.
    hold::release_counted(l as u64, || unsafe { real::pthread_spin_unlock(l) })
}

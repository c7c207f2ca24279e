//! Keys of thread-specific data, by whose destructors we hear of a thread's end.

use core::ffi::c_void;

use crate::real;

/// What is called with the value that a thread has, if that is not null.
pub type End = unsafe extern "C" fn(*mut c_void);

/// Keys whose values glibc has room for in the thread itself; for others it allocates.
const EARLY: usize = 32;

/// The last early key that is free: programs get the same keys as without us, or nearly so; and one that uses a key
/// before it has made it most likely means 0.
pub fn make(end: End) -> Option<u32> {
    let mut lower = [0; EARLY];
    let mut made = None;
    let mut n = 0;
    while n < EARLY {
        let mut key = 0;
        // SAFETY: a place for the key; the destructor stays loaded.
        if unsafe { real::pthread_key_create(&raw mut key, end) } != 0 {
            break;
        }
        let is_late = made.is_some() && key >= EARLY as u32;
        if let Some(before) = if is_late { Some(key) } else { made.replace(key) } {
            lower[n] = before;
            n += 1;
        }
        if key >= EARLY as u32 - 1 {
            break;
        }
    }
    for &key in &lower[..n] {
        // SAFETY: made above, and nobody has a value of it.
        unsafe { real::pthread_key_delete(key) };
    }
    made
}

//! A key of thread-specific data, by whose destructor we hear of a thread's end. It is given up to
//! a program that wants all keys; from then on threads' ends are noticed afterwards
//! ([`super::unnoticed_ends`]).

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering::*};

use crate::libc::real;
use crate::os::sys;

/// What is called with the value that a thread has, if that is not null.
pub type End = unsafe extern "C" fn(*mut c_void);

/// Keys whose values glibc has room for in the thread itself. For others it allocates: a key of
/// ours must be none of these, as a thread's first lock may be its allocator's.
const EARLY: usize = 32;

/// There is no key; above what a thread can have.
const NONE: u32 = u32::MAX;

/// A key of ours, if there is one.
pub struct ExitKey {
    key: AtomicU32,
    /// How many are setting a value.
    setting: AtomicU32,
}

impl ExitKey {
    /// None yet.
    pub const fn new() -> Self {
        Self { key: AtomicU32::new(NONE), setting: AtomicU32::new(0) }
    }

    /// Has `end` be called for threads that have a value. False: the program has all early keys. At
    /// start.
    pub fn make(&self, end: End) -> bool {
        let made = make(end);
        self.key.store(made.unwrap_or(NONE), Relaxed);
        made.is_some()
    }

    /// Sets the calling thread's value.
    pub fn set(&self, value: *const c_void) {
        // SeqCst, as in `give_up`: either that waits for us, or we see that the key is gone.
        self.setting.fetch_add(1, SeqCst);
        let key = self.key.load(SeqCst);
        if key != NONE {
            // SAFETY: the key is ours: `give_up` waits until `setting` is 0 before it deletes the
            // key.
            unsafe { real::pthread_setspecific(key, value) };
        }
        // Release pairs with the Acquire in `give_up`: the value is set.
        self.setting.fetch_sub(1, Release);
    }

    /// Gives the key up, as the program wants all. False: there is none, or a thread is setting a
    /// value all the time.
    pub fn give_up(&self) -> bool {
        /// A value is set in no time. But we may have interrupted the thread that does.
        const ROUNDS: u32 = 1000;
        let key = self.key.swap(NONE, SeqCst);
        if key == NONE {
            return false;
        }
        for _ in 0..ROUNDS {
            if self.setting.load(SeqCst) == 0 {
                // SAFETY: our key. Its destructor is called no more for values that threads have.
                return unsafe { real::pthread_key_delete(key) } == 0;
            }
            sys::yield_now();
        }
        self.key.store(key, SeqCst);
        false
    }
}

/// The key, for all engines.
#[unsafe(link_section = "lockwright_forked")]
pub static EXIT: ExitKey = ExitKey::new();

/// The last early key that is free: programs get the same keys as without us, or nearly so; and one
/// that uses a key before it has made it most likely means 0.
fn make(end: End) -> Option<u32> {
    let mut lower = [0; EARLY];
    let mut made = None;
    let mut n = 0;
    while n < EARLY {
        let mut key = 0;
        // SAFETY: a place for the key; the destructor stays loaded.
        if unsafe { real::pthread_key_create(&raw mut key, Some(end)) } != 0 {
            break;
        }
        let is_late = key >= EARLY as u32;
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

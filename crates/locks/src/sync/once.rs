//! `std::sync::Once`: a mutex around the initialisation, and a word that says that it is over.
//!
//! While it runs the mutex is held, so that the tool knows who waits for it, and what may come of
//! that.

use core::fmt;
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::RawMutex;

const INCOMPLETE: u8 = 0;
const POISONED: u8 = 1;
const COMPLETE: u8 = 2;

/// As [`std::sync::Once`].
pub struct Once {
    /// Changes with the mutex held.
    state: AtomicU8,
    running: lock_api::Mutex<RawMutex, ()>,
}

/// As [`std::sync::OnceState`].
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// An initialisation before this one has panicked.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl Once {
    /// Nothing has run yet.
    pub const fn new() -> Self {
        Self { state: AtomicU8::new(INCOMPLETE), running: lock_api::Mutex::new(()) }
    }

    /// Runs `f`, unless that has been done; waits for it if it is being done.
    ///
    /// # Panics
    /// If it has panicked before.
    #[inline]
    pub fn call_once(&self, f: impl FnOnce()) {
        if !self.is_completed() {
            self.call(false, |_| f());
        }
    }

    /// As [`Once::call_once`], also where it has panicked before.
    #[inline]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        if !self.is_completed() {
            self.call(true, f);
        }
    }

    /// It has been run to its end.
    #[inline]
    pub fn is_completed(&self) -> bool {
        // Acquire: pairs with the Release in `End::drop`: what it did is seen.
        self.state.load(Acquire) == COMPLETE
    }

    #[cold]
    fn call(&self, force: bool, f: impl FnOnce(&OnceState)) {
        let _running = self.running.lock();
        // Relaxed: changes with the mutex held.
        let state = self.state.load(Relaxed);
        if state == COMPLETE {
            return;
        }
        assert!(
            state != POISONED || force,
            "Once instance has previously been poisoned: use call_once_force"
        );
        let mut end = End { state: &self.state, leaves: POISONED };
        f(&OnceState { poisoned: state == POISONED });
        end.leaves = COMPLETE;
    }
}

/// The end of an initialisation, also by a panic.
struct End<'a> {
    state: &'a AtomicU8,
    leaves: u8,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `is_completed`.
        self.state.store(self.leaves, Release);
    }
}

impl Default for Once {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.poisoned).finish()
    }
}

// As std's: a panic leaves it poisoned.
impl std::panic::UnwindSafe for Once {}
impl std::panic::RefUnwindSafe for Once {}

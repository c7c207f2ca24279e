//! `std::sync::Once`: a mutex around the initialisation, and a word that says that it is over.
//!
//! While it runs the mutex is held, so that the tool knows its waiters, and sees possible
//! deadlocks. Who only waits for another to initialise sleeps on the word.

use core::fmt;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::RawMutex;
use crate::annotate;
use crate::platform::Word;

const INCOMPLETE: u32 = 0;
const POISONED: u32 = 1;
const RUNNING: u32 = 2;
const COMPLETE: u32 = 3;
/// The bits that say which of these it is.
const STATE: u32 = 3;
/// Somebody sleeps on the word until it is complete, or poisoned.
const AWAITED: u32 = 4;

/// As [`std::sync::Once`].
pub struct Once {
    /// Changes only with the mutex held, except [`AWAITED`].
    state: AtomicU32,
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
        Self { state: AtomicU32::new(INCOMPLETE), running: lock_api::Mutex::new(()) }
    }

    /// Runs `f`, unless that has been done; waits for it if it is being done.
    ///
    /// - `f` must not use the same [`Once`], nor wait for a thread that does: it would wait for
    ///   ever. `lockwright check` reports it.
    /// - The caller must not hold a lock that `f` takes in another thread: the two would wait for
    ///   each other.
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
    ///
    /// - The rules of [`Self::call_once`] apply.
    #[inline]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        if !self.is_completed() {
            self.call(true, f);
        }
    }

    /// It has been run to its end.
    ///
    /// - Any thread and any signal handler may call this: it does not wait. After `true` the caller
    ///   sees all that the initialisation did.
    #[inline]
    pub fn is_completed(&self) -> bool {
        // Acquire: pairs with the Release in `End::drop`: what it did is seen.
        self.state.load(Acquire) & STATE == COMPLETE
    }

    /// Waits until it has been run to its end by another thread.
    ///
    /// ```
    /// use lockwright::sync::Once;
    ///
    /// static READY: Once = Once::new();
    /// let starter = std::thread::spawn(|| READY.call_once(|| println!("starting")));
    /// READY.wait();
    /// assert!(READY.is_completed());
    /// starter.join().unwrap();
    /// ```
    ///
    /// - The thread that runs the initialisation must not call this: it would wait for ever.
    /// - Some thread must run the initialisation: this call does not.
    ///
    /// # Panics
    /// If it has panicked, or does.
    pub fn wait(&self) {
        if !self.is_completed() {
            assert!(self.wait_until_over(false), "Once instance has previously been poisoned");
        }
    }

    /// As [`Once::wait`], also where it has panicked: another thread is to run it again.
    ///
    /// ```
    /// use lockwright::sync::Once;
    ///
    /// static READY: Once = Once::new();
    /// READY.call_once(|| ());
    /// READY.wait_force();
    /// ```
    ///
    /// - The rules of [`Self::wait`] apply.
    pub fn wait_force(&self) {
        if !self.is_completed() {
            self.wait_until_over(true);
        }
    }

    /// Sleeps until it is complete, or poisoned and that is not passed over. Whether it is complete.
    #[cold]
    fn wait_until_over(&self, force: bool) -> bool {
        annotate::wait_begin(&self.state);
        let complete = loop {
            // Acquire: as in `is_completed`.
            let seen = self.state.load(Acquire);
            match seen & STATE {
                COMPLETE => break true,
                POISONED if !force => break false,
                _ => {}
            }
            let awaited = seen | AWAITED;
            // Relaxed: it concerns no memory but the word.
            if seen == awaited
                || self.state.compare_exchange(seen, awaited, Relaxed, Relaxed).is_ok()
            {
                Word::wait(&self.state, awaited, None);
            }
        };
        annotate::wait_end(&self.state);
        complete
    }

    #[cold]
    fn call(&self, force: bool, f: impl FnOnce(&OnceState)) {
        let _running = self.running.lock();
        // Relaxed: changes with the mutex held.
        let state = self.state.load(Relaxed) & STATE;
        if state == COMPLETE {
            return;
        }
        assert!(
            state != POISONED || force,
            "Once instance has previously been poisoned: use call_once_force"
        );
        // Relaxed: likewise.
        self.state.fetch_add(RUNNING - state, Relaxed);
        let mut end = End { state: &self.state, leaves: POISONED };
        f(&OnceState { poisoned: state == POISONED });
        end.leaves = COMPLETE;
    }
}

/// The end of an initialisation, also by a panic.
struct End<'a> {
    state: &'a AtomicU32,
    leaves: u32,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquires in `is_completed` and `wait_until_over`.
        let old = self.state.swap(self.leaves, Release);
        if old & AWAITED != 0 {
            annotate::complete(self.state);
            Word::wake(self.state, u32::MAX);
        }
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

//! A semaphore that was taken for a lock, and proves to be none.

use libc::sem_t;
use lockwright_engines::lockdep::{Ident, ThreadState};

use crate::lock_id::{identity, known_births};
use crate::recorder::state;

/// The semaphore, which stands among the held locks as `held_as`, is no lock.
#[cold]
pub fn hand_over(thread: Option<&mut ThreadState>, s: *mut sem_t, held_as: u64, ident: Ident) {
    // SAFETY: the caller's semaphore. First of all, so that nobody takes it for a lock any more.
    unsafe { identity::take_stamp(s) };
    state::with_core(|core| {
        // How many of the class are locks decides about the next.
        known_births::withdraw(core, ident.class());
        core.hand_over(thread, held_as, ident);
    });
}

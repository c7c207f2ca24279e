//! A semaphore that was taken for a lock, and proves to be none.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use libc::sem_t;
use lockwright_engines::lockdep::{Core, Ident, ThreadState};

use crate::lock_id::{identity, known_births};
use crate::lockdep::handovers;
use crate::recorder::state;

/// Semaphores of which it is recorded what their posts order. CPython makes one for each wait.
const MOST_WAITED_FOR: u32 = 64;

/// How many there have been.
#[unsafe(link_section = "lockwright_forked")]
static WAITED_FOR: AtomicU32 = AtomicU32::new(0);

/// The semaphore, which stands among the held locks as `held_as`, is no lock.
#[cold]
pub fn hand_over(thread: Option<&mut ThreadState>, s: *mut sem_t, held_as: u64, ident: Ident) {
    // SAFETY: the caller's semaphore. First of all, so that nobody takes it for a lock any more.
    unsafe { identity::take_stamp(s) };
    state::with_core(|core| is_none(core, thread, held_as, ident));
}

/// As [`hand_over`], of a semaphore that began at 1 and that the thread, which has taken it, is about to wait for: only a post
/// that is still to come lets it through. So it is one that begins at 0 now.
#[cold]
pub fn wait_for_post(thread: &mut ThreadState, s: *mut sem_t, ident: Ident) {
    state::with_core(|core| {
        // A post that has taken the stamp meanwhile would not be counted. One that takes it later looks who listens after that.
        // SAFETY: the caller's semaphore.
        let is_first = unsafe { identity::stamped(s) } == Some(ident);
        // Relaxed: a bound.
        if is_first && WAITED_FOR.fetch_add(1, Relaxed) < MOST_WAITED_FOR {
            handovers::semaphore_begins_in(core, s as u64);
        }
        // SAFETY: the caller's semaphore.
        unsafe { identity::take_stamp(s) };
        is_none(core, Some(thread), s as u64, ident);
    });
}

fn is_none(core: &mut Core, thread: Option<&mut ThreadState>, held_as: u64, ident: Ident) {
    // How many of the class are locks decides about the next.
    known_births::withdraw(core, ident.class());
    core.hand_over(thread, held_as, ident);
}

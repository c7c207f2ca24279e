//! A semaphore that was taken for a lock, and proves to be none; and waits for what is none.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use lockwright_engines::lockdep::{Acquire, Core, Ident, Misuse, ThreadState};
use lockwright_ledger::rows::{finding_kind, mode};

use crate::lock_id::identity::{self, Identify};
use crate::lock_id::known_births;
use crate::lockdep::watch::{self, Blocking};
use crate::lockdep::{cond, handed_on, handovers, misuse};
use crate::os::tls;
use crate::recorder::state;

/// How one waits for a semaphore that is a lock: a thread that has taken it itself waits for another thread's post.
pub const BLOCKING: Blocking = Blocking { relock_fails: true, owner: 0 };

/// Semaphores of which it is recorded what their posts order. CPython makes one for each wait.
const MOST_WAITED_FOR: u32 = 64;

/// How many there have been.
#[unsafe(link_section = "lockwright_forked")]
static WAITED_FOR: AtomicU32 = AtomicU32::new(0);

/// The semaphore, which stands among the held locks as `held_as`, is no lock.
///
/// # Safety
/// The caller's semaphore.
#[cold]
pub unsafe fn hand_over<T: Identify>(
    thread: Option<&mut ThreadState>,
    s: *const T,
    held_as: u64,
    ident: Ident,
) {
    state::with_core(|core| {
        // First of all, so that nobody takes it for a lock any more.
        // SAFETY: the caller's semaphore.
        unsafe { identity::withdraw(core, s) };
        is_none(core, thread, held_as, ident);
    });
}

/// As [`hand_over`], of a semaphore that began at 1 and that the thread, which has taken it, is about to wait for: only a post
/// that is still to come lets it through. So it is one that begins at 0 now.
///
/// # Safety
/// The caller's semaphore.
#[cold]
pub unsafe fn wait_for_post<T: Identify>(thread: &mut ThreadState, s: *const T, ident: Ident) {
    state::with_core(|core| {
        // A post that has taken the stamp meanwhile would not be counted. One that takes it later looks who listens after that.
        // SAFETY: the caller's semaphore.
        let is_first = unsafe { identity::stamped(s) } == Some(ident);
        // Relaxed: a bound.
        if is_first && WAITED_FOR.fetch_add(1, Relaxed) < MOST_WAITED_FOR {
            handovers::semaphore_begins_in(core, s as u64);
        }
        // SAFETY: the caller's semaphore.
        unsafe { identity::withdraw(core, s) };
        is_none(core, Some(thread), s as u64, ident);
    });
}

fn is_none(core: &mut Core, thread: Option<&mut ThreadState>, held_as: u64, ident: Ident) {
    // How many of the class are locks decides about the next.
    known_births::withdraw(core, ident.class());
    core.hand_over(thread, held_as, ident);
    // One that processes share has no stamp.
    identity::forget_unstamped(held_as);
}

/// A semaphore at `addr` that is no lock is about to be posted. `has_waiters`: for a thread that waits.
pub fn about_to_post(addr: u64, has_waiters: bool) {
    handovers::shares_by_post();
    if has_waiters {
        handed_on::posts(addr);
    }
    cond::posts(addr);
    handovers::semaphore_posts(addr);
}

/// The semaphore, the lock `ident` so far, is about to be posted by a thread that has not taken it.
///
/// # Safety
/// The caller's semaphore.
pub unsafe fn posted_by_other<T: Identify>(
    thread: Option<&mut ThreadState>,
    s: *const T,
    ident: Ident,
) {
    handovers::shares_by_post();
    cond::posts(s as u64);
    // SAFETY: the caller's semaphore.
    unsafe { hand_over(thread, s, s as u64, ident) };
    // Its holder may have begun to wait for it, which has somebody listen.
    handovers::semaphore_posts(s as u64);
}

/// Waits by `block` for the post of a semaphore that is no lock: its address, and whether it is taken. If the thread keeps locks
/// meanwhile, the posters matter, and the wait is visible to others.
pub fn wait_for_event(
    (addr, is_taken): (u64, bool),
    mode: u16,
    site: u64,
    block: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return block() };
    if thread.is_idle() || !cond::any_others_held(thread, addr) {
        return block();
    }
    let wait = Acquire { addr, ident: Ident::NONE, mode: mode | mode::SEM_WAIT, site };
    // Each semaphore that is waited for here is another wait.
    let ident = ThreadState::ident_of_object(addr);
    // A thread that does not wait does not depend on the next poster.
    let found = if is_taken { 0 } else { mode::TRY };
    let context = Acquire { ident, mode: wait.mode | found, ..wait };
    let (node, is_new) = watch::wait_context(thread, &context);
    if is_new && cond::others_held(thread, addr) {
        let what = Misuse {
            mode: context.mode,
            detail: addr,
            ..Misuse::new(finding_kind::WAIT_HELD, addr, Ident::NONE)
        };
        misuse::tell(thread, &what);
        cond::keep(addr);
    }
    thread.wait_begin(&wait, node);
    let result = block();
    thread.wait_end();
    result
}

//! Reports misuse to the engine: the slow paths of the wrappers end here.

use core::ffi::c_int;

use lockwright_engines::lockdep::{Acquire, Core, Holder, Ident, MAX_FRAMES, Misuse, ThreadState};
use lockwright_ledger::rows::{finding_kind, mode};

use crate::lock_id::inherited::{self, Left};
use crate::os::time;
use crate::recorder::state;
use crate::stack::{python, stack_bounds};

/// Records a misuse by the calling thread.
pub fn tell(thread: &mut ThreadState, what: &Misuse) {
    tell_from(thread, what, &mut python::capture);
}

/// As [`tell`], with its own way to the call stack.
#[cold]
pub fn tell_from(
    thread: &mut ThreadState,
    what: &Misuse,
    capture: &mut dyn FnMut(&mut [u64]) -> usize,
) {
    let now = time::now_ns();
    state::with_core(|core| core.misuse(thread, what, now, capture));
}

/// Records the misuse that `what` returns, if any, for a call that returns to `site`, unless it was
/// recorded often enough. That is remembered by the mutex and a mode that nothing else has.
pub fn at_call(
    thread: &mut ThreadState,
    mutex: Ident,
    probed_as: u16,
    site: u64,
    what: impl FnOnce(&Core) -> Option<Misuse>,
) {
    let probe = thread.probe(mutex, probed_as, site);
    if !probe.is_hit() {
        let now = time::now_ns();
        state::with_core(|core| {
            let what = what(core)?;
            core.at_call(thread, &what, site, probe, now, &mut python::capture);
            Some(())
        });
    }
}

/// Records what a thread still holds at its end.
pub fn exits(thread: &mut ThreadState) {
    if thread.is_idle() {
        return;
    }
    let now = time::now_ns();
    state::with_core(|core| core.exits(thread, now, is_on_stack, &mut python::capture));
}

/// The thread has unlocked what it does not hold. `locked`: the lock's own memory said that
/// somebody did.
#[cold]
pub fn bad_unlock(thread: &mut ThreadState, addr: u64, ident: Ident, locked: bool) {
    bad_unlock_by(thread, addr, ident, locked, 0);
}

/// As [`bad_unlock`], where [`mode::COND_WAIT`] says that a condition wait is to unlock the mutex.
#[cold]
pub fn bad_unlock_by(thread: &mut ThreadState, addr: u64, ident: Ident, locked: bool, waits: u16) {
    let holder = state::with_core(|core| core.released_by_other(addr, ident)).flatten();
    let mut what = Misuse { mode: waits, ..Misuse::new(finding_kind::BAD_UNLOCK, addr, ident) };
    match holder {
        Some(Holder { thread, stack, mode, .. }) => {
            (what.other_thread, what.other_stack) = (thread, stack);
            what.mode |= mode & (mode::READ | mode::READ_RECURSIVE);
        }
        // Locked, but we did not see by which thread: before we were there, or past us. Nothing to
        // report.
        None if locked => return,
        None => {}
    }
    tell(thread, &what);
}

/// The call that should have unlocked failed with `error`, which says that the thread does not own
/// the lock: its holder still holds it.
#[cold]
pub fn unlock_refused(thread: &mut ThreadState, addr: u64, ident: Ident, error: c_int) {
    unlock_refused_by(thread, addr, ident, error, 0);
}

/// As [`unlock_refused`], where [`mode::COND_WAIT`] says that a condition wait should have unlocked
/// the mutex.
#[cold]
pub fn unlock_refused_by(
    thread: &mut ThreadState,
    addr: u64,
    ident: Ident,
    error: c_int,
    waits: u16,
) {
    let holder = state::with_core(|core| core.holder_in(addr, addr + 1)).flatten();
    let what = Misuse {
        mode: waits,
        other_thread: holder.map_or(0, |holder| holder.thread),
        other_stack: holder.map_or(0, |holder| holder.stack),
        detail: error as u64,
        ..Misuse::new(finding_kind::BAD_UNLOCK, addr, ident)
    };
    tell(thread, &what);
}

/// The thread has unlocked a lock that it holds: says so if it was pinned.
pub fn pinned(thread: &mut ThreadState, addr: u64) {
    if let Some(stack) = thread.pinned(addr)
        && let Some(held) = thread.held_of(addr)
    {
        let what = Misuse {
            other_stack: stack,
            ..Misuse::new(finding_kind::UNPINNED, addr, Ident::new(held.inst, held.class))
        };
        tell(thread, &what);
    }
}

/// Something happens to `[from, to)` that must not happen to a held lock. Returns the address of
/// the one that it reported.
#[cold]
pub fn if_held(thread: &mut ThreadState, kind: u8, from: u64, to: u64) -> Option<u64> {
    let holder = state::with_core(|core| core.holder_in(from, to)).flatten()?;
    if matches!(kind, finding_kind::HELD_INITIALISED | finding_kind::HELD_FREED)
        && inherited::inherited_at(holder.addr).is_some_and(|lock| lock.ident == holder.ident)
        && thread.find(holder.addr).is_some()
    {
        // The other threads that could want it are the parent's: so handlers of forks make their
        // locks new, and a child gives memory back that is its own copy.
        thread.release(holder.addr);
        return None;
    }
    if kind == finding_kind::HELD_INITIALISED
        && holder.thread == thread.id()
        && frame_gone(thread, holder.addr)
    {
        return Some(holder.addr);
    }
    held(thread, kind, &holder);
    Some(holder.addr)
}

/// The lock at `addr` is in a frame of the calling thread's, and was taken in this process.
fn is_on_stack(addr: u64) -> bool {
    stack_bounds::has(addr) && inherited::inherited_at(addr).is_none()
}

/// Held locks that are looked through sooner than the bounds of a stack are asked for, which the
/// first time takes longer.
const FEW: u32 = 64;

/// What is at `addr` may be in a frame of the calling thread's. False where the thread holds many
/// locks, and it is not: then they need not be looked through.
pub fn may_be_in_frame(thread: &ThreadState, addr: u64) -> bool {
    thread.depth() <= FEW || stack_bounds::has(addr)
}

/// A lock begins its life at `addr`, where the thread holds another. If that was part of a frame
/// whose function has returned meanwhile, says so, and it is held no more. Where a function is
/// called twice in a row its frames are at one place: the ways to the calls tell them apart.
#[cold]
pub fn frame_gone(thread: &mut ThreadState, addr: u64) -> bool {
    let Some(held) = thread.held_of(addr) else { return false };
    if !is_on_stack(addr) {
        return false;
    }
    let mut here = [0; MAX_FRAMES];
    let n = python::capture(&mut here);
    let now = time::now_ns();
    let is_gone = state::with_core(|core| {
        let n = core.with_interpreted(&mut here, n);
        if core.is_same_call(held.class, &here[..n]) {
            return false;
        }
        core.frame_gone(thread, addr, now, &mut python::capture);
        true
    });
    is_gone == Some(true)
}

/// Something has happened to a lock that must not happen to a held one.
#[cold]
pub fn held(thread: &mut ThreadState, kind: u8, holder: &Holder) {
    let what = Misuse {
        mode: holder.mode & (mode::READ | mode::READ_RECURSIVE),
        other_thread: holder.thread,
        other_stack: holder.stack,
        ..Misuse::new(kind, holder.addr, holder.ident)
    };
    tell(thread, &what);
    if kind == finding_kind::HELD_FREED {
        // What comes to lie there next is another lock, which nobody has.
        state::with_core(|core| core.give_up(Some(thread), holder.addr));
    }
}

/// A destroyed lock is used.
#[cold]
pub fn used_after_destroy(
    thread: &mut ThreadState,
    addr: u64,
    destroyed: &crate::lock_id::identity::Destroyed,
) {
    let what = Misuse {
        other_thread: destroyed.thread,
        other_stack: destroyed.stack,
        ..Misuse::new(finding_kind::USE_AFTER_DESTROY, addr, destroyed.ident)
    };
    tell(thread, &what);
}

/// In a forked child: the thread is about to wait for a lock that another thread of the parent held
/// at the fork. Nobody here will ever release it.
#[cold]
pub fn left_behind(thread: &mut ThreadState, lock: &Acquire, left: &Left) {
    let other_stack = state::with_core(|core| core.stack(&[left.site])).unwrap_or(0);
    let what = Misuse {
        other_thread: left.thread,
        other_stack,
        ..Misuse::new(finding_kind::FORK_HELD, lock.addr, lock.ident)
    };
    tell(thread, &what);
}

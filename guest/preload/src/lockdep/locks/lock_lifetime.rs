//! A lock's life begins and ends: nobody may hold it then.

use core::ffi::c_int;

use lockwright_ledger::rows::finding_kind;

use crate::lock_id::identity;
use crate::lockdep::acquire::Watched;
use crate::lockdep::{misuse, watch};
use crate::stack::unwind::Frame;

/// What came of a call that initialises a lock.
pub struct Begun {
    /// What the call answered.
    pub result: c_int,
    /// Somebody held the lock, which was reported.
    pub was_held: bool,
    /// Where the lock was initialised, if that is known already.
    pub stack: Option<u32>,
}

/// The lock is initialised by `init`, which answers 0 if it was. `asks_where`: [`Begun::stack`] is
/// of use.
///
/// # Safety
/// The caller's memory, large enough for such a lock. `call`, if it is known, has not returned; its frame pointer may be
/// anything.
pub unsafe fn begin<L: Watched>(
    lock: *mut L,
    asks_where: bool,
    call: Option<Frame>,
    init: impl FnOnce() -> c_int,
) -> Begun {
    // SAFETY: the caller's memory; what it says is only a hint.
    let was_held = unsafe { tell_if_held(lock, finding_kind::HELD_INITIALISED) };
    let result = init();
    let stack = match result {
        // SAFETY: `init` answered 0, so the caller's memory is an initialised lock now.
        0 => unsafe { identity::begin(lock, asks_where, call) },
        _ => None,
    };
    Begun { result, was_held, stack }
}

/// The lock is destroyed by `destroy`, which answers 0 if it was. Gives that answer, and where this
/// was, if that is known already.
///
/// # Safety
/// The caller's lock; `call` is as for [`begin`].
pub unsafe fn end<L: Watched>(
    lock: *mut L,
    call: Option<Frame>,
    destroy: impl FnOnce() -> c_int,
) -> (c_int, Option<u32>) {
    // SAFETY: the caller promises its lock, as `tell_if_held` asks.
    unsafe { tell_if_held(lock, finding_kind::HELD_DESTROYED) };
    let result = destroy();
    let stack = match result {
        // SAFETY: the caller still owns the memory.
        0 => unsafe { identity::forget(lock, call) },
        _ => None,
    };
    (result, stack)
}

/// Records what happens to a held lock. Returns whether a thread holds it.
///
/// # Safety
/// `lock` points to memory that is large enough for such a lock.
unsafe fn tell_if_held<L: Watched>(lock: *mut L, kind: u8) -> bool {
    let addr = lock as u64;
    // SAFETY: the caller promises memory that is large enough for such a lock.
    let is_asked = unsafe { L::may_be_held(lock) };
    is_asked
        && watch::thread()
            .is_some_and(|thread| misuse::if_held(thread, kind, addr, addr + 1).is_some())
}

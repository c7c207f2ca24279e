//! The wound/wait mutex.
//!
//! Locks that a context takes are annotated as trylocks: they have no order, and a thread that
//! would have to wait for itself gets an error.

use core::ffi::c_int;

use libc::timespec;
use locks::annotate::Flags;
use locks::platform::linux::Linux;
use locks::ww_mutex::{AcquireCtx, Algorithm, Class, RawWwMutex, Refused};

use crate::holds::{Holds as _, holds};
use crate::result::{deadline, done_or};
use crate::tool;

/// Locks that are used together. Zeroed, its algorithm is wait-die.
#[repr(C)]
pub struct lw_ww_class_t {
    /// The class's own.
    pub opaque: [usize; 2],
}

holds!(lw_ww_class_t: Class<Linux>);

/// An acquire context: with it one thread takes several locks of a class, in any order.
#[repr(C)]
pub struct lw_ww_ctx_t {
    /// The context's own.
    pub opaque: [usize; 3],
}

holds!(lw_ww_ctx_t: AcquireCtx<Linux>);

/// A wound/wait mutex: as a mutex, but several are taken in any order by a context. If two contexts
/// want each other's locks, the younger one is refused: it releases all and begins again. Not
/// recursive. Its memory must outlive each call of its functions, not only the last hold.
#[repr(C)]
pub struct lw_ww_mutex_t {
    /// The lock's own.
    pub opaque: [usize; 6],
}

holds!(lw_ww_mutex_t: RawWwMutex<Linux>);

/// The younger never waits for the older: it has to give up what it has. For few contexts at a
/// time.
pub const LW_WAIT_DIE: u32 = 0;

/// The younger has to give up what it has when it comes to wait the next time. Fewer have to begin
/// again.
pub const LW_WOUND_WAIT: u32 = 1;

/// Makes a class without locks, with `LW_WAIT_DIE` or `LW_WOUND_WAIT`. Returns 0, or EINVAL for
/// another algorithm.
///
/// - The class must live as long as any context of it.
///
/// # Safety
/// Memory for a class, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ww_class_init(class: *mut lw_ww_class_t, algorithm: u32) -> c_int {
    let algorithm = match algorithm {
        LW_WAIT_DIE => Algorithm::WaitDie,
        LW_WOUND_WAIT => Algorithm::WoundWait,
        _ => return libc::EINVAL,
    };
    // SAFETY: `class` points to memory for one, which nobody uses as one, as locks.h requires.
    unsafe { class.cast::<Class<Linux>>().write(Class::new(algorithm)) };
    0
}

/// Makes the youngest context of a class, which the calling thread takes locks by. It keeps its age
/// as long as it begins again. Returns 0.
///
/// - The context must stay where it is, and only its thread may use it. A copy is no context.
///
/// # Safety
/// Memory for a context, which nobody uses as one; it stays there until all is unlocked that it
/// locks. A class.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ww_ctx_init(ctx: *mut lw_ww_ctx_t, class: *mut lw_ww_class_t) -> c_int {
    // SAFETY: `ctx` points to unused memory for a context, and `class` to a live class, as locks.h
    // requires.
    unsafe { ctx.cast::<AcquireCtx<Linux>>().write(AcquireCtx::new(lw_ww_class_t::lock(class))) };
    0
}

/// Makes a free lock of any memory. Not needed where `LW_WW_MUTEX_INIT` or zeros are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ww_mutex_init(lock: *mut lw_ww_mutex_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_ww_mutex_t that nobody uses as one, as locks.h
    // requires.
    unsafe { tool::init(lock) }
}

/// Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
///
/// - No thread may hold, await or use the lock: nothing checks that.
///
/// # Safety
/// A lock that nobody holds or waits for, and nobody uses from here on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ww_mutex_destroy(lock: *mut lw_ww_mutex_t) -> c_int {
    tool::destroy(lock)
}

/// Waits for the lock and takes it by a context; if that is null, as a mutex. Returns 0; EALREADY,
/// if the context has it; EDEADLK, if it has to release all locks that it has, best take this one
/// by `lw_ww_mutex_lock_slow`, and begin again.
///
/// - After EDEADLK the caller must release all locks of the context before it waits for anything:
///   otherwise the older context waits for ever.
/// - A thread that took the lock without a context must not call this: it would wait for ever.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// A lock; a context of this thread, of the class that all contexts of this lock are of, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ww_mutex_lock(
    lock: *mut lw_ww_mutex_t,
    ctx: *mut lw_ww_ctx_t,
) -> c_int {
    // SAFETY: `lock` is live, and `ctx` is null or a live context of this thread and of the lock's
    // class.
    unsafe { take(lock, ctx, None) }
}

/// As `lw_ww_mutex_lock`, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns the same;
/// ETIMEDOUT, if the time has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
///
/// - The rules of lw_ww_mutex_lock apply.
/// - The lock is taken if it is free, even if the time has passed.
///
/// # Safety
/// As `lw_ww_mutex_lock`; a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ww_mutex_timedlock(
    lock: *mut lw_ww_mutex_t,
    ctx: *mut lw_ww_ctx_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: `until` is null or points to a time, as locks.h requires.
    match unsafe { deadline(until) } {
        // SAFETY: `lock` is live, and `ctx` is null or a live context of this thread and of the
        // lock's class.
        Ok(deadline) => unsafe { take(lock, ctx, deadline) },
        Err(error) => error,
    }
}

/// Waits for the lock that the context was refused, and takes it. Returns 0.
///
/// - The context must hold no lock: with one, two contexts could wait for each other.
/// - The caller must not hold a spinning lock: this call may sleep.
/// - A signal handler must not call this: it may have interrupted a holder or a waiter.
///
/// # Safety
/// As `lw_ww_mutex_lock`; the context is not null, and has released all its locks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ww_mutex_lock_slow(
    lock: *mut lw_ww_mutex_t,
    ctx: *mut lw_ww_ctx_t,
) -> c_int {
    // SAFETY: `lock` is live, and `ctx` is null or a live context of this thread and of the lock's
    // class.
    unsafe { take(lock, ctx, None) }
}

/// # Safety
/// As [`lw_ww_mutex_lock`].
unsafe fn take(lock: *mut lw_ww_mutex_t, ctx: *mut lw_ww_ctx_t, deadline: Option<u64>) -> c_int {
    // SAFETY: by contract `lock` points to a live lock, and `ctx` to a live context or is null.
    let (raw, by) = unsafe { (lw_ww_mutex_t::lock(lock), context(ctx)) };
    let mut outcome = Ok(());
    let mut wait = || {
        // SAFETY: by contract `by` is none, or this thread's, of the lock's class, and stays until
        // all is unlocked.
        outcome = unsafe { raw.lock_until(by, deadline) };
        outcome.is_ok()
    };
    if by.is_some() {
        tool::try_lock(lock, Flags::EXCLUSIVE, wait);
    } else {
        // SAFETY: there is no context, so nothing has to outlive the lock.
        tool::lock(lock, Flags::EXCLUSIVE, || unsafe { raw.try_lock(None) }, &mut wait);
    }
    match outcome {
        Ok(()) => 0,
        Err(Refused::Already) => libc::EALREADY,
        Err(Refused::Deadlock) => libc::EDEADLK,
        Err(Refused::TimedOut) => libc::ETIMEDOUT,
    }
}

/// # Safety
/// A context that stays, or null.
unsafe fn context<'a>(ctx: *mut lw_ww_ctx_t) -> Option<&'a AcquireCtx<Linux>> {
    // SAFETY: `ctx` is not null here, so by contract it points to a context that stays for `'a`.
    (!ctx.is_null()).then(|| unsafe { lw_ww_ctx_t::lock(ctx) })
}

/// Takes the lock if it is free. Returns 0, or EBUSY, also if the context has it.
///
/// - Any thread may call this: it does not wait. EBUSY does not oblige the context to release its
///   other locks.
///
/// # Safety
/// As `lw_ww_mutex_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ww_mutex_trylock(
    lock: *mut lw_ww_mutex_t,
    ctx: *mut lw_ww_ctx_t,
) -> c_int {
    // SAFETY: `lock` points to a live lock, and `ctx` to a live context or is null, as locks.h
    // requires.
    let (raw, by) = unsafe { (lw_ww_mutex_t::lock(lock), context(ctx)) };
    // SAFETY: `by` is none, or this thread's, of the lock's class, and stays until all is unlocked.
    let try_lock = || unsafe { raw.try_lock(by) };
    done_or(libc::EBUSY, tool::try_lock(lock, Flags::EXCLUSIVE, try_lock))
}

/// Releases the lock. Returns 0.
///
/// - Only the thread that took the lock may release it, once. After any other call two threads
///   can be inside at once.
/// - The caller may release the locks of a context in any order.
///
/// # Safety
/// A lock that this thread holds; the context that it was taken by is where it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_ww_mutex_unlock(lock: *mut lw_ww_mutex_t) -> c_int {
    tool::release(lock);
    // SAFETY: `lock` points to an initialised lw_ww_mutex_t that the calling thread holds, as
    // locks.h requires.
    unsafe { lw_ww_mutex_t::lock(lock).unlock() };
    0
}

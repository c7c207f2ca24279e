//! The sequence lock.

use core::ffi::c_int;

use locks::annotate::Flags;
use locks::platform::linux::Linux;
use locks::seqlock::{Begun, RawSeqLock};

use crate::holds::{Holds as _, holds};
use crate::irq;
use crate::result::done_or;
use crate::tool;

/// A sequence lock: readers take nothing, and read again if a writer was there meanwhile. The
/// guarded data must be made of atomics, accessed with `memory_order_relaxed`; what was read must
/// not be relied on before it is known to be good. Writers spin, and are not recursive.
#[repr(C)]
pub struct lw_seqlock_t {
    /// The lock's own.
    pub opaque: [u32; 2],
}

holds!(lw_seqlock_t: RawSeqLock<Linux>);

/// Makes a free lock of any memory. Not needed where `LW_SEQLOCK_INIT` or zeros are. Returns 0.
///
/// - The caller must do this before any other thread uses the memory, and never for a lock in
///   use: its waiters would be lost.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqlock_init(lock: *mut lw_seqlock_t) -> c_int {
    // SAFETY: `lock` points to memory for an lw_seqlock_t that nobody uses as one, as locks.h
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
pub unsafe extern "C" fn lw_seqlock_destroy(lock: *mut lw_seqlock_t) -> c_int {
    tool::destroy(lock)
}

/// Begins to read, once nobody writes. Returns what `lw_seqlock_read_retry` is to be given.
///
/// - The writer must not call this, nor a signal handler that may have interrupted the writer: it
///   would spin for ever.
///
/// # Safety
/// A lock, which this thread does not write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqlock_read_begin(lock: *mut lw_seqlock_t) -> u32 {
    // SAFETY: `lock` points to an lw_seqlock_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { lw_seqlock_t::lock(lock) }.count().begin().into()
}

/// Whether what was read since is worth nothing, and is to be read again from
/// `lw_seqlock_read_begin` on. Returns 0 if it is good, else 1.
///
/// - The reader must not use what it has read before this has returned 0.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqlock_read_retry(lock: *mut lw_seqlock_t, begun: u32) -> c_int {
    // SAFETY: `lock` points to an lw_seqlock_t that the caller initialised and keeps alive, as
    // locks.h requires.
    unsafe { lw_seqlock_t::lock(lock) }.count().must_retry(Begun::from(begun)).into()
}

/// Waits for the lock and takes it to write. Returns 0.
///
/// - The caller must not hold the lock already: it would spin for ever. lockwright check reports
///   it.
/// - The writer must not sleep: all readers spin meanwhile.
/// - A signal handler may call this only if every other user takes the lock by an irqsave
///   function.
///
/// # Safety
/// A lock, which this thread does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqlock_write_lock(lock: *mut lw_seqlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_seqlock_t that the caller initialised and keeps alive, as
    // locks.h requires.
    let raw = unsafe { lw_seqlock_t::lock(lock) };
    let wait = || {
        raw.write_lock();
        true
    };
    tool::lock(lock, Flags::EXCLUSIVE, || raw.try_write_lock(), wait);
    0
}

/// Takes the lock to write if no writer has it. Returns 0, or EBUSY.
///
/// - Any thread may call this: it does not wait. The holder gets EBUSY.
///
/// # Safety
/// A lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqlock_write_trylock(lock: *mut lw_seqlock_t) -> c_int {
    // SAFETY: `lock` points to an lw_seqlock_t that the caller initialised and keeps alive, as
    // locks.h requires.
    let raw = unsafe { lw_seqlock_t::lock(lock) };
    done_or(libc::EBUSY, tool::try_lock(lock, Flags::EXCLUSIVE, || raw.try_write_lock()))
}

/// Releases the lock. Returns 0.
///
/// - Only the writer may release the lock, once. After any other call the lock is in an undefined
///   state.
///
/// # Safety
/// A lock that this thread writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqlock_write_unlock(lock: *mut lw_seqlock_t) -> c_int {
    tool::release(lock);
    // SAFETY: `lock` points to an initialised lw_seqlock_t that the calling thread holds, as
    // locks.h requires.
    unsafe { lw_seqlock_t::lock(lock).write_unlock() };
    0
}

/// Blocks all signals in this thread, and says in `flags` which were; then waits for the lock and takes it to
/// write. Returns 0.
///
/// - The rules of lw_seqlock_write_lock apply. Signal handlers may call this.
/// - The caller must release the lock by the irqrestore function with the same flags, and several
///   locks in the reverse order.
/// - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
///   with a handler.
///
/// # Safety
/// A lock, which this thread does not hold; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqlock_write_lock_irqsave(
    lock: *mut lw_seqlock_t,
    flags: *mut u64,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_seqlock_t, and `flags` to room for them, as
    // locks.h requires.
    unsafe { irq::irqsave(flags, || lw_seqlock_write_lock(lock)) }
}

/// As `lw_seqlock_write_lock_irqsave`, if no writer has the lock. Returns 0; or EBUSY, and the mask is
/// as it was.
///
/// - The rules of lw_seqlock_write_lock_irqsave apply. It does not wait.
///
/// # Safety
/// A lock; memory for the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqlock_write_trylock_irqsave(
    lock: *mut lw_seqlock_t,
    flags: *mut u64,
) -> c_int {
    // SAFETY: `lock` points to a live, initialised lw_seqlock_t, and `flags` to room for them, as
    // locks.h requires.
    unsafe { irq::irqsave(flags, || lw_seqlock_write_trylock(lock)) }
}

/// Releases the lock, then lets in the signals that came meanwhile. Returns 0.
///
/// - The rules of lw_seqlock_write_unlock apply.
/// - The flags must be those of the same hold: others leave signals blocked, or let them in
///   early.
///
/// # Safety
/// A lock that this thread has taken to write so, and the flags that say so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqlock_write_unlock_irqrestore(
    lock: *mut lw_seqlock_t,
    flags: u64,
) -> c_int {
    // SAFETY: `lock` points to an lw_seqlock_t that this thread took with these flags, as locks.h
    // requires.
    irq::irqrestore(flags, || unsafe { lw_seqlock_write_unlock(lock) })
}

//! Eras: a process has one, and a child forked from it has the next. A lock's marks about its
//! waiters, and a thread's notes about itself, belong to the era in which they were written.
//!
//! The era lies in a page that the kernel gives a forked child zeroed (MADV_WIPEONFORK): so also
//! the child of a bare `clone` notices, and nobody has to be called between the fork and the first
//! lock. Kernels before 4.14 cannot do so; there a handler of `fork` does it.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32};

use crate::arch::librarys_id;
use crate::{os, tls};

/// Data of one process only.
#[repr(C, align(4096))]
struct Page {
    /// 0: it has not begun.
    era: AtomicU32,
    /// 1 while a thread renews a lock of an earlier era.
    renewing: AtomicU32,
}

static PAGE: Page = Page { era: AtomicU32::new(0), renewing: AtomicU32::new(0) };

/// The last era that began, here or in the process that this one was forked from.
static LAST: AtomicU32 = AtomicU32::new(0);

/// The upper half of every era: no field of a lock that the C library has written looks so.
const MARK: u32 = 0x6c77 << 16;

/// The era, 0 if it has not begun.
#[inline(always)]
pub fn glance() -> u32 {
    // Relaxed: the number says all.
    PAGE.era.load(Relaxed)
}

/// The era, which begins if it has not.
#[inline]
pub fn current() -> u32 {
    match glance() {
        0 => begin(),
        era => era,
    }
}

#[cold]
fn begin() -> u32 {
    let last = LAST.load(Relaxed);
    let new = MARK | (last.wrapping_add(1) & 0xffff);
    // Acquire and Release: no more than a process' first threads agreeing on a number.
    match PAGE.era.compare_exchange(0, new, AcqRel, Acquire) {
        Ok(_) => {
            LAST.store(new, Relaxed);
            if last == 0 {
                IS_IN_TCB.store(librarys_id() == Some(os::gettid()), Relaxed);
                watch_forks();
            }
            new
        }
        Err(era) => era,
    }
}

unsafe extern "C" {
    fn __register_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
        module: *const c_void,
    ) -> c_int;
}

/// Threads' ids are where glibc has them.
static IS_IN_TCB: AtomicBool = AtomicBool::new(false);

/// The page is not zeroed by the kernel.
static IS_KEPT: AtomicBool = AtomicBool::new(false);

fn watch_forks() {
    /// # Safety
    /// The C library calls it in a forked child, which has one thread.
    unsafe extern "C" fn child() {
        tls::set_id(0);
        if IS_KEPT.load(Relaxed) {
            PAGE.era.store(0, Relaxed);
            PAGE.renewing.store(0, Relaxed);
        }
    }
    IS_KEPT.store(!os::wipe_on_fork(&PAGE), Relaxed);
    // SAFETY: the handler stays as long as this library, which is never unloaded.
    unsafe { __register_atfork(None, None, Some(child), core::ptr::null()) };
}

/// The mark of a lock that has been met in this era. Never 0: also a process whose era has
/// not begun yet takes no new lock for one that it has met.
#[inline(always)]
pub const fn met(era: u32) -> u32 {
    !era
}

/// Whether it is such a mark, of whichever era.
pub const fn is_mark(met: u32) -> bool {
    !met >> 16 == MARK >> 16
}

/// Calls `f` while nobody else is in here: the way in which locks of an earlier era are renewed.
pub fn alone<T>(f: impl FnOnce() -> T) -> T {
    // Acquire: pairs with the Release below.
    while PAGE.renewing.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
        os::sched_yield();
    }
    let result = f();
    // Release: pairs with the Acquire above.
    PAGE.renewing.store(0, Release);
    result
}

/// The id of the calling thread, as the C library knows it: in a child that was forked by its
/// functions its own, in one of a bare system call its parent's.
#[inline]
pub fn thread() -> u32 {
    match librarys_id() {
        Some(id) if IS_IN_TCB.load(Relaxed) => id,
        _ => match tls::id() {
            0 => first(),
            id => id,
        },
    }
}

#[cold]
fn first() -> u32 {
    let id = os::gettid();
    tls::set_id(id);
    id
}

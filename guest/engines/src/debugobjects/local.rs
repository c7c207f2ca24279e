//! The thread's own part of the engine: a pool, and the mark that an operation is under way.

use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU32, compiler_fence};

use super::pool::stack::Stack;

/// A thread's own part. Only its thread uses it; others read the counter.
#[repr(C)]
pub struct Local {
    /// Records of its own. Touched by the thread while `busy`.
    pub(super) pool: UnsafeCell<Stack>,
    /// Records in it, for others to read.
    pub(super) free: AtomicU32,
    /// An operation is under way: a handler that comes between does none.
    busy: AtomicBool,
    /// Next of the list of all. Never changes.
    pub(super) next: *mut Local,
    /// Next of those that no thread has. Under the pool's lock.
    pub(super) spare: UnsafeCell<*mut Local>,
}

impl Local {
    pub(super) const fn new(next: *mut Local) -> Self {
        Self {
            pool: UnsafeCell::new(Stack::new()),
            free: AtomicU32::new(0),
            busy: AtomicBool::new(false),
            next,
            spare: UnsafeCell::new(null_mut()),
        }
    }

    /// An operation of the thread's is under way.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// Begins an operation; `None`: this interrupts one.
    #[inline]
    pub(super) fn begin(local: Option<&Self>) -> Option<Busy<'_>> {
        if let Some(local) = local {
            if local.busy.load(Relaxed) {
                return None;
            }
            // Only this thread and its handlers write it: a store is enough. The fence keeps the
            // operation behind it.
            local.busy.store(true, Relaxed);
            compiler_fence(SeqCst);
        }
        Some(Busy(local))
    }
}

/// An operation is under way.
pub(super) struct Busy<'a>(Option<&'a Local>);

impl Busy<'_> {
    /// Calls out of the operation: what is called may begin others.
    pub fn pause<T>(&self, call: impl FnOnce() -> T) -> T {
        self.mark(false);
        let result = call();
        self.mark(true);
        result
    }

    #[inline]
    fn mark(&self, busy: bool) {
        if let Some(local) = self.0 {
            // The fences keep the operation's loads and stores within.
            compiler_fence(SeqCst);
            local.busy.store(busy, Relaxed);
            compiler_fence(SeqCst);
        }
    }
}

impl Drop for Busy<'_> {
    #[inline]
    fn drop(&mut self) {
        self.mark(false);
    }
}

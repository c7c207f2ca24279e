//! The big kernel lock (`lib/kernel_lock.c` until 2.6.39): one lock around much code, which a task
//! may take again while it has it, and which it gives away whenever it sleeps.
//!
//! ```text
//!   lock() lock()   schedule(|| ...)                   unlock() unlock()
//!   depth 0 -> 1    released ... taken again, depth 1   1 -> 0    free
//! ```
//!
//! Over a spinlock as in 2.4, or a semaphore as in 2.6.11: any [`Exclusive`]. To take it again
//! after a sleep is an acquisition with a call site of its own, that of [`RawBkl::schedule`].
//!
//! Other than the kernel's, where each sleep gives it away unasked, a task says where it sleeps;
//! and as the depth is the lock's while it is held and the sleep's meanwhile, there can be several.

use core::cell::UnsafeCell;
use core::mem;
use core::sync::atomic::Ordering::Relaxed;

use crate::exclusive::Exclusive;
use crate::platform::{Atomic, Platform};

const NOBODY: usize = 0;

/// A big kernel lock. Recursive; given away at [`RawBkl::schedule`].
///
/// # Rules
/// - A thread must not end while it has the lock: the waiters wait for ever.
/// - A task that waits for another lock should do so inside [`Self::schedule`]: then the two locks
///   need no order.
///
/// # Guarantees
/// - Recursion: the owner may take the lock again, up to 2^32 - 1 times.
/// - Ordering and fairness: those of the lock below.
/// - Source: `lib/kernel_lock.c` of Linux 2.4 and 2.6.
pub struct RawBkl<P: Platform, L> {
    raw: L,
    owner: P::Long,
    /// How often it has been taken again; the owner's.
    depth: UnsafeCell<u32>,
}

// SAFETY: the depth is reached by the owner only.
unsafe impl<P: Platform, L: Exclusive> Sync for RawBkl<P, L> {}

/// How deep a task had the lock when it gave it away; none: it had not.
#[derive(Debug)]
#[must_use = "the lock is to be taken again"]
pub struct Released(Option<u32>);

impl<P: Platform, L: Exclusive> RawBkl<P, L> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { raw: L::new(), owner: P::Long::new(NOBODY), depth: UnsafeCell::new(0) }
    }

    /// Waits for the lock and takes it, once more if the task has it (the kernel's `lock_kernel`).
    ///
    /// - Any thread may call this, the owner too. It must release the lock as often as it took it.
    /// - The caller must not hold a spinlock if the lock below sleeps.
    /// - A signal handler must not call this: it shares its thread's hold, and finds data that the
    ///   thread was changing.
    #[inline]
    #[track_caller]
    pub fn lock(&self) {
        if self.is_mine() {
            // SAFETY: `is_mine` found this task the owner, and only the owner accesses the depth.
            unsafe { *self.depth.get() += 1 };
        } else {
            self.raw.lock();
            self.begin(0);
        }
    }

    /// Takes the lock if that needs no waiting, once more if the task has it.
    ///
    /// - Any thread may call this. The owner always gets `true`.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> bool {
        let mine = self.is_mine();
        if mine {
            // SAFETY: `is_mine` found this task the owner, and only the owner accesses the depth.
            unsafe { *self.depth.get() += 1 };
        } else if self.raw.try_lock() {
            self.begin(0);
        } else {
            return false;
        }
        true
    }

    /// Undoes the last `lock` (the kernel's `unlock_kernel`).
    ///
    /// - The owner must call this, once for each `lock`. One call too many by the owner, or a call
    ///   by another thread, is undefined.
    ///
    /// # Safety
    /// The task has it.
    #[inline]
    #[track_caller]
    pub unsafe fn unlock(&self) {
        // SAFETY: by contract this task owns the lock, and only the owner accesses the depth.
        let depth = unsafe { &mut *self.depth.get() };
        if *depth == 0 {
            // SAFETY: by contract this task owns the lock, as `end` demands, and the depth says
            // that this is its last hold.
            unsafe { self.end() };
        } else {
            *depth -= 1;
        }
    }

    /// How often the calling task has taken the lock again; none: it does not have it (the kernel's
    /// `lock_depth`).
    ///
    /// - Any thread may call this. Only the calling thread changes the answer.
    pub fn depth(&self) -> Option<u32> {
        // SAFETY: `is_mine` found this task the owner, and only the owner accesses the depth.
        self.is_mine().then(|| unsafe { *self.depth.get() })
    }

    /// The lock that it is made of.
    ///
    /// - The caller must not take or release the lock below by itself: the owner and the depth
    ///   would be wrong.
    pub const fn raw(&self) -> &L {
        &self.raw
    }

    /// Whether anyone has it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Sleeps: does `sleep` without the lock, and has it again afterwards as deep as before.
    ///
    /// - The caller must not rely on data under the lock from before: another thread may change it
    ///   during `sleep`.
    /// - `sleep` may take the lock, and must release it as often. The lock is taken again even if
    ///   `sleep` panics.
    #[inline]
    #[track_caller]
    pub fn schedule<R>(&self, sleep: impl FnOnce() -> R) -> R {
        let back = Back { bkl: self, released: self.release() };
        let result = sleep();
        self.reacquire(back.defuse());
        result
    }

    /// Gives the lock away if the task has it, however deep (the kernel's `release_kernel_lock`).
    ///
    /// - Any thread may call this; for a thread without the lock it does nothing.
    /// - The caller must pass the result to [`Self::reacquire`]: until then it does not have the
    ///   lock.
    #[inline]
    pub fn release(&self) -> Released {
        let depth = self.depth();
        if depth.is_some() {
            // SAFETY: `depth` returned a value, so this task owns the lock, as `end` demands.
            unsafe { self.end() };
        }
        Released(depth)
    }

    /// Takes the lock again (the kernel's `reacquire_kernel_lock`). Never inlined: its acquisitions
    /// have a return address of their own.
    ///
    /// - The thread that called [`Self::release`] must call this, and must not have the lock
    ///   meanwhile: it would wait for ever.
    /// - The caller must not hold a lock that the owner of this one may wait for outside of
    ///   [`Self::schedule`]: the two would wait for each other.
    #[inline(never)]
    #[track_caller]
    pub fn reacquire(&self, released: Released) {
        if let Some(depth) = released.0 {
            self.raw.lock();
            self.begin(depth);
        }
    }

    /// Takes the lock again if that needs no waiting; else hands back what is to be taken again.
    ///
    /// - The thread that called [`Self::release`] must call this. It does not wait, so the order of
    ///   locks does not matter.
    ///
    /// # Errors
    /// Somebody has it.
    pub fn try_reacquire(&self, released: Released) -> Result<(), Released> {
        let Some(depth) = released.0 else { return Ok(()) };
        if !self.raw.try_lock() {
            return Err(released);
        }
        self.begin(depth);
        Ok(())
    }

    #[inline]
    fn is_mine(&self) -> bool {
        // Relaxed: a task sees what it stored itself, and what others store is not its name.
        self.owner.load(Relaxed) == P::current().number()
    }

    #[inline]
    fn begin(&self, depth: u32) {
        // Relaxed: for ourselves.
        self.owner.store(P::current().number(), Relaxed);
        // SAFETY: the caller has just taken `raw`, so this task owns the lock, and only the owner
        // accesses the depth.
        unsafe { *self.depth.get() = depth };
    }

    /// # Safety
    /// The task has it.
    #[inline]
    #[track_caller]
    unsafe fn end(&self) {
        // Relaxed: as in `begin`; the next owner's store comes after it by the lock's own order.
        self.owner.store(NOBODY, Relaxed);
        // SAFETY: by this function's contract the task holds the lock, and so `raw`.
        unsafe { self.raw.unlock() };
    }
}

#[cfg(feature = "std")]
impl<L: Exclusive> RawBkl<crate::platform::linux::Linux, L> {
    /// A free lock over a free lock, for statics.
    pub const fn over(raw: L) -> Self {
        let owner = core::sync::atomic::AtomicUsize::new(NOBODY);
        Self { raw, owner, depth: UnsafeCell::new(0) }
    }
}

/// Takes the lock again even if the sleep ends in a panic: the unwinding thread will unlock it.
struct Back<'a, P: Platform, L: Exclusive> {
    bkl: &'a RawBkl<P, L>,
    released: Released,
}

impl<P: Platform, L: Exclusive> Back<'_, P, L> {
    fn defuse(mut self) -> Released {
        let released = Released(self.released.0.take());
        mem::forget(self);
        released
    }
}

impl<P: Platform, L: Exclusive> Drop for Back<'_, P, L> {
    fn drop(&mut self) {
        self.bkl.reacquire(Released(self.released.0));
    }
}

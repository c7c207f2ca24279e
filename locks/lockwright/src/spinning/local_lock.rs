//! The local lock (`include/linux/local_lock.h`): names the sections in which a CPU uses data of
//! its own, and keeps them from interrupting each other.
//!
//! In the kernel it disables preemption or interrupts, and with PREEMPT_RT it is a spinlock of the
//! CPU. In user space a CPU is a thread, and what remains is this:
//!
//! - Between threads it gives nothing, and needs nothing: the lock lies next to the data, in the thread's own storage,
//!   and only that thread uses either. No instruction is atomic, no memory is ordered.
//! - A signal handler that interrupts a section finds the lock held: [`RawLocalLock::try_lock`] refuses. It cannot
//!   wait, as it would wait for its own thread. If it finds the lock free, the data is not in use.
//! - [`RawLocalLock::lock_irqsave`] keeps signal handlers away instead, at two system calls a section.
//! - A section in a section is a mistake, and panics.
//!
//! ```text
//!   owner  0 free, or the task that is in a section
//! ```

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::compiler_fence;

use crate::platform::{Atomic, Platform};

const FREE: usize = 0;

/// A local lock, of the thread in whose storage it lies. Not recursive.
pub struct RawLocalLock<P: Platform> {
    owner: P::Long,
}

impl<P: Platform> RawLocalLock<P> {
    /// A free lock, of the thread that will use it.
    pub fn new_in() -> Self {
        Self { owner: P::Long::new(FREE) }
    }

    /// Begins a section.
    ///
    /// # Panics
    /// If the thread is in a section: of this function, or of what a signal handler has
    /// interrupted.
    #[inline]
    #[track_caller]
    pub fn lock(&self) {
        assert!(self.try_lock(), "a section of a local lock in another section of it");
    }

    /// Begins a section if the thread is in none.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Relaxed, everywhere: no other thread looks. No exchange: a handler in between is through
        // with its section when we go on, and leaves the lock as it has found it.
        if self.owner.load(Relaxed) != FREE {
            return false;
        }
        self.owner.store(P::current().number(), Relaxed);
        // The compiler moves nothing of the section to before it, where handlers may have theirs.
        compiler_fence(SeqCst);
        true
    }

    /// Ends the section.
    ///
    /// # Safety
    /// The calling thread is in it.
    #[inline]
    pub unsafe fn unlock(&self) {
        debug_assert_eq!(
            self.owner.load(Relaxed),
            P::current().number(),
            "a local lock is of one thread"
        );
        // As in `try_lock`, for the end.
        compiler_fence(SeqCst);
        self.owner.store(FREE, Relaxed);
    }

    /// Whether the thread is in a section.
    pub fn is_locked(&self) -> bool {
        self.owner.load(Relaxed) != FREE
    }
}

#[cfg(feature = "std")]
mod linux {
    use core::sync::atomic::AtomicUsize;

    use super::{FREE, RawLocalLock};
    pub use crate::irq::IrqFlags as Signals;
    use crate::irq::{local_irq_restore, local_irq_save};
    use crate::platform::linux::Linux;

    impl RawLocalLock<Linux> {
        /// A free lock, for thread-locals.
        pub const fn new() -> Self {
            Self { owner: AtomicUsize::new(FREE) }
        }

        /// Begins a section that no signal handler interrupts: all signals that can be are blocked
        /// in this thread. A fault (SIGSEGV and the like) in the section ends the process, handler
        /// or not.
        ///
        /// # Panics
        /// As [`RawLocalLock::lock`].
        #[track_caller]
        pub fn lock_irqsave(&self) -> Signals {
            let before = local_irq_save();
            if !self.try_lock() {
                local_irq_restore(before);
                panic!("a section of a local lock in another section of it");
            }
            before
        }

        /// Ends the section, and lets in the signals that came meanwhile.
        ///
        /// # Safety
        /// The calling thread is in it, by the [`RawLocalLock::lock_irqsave`] that has returned
        /// `signals`.
        pub unsafe fn unlock_irqrestore(&self, signals: Signals) {
            // SAFETY: by contract this thread locked `self` with the call that returned `signals`.
            unsafe { self.unlock() };
            local_irq_restore(signals);
        }
    }

    impl Default for RawLocalLock<Linux> {
        fn default() -> Self {
            Self::new()
        }
    }
}
#[cfg(feature = "std")]
pub use linux::Signals;

//! Spinning locks with signals blocked: the kernel's `spin_lock_irqsave` and its siblings. In user
//! space a signal's handler is what interrupts a thread, so that is what is kept away.
//!
//! A handler that takes a lock which its own thread holds waits for ever. Where handlers take a
//! lock, everybody else takes it by `lock_irqsave`: all signals that can be are blocked in the
//! thread, then the lock is taken, and [`IrqFlags`] say which were blocked before. They are blocked
//! before the lock is waited for, as a handler in the midst of that would wait behind its own
//! thread; so a signal waits as long as the thread does.
//!
//! - It costs two system calls a hold.
//! - Holds nest as calls do: what is taken last is to be released first, or signals are let in
//!   early.
//! - A fault (SIGSEGV and the like) while signals are blocked ends the process, handler or not.
//! - `try_lock_irqsave` that does not get the lock leaves the mask as it was.
//!
//! Every spinning lock of the family has these methods; sleeping locks, as in the kernel, do not: a
//! thread in a long wait should receive signals.

use crate::irq::{IrqFlags, local_irq_restore, local_irq_save};
use crate::mcs::{Mcs, Node, RawMcs};
use crate::platform::Platform;
use crate::pvqspinlock::{Mode, RawPvQspinlock};
use crate::qrwlock::RawQrwLock;
use crate::qspinlock::RawQspinlock;
use crate::seqlock::RawSeqLock;
use crate::tas::RawTas;
use crate::ticket::RawTicket;

/// Takes a lock by `try_lock` with all signals blocked, which stays so if that got it.
fn try_irqsave(try_lock: impl FnOnce() -> bool) -> Option<IrqFlags> {
    let flags = local_irq_save();
    if try_lock() {
        return Some(flags);
    }
    local_irq_restore(flags);
    None
}

/// The three methods of a lock, or of one way to take it, by the names of those without signals.
macro_rules! irqsave {
    ($([$($parameter:tt)*] $lock:ty {
        $($irqsave:ident: $take:ident, $try_irqsave:ident: $try:ident, $irqrestore:ident: $give:ident;)*
    })*) => { $(
        impl<$($parameter)*> $lock { $(
            #[doc = concat!("Blocks all signals in this thread, then [`Self::", stringify!($take), "`].")]
            ///
            /// - The rules of the call without signals apply, except that signal handlers may call
            ///   this.
            #[doc = concat!("- The caller must release the lock by [`Self::", stringify!($irqrestore), "`], and holds in the reverse order.")]
            /// - The holder must not cause a fault (SIGSEGV and the like): it would end the process,
            ///   even with a handler.
            #[inline]
            #[track_caller]
            pub fn $irqsave(&self) -> IrqFlags {
                let flags = local_irq_save();
                self.$take();
                flags
            }

            #[doc = concat!("[`Self::", stringify!($try), "`] with all signals blocked; if it fails, the mask is as it was.")]
            #[inline]
            #[track_caller]
            pub fn $try_irqsave(&self) -> Option<IrqFlags> {
                try_irqsave(|| self.$try())
            }

            #[doc = concat!("[`Self::", stringify!($give), "`], then lets in the signals that came meanwhile.")]
            ///
            /// # Safety
            #[doc = concat!("The calling thread took it by the [`Self::", stringify!($irqsave), "`] or [`Self::",
                stringify!($try_irqsave), "`] that returned `flags`.")]
            #[inline]
            pub unsafe fn $irqrestore(&self, flags: IrqFlags) {
                // SAFETY: by contract this thread took the lock with the call that returned
                // `flags`, and still holds it.
                unsafe { self.$give() };
                local_irq_restore(flags);
            }
        )* }
    )* };
}

irqsave! {
    [P: Platform] RawTas<P> {
        lock_irqsave: lock, try_lock_irqsave: try_lock, unlock_irqrestore: unlock;
    }
    [P: Platform] RawTicket<P> {
        lock_irqsave: lock, try_lock_irqsave: try_lock, unlock_irqrestore: unlock;
    }
    [P: Platform] RawMcs<P> {
        lock_irqsave: lock, try_lock_irqsave: try_lock, unlock_irqrestore: unlock;
    }
    [P: Platform] RawQspinlock<P> {
        lock_irqsave: lock, try_lock_irqsave: try_lock, unlock_irqrestore: unlock;
    }
    [P: Platform, M: Mode] RawPvQspinlock<P, M> {
        lock_irqsave: lock, try_lock_irqsave: try_lock, unlock_irqrestore: unlock;
    }
    [P: Platform] RawQrwLock<P> {
        read_lock_irqsave: read_lock, try_read_lock_irqsave: try_read_lock, read_unlock_irqrestore: read_unlock;
        write_lock_irqsave: write_lock, try_write_lock_irqsave: try_write_lock, write_unlock_irqrestore: write_unlock;
    }
    [P: Platform] RawSeqLock<P> {
        write_lock_irqsave: write_lock, try_write_lock_irqsave: try_write_lock, write_unlock_irqrestore: write_unlock;
    }
}

impl<P: Platform> Mcs<P> {
    /// Blocks all signals in this thread, then [`Self::lock`].
    ///
    /// # Safety
    /// As for that.
    pub unsafe fn lock_irqsave(&self, node: &Node<P>) -> IrqFlags {
        let flags = local_irq_save();
        // SAFETY: by contract `node` stays in place and unused until the unlock, as `lock` demands.
        unsafe { self.lock(node) };
        flags
    }

    /// [`Self::try_lock`] with all signals blocked; if it fails, the mask is as it was.
    ///
    /// # Safety
    /// As for that.
    pub unsafe fn try_lock_irqsave(&self, node: &Node<P>) -> Option<IrqFlags> {
        // SAFETY: by contract `node` stays in place and unused until the unlock, as `try_lock`
        // demands.
        try_irqsave(|| unsafe { self.try_lock(node) })
    }

    /// [`Self::unlock`], then lets in the signals that came meanwhile.
    ///
    /// # Safety
    /// As for that; taken by the [`Self::lock_irqsave`] or [`Self::try_lock_irqsave`] that returned
    /// `flags`.
    pub unsafe fn unlock_irqrestore(&self, node: &Node<P>, flags: IrqFlags) {
        // SAFETY: by contract this thread took the lock with `node` and still holds it.
        unsafe { self.unlock(node) };
        local_irq_restore(flags);
    }
}

//! Misuse of a lock, as a finding has it: a type for each kind of finding, in a file for each idea.

mod condition;
mod context;
mod kept;
mod left_held;
mod lifetime;
mod unlock;

pub use self::condition::{CondvarMutexMismatch, LostWakeup};
pub use self::context::{InvalidWaitContext, LockNotHeld, SleepWithSpinlockHeld, UnsafeCall};
pub use self::kept::{CallbackWithLockHeld, Calls, EndedBy, Gap, Signalled, WaitWithLockHeld};
pub use self::left_held::{ExitWithLockHeld, ForkWithLockHeld, LeakedLock};
pub use self::lifetime::{HeldLockDestroyed, HeldLockFreed, HeldLockInitialised, UseAfterDestroy};
pub use self::unlock::{BadUnlockBalance, UnlockInconsistent, Unpinned};

/// Declares [`Misuse`], its groups, and how the data of each kind become one.
macro_rules! misuses {
    ($($(#[$doc:meta])* $group:ident { $($(#[$about:meta])* $kind:ident,)+ })+) => {
        /// What was done to a lock: the finding's first one. Its first step tells who did it.
        #[derive(Clone, Debug)]
        pub enum Misuse {
            $($(#[$doc])* $group($group),)+
        }
        $(
            $(#[$doc])*
            #[derive(Clone, Debug)]
            pub enum $group {
                $($(#[$about])* $kind($kind),)+
            }
            $(
                impl From<$kind> for Misuse {
                    fn from(what: $kind) -> Self {
                        Self::$group($group::$kind(what))
                    }
                }
            )+
        )+
    };
}

misuses! {
    /// A lock is unlocked that should not be.
    Unlock {
        /// By a thread that does not hold it.
        BadUnlockBalance,
        /// Before it is made consistent.
        UnlockInconsistent,
        /// While it is pinned.
        Unpinned,
    }
    /// A lock begins or ends while it is held, or is used after its end.
    Lifetime {
        /// Its memory goes.
        HeldLockFreed,
        /// It is destroyed.
        HeldLockDestroyed,
        /// It is initialised again.
        HeldLockInitialised,
        /// It is used after it was destroyed.
        UseAfterDestroy,
    }
    /// A lock stays held when nobody is left who would unlock it.
    LeftHeld {
        /// Its thread has ended.
        ExitWithLockHeld,
        /// The function has returned that took it.
        LeakedLock,
        /// A forked child has no such thread.
        ForkWithLockHeld,
    }
    /// A lock is kept while its thread depends on others.
    Kept {
        /// In a wait for a signal or a post.
        WaitWithLockHeld,
        /// In a call of a function of another module.
        CallbackWithLockHeld,
    }
    /// A condition variable is used in a way that loses signals.
    ConditionUse {
        /// A waiter may miss a signal.
        LostWakeup,
        /// It has two mutexes.
        CondvarMutexMismatch,
    }
    /// A lock is used in a context that does not allow it.
    Context {
        /// A handler uses what is not async-signal-safe.
        UnsafeCall,
        /// A lock that may sleep is taken inside spinning ones.
        InvalidWaitContext,
        /// A thread may sleep inside a spinning one.
        SleepWithSpinlockHeld,
        /// The program asserts otherwise.
        LockNotHeld,
    }
}

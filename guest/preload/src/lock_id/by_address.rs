//! Locks without room for a stamp: types for what is known by its address alone.

use libc::pthread_spinlock_t;
pub use lockwright_ledger::inlined::flag;
use lockwright_ledger::rows::lock_kind;

use super::identity::Identify;

/// An object that is known by its address alone.
macro_rules! by_address {
    ($(#[$doc:meta])* $name:ident($inner:ty): $kind:expr) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name($inner);

        impl Identify for $name {
            // There is no stamp: these are not used.
            const MAGIC: usize = 0;
            const IDENT: usize = 0;
            const STAMPABLE: bool = false;
            const DESTROYED_STACK: usize = 0;
            const DESTROYED_THREAD: usize = 0;

            unsafe fn kind(_: *const Self) -> u8 {
                $kind
            }

            unsafe fn can_stamp(_: *const Self) -> bool {
                false
            }
        }
    };
}

by_address! {
    /// A spinlock, as a type of its own (libc's is an int).
    SpinLock(pthread_spinlock_t): lock_kind::SPIN
}

by_address! {
    /// CPython's `_thread.lock`, since 3.13.1. As before, it begins free, and any thread may release it.
    PythonLock([u8; 24]): lock_kind::SEMAPHORE
}

by_address! {
    /// CPython's `_thread.RLock`, since 3.14.
    PythonRecursiveLock([u8; 40]): lock_kind::RECURSIVE
}

by_address! {
    /// A semaphore that processes share, as a type of its own: each of them would write its stamp over the others'.
    SharedSemaphore(libc::sem_t): lock_kind::SEMAPHORE
}

by_address! {
    /// A user-defined lock.
    UserLock(u8): lock_kind::OWN
}

by_address! {
    /// A resource context. It has no memory: its address is made of its name.
    Resource(u8): lock_kind::RESOURCE
}

by_address! {
    /// What a thread waits for until another ends the wait.
    Completion(u8): lock_kind::COMPLETION
}

by_address! {
    /// The control of `pthread_once`, as a type of its own (libc's is an int).
    OnceControl(libc::pthread_once_t): lock_kind::ONCE
}

/// The lock, as a type that can be identified.
pub fn spin_lock(l: *mut pthread_spinlock_t) -> *const SpinLock {
    l.cast_const().cast()
}

/// The semaphore, as one that processes share.
pub fn shared_semaphore(s: *const libc::sem_t) -> *const SharedSemaphore {
    s.cast()
}

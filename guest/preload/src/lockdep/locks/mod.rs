//! Acquisitions and releases, by the type of the lock.

pub mod acquire;
mod counting;
// For the laboratory alone: what the kernel's patches changed.
#[cfg_attr(
    any(
        feature = "unpatched-2",
        feature = "unpatched-3",
        feature = "unpatched-4",
        feature = "unpatched-5"
    ),
    path = "../../../../../lab/unpatched/fast_path.rs"
)]
pub mod fast_path;
pub mod folded;
pub mod loader_locks;
pub mod lock_lifetime;
pub mod mutex;
mod no_lock;
pub mod once;
pub mod python_lock;
pub mod release;
pub mod rwlock;
pub mod semaphore;
pub mod spin;
pub mod trylocks;
pub mod watch;

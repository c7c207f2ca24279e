//! Locks, and the objects that threads wait on: the wrappers of pthreads' and C11's functions.

pub mod abandoned_waits;
pub mod annotated_object;
pub mod barrier;
pub mod both_engines;
pub mod both_user_locks;
pub mod bounces;
pub mod c11;
pub mod cond;
pub mod engine;
pub mod internal_names;
pub mod lifetimes;
pub mod metered_semaphore;
pub mod mutex;
pub mod once;
pub mod rwlock;
pub mod semaphore;
pub mod spin;
pub mod steered;

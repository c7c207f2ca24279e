//! The checks. Each has what it knows to itself, and gets the recorder as an argument. No check calls
//! another: the core passes on what one finds and another needs.

pub(crate) mod abandoned;
pub(crate) mod atomic_sleep;
pub(crate) mod barrier_deadlock;
pub(crate) mod barrier_rounds;
pub(crate) mod completion;
mod cycle;
pub(crate) mod dead_owners;
pub(crate) mod deadlock;
pub(crate) mod declared_orders;
pub(crate) mod futex_wait;
pub(crate) mod handed_on;
pub(crate) mod left_held;
pub(crate) mod lock_cycle;
pub(crate) mod monitors;
mod once;
pub(crate) mod semaphore;
pub(crate) mod semaphore_posts;
pub(crate) mod usage;
pub(crate) mod wait_context;
pub(crate) mod wakeup;

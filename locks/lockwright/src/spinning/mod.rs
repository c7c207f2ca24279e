//! Locks that spin, and the parts of their queues.

#[cfg(feature = "std")]
pub mod irqsave;
pub mod k42;
pub mod local_lock;
pub mod mcs;
pub mod pv_halt;
pub mod pv_hash;
pub mod pvqspinlock;
pub mod qnode;
pub mod qspinlock;
pub mod tas;
pub mod ticket;

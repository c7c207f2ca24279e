//! Locks that spin.

pub mod debug_spinlock;
pub mod mcs;
pub mod pvqspinlock;
pub mod pvqspinlock_single_steal;
pub mod pvqspinlock_unfair;
pub mod qspinlock;
pub mod tas;
pub mod ticket;

//! Which lock is this, and where does it come from.

pub mod allocations;
pub mod bits;
pub mod by_address;
pub mod first_use;
pub mod identity;
pub mod inherited;
pub mod lock;
pub mod pages;
pub mod side_table;
pub mod spinning;

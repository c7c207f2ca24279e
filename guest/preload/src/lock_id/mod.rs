//! Which lock is this, and where does it come from.

pub mod allocations;
pub mod bit_locks;
pub mod by_address;
pub mod first_use;
pub mod identity;
pub mod inherited;
pub mod known_births;
pub mod lock;
pub mod lock_pages;
pub mod makers;
pub mod new_stack;
pub mod numbers;
pub mod python_calls;
pub mod shared;
pub mod side_table;
pub mod spinning;
pub mod unstamped;

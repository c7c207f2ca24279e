//! Memory that the program allocates and frees, for the locks in it.

pub mod allocation;
pub mod block_size;
pub mod freed_memory;
pub mod locks_within;

//! Where trackers' records come from: threads' pools, the global pool, the slab.
//!
//! ```text
//!   thread's pool (64) <--- 16 ---> global pool (1,024) <--- 16 --- slab <--- mappings
//!                       \                                            ^
//!                        `---- 16 ---> to be freed ---- <= 1,024 ----'
//! ```

mod env;
mod global;
mod record;
mod refill;
mod sizes;
pub(super) mod slab;
pub(super) mod source;
pub(super) mod stack;
mod switches;
#[cfg(test)]
mod tests;
mod threads;
mod usage;

pub(super) use self::env::{Env, Trouble};
pub(super) use self::global::Pools;
pub use self::source::{Source, YIELDS};
pub use self::switches::Switches;

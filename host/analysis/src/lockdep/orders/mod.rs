//! Findings about the orders in which locks are taken.

pub(crate) mod annotated;
pub(crate) mod barriers;
mod behind_writer;
pub(crate) mod chains;
pub(crate) mod circular;
pub(crate) mod deadlocks;
pub(crate) mod declared;
pub(crate) mod joins;
mod lined_up;
pub(crate) mod loader;
pub(crate) mod nesting;
pub(crate) mod onces;
pub(crate) mod semaphores;
pub(crate) mod signals;

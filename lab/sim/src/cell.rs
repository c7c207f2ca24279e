//! The cells of simulated memory. What is done to them is in `platform.rs`.

use core::sync::atomic::{AtomicU32, AtomicUsize};

/// A cell of simulated memory. It belongs to the cache line that it lies in.
#[derive(Debug)]
#[repr(transparent)]
pub struct Cell<A>(pub(crate) A);

/// The words of [`crate::Sim`].
pub type Word = Cell<AtomicU32>;
/// The long words of [`crate::Sim`].
pub type Long = Cell<AtomicUsize>;

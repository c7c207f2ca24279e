//! How the host gives an engine the call stack of the calling thread.

/// Fills a buffer with return addresses, innermost first, and says how many.
pub type Capture<'a> = &'a mut dyn FnMut(&mut [u64]) -> usize;

/// Longest stack that is recorded.
pub const MAX_FRAMES: usize = lockwright_ledger::layout::MAX_FRAMES;

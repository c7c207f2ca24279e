//! What the engine asks of its host: memory, and to wait a little.

/// The host's memory. All functions are async-signal-safe.
pub struct Source {
    /// Maps zeroed memory of that many bytes, a power of two of at least a page, aligned to as much. Null: there is
    /// none.
    pub map: fn(bytes: usize) -> *mut u8,
    /// Gives back what `map` gave.
    ///
    /// # Safety
    /// It is that, whole, and not used any more.
    pub unmap: unsafe fn(at: *mut u8, bytes: usize),
    /// Gives up the processor: sched_yield(2).
    pub relax: fn(),
}

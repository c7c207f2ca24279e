//! Services that the engine needs from its host: memory, and to wait a little.

/// Turns of waiting that are yields.
pub const YIELDS: u32 = 1 << 10;

/// The host's memory. All functions are async-signal-safe.
pub struct Source {
    /// Maps zeroed memory of that many bytes, a power of two of at least a page, aligned to as
    /// much. Null: there is none.
    pub map: fn(bytes: usize) -> *mut u8,
    /// Gives back what `map` gave.
    ///
    /// # Safety
    /// It is that, whole, and not used any more.
    pub unmap: unsafe fn(at: *mut u8, bytes: usize),
    /// Lets others run, for the time that is meant for this turn of waiting: first by
    /// sched_yield(2), from turn [`YIELDS`] on by a millisecond's sleep, as threads of a lower
    /// priority run only then.
    pub relax: fn(turn: u32),
}

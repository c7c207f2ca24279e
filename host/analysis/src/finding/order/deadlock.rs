//! A deadlock that threads are in.

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A step waits for the thread of the next to end.
    WaitsForEnd {
        /// The step.
        step: usize,
    },
    /// The thread of the step waits at a barrier, to which that of the next cannot come.
    WaitsAtBarrier {
        /// Which.
        step: usize,
    },
    /// A step waits to read its lock behind that of the next, which waits to write it.
    WaitsBehindWriter {
        /// The step.
        step: usize,
    },
    /// A step waits for its lock, which the thread of the next holds.
    WaitsForHolder {
        /// The step.
        step: usize,
    },
    /// The thread waits for a lock that it holds itself.
    WaitsForItself,
    /// It is in a handler, which interrupted the holder.
    HolderInterrupted {
        /// The signal.
        signal: u32,
    },
}

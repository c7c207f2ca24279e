//! Waits as the kernel saw them: for its own locks, and for futexes of processes that were not
//! started under the tool. Only waits are known so: not how often a lock was taken without, nor how
//! long it was held.

pub mod every_wait;
pub mod futexes;
pub mod kallsyms;
pub mod kernel;
mod purpose;

use serde::Serialize;

pub use every_wait::{EveryWait, Waited, every_wait};
pub use futexes::{FutexReport, build_futexes, futexes_of, with_waits_under_way};
pub use kallsyms::Kallsyms;
pub use kernel::{KernelReport, build_kernel, of_processes, since};
pub use lockwright_bpf::messages::{Futexes, Kernel, Lost, Message, Obstacle, Place};

/// Waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// Time waited, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

impl Waits {
    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The mean of them, ns; 0 of none.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total_ns as f64 / self.count as f64 }
    }
}

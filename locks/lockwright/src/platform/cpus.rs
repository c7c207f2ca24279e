//! The bound of the threads' numbers.

/// How many threads can have a number at once: qspinlock's word has 14 bits for number + 1.
pub const CPUS: u32 = (1 << 14) - 1;

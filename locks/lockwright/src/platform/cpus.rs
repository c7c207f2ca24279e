//! How many threads can be told apart.

/// How many threads can have a number at once: qspinlock's word has 14 bits for number + 1.
pub const CPUS: u32 = (1 << 14) - 1;

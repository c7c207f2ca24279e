//! How many threads a run has, on how many CPUs.

/// How many there are in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub threads: u32,
    pub cpus: u32,
}

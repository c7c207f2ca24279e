//! Why figures are not to be believed.

use std::fmt;
use std::time::Duration;

/// What a measurement was refused for.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    /// Two threads were in the section of a lock at once: it is fast, and its figures say nothing.
    NotExclusive {
        /// The lock's name in the report.
        lock: String,
    },
    /// The threads have used more CPU time than there was in the time measured.
    TooFast {
        /// What was measured.
        arm: String,
        /// The time measured.
        elapsed: Duration,
        /// The CPU time that the threads used in it.
        cpu_time: Duration,
        /// CPUs that they could run on.
        cpus: usize,
    },
}

impl Fault {
    /// A lock that does not exclude.
    pub(super) fn not_exclusive(lock: &str) -> Self {
        Self::NotExclusive { lock: lock.to_owned() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotExclusive { lock } => {
                write!(f, "`{lock}` does not exclude: two threads were in its section at once")
            }
            Self::TooFast { arm, elapsed, cpu_time, cpus } => write!(
                f,
                "the time measured of `{arm}` cannot be: {elapsed:.1?} on {cpus} CPUs for {cpu_time:.1?} of CPU time"
            ),
        }
    }
}

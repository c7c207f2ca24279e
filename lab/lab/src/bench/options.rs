//! How long and how often the locks are measured.

use std::time::Duration;

use super::peers;

/// How long and how often is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds of each section; within a round all its arms take turns.
    pub rounds: usize,
    /// How long the threads of the over-commit section lock, in one round.
    pub interval: Duration,
    /// Only sections and rows whose name contains this.
    pub only: Option<String>,
    /// Also the lock events of what counts them.
    pub events: bool,
    /// What is swept over, with which locks.
    pub peers: peers::Choice,
}

impl Default for Options {
    /// The published microbenchmark's five seconds; as many rounds as give an interval of 95 %
    /// confidence, and few enough to wait for.
    fn default() -> Self {
        Self {
            rounds: 7,
            interval: Duration::from_secs(5),
            only: None,
            events: false,
            peers: peers::Choice::default(),
        }
    }
}

impl Options {
    /// Just enough to see that everything runs: the figures mean nothing.
    pub fn smoke() -> Self {
        Self {
            rounds: 2,
            interval: Duration::from_millis(50),
            peers: peers::Choice { is_smoke: true, ..peers::Choice::default() },
            ..Self::default()
        }
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }
}

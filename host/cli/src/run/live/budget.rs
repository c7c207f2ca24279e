//! How much of a processor looking takes.

use std::time::{Duration, Instant};

/// Looks take no more than this part of the time of a processor.
const SHARE: u32 = 20;

/// Bounds how often something is looked at by how long a look takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    next: Option<Instant>,
}

impl Budget {
    /// Whether it is time to look again.
    pub fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| now >= next)
    }

    /// A look that began at `begun` took `took`.
    pub fn spend(&mut self, begun: Instant, took: Duration) {
        self.next = Some(begun + took * SHARE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_look_makes_the_next_one_late() {
        let begun = Instant::now();
        let mut budget = Budget::default();
        assert!(budget.is_due(begun));
        budget.spend(begun, Duration::from_millis(10));
        assert!(!budget.is_due(begun + Duration::from_millis(199)));
        assert!(budget.is_due(begun + Duration::from_millis(200)));
    }
}

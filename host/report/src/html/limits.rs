//! How much of everything a page has: at most 1 MiB in all, however much was recorded.
//!
//! | section | bytes at most |
//! |---|---|
//! | findings | 280,000 |
//! | lock order, drawing and list | 150,000 |
//! | table of locks | 200,000 |
//! | places, histograms and blame of single locks | 100,000 |
//! | flame graphs, two | 70,000 each |
//! | the longest waits, table and drawing | 45,000 and 40,000 |
//! | all others | 90,000 |
//!
//! Locks are most of a comparison's page.

use maud::{Markup, PreEscaped};

/// Findings.
pub const FINDINGS: Limit = Limit { items: 500, bytes: 280_000 };
/// Threads that were still waiting.
pub const WAITS: Limit = Limit { items: 200, bytes: 40_000 };
/// The longest waits for locks, if the run has a timeline.
pub const WORST_WAITS: Limit = Limit { items: 64, bytes: 45_000 };
/// Waits and holds in their drawing. The waits are there in any case.
pub const LANES_BYTES: usize = 40_000;
/// Listed dependencies.
pub const DEPENDENCIES: Limit = Limit { items: 500, bytes: 110_000 };
/// Processes whose lock orders are drawn and listed, if there are several.
pub const ORDERS: Limit = Limit { items: 100, bytes: 150_000 };
/// Locks in the table.
pub const LOCKS: Limit = Limit { items: 2_000, bytes: 200_000 };
/// Locks that are shown one by one.
pub const DETAILS: Limit = Limit { items: 20, bytes: 100_000 };
/// Compared locks: the page has little else.
pub const DIFFS: Limit = Limit { items: 500, bytes: 800_000 };
/// Notes, and processes.
pub const NOTES: Limit = Limit { items: 300, bytes: 25_000 };
/// One flame graph.
pub const FLAME_BYTES: usize = 70_000;

/// So many items, and so many bytes of them.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Items.
    pub items: usize,
    /// Bytes of markup.
    pub bytes: usize,
}

impl Limit {
    /// The first items that fit, and how many are left out.
    pub fn fill<T>(
        self,
        items: impl IntoIterator<Item = T>,
        mut show: impl FnMut(T) -> Markup,
    ) -> (Markup, usize) {
        let (mut text, mut shown, mut left) = (String::new(), 0, 0);
        for item in items {
            if left == 0 && shown < self.items {
                let next = show(item).into_string();
                if text.len() + next.len() <= self.bytes {
                    text += &next;
                    shown += 1;
                    continue;
                }
            }
            left += 1;
        }
        (PreEscaped(text), left)
    }
}

#[cfg(test)]
mod tests {
    use super::Limit;
    use maud::PreEscaped;

    #[test]
    fn what_does_not_fit_is_counted() {
        let show = |n: &str| PreEscaped(n.to_owned());
        let items = ["aa", "bb", "cccccc", "d"];
        let limit = |items, bytes| Limit { items, bytes };
        let fill = |limit: Limit| limit.fill(items, show);
        assert_eq!((fill(limit(9, 99)).0.0.as_str(), fill(limit(9, 99)).1), ("aabbccccccd", 0));
        assert_eq!((fill(limit(1, 99)).0.0.as_str(), fill(limit(1, 99)).1), ("aa", 3));
        // Nothing is shown after what is left out.
        assert_eq!((fill(limit(9, 5)).0.0.as_str(), fill(limit(9, 5)).1), ("aabb", 2));
    }
}

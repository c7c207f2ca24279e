//! Finding a lock in a thread's stack of held locks.
//!
//! Locks are let go innermost first, or nearly. A thread that holds thousands and releases the
//! outermost first would search all the others for each. So the search begins around the last lock
//! that was released below the top.

/// Entries looked at from the top before others. Programs that hold fewer have all looked at
/// innermost first.
const TOP: usize = 64;

/// Entries looked at on either side of where the last was.
const AROUND: usize = 32;

/// Index, below `len`, of an entry of which `is_it` is true, and how many were looked at: the innermost
/// of the last [`TOP`], or else the innermost of those around `last`, or else the innermost.
pub fn search(len: usize, last: usize, is_it: impl Fn(usize) -> bool) -> (Option<usize>, usize) {
    let top = len.saturating_sub(TOP);
    let end = (last + AROUND).min(top);
    let start = last.saturating_sub(AROUND).min(end);
    let mut looked = 0;
    for (from, to) in [(top, len), (start, end), (end, top), (0, start)] {
        if let Some(i) = (from..to).rev().find(|&i| is_it(i)) {
            return (Some(i), looked + to - i);
        }
        looked += to - from;
    }
    (None, looked)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    /// Entries looked at to let 10,000 locks go in this order.
    fn looked(order: impl Iterator<Item = usize>) -> usize {
        let mut held: Vec<usize> = (0..10_000).collect();
        let (mut last, mut sum) = (0, 0);
        for lock in order {
            let (found, looked) = search(held.len(), last, |i| held[i] == lock);
            assert_eq!(found, Some(lock));
            sum += looked;
            held[lock] = usize::MAX;
            last = lock + 1;
            while held.last() == Some(&usize::MAX) {
                held.pop();
            }
        }
        sum
    }

    #[test]
    fn locks_let_go_outermost_first_are_each_found_at_once() {
        assert!(looked(0..10_000) <= 10_000 * (TOP + 2 * AROUND));
        assert_eq!(looked((0..10_000).rev()), 10_000);
        // All even ones, then the others: only the first of these takes a search.
        let halves = (0..10_000).step_by(2).chain((1..10_000).step_by(2));
        assert!(looked(halves) <= 10_000 * (TOP + 2 * AROUND) + 10_000);
    }

    #[test]
    fn of_few_the_innermost_is_found() {
        let held = [7, 8, 7, 9];
        assert_eq!(search(4, 0, |i| held[i] == 7), (Some(2), 2));
        assert_eq!(search(4, 4, |i| held[i] == 1), (None, 4));
    }
}

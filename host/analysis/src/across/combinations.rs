//! Combinations of the occurrences of a cycle's edges.

use super::processes::Occurrence;

/// Combinations of occurrences looked at for one cycle.
const MOST_COMBINATIONS: usize = 4_096;

/// Calls `visit` for combinations of one occurrence of each edge, until it returns false or there
/// were too many; tells whether it was called for all.
pub fn combinations(edges: &[&[Occurrence]], mut visit: impl FnMut(&[Occurrence]) -> bool) -> bool {
    if edges.iter().any(|edge| edge.is_empty()) {
        return true;
    }
    let mut at = vec![0; edges.len()];
    for _ in 0..MOST_COMBINATIONS {
        let acquisitions: Vec<Occurrence> =
            at.iter().zip(edges).map(|(&i, edge)| edge[i]).collect();
        if !visit(&acquisitions) {
            return false;
        }
        if !advance(&mut at, edges) {
            return true;
        }
    }
    false
}

/// The next combination; false after the last.
fn advance(at: &mut [usize], edges: &[&[Occurrence]]) -> bool {
    for (i, edge) in at.iter_mut().zip(edges) {
        *i += 1;
        if *i < edge.len() {
            return true;
        }
        *i = 0;
    }
    false
}

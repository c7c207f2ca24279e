//! A finding on its way into the report: with what is needed to see that two are the same.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::finding::Instances;
use crate::finding::{Finding, Grade, Kind};

/// A finding and its identity.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The finding.
    pub finding: Finding,
    /// Equal for findings that are the same to a reader: kind, classes and places.
    pub key: String,
    /// The lock instances it is about, sorted; empty if it is about classes.
    pub insts: Vec<u32>,
    /// The merged classes of its locks, sorted, each once.
    pub classes: Vec<u32>,
}

impl Candidate {
    /// The same, of the process of this number in the report.
    pub fn of_process(mut self, number: usize) -> Self {
        self.finding.process = Some(number);
        self
    }

    /// Whether a cycle of these classes that is `grade` says no more than this finding does.
    pub fn explains(&self, kind: Kind, classes: &[u32], grade: Grade) -> bool {
        // A finding that needs a signal does not cover what happens without one.
        let fits = self.finding.kind == kind || self.finding.kind != Kind::InconsistentState;
        fits && self.finding.grade <= grade
            && self.classes.len() > 1
            && self.classes.iter().all(|class| classes.binary_search(class).is_ok())
    }
}

/// The least of all rotations: equal for rings that differ only in where they begin.
pub fn ring<T: Ord + Clone>(parts: &[T]) -> Vec<T> {
    let n = parts.len();
    // Two beginnings that agree in their first `same` parts. The one that turns out larger is not
    // the least, nor is any in those parts: so each step rules one out, and there are at most twice
    // as many as parts.
    let (mut a, mut b, mut same) = (0, 1, 0);
    while a < n && b < n && same < n {
        match parts[(a + same) % n].cmp(&parts[(b + same) % n]) {
            Ordering::Equal => same += 1,
            greater_or_less => {
                let larger = if greater_or_less.is_gt() { &mut a } else { &mut b };
                *larger += same + 1;
                if a == b {
                    b += 1;
                }
                same = 0;
            }
        }
    }
    let least = a.min(b);
    parts.iter().cycle().skip(least).take(n).cloned().collect()
}

/// Folds candidates that are the same into their most serious one, unless they are to stand apart,
/// and sorts them for the report.
pub fn fold(mut candidates: Vec<Candidate>, instances: Instances) -> Vec<Finding> {
    candidates.sort_by_key(|candidate| candidate.finding.grade);
    let mut at: HashMap<String, usize> = HashMap::new();
    let mut findings: Vec<Finding> = Vec::new();
    for Candidate { finding, key, .. } in candidates {
        match at.get(&key).filter(|_| instances == Instances::Folded) {
            Some(&i) => {
                findings[i].also = findings[i].also.saturating_add(finding.also.saturating_add(1))
            }
            None => {
                at.insert(key, findings.len());
                findings.push(finding);
            }
        }
    }
    findings.sort_by(|a, b| {
        let by = |f: &Finding| (f.grade, f.steps.len(), f.kind, f.pid, f.process);
        by(a).cmp(&by(b)).then_with(|| a.names().cmp(b.names()))
    });
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_equal_wherever_they_begin() {
        assert_eq!(ring(&[2, 3, 1]), [1, 2, 3]);
        assert_eq!(ring(&[3, 1, 2]), [1, 2, 3]);
        assert_eq!(ring(&[1, 3, 1, 2]), [1, 2, 1, 3]);
        assert_eq!(ring(&[2, 1, 2, 1, 1]), [1, 1, 2, 1, 2]);
        assert_eq!(ring(&[7]), [7]);
        assert!(ring::<u8>(&[]).is_empty());
    }

    /// Parts that are all alike were compared with each other, each from every beginning.
    #[test]
    fn a_ring_is_turned_in_as_many_steps_as_it_has_parts() {
        use std::cell::Cell;
        thread_local!(static COMPARED: Cell<usize> = const { Cell::new(0) });
        #[derive(Clone, PartialEq, Eq)]
        struct Part(u32);
        impl PartialOrd for Part {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for Part {
            fn cmp(&self, other: &Self) -> Ordering {
                COMPARED.set(COMPARED.get() + 1);
                self.0.cmp(&other.0)
            }
        }
        let n = 2000;
        for parts in
            [vec![Part(1); n], (0..n as u32).map(|i| Part(u32::from(i % 50 == 49))).collect()]
        {
            COMPARED.set(0);
            ring(&parts);
            assert!(COMPARED.get() <= 4 * n, "{}", COMPARED.get());
        }
    }
}

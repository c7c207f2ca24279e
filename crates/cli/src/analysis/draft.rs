//! A finding on its way into the report: with what is needed to see that two are the same.

use std::collections::HashMap;

use crate::finding::{Finding, Grade, Kind};

/// A finding and its identity.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The finding.
    pub finding: Finding,
    /// Equal for findings that are the same to a reader: kind, classes and places.
    pub key: String,
    /// The lock instances it is about, sorted; empty if it is about classes.
    pub insts: Vec<u32>,
    /// The merged classes of its locks, sorted, each once.
    pub classes: Vec<u32>,
}

impl Draft {
    /// The same, of the process of this number in the report.
    pub fn of_process(mut self, number: usize) -> Self {
        self.finding.process = Some(number);
        self
    }

    /// Whether a cycle of these classes that is `grade` says no more than this finding does.
    pub fn explains(&self, kind: Kind, classes: &[u32], grade: Grade) -> bool {
        // What a signal is needed for does not tell of what happens without.
        let fits = self.finding.kind == kind || self.finding.kind != Kind::InconsistentState;
        fits && self.finding.grade <= grade
            && self.classes.len() > 1
            && self.classes.iter().all(|class| classes.binary_search(class).is_ok())
    }
}

/// The least of all rotations: equal for rings that differ only in where they begin.
pub fn ring<T: Ord + Clone>(parts: &[T]) -> Vec<T> {
    let rotated = |r: usize| parts[r..].iter().chain(&parts[..r]);
    let least = (0..parts.len()).min_by(|&a, &b| rotated(a).cmp(rotated(b))).unwrap_or(0);
    rotated(least).cloned().collect()
}

/// Folds drafts that are the same into their most serious one, and sorts them for the report.
pub fn fold(mut drafts: Vec<Draft>) -> Vec<Finding> {
    drafts.sort_by_key(|draft| draft.finding.grade);
    let mut at: HashMap<String, usize> = HashMap::new();
    let mut findings: Vec<Finding> = Vec::new();
    for Draft { finding, key, .. } in drafts {
        match at.get(&key) {
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
        by(a).cmp(&by(b)).then_with(|| a.title.cmp(&b.title))
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
        assert!(ring::<u8>(&[]).is_empty());
    }
}

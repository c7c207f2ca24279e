//! What was reported while the program ran: known again in later reports.

use lockwright_analysis::finding::{Finding, Grade, Report};
use lockwright_report::prose;
use lockwright_report::verdict::identity;

/// Findings that were reported.
#[derive(Debug, Default)]
pub struct ToldFindings(Vec<Told>);

/// A reported finding, and the token of the ledger that has it.
#[derive(Clone, Debug)]
pub struct Told {
    token: Option<u64>,
    fingerprint: String,
    places: Vec<(Option<String>, Option<u32>)>,
    /// As it was reported.
    pub finding: Finding,
}

/// What became of the findings that were reported, in view of another report.
#[derive(Debug, Default)]
pub struct Outcome<'t> {
    /// By finding of the report: it has not been reported so.
    pub is_new: Vec<bool>,
    /// Findings that are less serious, by their places in the report.
    pub regraded: Vec<(&'t Told, usize)>,
    /// Findings that are none.
    pub gone: Vec<&'t Told>,
}

impl Told {
    /// A finding of a report.
    pub fn new(report: &Report, finding: &Finding) -> Self {
        let place = |frame: &lockwright_analysis::finding::Frame| (frame.file.clone(), frame.line);
        Self {
            token: token_of(report, finding),
            fingerprint: identity::fingerprint(finding),
            places: finding.steps.iter().filter_map(|step| step.stack.first().map(place)).collect(),
            finding: finding.clone(),
        }
    }

    /// The token of the ledger that has it.
    pub fn token(&self) -> Option<u64> {
        self.token
    }

    /// The same to a reader.
    fn is(&self, other: &Self) -> bool {
        let (told, finding) = (&self.finding, &other.finding);
        (self.token, told.kind, told.grade) == (other.token, finding.kind, finding.grade)
            && prose::told(told).title == prose::told(finding).title
    }

    /// The same to a reader who does not look at lines; of what happened there is no other grade.
    fn is_like(&self, other: &Self) -> bool {
        (self.token, &self.fingerprint) == (other.token, &other.fingerprint)
            && (self.finding.grade == other.finding.grade
                || self.finding.grade != Grade::Deadlocked)
    }
}

/// How closely a finding must resemble a reported one, the closest first. Each reported one is taken once: two that
/// resemble each other are two.
const RESEMBLANCES: [fn(&Told, &Told) -> bool; 4] = [
    |a, b| a.is(b) && a.places == b.places,
    |a, b| a.is(b),
    |a, b| a.is_like(b) && a.finding.grade == b.finding.grade,
    |a, b| a.is_like(b),
];

impl ToldFindings {
    /// A finding was reported. If it was before, in another grade, that no longer counts.
    pub fn add(&mut self, report: &Report, finding: &Finding) {
        let told = Told::new(report, finding);
        let earlier = self.0.iter().position(|it| {
            it.is_like(&told) && it.finding.grade > finding.grade && it.places == told.places
        });
        match earlier {
            Some(at) => self.0[at] = told,
            None => self.0.push(told),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// The most serious grade.
    pub fn worst(&self) -> Option<Grade> {
        self.0.iter().map(|told| told.finding.grade).min()
    }

    /// How many there are of each grade.
    pub fn by_grade(&self) -> Vec<(Grade, u64)> {
        let count = |&grade: &Grade| {
            let n = self.0.iter().filter(|told| told.finding.grade == grade).count() as u64;
            (n > 0).then_some((grade, n))
        };
        Grade::ALL.iter().filter_map(count).collect()
    }

    /// What became of them in the report.
    pub fn outcome(&self, report: &Report) -> Outcome<'_> {
        let findings: Vec<Told> =
            report.findings.iter().map(|finding| Told::new(report, finding)).collect();
        let mut of_finding: Vec<Option<usize>> = vec![None; findings.len()];
        let mut is_taken = vec![false; self.0.len()];
        for resembles in RESEMBLANCES {
            for (finding, of) in findings.iter().zip(&mut of_finding).filter(|(_, of)| of.is_none())
            {
                let fits = |at: &usize| !is_taken[*at] && resembles(&self.0[*at], finding);
                if let Some(at) = (0..self.0.len()).find(fits) {
                    is_taken[at] = true;
                    *of = Some(at);
                }
            }
        }
        let mut outcome = Outcome::default();
        for (number, (finding, of)) in report.findings.iter().zip(&of_finding).enumerate() {
            let told = of.map(|at| &self.0[at]);
            outcome.is_new.push(told.is_none_or(|told| finding.grade < told.finding.grade));
            let milder = told.filter(|told| finding.grade > told.finding.grade);
            outcome.regraded.extend(milder.map(|told| (told, number)));
        }
        outcome.gone = self
            .0
            .iter()
            .zip(&is_taken)
            .filter(|(_, taken)| !**taken)
            .map(|(told, _)| told)
            .collect();
        outcome
    }
}

impl Outcome<'_> {
    /// Whether a finding of the report, by its address, has not been reported so.
    pub fn shows(&self, report: &Report, finding: &Finding) -> bool {
        let at = report.findings.iter().position(|other| std::ptr::eq(other, finding));
        at.and_then(|at| self.is_new.get(at).copied()).unwrap_or(true)
    }
}

fn token_of(report: &Report, finding: &Finding) -> Option<u64> {
    report.process_of(finding).map(|process| process.token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_analysis::finding::lock_kind::{LockKind, Subject};
    use lockwright_analysis::finding::order::{Fault, OrderFault};
    use lockwright_analysis::finding::{Details, Kind, LockInfo, LockOrigin, Name};

    fn finding(lock: &str, grade: Grade) -> Finding {
        let name = Name::symbol(lock);
        Finding {
            kind: Kind::CircularDependency,
            grade,
            details: Details::Order(OrderFault {
                fault: Fault::Cycle,
                evidence: Vec::new(),
                remedies: Vec::new(),
            }),
            locks: vec![LockInfo {
                name: name.clone(),
                class: name,
                class_by_place: None,
                kind: Subject::Lock(LockKind::Mutex),
                addr: None,
                created: vec![],
                origin: LockOrigin::Static,
            }],
            steps: vec![],
            pid: 1,
            process: None,
            origins: Vec::new(),
            confirmation: None,
            also: 0,
        }
    }

    fn report(findings: &[(&str, Grade)]) -> Report {
        let findings = findings.iter().map(|&(lock, grade)| finding(lock, grade)).collect();
        Report { findings, ..Report::default() }
    }

    fn told(findings: &[(&str, Grade)]) -> ToldFindings {
        let report = report(findings);
        let mut told = ToldFindings::default();
        report.findings.iter().for_each(|finding| told.add(&report, finding));
        told
    }

    #[test]
    fn each_finding_is_new_once() {
        use Grade::*;
        let known = told(&[("a", Likely), ("b", Possible)]);
        let outcome = |findings: &[(&str, Grade)]| {
            let report = report(findings);
            let outcome = known.outcome(&report);
            (outcome.is_new.clone(), outcome.regraded.len(), outcome.gone.len())
        };
        assert_eq!(outcome(&[("b", Possible), ("a", Likely)]), (vec![false; 2], 0, 0));
        assert_eq!(outcome(&[("a", Likely), ("c", Likely)]), (vec![false, true], 0, 1));
        assert_eq!(outcome(&[("a", Likely), ("a", Likely)]), (vec![false, true], 0, 1), "two");
        assert_eq!(outcome(&[("a", Ordered), ("b", Likely)]), (vec![false, true], 1, 0));
        assert_eq!(outcome(&[]), (vec![], 0, 2));
    }

    #[test]
    fn a_deadlock_that_has_ended_is_no_prediction() {
        let known = told(&[("a", Grade::Deadlocked)]);
        let outcome = |grade| {
            let report = report(&[("a", grade)]);
            let outcome = known.outcome(&report);
            (outcome.is_new.clone(), outcome.gone.len())
        };
        assert_eq!(outcome(Grade::Deadlocked), (vec![false], 0));
        assert_eq!(outcome(Grade::Likely), (vec![true], 1));
    }

    #[test]
    fn what_became_more_serious_counts_once() {
        let mut known = told(&[("a", Grade::Possible)]);
        let later = report(&[("a", Grade::Likely)]);
        known.add(&later, &later.findings[0]);
        assert_eq!((known.len(), known.worst()), (1, Some(Grade::Likely)));
        assert_eq!(known.by_grade(), [(Grade::Likely, 1)]);
    }
}

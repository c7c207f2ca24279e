//! What a program does at the moment, in a line.

use super::stack::Stacks;
use crate::prose::words::{count, duration, join, number, plain, quote};
use lockwright_analysis::finding::{Frame, Grade, Name};

/// A part of a run that has just passed.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// When it ended, since the start of the run, ns.
    pub at_ns: u64,
    /// How long it was, ns.
    pub of_ns: u64,
    /// Acquisitions in it.
    pub acquisitions: u64,
    /// How many of them found the lock held.
    pub contended: u64,
    /// Threads that wait at its end.
    pub waits: u64,
    /// The lock that cost most.
    pub hottest: Option<Hottest>,
    /// How many findings there are so far, by grade; `None` if there are none to be expected.
    pub findings: Option<Vec<(Grade, u64)>>,
}

/// A lock that is waited for.
#[derive(Clone, Debug)]
pub struct Hottest {
    /// Its class.
    pub name: Name,
    /// Acquisitions, and how long they waited in all, ns, if that was measured.
    pub measured: Option<(u64, f64)>,
    /// Threads that wait for it now.
    pub waiters: u64,
    /// Where the holder took it that was waited for longest, or that holds it now.
    pub holder: Vec<Frame>,
}

impl Moment {
    /// The line, with its end.
    pub fn line(&self) -> String {
        let seconds = (self.of_ns as f64 / 1e9).max(1e-9);
        let rate = |n: u64| number((n as f64 / seconds).round() as u64);
        let acquisitions = (self.acquisitions as f64 / seconds).round() as u64;
        let mut parts = vec![format!(
            "{}/s, {} contended/s, {} waiting",
            count(acquisitions, "acquisition"),
            rate(self.contended),
            count(self.waits, "thread"),
        )];
        parts.extend(self.hottest.as_ref().map(|hottest| hottest.words(&rate, seconds)));
        parts.extend(self.findings.as_deref().map(so_far));
        format!("lockwright: after {}: {}\n", duration(self.at_ns as f64), parts.join("; "))
    }
}

impl Hottest {
    fn words(&self, rate: &dyn Fn(u64) -> String, seconds: f64) -> String {
        let mut figures = Vec::new();
        if let Some((acquisitions, wait_ns)) = self.measured {
            figures.push(format!("{}/s", rate(acquisitions)));
            figures.push(format!("{} of waits a second", duration(wait_ns / seconds)));
        }
        if self.waiters > 0 {
            figures.push(format!("{} waiting", count(self.waiters, "thread")));
        }
        let held = match Stacks::new().own(&self.holder) {
            Some(place) => format!(", held by {place}"),
            None => String::new(),
        };
        format!("hottest {} ({}){held}", plain(&quote(&self.name)), figures.join(", "))
    }
}

fn so_far(findings: &[(Grade, u64)]) -> String {
    let grades: Vec<String> =
        findings.iter().map(|(grade, n)| format!("{n} {}", grade.name())).collect();
    match findings.iter().map(|(_, n)| n).sum() {
        0 => "no findings so far".to_owned(),
        all => format!("{} so far ({})", count(all, "finding"), join(&grades)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_time_that_has_passed() {
        let hottest = Hottest {
            name: Name::symbol("queue"),
            measured: Some((4000, 1e9)),
            waiters: 2,
            holder: vec![Frame {
                function: Some("take".to_owned()),
                file: Some("q.c".to_owned()),
                line: Some(7),
                ..Frame::default()
            }],
        };
        let moment = Moment {
            at_ns: 12_000_000_000,
            of_ns: 2_000_000_000,
            acquisitions: 6000,
            contended: 3,
            waits: 1,
            hottest: Some(hottest),
            findings: Some(vec![(Grade::Likely, 1), (Grade::Possible, 2)]),
        };
        assert_eq!(
            moment.line(),
            "lockwright: after 12 s: 3,000 acquisitions/s, 2 contended/s, 1 thread waiting; hottest `queue` \
             (2,000/s, 500 ms of waits a second, 2 threads waiting), held by take (q.c:7); \
             3 findings so far (1 likely and 2 possible)\n"
        );
        let quiet = Moment { of_ns: 1, ..Moment::default() };
        assert!(quiet.line().ends_with("0 contended/s, 0 threads waiting\n"), "{}", quiet.line());
    }
}

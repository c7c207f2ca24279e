//! What came of making a finding happen, in sentences.

use lockwright_analysis::finding::confirmation::{Confirmation, SteeredPath};
use lockwright_analysis::finding::{Finding, Kind};

use super::words::{count, duration, who};

/// Whether it happened, and if not, why that may be.
pub fn lines(finding: &Finding, confirmation: &Confirmation) -> Vec<String> {
    let Confirmation { runs, deadlocked, .. } = *confirmation;
    let all = count(runs.into(), "run");
    if deadlocked > 0 {
        let how = match confirmation.paths.len() {
            _ if finding.kind == Kind::InconsistentState => {
                "the signal came while a thread held the lock"
            }
            1 => "a thread was held up at the place where the other comes in between",
            _ => {
                "each thread was held up at the place that closes the cycle until the others were at theirs"
            }
        };
        return vec![format!("confirmed by steering: deadlocked in {deadlocked} of {all}: {how}")];
    }
    let mut lines = vec![format!(
        "not reached in {all} in which its threads were held up for each other, because:"
    )];
    let unseen: Vec<&SteeredPath> =
        confirmation.paths.iter().filter(|path| path.arrivals == 0).collect();
    for path in &unseen {
        lines.push(format!(
            "no thread came to the place of {}: another input, or a longer run, may lead there",
            who(finding, path.step)
        ));
    }
    if unseen.is_empty() {
        lines.extend(reasons(finding, confirmation));
    }
    if confirmation.other_deadlocks > 0 {
        lines.push(format!(
            "another deadlock came in {}, before this one could",
            count(confirmation.other_deadlocks.into(), "run")
        ));
    }
    lines
}

/// Why threads that came to all the places did not deadlock.
fn reasons(finding: &Finding, confirmation: &Confirmation) -> Vec<String> {
    let mut lines = Vec::new();
    if confirmation.paths.iter().any(|path| path.met > 0) {
        lines.push(
            "the threads were at their places at the same time, and went on all the same: what they took then were not locks \
             that exclude each other"
                .to_owned(),
        );
        return lines;
    }
    for path in &confirmation.paths {
        let thread = who(finding, path.step);
        if let Some(waiter) = &path.waiter {
            lines.push(format!(
                "while {thread} was held up, a thread waited for a lock that it held, at {waiter}: if the other path needs that \
                 lock first, the two exclude each other"
            ));
        }
    }
    let held_up = |path: &SteeredPath| {
        let (thread, times) = (who(finding, path.step), count(path.pauses, "time"));
        format!("{thread} {times}, for up to {}", duration(path.longest_ns as f64))
    };
    if let [path] = confirmation.paths.as_slice()
        && finding.kind == Kind::InconsistentState
    {
        let times = count(path.pauses, "time");
        lines.push(format!(
            "the signal came {times} while a thread held the lock, and the program went on"
        ));
        return lines;
    }
    if let [path] = confirmation.paths.as_slice() {
        let thread = held_up(path);
        lines.push(format!("nothing came in between while a thread was held up there: {thread}"));
        return lines;
    }
    let paths: Vec<String> = confirmation.paths.iter().map(held_up).collect();
    let places = match confirmation.paths.iter().any(|path| path.elsewhere > 0) {
        true => {
            "the threads were at their places at the same time, but with other locks of these classes"
        }
        false => "the threads were never at their places at the same time",
    };
    lines.push(format!("{places}, though they were held up there: {}", paths.join("; ")));
    lines
}

//! The findings of a report, made to happen one after the other.

use std::time::{Duration, Instant};

use lockwright_analysis::finding::{Finding, Grade, Report};
use lockwright_console::error::{Error, Result};
use lockwright_report::prose;
use lockwright_report::verdict::identity::fingerprint;

use super::places::Places;
use super::runs::steered;
use super::tally::Tally;
use super::trial;
use super::wanted::{Confirming, Job};
use crate::run::output::Output;

/// The first run holds threads up for this part of the longest pause.
const FIRST_PART: u32 = 8;

/// Makes the findings of a report happen that are meant, count, and are of a grade that says they may. Those that do are
/// deadlocks then; all that were tried say what came of it.
///
/// # Errors
/// If the program cannot be run, or nothing can be steered here.
pub fn confirm(report: &mut Report, job: &Job<'_>, output: &Output) -> Result<()> {
    let Confirming { runs, steering, budget, .. } = job.confirming;
    let chosen = candidates(report, job, output)?;
    if chosen.is_empty() {
        let is_deadlocked = report.findings.iter().any(|it| it.grade == Grade::Deadlocked);
        output.note(&Error::new(match is_deadlocked {
            true => "there is no finding to confirm: the deadlock came by itself",
            false => "there is no finding to confirm",
        }));
        return Ok(());
    }
    trial::prove(job)?;
    let begun = Instant::now();
    let (count, mut tried) = (chosen.len(), 0);
    let mut others: Vec<Finding> = Vec::new();
    let mut ended = None;
    for (number, (at, places)) in (1..).zip(chosen) {
        let finding = &mut report.findings[at];
        let title = prose::told(finding).title;
        let mut tally = Tally::new(&places);
        for run in 1..=runs {
            let rest = budget.map(|budget| budget.saturating_sub(begun.elapsed()));
            if rest.is_some_and(|rest| rest.is_zero()) {
                ended = Some(Ok("the time was up"));
                break;
            }
            // What led into the deadlock is done again.
            let way = tally.way().unwrap_or(run);
            let longest = pause(steering.pause, way);
            match steered(job, &places, way, longest, rest, &mut tally) {
                Ok(outcome) => {
                    output.note(&Error::new(format!(
                        "confirming {number} of {count} ({title}), run {run} of {runs}: {}",
                        outcome.words
                    )));
                    ended = outcome.is_interrupted.then_some(Ok("it was interrupted"));
                }
                Err(error) => ended = Some(Err(error)),
            }
            if ended.is_some() {
                break;
            }
        }
        if tally.runs() > 0 {
            tried += 1;
            let (confirmation, came) = tally.confirmation();
            others.extend(came);
            if confirmation.deadlocked > 0 {
                finding.grade = Grade::Deadlocked;
            }
            finding.confirmation = Some(Box::new(confirmation));
        }
        if ended.is_some() {
            break;
        }
    }
    for other in others {
        let one = fingerprint(&other);
        if !report.findings.iter().any(|it| fingerprint(it) == one) {
            report.findings.push(other);
        }
    }
    match ended {
        Some(Ok(why)) if tried < count => {
            let left = count - tried;
            output.note(&Error::new(format!("{left} of {count} findings were not tried: {why}")));
            Ok(())
        }
        Some(Err(error)) => Err(error),
        _ => Ok(()),
    }
}

/// The findings that can be steered, by index, and where their threads are to be held up.
///
/// # Errors
/// If a fingerprint that the user names is of no finding, or of one that cannot be steered.
fn candidates(report: &Report, job: &Job<'_>, output: &Output) -> Result<Vec<(usize, Places)>> {
    let Confirming { source, chosen: names, .. } = job.confirming;
    let is_named = |finding: &Finding| names.iter().any(|it| fingerprint(finding).starts_with(it));
    if let Some(missing) = names.iter().find(|it| {
        !report.findings.iter().any(|finding| fingerprint(finding).starts_with(it.as_str()))
    }) {
        let all: Vec<String> = report.findings.iter().map(fingerprint).collect();
        let error = Error::new(format!("no finding has the fingerprint {missing}"));
        return Err(match all.as_slice() {
            [] => error.note("nothing was found"),
            all => error.note(format!("there are {}", all.join(", "))),
        });
    }
    let judged = output.verdicts.judge(report);
    let counts: Vec<bool> = judged.all().map(|(_, standing)| standing.counts()).collect();
    let mut chosen = Vec::new();
    for (at, finding) in report.findings.iter().enumerate() {
        let may = matches!(finding.grade, Grade::Likely | Grade::Possible);
        let is_meant = match names.is_empty() {
            true => may && counts.get(at) == Some(&true),
            false => is_named(finding),
        };
        if !is_meant || !source.has(finding) {
            continue;
        }
        match Places::of(finding) {
            Some(places) => chosen.push((at, places)),
            None if names.is_empty() && !finding.kind.is_misuse() => {
                let title = prose::told(finding).title;
                output
                    .note(&Error::new(format!("threads cannot be held up for this one: {title}")));
            }
            None if names.is_empty() => {}
            None => {
                let title = prose::told(finding).title;
                return Err(Error::new(format!("threads cannot be held up for this finding: {title}"))
                    .note("orders of locks, and threads that are joined with a lock held, can be confirmed"));
            }
        }
    }
    Ok(chosen)
}

/// How long threads are held up at once in this run, from 1: longer only where that is not enough.
fn pause(longest: Duration, run: u32) -> Duration {
    if run == 1 { longest / FIRST_PART } else { longest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_as_long_as_they_have_to_be() {
        let ms = Duration::from_millis;
        assert_eq!([1, 2, 3].map(|run| pause(ms(1600), run)), [ms(200), ms(1600), ms(1600)]);
    }
}

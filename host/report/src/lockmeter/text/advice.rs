//! Advice on the locks that are shown.

use super::page::Page;
use crate::lockmeter::advice::{About, Advice, Estimated, advise, estimates};
use crate::lockmeter::timeline::words::wait_for;

/// Columns of a line.
const WIDTH: usize = 100;

/// Writes the section, if there is any advice.
pub fn write(page: &mut Page<'_>) {
    let report = page.report;
    let is_shown = |(advice, _): &(&Advice, &Option<Estimated>)| match advice.about {
        About::Lock(lock) => report
            .locks
            .get(lock)
            .is_some_and(|lock| page.shown.iter().any(|s| std::ptr::eq(*s, lock))),
        About::Wait(_) => true,
    };
    let all = advise(report);
    let estimated = estimates(report, &all);
    let mut shown: Vec<_> = all.iter().zip(&estimated).filter(is_shown).collect();
    // By lock as above; of one lock, the surest first.
    let place = |advice: &Advice| {
        let lock = report.locks.get(advice.lock()?)?;
        page.shown.iter().position(|shown| std::ptr::eq(*shown, lock))
    };
    // What is about no lock comes last.
    shown.sort_by_key(|(advice, _)| {
        let place = place(advice);
        (place.is_none(), place, std::cmp::Reverse(advice.confidence))
    });
    if shown.is_empty() {
        return;
    }
    page.section("ADVICE", ", each with what it rests on and how sure it is");
    for (advice, estimated) in shown {
        let lock = match advice.about {
            About::Lock(lock) => report.locks.get(lock).map(|lock| page.reference(lock)),
            About::Wait(wait) => report.waits.get(wait).map(wait_for),
        };
        let lock = lock.unwrap_or_default();
        let evidence: Vec<String> = advice.evidence.iter().map(ToString::to_string).collect();
        wrap(page, "", &format!("{lock}: {}", advice.text));
        wrap(page, "  ", &format!("confidence {}: {}", advice.confidence, evidence.join(", ")));
        if let Some(estimated) = estimated {
            wrap(page, "  ", &estimated.text());
        }
    }
}

/// Writes lines of words, the second and later ones indented further.
fn wrap(page: &mut Page<'_>, indent: &str, text: &str) {
    let mut line = indent.to_owned();
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH && !line.trim().is_empty() {
            page.line(&line);
            line = format!("{indent}  ");
        }
        if !line.trim().is_empty() {
            line.push(' ');
        }
        line += word;
    }
    page.line(&line);
}

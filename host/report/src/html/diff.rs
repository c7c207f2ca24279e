//! Before and after: each metric of each lock with its change, and the interval in which that lies.

use maud::{Markup, html};

use super::section::{Column, Section, left_out, number_cell, table};
use super::words::name_of;
use super::{Context, limits, stack};
use crate::lockmeter::diff::text::{presence, relative, too_few, value, verdict};
use crate::lockmeter::diff::{Judged, Verdict};
use crate::prose::words::{count, plain, quote};
use lockwright_analysis::lockmeter::diff::{Change, Compared, Comparison, FEWEST, Metric, Runs};
use lockwright_analysis::lockmeter::model::Mode;

const CHANGES: &[Column] = &[
    Column::text("what"),
    Column::number(
        "before",
        "geometric mean over the runs before, or arithmetic where a run has 0",
    ),
    Column::number("after", "geometric mean over the runs after, or arithmetic where a run has 0"),
    Column::number("change", "after against before"),
    Column::text("95 % interval"),
];

/// Changes named first.
const MOST: usize = 5;
/// Places shown of one lock.
const MOST_SITES: usize = 5;
/// Changes are drawn from this multiple to its inverse.
const WIDEST: f64 = 4.0;

/// All sections of the page.
pub fn sections(context: &Context<'_>, comparison: &Comparison, judged: &[Judged]) -> Vec<Section> {
    let (list, left) = limits::DIFFS
        .fill((1..).zip(&comparison.locks), |(n, lock)| one(context, comparison, n, lock));
    let locks = html! { (list) (left_out(left, "lock class", "--json")) };
    vec![
        first(comparison, judged),
        Section::new(
            "total",
            "All locks together",
            changes("What is typical of the runs of a side", &comparison.total),
        ),
        Section::new("locks", "Lock by lock", locks).counting(comparison.locks.len()),
    ]
}

fn first(comparison: &Comparison, judged: &[Judged]) -> Section {
    let Comparison { before, after, .. } = comparison;
    let fewest = before.count.min(after.count);
    let waits = comparison.locks.iter().filter_map(|lock| Some((lock, lock.change(Metric::Wait)?)));
    let sure: Vec<(&Compared, &Change)> =
        waits.filter(|(_, change)| change.is_sure).take(MOST).collect();
    let total = comparison.total.iter().find(|change| change.metric == Metric::Wait);
    let body = html! {
        @for one in judged {
            p .{ (verdict_class(one.verdict)) } {
                "fail if " code { (plain(&one.condition)) } ": " (verdict(one.verdict)) " by "
                (one.lock.as_ref().map_or_else(|| "all locks together".to_owned(), |name| plain(&quote(name))))
            }
        }
        @if let Some(change) = total {
            p.lead { "Waits for locks: " (value(Metric::Wait, change.before)) " in a run before, "
                (value(Metric::Wait, change.after)) " after (" (relative(change.ratio)) "). "
                @if change.is_sure { "That is more than chance." }
                @else if fewest < FEWEST { "With so few runs nobody knows whether that is chance." }
                @else { "That may be chance." }
            }
        }
        @if !sure.is_empty() {
            ol.first { @for (lock, change) in &sure {
                li { (name_of(&lock.name.text, lock.name.is_symbol)) ": waits "
                    (value(Metric::Wait, change.before)) " before, " (value(Metric::Wait, change.after)) " after "
                    span .tag .{ (direction(change)) } { (relative(change.ratio)) } }
            } }
        }
        dl.runs {
            dt { "before" } dd { (side(before)) }
            dt { "after" } dd { (side(after)) }
        }
        p.quiet {
            (too_few(fewest).join(" "))
            @if fewest >= FEWEST {
                " Intervals: 95 %. A change in colour is more than chance, though so many metrics are compared."
            }
        }
    };
    Section::new("first", "What has changed", body)
}

fn side(runs: &Runs) -> String {
    let programs: Vec<String> = runs.programs.iter().map(|program| plain(program)).collect();
    let lost = match runs.lost {
        0 => String::new(),
        lost => format!("; {} lost: numbers are too small", count(lost, "record")),
    };
    format!(
        "{} of {}, {} on average{lost}",
        count(runs.count as u64, "run"),
        programs.join(", "),
        crate::lockmeter::text::format::time(runs.mean_ns)
    )
}

fn one(context: &Context<'_>, comparison: &Comparison, number: usize, lock: &Compared) -> Markup {
    let wait = lock.change(Metric::Wait);
    html! {
        details.lock.item open[number <= 3] {
            summary {
                (name_of(&lock.name.text, lock.name.is_symbol)) " "
                @if let Some(change) = wait { span .tag .{ (direction(change)) } { "wait " (relative(change.ratio)) } }
                span.quiet { (presence(comparison, lock)) }
            }
            (changes("The lock", &lock.changes))
            @for site in lock.sites.iter().take(MOST_SITES) {
                details {
                    summary { (stack::place(context, &site.stack))
                        @match site.mode { Some(Mode::Read) => { ", reading" } Some(Mode::Write) => { ", writing" } _ => {} }
                        (presence(comparison, site)) }
                    (changes("The place", &site.changes))
                }
            }
            (left_out(lock.sites.len().saturating_sub(MOST_SITES), "place", "--json"))
        }
    }
}

fn changes(caption: &str, changes: &[Change]) -> Markup {
    let rows = html! { @for change in changes {
        tr {
            th scope="row" { (name(change.metric)) }
            (number_cell(&value(change.metric, change.before), change.before.unwrap_or(-1.0)))
            (number_cell(&value(change.metric, change.after), change.after.unwrap_or(-1.0)))
            td.n data-v=(format!("{:.4}", change.ratio.filter(|r| r.is_finite()).unwrap_or(-1.0))) {
                span .tag .{ (direction(change)) } { (relative(change.ratio)) }
            }
            td { (interval(change)) }
        }
    } };
    table(caption, CHANGES, &rows)
}

fn name(metric: Metric) -> &'static str {
    match metric {
        Metric::Wait => "wait in a run",
        Metric::Hold => "hold, mean",
        Metric::Acquisitions => "acquisitions a second",
        Metric::Contended => "contended %",
        Metric::Utilisation => "utilisation %",
    }
}

/// Coloured only where it is more than chance. More acquisitions are neither good nor bad.
fn direction(change: &Change) -> &'static str {
    match (change.metric, change.is_sure, change.ratio) {
        (Metric::Acquisitions, ..) | (_, false, _) | (_, _, None) => "same",
        (_, true, Some(ratio)) if ratio > 1.0 => "up",
        _ => "down",
    }
}

/// The interval as a bar about "no change", and in words.
fn interval(change: &Change) -> Markup {
    let Some((low, high)) = change.interval else { return html! { span.quiet { "-" } } };
    let said = format!("{} to {}", relative(Some(low)), relative(Some(high)));
    let (left, right) = (at(low), at(high));
    html! {
        svg .range .{ (direction(change)) } viewBox="0 0 208 20" role="img" aria-label=(said) {
            line.zero x1="104" y1="1" x2="104" y2="19" {}
            line.span x1=(left) y1="10" x2=(right) y2="10" {}
            @if let Some(ratio) = change.ratio { circle.dot cx=(at(ratio)) cy="10" r="4" {} }
        }
        span.at { (said) }
    }
}

/// Where a multiple stands: on a scale of powers, from a quarter to four times.
fn at(ratio: f64) -> String {
    let power = ratio.clamp(1.0 / WIDEST, WIDEST).log2() / WIDEST.log2();
    format!("{:.0}", 104.0 + power * 98.0)
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Exceeded => "warn",
        Verdict::Unsure => "quiet",
        Verdict::Kept => "good",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_analysis::lockmeter::diff::METRICS;

    #[test]
    fn the_scale_is_even_about_no_change() {
        assert_eq!([1.0, 4.0, 0.25, 1e9, 0.0, 2.0].map(at), ["104", "202", "6", "202", "6", "153"]);
        assert_eq!(METRICS.len(), 5, "each has a name here");
    }
}

//! The most important findings in plain words, and how much was watched.

use maud::{Markup, html};

use super::section::Section;
use super::words::{name_of, sentence};
use super::{Context, Run};
use crate::lockmeter::advice::advise;
use crate::lockmeter::text::format::{percent, time};
use crate::prose::told;
use crate::prose::words::{count, duration, number};
use lockwright_analysis::finding::{Grade, Report};
use lockwright_analysis::lockmeter::model::MeterReport;

/// Findings and suggestions named here.
const MOST: usize = 3;

/// The section that every page of a run begins with.
pub fn section(context: &Context<'_>, run: &Run<'_>) -> Section {
    let found = run.found.map(|judged| judged.report);
    let body = html! {
        (figures(context, found, run.metered))
        @if found.is_some() { (worst(context)) }
        @if let Some(report) = found {
            @if !report.waiting.is_empty() {
                p { (count(report.waiting.len() as u64, "thread")) " still waited at the end: "
                    a href="#waiting" { "who, and for what" } "." }
            }
        }
        @if let Some(metered) = run.metered { (costliest(metered)) }
        @if let Some(false) = found.map(|report| report.summary.completeness.is_whole()) {
            p.warn { "Not everything was watched: " a href="#notes" { "the notes say what is missing" } "." }
        }
    };
    Section::new("first", "What to look at first", body)
}

/// The numbers of the run, large.
fn figures(context: &Context<'_>, found: Option<&Report>, metered: Option<&MeterReport>) -> Markup {
    let mut figures: Vec<(String, &str)> = Vec::new();
    let mut add = |value: String, what| figures.push((value, what));
    if let Some(report) = found {
        let summary = &report.summary;
        let found = context.findings.len() as u64;
        add(number(found), if found == 1 { "finding" } else { "findings" });
        add(number(summary.locks), "locks");
        add(number(summary.classes), "lock classes");
        add(number(summary.threads), "threads");
        add(number(summary.acquisitions), "acquisitions");
        if let Some(ns) = summary.cost_ns {
            add(duration(ns as f64), "CPU time for watching");
        }
    }
    if let Some(report) = metered {
        let total = report.total();
        add(time(report.elapsed_ns as f64), "elapsed");
        add(time(total.wait.total_ns), "waited for locks");
        if found.is_none() {
            add(number(report.locks.iter().map(|lock| lock.locks).sum()), "locks");
            add(number(report.processes.iter().map(|p| p.threads).sum()), "threads");
            add(number(total.acquisitions), "acquisitions");
        }
        add(format!("{} %", percent(total.contended_part())), "contended");
        if let Some(cost) = &report.cost {
            add(time(cost.cpu_ns), "CPU time for measuring");
        }
    }
    html! {
        dl.figures { @for (value, what) in &figures { div { dt { (what) } dd { (value) } } } }
    }
}

/// The worst findings, each with what to do.
fn worst(context: &Context<'_>) -> Markup {
    let findings = &context.findings;
    if findings.is_empty() {
        return html! { p.good { "No deadlock was found, nor an order of locks that can become one." } };
    }
    let serious = findings.iter().filter(|finding| finding.grade <= Grade::Likely).count();
    html! {
        p.lead {
            @if serious > 0 { (count(serious as u64, "finding")) " can hang the program any day, or did. " }
            @else { "Nothing here is sure to hang the program. " }
            @if findings.len() > serious {
                (count((findings.len() - serious) as u64, if serious > 0 { "other" } else { "finding" }))
                " may be worth a look."
            }
        }
        ol.first {
            @for (number, finding) in (1..).zip(findings).take(MOST) {
                @let said = told(finding);
                li {
                    span .grade .{ "g-" (finding.grade.name()) } { (finding.grade.name()) } " "
                    a href={ "#f" (number) } { (sentence(&said.title)) }
                    @if let Some(help) = said.help.first() { p.help { (sentence(help)) } }
                }
            }
        }
    }
}

/// The locks that were waited for longest, and what the numbers suggest.
fn costliest(report: &MeterReport) -> Markup {
    let waited: Vec<_> =
        report.locks.iter().filter(|lock| lock.total.wait.total_ns > 0.0).take(MOST).collect();
    let advice = advise(report);
    html! {
        @if waited.is_empty() { p.good { "No thread waited for a lock." } }
        @else {
            ol.first {
                @for lock in &waited {
                    @let wait = lock.total.wait.total_ns;
                    li {
                        (name_of(&lock.name, lock.is_symbol)) " was waited for " b { (time(wait)) } " in all, "
                        (percent(report.share_of_wait(wait))) " % of all waits for locks"
                        @if let Some(said) = advice.iter().find(|advice| {
                            advice.lock().and_then(|at| report.locks.get(at)).is_some_and(|of| std::ptr::eq(of, *lock))
                        }) { p.help { (sentence(&said.text)) } }
                    }
                }
            }
        }
    }
}

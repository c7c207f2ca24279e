//! Findings: what is wrong, how sure that is, and what each thread did, side by side.

use maud::{Markup, html};

use super::section::{Section, left_out};
use super::words::{name_of, sentence};
use super::{Context, excerpt, limits, stack};
use crate::prose::action::{act, doing};
use crate::prose::short_names::ShortNames;
use crate::prose::told;
use crate::prose::words::{count, number, plain};
use crate::verdict::Judged;
use lockwright_analysis::finding::{Finding, HeldLock, LockInfo, LockOrigin, Name, Report};

/// All that are shown, most serious first.
pub fn section(context: &Context<'_>, judged: &Judged<'_>) -> Section {
    let report = judged.report;
    let numbered = (1..).zip(&context.findings);
    let (list, left) =
        limits::FINDINGS.fill(numbered, |(number, finding)| one(context, report, number, finding));
    let hidden = judged.counted().count() - context.findings.len();
    let suppressed = judged.all().filter(|(_, standing)| !standing.counts()).count();
    let body = html! {
        @if context.findings.is_empty() { p.quiet { "No findings." } }
        @else { (filters(context)) }
        (list)
        (left_out(left, "finding", "--json"))
        @if hidden > 0 {
            p.quiet { (count(hidden as u64, "finding")) " that something keeps from deadlock, or that do no harm, are not shown: "
                code { "--all" } }
        }
        @if suppressed > 0 {
            p.quiet { (count(suppressed as u64, "finding")) " suppressed, or in the baseline" }
        }
    };
    Section::new("findings", "Findings", body).counting(context.findings.len())
}

/// Buttons that show one grade; they come with the script.
fn filters(context: &Context<'_>) -> Markup {
    let mut grades: Vec<(&'static str, u64)> = Vec::new();
    for finding in &context.findings {
        let name = finding.grade.name();
        match grades.iter_mut().find(|(grade, _)| *grade == name) {
            Some((_, n)) => *n += 1,
            None => grades.push((name, 1)),
        }
    }
    html! {
        @if grades.len() > 1 {
            div.filters role="group" aria-label="Grades shown" hidden {
                @for (grade, n) in &grades {
                    button type="button" aria-pressed="true" data-grade=(grade) { (grade) " " span.count { (number(*n)) } }
                }
            }
        }
    }
}

fn one(context: &Context<'_>, report: &Report, number: usize, finding: &Finding) -> Markup {
    let mut said = told(finding);
    let short = ShortNames::new(finding);
    if !short.is_single() {
        said.title = short.shortened(&said.title);
    }
    for line in said.evidence.iter_mut().chain(&mut said.help) {
        *line = short.shortened(line);
    }
    let grade = finding.grade.name();
    let mut evidence = said.why(finding.grade);
    if finding.also > 0 {
        evidence.push(format!("{} folded into this one", count(finding.also, "other finding")));
    }
    if report.processes.len() > 1
        && let Some(process) = report.process_of(finding)
    {
        evidence.push(format!("in process {} ({})", process.pid, plain(&process.exe)));
    }
    html! {
        article.finding.item id={ "f" (number) } data-grade=(grade) tabindex="-1" {
            header {
                h3 { a.self href={ "#f" (number) } { (number) } " " (sentence(&said.title)) }
                p.tags { span .grade .{ "g-" (grade) } { (grade) } " " code { (finding.kind.name()) } }
            }
            ul.evidence { @for line in &evidence { li { (sentence(line)) } } }
            // A short name is explained before its use.
            @if !short.is_empty() { (the_locks(context, finding, &short)) }
            div.steps { @for step in 0..finding.steps.len() { (one_step(context, finding, step, &short)) } }
            @if short.is_empty() { (the_locks(context, finding, &short)) }
            @match said.help.as_slice() {
                [] => {}
                [one] => { p.help { b { "What to do: " } (sentence(one)) } }
                many => { p.help { b { "What to do" } } ul.help { @for help in many { li { (sentence(help)) } } } }
            }
        }
    }
}

/// One thread's step: the locks it held, and the lock it asked for then.
fn one_step(context: &Context<'_>, finding: &Finding, number: usize, short: &ShortNames) -> Markup {
    let step = &finding.steps[number];
    let unknown = Name::symbol("?");
    let name = finding.locks.get(step.lock).map_or(&unknown, |lock| &lock.name);
    let (part, other): (Vec<&HeldLock>, Vec<&HeldLock>) =
        step.held.iter().partition(|held| held.lock.is_some());
    html! {
        section.step {
            h4 { (sentence(&doing(finding, number, |name| short.quote(name)))) }
            @for held in &part {
                p.did { (named(&held.name, short)) " taken" }
                @if let Some(lines) = excerpt::show(context, &held.stack) { (lines) }
                details { summary { "stack" } (stack::list(context, &held.stack)) }
            }
            p.did { (sentence(&act(step.action, &short.quote(name)))) }
            @if let Some(lines) = excerpt::show(context, &step.stack) { (lines) }
            (stack::list(context, &step.stack))
            @if !other.is_empty() {
                details {
                    summary { "also holding " (count(other.len() as u64, "lock")) }
                    ul { @for held in &other {
                        li { (named(&held.name, short)) ", taken in " (stack::place(context, &held.stack)) }
                    } }
                }
            }
        }
    }
}

/// A lock by its short name, or its own.
fn named(name: &Name, short: &ShortNames) -> Markup {
    match short.get(name) {
        Some(short) => html! { (short) },
        None => name_of(&name.text, name.is_symbol),
    }
}

fn the_locks(context: &Context<'_>, finding: &Finding, short: &ShortNames) -> Markup {
    let mut seen: Vec<&LockInfo> = Vec::new();
    for lock in &finding.locks {
        if !seen.contains(&lock) {
            seen.push(lock);
        }
    }
    let list = html! {
        ul { @for lock in &seen { li {
            @if let Some(letter) = short.get(&lock.name) { b { (letter) } ": " }
            (name_of(&lock.name.text, lock.name.is_symbol)) ": "
            @if lock.origin == LockOrigin::Static { "static " }
            (plain(&lock.kind.to_string()))
            @if let Some(addr) = lock.addr { " at " code { (format!("{addr:#x}")) } }
            @if !lock.created.is_empty() { ", from " (stack::place(context, &lock.created)) }
            @if lock.class != lock.name && !lock.class.text.is_empty() {
                ", of class " (name_of(&lock.class.text, lock.class.is_symbol))
            }
        } } }
    };
    html! {
        @if !short.is_empty() { div.locks { (list) } }
        @else if !seen.is_empty() {
            details.locks { summary { (count(seen.len() as u64, "lock")) } (list) }
        }
    }
}

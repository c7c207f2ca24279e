//! The measurement: the locks, single ones in detail, waits for no lock, flame graphs.

use maud::{Markup, html};

use super::section::{
    Column, Section, left_out, number_cell, part_cell, table, times, times_within,
};
use super::words::{name_of, sentence};
use super::{Context, blame, flame, histogram, limits, stack, threads};
use crate::lockmeter::advice::{About, Advice, Estimated, advise, estimates};
use crate::lockmeter::folded::Folded;
use crate::lockmeter::text::format::{count, percent, time};
use crate::lockmeter::text::waits::slept;
use crate::prose::words::number;
use crate::prose::{futexes, wakers};
use lockwright_analysis::finding::lock_kind::LockKind;
use lockwright_analysis::lockmeter::model::{
    Lock, MeterReport, Mode, Numbers, Site, Wait, WaitKind,
};

const LOCKS: &[Column] = &[
    Column::text("lock"),
    Column::number("acquired", "acquisitions"),
    Column::number("contended %", "of its acquisitions had to wait"),
    Column::number("used %", "of the measured time in which it was held"),
    Column::number("hold mean", "how long it was held each time"),
    Column::number("hold median", "half of its holds were no longer"),
    Column::number("hold p99", "99 % of its holds were no longer"),
    Column::number("hold max", "the longest hold"),
    Column::number("wait mean", "how long who had to wait did so"),
    Column::number("wait median", "half of the waits were no longer"),
    Column::number("wait p99", "99 % of the waits were no longer"),
    Column::number("wait max", "the longest wait"),
    Column::number("wait total", "all waits together"),
    Column::number("share %", "of all waits for locks"),
];

const SITES: &[Column] = &[
    Column::text("place"),
    Column::text("mode"),
    Column::number("acquired", "acquisitions"),
    Column::number("contended %", "of its acquisitions had to wait"),
    Column::number("hold mean", ""),
    Column::number("hold median", "half of the holds were no longer"),
    Column::number("hold p99", "99 % of the holds were no longer"),
    Column::number("hold total", ""),
    Column::number("wait mean", ""),
    Column::number("wait median", "half of the waits were no longer"),
    Column::number("wait p99", "99 % of the waits were no longer"),
    Column::number("wait total", ""),
];

const WAITS: &[Column] = &[
    Column::text("what for"),
    Column::text("place"),
    Column::number("waits", ""),
    Column::number("blocked %", "that were not over at once"),
    Column::number("mean", ""),
    Column::number("median", "half of them were no longer"),
    Column::number("p99", ""),
    Column::number("max", ""),
    Column::number("total", ""),
];

/// Places shown of those that woke the waiters of one futex.
const MOST_WAKERS: usize = 3;

/// Places shown of one lock.
const MOST_SITES: usize = 12;

/// The data that the sections share.
struct Measured<'m, 'r> {
    context: &'m Context<'r>,
    report: &'m MeterReport,
    advice: &'m [Advice],
    estimates: &'m [Option<Estimated>],
    /// Part of all waits.
    share: &'m dyn Fn(f64) -> f64,
}

impl Measured<'_, '_> {
    /// The rules' advice on one lock or wait, with the figures behind it.
    fn advice_on(&self, about: About) -> Vec<String> {
        let advice = self.advice.iter().zip(self.estimates);
        let told = advice.filter(|(advice, _)| advice.about == about).map(|(advice, estimated)| {
            let evidence: Vec<String> = advice.evidence.iter().map(ToString::to_string).collect();
            let estimated =
                estimated.as_ref().map_or_else(String::new, |of| format!("; {}", of.text()));
            let Advice { text, confidence, .. } = advice;
            format!("{text} (confidence {confidence}: {}){estimated}", evidence.join(", "))
        });
        told.collect()
    }
}

/// The sections of a measurement.
pub fn sections(context: &Context<'_>, report: &MeterReport) -> Vec<Section> {
    let advice = advise(report);
    // The total of all waits, computed once: `share` is called for each lock.
    let waits_ns: f64 = report.locks.iter().map(|lock| lock.total.wait.total_ns).sum();
    let share = |ns: f64| if waits_ns > 0.0 { ns / waits_ns } else { 0.0 };
    let estimates = estimates(report, &advice);
    let measured =
        Measured { context, report, advice: &advice, estimates: &estimates, share: &share };
    let (details, shown) = details(&measured);
    let mut sections = vec![locks(&measured, shown), details];
    sections.extend([true, false].into_iter().filter_map(|locks| waits(&measured, locks)));
    sections.extend(flames(report));
    sections
}

/// All locks; the first `detailed` have links to their own sections.
fn locks(measured: &Measured<'_, '_>, detailed: usize) -> Section {
    let report = measured.report;
    let (rows, left) = limits::LOCKS.fill(report.locks.iter().enumerate(), |(index, lock)| {
        let numbers = &lock.total;
        html! { tr.item {
            th scope="row" {
                @if index < detailed { a href={ "#l" (index + 1) } { (name_of(&lock.name, lock.is_symbol)) } }
                @else { (name_of(&lock.name, lock.is_symbol)) }
            }
            (number_cell(&count(numbers.acquisitions), numbers.acquisitions as f64))
            (part_cell(numbers.contended_part()))
            (part_cell(lock.utilisation()))
            (times_within(numbers.hold.mean_ns(), numbers.mean_hold_bounds()))
            (times_within(numbers.hold.percentile_ns(50.0), numbers.hold_bounds(50.0)))
            (times_within(numbers.hold.percentile_ns(99.0), numbers.hold_bounds(99.0)))
            (times((numbers.hold.count > 0).then_some(numbers.hold.max_ns)))
            (times(numbers.wait.mean_ns()))
            (times(numbers.wait.percentile_ns(50.0)))
            (times(numbers.wait.percentile_ns(99.0)))
            (times((numbers.wait.count > 0).then_some(numbers.wait.max_ns)))
            (times((numbers.wait.count > 0).then_some(numbers.wait.total_ns)))
            (part_cell((measured.share)(numbers.wait.total_ns)))
        } }
    });
    let body = html! {
        (table("Lock classes by total wait", LOCKS, &rows))
        (left_out(left, "lock class", "--json"))
    };
    Section::new("locks", "Locks", body).counting(report.locks.len())
}

/// All together, then the first locks one by one; and how many those are.
fn details(measured: &Measured<'_, '_>) -> (Section, usize) {
    let report = measured.report;
    let total = report.total();
    let (list, left) =
        limits::DETAILS.fill((1..).zip(&report.locks), |(rank, lock)| detail(measured, rank, lock));
    let body = html! {
        h3 { "All locks together" }
        (plots(&total))
        h3 { "Lock by lock" }
        (list)
        (left_out(left, "lock class", "--json"))
    };
    (Section::new("times", "Waits and holds", body), report.locks.len() - left)
}

fn plots(numbers: &Numbers) -> Markup {
    html! { div.plots {
        @if let Some(plot) = histogram::show("Waits", &numbers.wait) { (plot) }
        @if let Some(plot) = histogram::show("Holds", &numbers.hold) { (plot) }
    } }
}

fn detail(measured: &Measured<'_, '_>, rank: usize, lock: &Lock) -> Markup {
    let context = measured.context;
    let share = (measured.share)(lock.total.wait.total_ns);
    let advice = measured.advice_on(About::Lock(rank - 1));
    let shown: Vec<&Site> = lock.sites.iter().take(MOST_SITES).collect();
    let rows = html! { @for site in &shown { (site_row(context, site)) } };
    html! {
        // The worst is open from the start.
        details.lock.item id={ "l" (rank) } open[rank == 1] {
            summary {
                (rank) ". " (name_of(&lock.name, lock.is_symbol)) " "
                span.quiet { (LockKind::of(lock.kind).name())
                    @if lock.locks > 1 { ", " (number(lock.locks)) " locks" }
                    ", " (percent(share)) " % of all waits" }
            }
            @for said in &advice { p.help { b { "Advice: " } (sentence(said)) } }
            (plots(&lock.total))
            h3 { "Places that take it" }
            (table("Places, the longest waits first", SITES, &rows))
            (left_out(lock.sites.len() - shown.len(), "place", "--json"))
            @if let Some(threads) = threads::show(context, lock) { (threads) }
            @if let Some(matrix) = blame::show(context, lock) { h3 { "Blame" } (matrix) }
        }
    }
}

fn site_row(context: &Context<'_>, site: &Site) -> Markup {
    let numbers = &site.numbers;
    let mode = match site.mode {
        Mode::Exclusive => "",
        Mode::Read => "read",
        Mode::Write => "write",
    };
    html! { tr {
        td.place { (stack::place(context, &site.stack)) @if site.cond_reacquire { " " span.quiet { "taken back by a condition wait" } } }
        td { (mode) }
        (number_cell(&count(numbers.acquisitions), numbers.acquisitions as f64))
        (part_cell(numbers.contended_part()))
        (times_within(numbers.hold.mean_ns(), numbers.mean_hold_bounds()))
        (times_within(numbers.hold.percentile_ns(50.0), numbers.hold_bounds(50.0)))
        (times_within(numbers.hold.percentile_ns(99.0), numbers.hold_bounds(99.0)))
        (times((numbers.hold_ns > 0.0).then_some(numbers.hold_ns)))
        (times(numbers.wait.mean_ns()))
        (times(numbers.wait.percentile_ns(50.0)))
        (times(numbers.wait.percentile_ns(99.0)))
        (times((numbers.wait.count > 0).then_some(numbers.wait.total_ns)))
    } }
}

/// Waits for what is no lock that is seen: `for_locks`, those for locks made of futexes.
fn waits(measured: &Measured<'_, '_>, for_locks: bool) -> Option<Section> {
    let &Measured { context, report, .. } = measured;
    let is_shown = |(_, wait): &(usize, &Wait)| {
        wait.is_for_lock() == for_locks && (for_locks || wait.waits > 0 || wait.wait.count > 0)
    };
    let waits: Vec<(usize, &Wait)> = report.waits.iter().enumerate().filter(is_shown).collect();
    if waits.is_empty() {
        return None;
    }
    let (rows, left) = limits::WAITS.fill(&waits, |&(index, wait)| {
        let what = match (wait.kind, wait.call) {
            (WaitKind::Condition, _) => "condition".to_owned(),
            (WaitKind::Semaphore, _) => "semaphore".to_owned(),
            (WaitKind::Barrier, _) => "barrier".to_owned(),
            (WaitKind::Join, _) => "end of a thread".to_owned(),
            (WaitKind::Once, _) => "routine that is run once".to_owned(),
            (WaitKind::Call, Some(call)) => format!("sleeping call {call}"),
            (WaitKind::Call, None) => "sleeping call".to_owned(),
            (WaitKind::Futex, _) => wait.futex.as_ref().map_or_else(String::new, futexes::head),
            (WaitKind::Other, _) => "wait".to_owned(),
        };
        let lock = wait.lock.and_then(|lock| report.locks.get(lock));
        let times_of = &wait.wait;
        html! { tr.item {
            td { (what)
                @if let Some(name) = &wait.name { " " (name_of(name, true)) }
                @if let Some(lock) = lock {
                    @if wait.kind == WaitKind::Condition { " with " } @else { " holding " }
                    (name_of(&lock.name, lock.is_symbol))
                } }
            td.place { (stack::place(context, &wait.stack))
                @for waker in wait.wakers.iter().take(MOST_WAKERS) {
                    br; (count(waker.count)) " woken by " (wakers::calls(waker))
                    (stack::place(context, &waker.stack)) (wakers::in_vain(waker))
                    ", after " (time(waker.ns))
                }
                @for said in measured.advice_on(About::Wait(index)) { p.help { b { "Advice: " } (sentence(&said)) } } }
            (number_cell(&count(wait.waits), wait.waits as f64))
            (number_cell(&slept(wait), wait.slept() as f64 / wait.waits.max(1) as f64 * 100.0))
            (times(times_of.mean_ns()))
            (times(times_of.percentile_ns(50.0)))
            (times(times_of.percentile_ns(99.0)))
            (times((times_of.count > 0).then_some(times_of.max_ns)))
            (times((times_of.count > 0).then_some(times_of.total_ns)))
        } }
    });
    let (id, title, what) = match for_locks {
        true => (
            "futexes",
            "Futex locks",
            "Waits for locks made of futexes, whose acquisitions and holds are not seen",
        ),
        false => (
            "waits",
            "Other waits",
            "Waits for conditions, semaphores, barriers, threads and sleeping calls",
        ),
    };
    let body = html! { (table(what, WAITS, &rows)) (left_out(left, "wait", "--json")) };
    Some(Section::new(id, title, body).counting(waits.len()))
}

fn flames(report: &MeterReport) -> Option<Section> {
    let drawn: Vec<Markup> = [Folded::Wait, Folded::Hold]
        .into_iter()
        .filter_map(|what| flame::show(report, what))
        .collect();
    if drawn.is_empty() {
        return None;
    }
    Some(Section::new("flames", "Flame graphs", html! { @for figure in &drawn { (figure) } }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockmeter::text::format::time;

    #[test]
    fn what_is_not_known_is_sorted_below_all() {
        assert_eq!(times(None).0, "<td class=\"n\" data-v=\"-1\">-</td>");
        assert_eq!(
            times(Some(1500.0)).0,
            format!("<td class=\"n\" data-v=\"1500\">{}</td>", time(1500.0))
        );
    }
}

//! The locks, and under each the places that take it.

use super::columns::{Entry, headings, row};
use super::format::{percent, time, within};
use super::page::{Page, quoted};
use crate::lockmeter::view::{Selection, Sort};
use crate::prose::words::{count, number};
use lockwright_analysis::finding::lock_kind::LockKind;
use lockwright_analysis::lockmeter::model::{
    FEWEST_TIMED, Holds, Lock, Mode, Numbers, Site, one_longer_in,
};

/// Sites shown of one lock.
const MOST_SITES: usize = 8;

/// The least part of a lock's acquisitions, or holds, that is worth lines of its own.
const LEAST_PART: f64 = 0.01;

/// Writes the section.
pub fn write(page: &mut Page<'_>, selection: &Selection<'_>) {
    let order = match page.view.sort {
        Sort::Wait => "by total wait",
        Sort::Hold => "by total hold",
        Sort::Acquisitions => "by acquisitions",
        Sort::Contended => "by contended acquisitions",
    };
    page.section("LOCKS", &format!(" {order}"));
    headings().iter().for_each(|line| page.line(line));
    for (number, lock) in (1..).zip(&selection.locks) {
        write_lock(page, number, lock);
    }
    if selection.beyond_top > 0 {
        let more = count(selection.beyond_top as u64, "class");
        page.line(&format!("... and {more} of locks more: --top 0 shows all"));
    }
    if selection.below_thresholds > 0 {
        let more = count(selection.below_thresholds as u64, "class");
        page.line(&format!("... {more} of locks below --min-con or --min-util not shown"));
    }
}

fn write_lock(page: &mut Page<'_>, number: usize, lock: &Lock) {
    let mut about = Vec::new();
    if lock.is_symbol {
        about.push(LockKind::of(lock.kind).name().to_owned());
    }
    if lock.locks > 1 {
        about.push(count(lock.locks, "lock"));
    }
    about.extend(page.stacks.own(&lock.created).filter(|_| lock.is_symbol));
    let mut head = format!("#{number} {}", page.style.name(&quoted(lock)));
    if !about.is_empty() {
        head += &format!(" ({})", about.join(", "));
    }
    head += &aside(&lock.total);
    page.line(&head);
    page.line(&numbers(page, &lock.total, lock.utilisation()));
    if matches!(page.report.holds(), Some(Holds::Sampled(_))) {
        sampled(&lock.total).iter().for_each(|line| page.line(line));
    }
    if !lock.is_rwlock() {
        write_sites(page, lock, Mode::Exclusive);
        return;
    }
    for (mode, name) in [(Mode::Read, "reads"), (Mode::Write, "writes"), (Mode::Exclusive, "other")]
    {
        let sum = lock.of_mode(mode);
        if !lock.sites.iter().any(|site| site.mode == mode) {
            continue;
        }
        let mut head = format!(" {name}{}", aside(&sum));
        let mut utilisation = sum.hold_ns / lock.measured_ns.max(1) as f64;
        if let Some(readers) = lock.readers.as_ref().filter(|_| mode == Mode::Read) {
            let busy = &readers.busy;
            head += &format!(
                "; at most {} at once; {}, mean {}, max {}",
                count(readers.most, "reader"),
                count(busy.count, "busy period"),
                time(busy.mean_ns().unwrap_or(0.0)),
                time(busy.max_ns)
            );
            utilisation = busy.total_ns / lock.measured_ns.max(1) as f64;
        }
        page.line(&head);
        page.line(&numbers(page, &sum, utilisation));
        write_sites(page, lock, mode);
    }
}

fn write_sites(page: &mut Page<'_>, lock: &Lock, mode: Mode) {
    let sites = page.view.sites(lock).into_iter().filter(|site| site.mode == mode);
    let (mut shown, mut rest): (Vec<&Site>, Vec<&Site>) =
        sites.partition(|site| page.view.top == 0 || is_worth_lines(site, lock));
    if page.view.top > 0 && shown.len() > MOST_SITES {
        rest.extend(shown.drain(MOST_SITES..));
    }
    if let [only] = rest[..] {
        shown.push(only);
        rest.clear();
    }
    for site in shown {
        let how = if site.cond_reacquire { "re-locked after the condition wait in " } else { "" };
        let line = format!("   {how}{}{}", page.place(&site.stack), aside(&site.numbers));
        page.line(&line);
        page.line(&numbers(page, &site.numbers, lock.utilisation_by(site)));
        if lock.sites.len() > 1 {
            figures(&site.numbers).iter().for_each(|line| page.line(line));
        }
    }
    if !rest.is_empty() {
        let mut sum = Numbers::default();
        rest.iter().for_each(|site| sum.add(&site.numbers));
        let others = count(rest.len() as u64, "other site");
        page.line(&format!("   {others}{}", aside(&sum)));
        page.line(&numbers(page, &sum, sum.hold_ns / lock.measured_ns.max(1) as f64));
    }
}

/// Whether a site matters to its lock: it waited, or has a noticeable part of acquisitions or
/// holds.
fn is_worth_lines(site: &Site, lock: &Lock) -> bool {
    let (own, all) = (&site.numbers, &lock.total);
    own.contended > 0
        || own.rejects > 0
        || own.held > 0
        || own.acquisitions as f64 >= all.acquisitions as f64 * LEAST_PART
        || own.hold_ns >= all.hold_ns * LEAST_PART && own.hold_ns > 0.0
}

pub(super) fn numbers(page: &Page<'_>, numbers: &Numbers, utilisation: f64) -> String {
    row(&Entry {
        numbers,
        utilisation,
        share: page.report.share_of_wait(numbers.wait.total_ns),
        holds: page.report.holds() != Some(Holds::Off),
    })
}

/// How far off the estimate may be of holds of which few were timed.
fn sampled(numbers: &Numbers) -> Vec<String> {
    let timed = numbers.hold.count;
    let unsure = numbers.hold_error.unsure;
    if timed >= numbers.acquisitions {
        return Vec::new();
    }
    if unsure >= numbers.acquisitions {
        let holds = count(timed, "hold");
        return vec![format!("    {holds} timed: too few to say how far the estimate is off")];
    }
    let (total, error) = (time(numbers.hold_ns), time(numbers.hold_error.ns()));
    let mut line = format!("    held {total} in all, give or take {error} (95 % confidence)");
    if let Some(one_in) = one_longer_in(timed) {
        let (one_in, longest) = (number(one_in), time(numbers.hold.max_ns));
        line += &format!("; at most one hold in {one_in} is longer than {longest}");
    }
    let mut lines = vec![line];
    if unsure as f64 > numbers.acquisitions as f64 * LEAST_PART {
        let acquisitions = count(unsure, "acquisition");
        lines.push(format!(
            "    without {acquisitions} at sites where fewer than {FEWEST_TIMED} holds were timed"
        ));
    }
    lines.extend(figures(numbers));
    lines
}

/// The bounds of the figures that the columns have, where one hold in many was timed.
fn figures(numbers: &Numbers) -> Option<String> {
    let figures = [
        ("mean", numbers.mean_hold_bounds()?),
        ("p50", numbers.hold_bounds(50.0)?),
        ("p99", numbers.hold_bounds(99.0)?),
    ];
    let figures = figures.map(|(name, bounds)| format!("{name} {}", within(bounds)));
    Some(format!("    holds: {}", figures.join(", ")))
}

/// Figures that have no column since they are rarely there.
fn aside(numbers: &Numbers) -> String {
    let mut parts = Vec::new();
    if numbers.rejects > 0 {
        parts.push(format!("{} rejected", count(numbers.rejects, "trylock")));
    }
    if numbers.timeouts > 0 {
        parts.push(format!("{} timed out", count(numbers.timeouts, "acquisition")));
    }
    if numbers.spin_ns > 0.0 && numbers.wait.total_ns > 0.0 {
        let spun = numbers.spin_ns / numbers.wait.total_ns;
        parts.push(format!("waits {} % spinning", percent(spun.min(1.0))));
    }
    if numbers.held > 0 {
        parts.push(format!("held by {} at the end", count(numbers.held, "thread")));
    }
    if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) }
}

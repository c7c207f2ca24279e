//! For the worst locks: which threads waited for which, and what the holders were doing.

use std::collections::BTreeMap;

use super::format::{percent, time};
use super::page::Page;
use super::waits;
use crate::lockmeter::view::Selection;
use crate::prose::words::plain;
use lockwright_analysis::lockmeter::model::{At, Lock, Site, WaitKind};
use lockwright_analysis::symbolize::wrapper::own_frames;

/// Locks that get a matrix.
const MOST_LOCKS: usize = 3;

/// Holders, and waiters, that a matrix has; the rest are summed up.
const MOST_HOLDERS: usize = 3;
const MOST_WAITERS: usize = 8;

/// Things that a holder waited for.
const MOST_NESTED: usize = 4;

/// The least part of a hold worth a line.
const LEAST_NESTED: f64 = 0.001;

/// Width of the column of waiters, and of one holder's.
const WAITER: usize = 38;
const HOLDER: usize = 14;

/// A lock that was waited for less than this part of all waits needs no matrix.
const LEAST_SHARE: f64 = 0.01;

/// Writes the section.
pub fn write(page: &mut Page<'_>, selection: &Selection<'_>) {
    let report = page.report;
    let is_worth_it = |lock: &&&Lock| {
        let wait = lock.total.wait.total_ns;
        lock.blame.iter().any(|blame| blame.ns > 0.0) && report.share_of_wait(wait) >= LEAST_SHARE
    };
    for lock in selection.locks.iter().filter(is_worth_it).take(MOST_LOCKS) {
        write_lock(page, lock);
    }
}

/// Who held: sites of the lock, or all that have no column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    Site(usize),
    Rest,
    Nobody,
}

fn write_lock(page: &mut Page<'_>, lock: &Lock) {
    let all: f64 = lock.blame.iter().map(|blame| blame.ns).sum();
    let lock_name = page.reference(lock);
    page.section(
        "BLAME",
        &format!(" of {lock_name}: who held it during the {} waited for it", time(all)),
    );

    let holders = columns(lock);
    let mut cells: BTreeMap<(Option<usize>, Holder), f64> = BTreeMap::new();
    let waiters = rows(lock);
    for blame in &lock.blame {
        let holder = match blame.holder {
            None => Holder::Nobody,
            Some(site) if holders.contains(&Holder::Site(site)) => Holder::Site(site),
            Some(_) => Holder::Rest,
        };
        let waiter = waiters.contains(&blame.waiter).then_some(blame.waiter);
        *cells.entry((waiter, holder)).or_default() += blame.ns;
    }

    let letters: Vec<String> = ('A'..).map(String::from).take(holders.len()).collect();
    let name = |(i, holder): (usize, &Holder)| match holder {
        Holder::Site(_) => letters[i].clone(),
        Holder::Rest => "others".to_owned(),
        Holder::Nobody => "nobody".to_owned(),
    };
    let titles: String =
        holders.iter().enumerate().map(name).map(|name| format!("{name:>HOLDER$}")).collect();
    page.line(&format!("  {:<WAITER$}{titles}", "waited at"));
    let row = |label: &str, cell: &dyn Fn(Holder) -> f64| {
        let cells = holders.iter().map(|&holder| match cell(holder) {
            0.0 => format!("{:>HOLDER$}", "-"),
            ns => format!("{:>HOLDER$}", format!("{} {:>4}%", time(ns), percent(ns / all))),
        });
        format!("  {label:<WAITER$}{}", cells.collect::<String>())
    };
    let at = |waiter, holder| cells.get(&(waiter, holder)).copied().unwrap_or(0.0);
    let mut lines: Vec<String> = waiters
        .iter()
        .map(|&waiter| row(&label(page, &lock.sites[waiter]), &|holder| at(Some(waiter), holder)))
        .collect();
    if cells.keys().any(|(waiter, _)| waiter.is_none()) {
        lines.push(row("other sites", &|holder| at(None, holder)));
    }
    if lines.len() > 1 {
        let sum = |holder| {
            cells.iter().filter(|((_, of), _)| *of == holder).map(|(_, ns)| ns).sum::<f64>()
        };
        lines.push(row("all", &sum));
    }
    lines.iter().for_each(|line| page.line(line));
    for (letter, holder) in letters.iter().zip(&holders) {
        if let Holder::Site(site) = holder {
            write_holder(page, letter, &lock.sites[*site]);
        }
    }
    if holders.contains(&Holder::Nobody) {
        page.line(
            "  nobody: the lock was free, a waiter being woken or without a processor; or the holder is not known",
        );
    }
}

/// The holders of the matrix, the one waited for longest first.
fn columns(lock: &Lock) -> Vec<Holder> {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for blame in &lock.blame {
        if let Some(holder) = blame.holder {
            *sums.entry(holder).or_default() += blame.ns;
        }
    }
    let mut sites: Vec<(usize, f64)> = sums.into_iter().collect();
    sites.sort_by(|a, b| b.1.total_cmp(&a.1));
    let more = sites.len() > MOST_HOLDERS;
    let mut holders: Vec<Holder> =
        sites.iter().take(MOST_HOLDERS).map(|&(site, _)| Holder::Site(site)).collect();
    holders.extend(more.then_some(Holder::Rest));
    let is_nobodys = lock.blame.iter().any(|blame| blame.holder.is_none() && blame.ns > 0.0);
    holders.extend(is_nobodys.then_some(Holder::Nobody));
    holders
}

/// The waiters of the matrix, the one that waited longest first.
fn rows(lock: &Lock) -> Vec<usize> {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for blame in &lock.blame {
        *sums.entry(blame.waiter).or_default() += blame.ns;
    }
    let mut sites: Vec<(usize, f64)> = sums.into_iter().collect();
    sites.sort_by(|a, b| b.1.total_cmp(&a.1));
    sites.into_iter().take(MOST_WAITERS).map(|(site, _)| site).collect()
}

fn write_holder(page: &mut Page<'_>, letter: &str, site: &Site) {
    let how = if site.cond_reacquire { "re-locked after the condition wait in " } else { "" };
    let place = page.style.name(&page.place(&site.stack));
    page.line(&format!("  {letter} = {how}{place}"));
    for (i, line) in page.stacks.callers(&site.stack).iter().enumerate() {
        let first = if i == 0 { "first " } else { "" };
        page.line(&format!("      {first}{line}"));
    }
    for line in spent(page, site) {
        page.line(&format!("      {line}"));
    }
}

/// The activities during the site's holds.
fn spent(page: &Page<'_>, site: &Site) -> Vec<String> {
    let held = site.numbers.hold_ns;
    if held <= 0.0 {
        return Vec::new();
    }
    let nested: f64 = site.nested.iter().map(|nested| nested.ns).sum();
    let preempted = site.preempted_ns();
    let is_preempted = preempted / held >= LEAST_NESTED;
    if nested <= 0.0 && !is_preempted {
        return vec![format!("held it for {}, running", time(held))];
    }
    let part = |ns: f64, what: &str| format!("  {:>4} % {what}", percent(ns / held));
    let mut lines = vec![format!("held it for {}, of that", time(held))];
    // The longest first: what is too short to matter comes last.
    let shown = site.nested.iter().take(MOST_NESTED);
    let mut rest = nested;
    for nested in shown.take_while(|nested| nested.ns / held >= LEAST_NESTED) {
        lines.push(part(nested.ns, &what(page, nested.at)));
        rest -= nested.ns;
    }
    if rest / held >= LEAST_NESTED {
        lines.push(part(rest, "in other waits"));
    }
    lines.push(part((held - nested - preempted).max(0.0), "running"));
    if is_preempted {
        lines.push(part(preempted, "without a processor"));
    }
    lines
}

fn what(page: &Page<'_>, at: At) -> String {
    match at {
        At::Lock { lock, site } => {
            match (page.report.locks.get(lock), page.report.site(lock, site)) {
                (Some(lock), Some(site)) => {
                    format!("waiting for {} in {}", page.reference(lock), page.place(&site.stack))
                }
                _ => "waiting for another lock".to_owned(),
            }
        }
        At::Wait(index) => match page.report.waits.get(index) {
            Some(wait) => {
                let what = match (wait.kind, wait.call) {
                    (WaitKind::Condition, _) => "waiting for a condition",
                    (WaitKind::Semaphore, _) => "waiting for a semaphore",
                    (WaitKind::Barrier, _) => "waiting at a barrier",
                    (WaitKind::Join, _) => "joining a thread",
                    (WaitKind::Once, _) => "waiting for a routine that is run once",
                    (WaitKind::Call, Some(call)) => &format!("in `{call}`, called"),
                    (WaitKind::Call, None) => "in a call that may sleep",
                    (WaitKind::Futex, _) => "waiting at a futex",
                    (WaitKind::Other, _) => "waiting",
                };
                format!("{} in {}", waits::named(what, wait), page.place(&wait.stack))
            }
            None => "waiting".to_owned(),
        },
        At::Unknown => "waiting for something unknown".to_owned(),
    }
}

/// The place of a site in as many words as the column of waiters has room for.
fn label(page: &Page<'_>, site: &Site) -> String {
    let whole = page.place(&site.stack);
    let Some(frame) = own_frames(&site.stack).first() else { return cut(&whole) };
    let (Some(function), true) = (&frame.function, whole.chars().count() >= WAITER) else {
        return cut(&whole);
    };
    let function = plain(function);
    cut(&match (frame.line, frame.function_offset) {
        (Some(line), _) => format!("{function}:{line}"),
        (None, Some(offset)) => format!("{function}+{offset:#x}"),
        (None, None) => function,
    })
}

/// The end of a label that would be too long: what tells functions of one class apart.
fn cut(label: &str) -> String {
    let len = label.chars().count();
    if len < WAITER {
        return label.to_owned();
    }
    let tail: String = label.chars().skip(len - (WAITER - 4)).collect();
    format!("...{tail}")
}

//! The table of the kernel's /proc/lock_stat, version 0.4, to the column, for the tools that read
//! it (Documentation/locking/lockstat.rst has a sample).
//!
//! Times are in microseconds. A lock of which there were readers has two lines, of its writers and
//! of its readers. Below are up to four places that waited, and up to four whose holds they waited
//! for: the kernel has the first four that it met, we have those with the most waits.

use std::collections::{BTreeMap, HashMap};

use super::entries::Thresholds;
use crate::prose::words::plain;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::{Lock, MeterReport, Mode, Numbers, Times};
use lockwright_analysis::model::code_of;

/// Characters up to the end of a name, and of each column with its gap.
const NAME: usize = 40;
const COLUMN: usize = 15;

const COLUMNS: [&str; 12] = [
    "con-bounces",
    "contentions",
    "waittime-min",
    "waittime-max",
    "waittime-total",
    "waittime-avg",
    "acq-bounces",
    "acquisitions",
    "holdtime-min",
    "holdtime-max",
    "holdtime-total",
    "holdtime-avg",
];

/// Characters of a name that is not followed by `-W` or `-R`: those that fit with it.
const LONGEST: usize = NAME - 2;

/// Places of each sort.
const POINTS: usize = 4;

/// Renders it.
pub fn render(report: &MeterReport, thresholds: &Thresholds) -> String {
    let rule = |of: &str| of.repeat(NAME + 1 + COLUMNS.len() * COLUMN) + "\n";
    let columns: String = COLUMNS.iter().map(|title| format!(" {title:>14}")).collect();
    let mut text = String::from("lock_stat version 0.4\n");
    // As the kernel does of what it cannot vouch for. No colon: readers take each line that has one
    // for a class.
    for warning in warnings(report) {
        text += &format!("*WARNING* {warning}\n");
    }
    text += &format!("{}{:>NAME$}{columns}\n{}\n", rule("-"), "class name", rule("-"));
    let mut locks: Vec<&Lock> = report
        .locks
        .iter()
        .filter(|lock| lock.total.acquisitions > 0)
        .filter(|lock| thresholds.let_through_lock(lock))
        .collect();
    locks.sort_by_key(|lock| std::cmp::Reverse((lock.total.contended, lock.total.acquisitions)));
    let mut names = Names::default();
    for lock in locks {
        let name = names.of(lock);
        text += &lines(lock, &name);
        let points = points(lock, &name);
        if !points.is_empty() {
            text += &format!("{points}\n{}\n", rule("."));
        }
    }
    text
}

/// Points that a reader could misread.
fn warnings(report: &MeterReport) -> Vec<&'static str> {
    let counted = report.processes.iter().filter(|process| process.bounces).count();
    let mut warnings = Vec::new();
    if counted < report.processes.len() {
        warnings.push("bounces were not counted and are 0; holdtime-min is within 1 % - measure with --compat lock_stat");
    }
    if report.lost > 0 {
        warnings.push("records were lost because there was no space - numbers are too small");
    }
    if report.holds() != Some(lockwright_analysis::lockmeter::model::Holds::Exact) {
        warnings.push("not all holds were timed - holdtime-total and holdtime-avg are estimates");
    }
    warnings
}

/// The lines of a class.
fn lines(lock: &Lock, name: &str) -> String {
    let readers = lock.of_mode(Mode::Read);
    let mut others = lock.of_mode(Mode::Write);
    others.add(&lock.of_mode(Mode::Exclusive));
    if readers.acquisitions == 0 {
        return line(name, &others);
    }
    let mut text = String::new();
    if others.acquisitions > 0 {
        text += &line(&format!("{name}-W"), &others);
    }
    text + &line(&format!("{name}-R"), &readers)
}

fn line(name: &str, numbers: &Numbers) -> String {
    let mean = |ns: f64, of: u64| if of == 0 { 0.0 } else { ns / of as f64 };
    let (wait, hold) = (&numbers.wait, &numbers.hold);
    let cells = [
        numbers.contended_bounces.to_string(),
        numbers.contended.to_string(),
        us(shortest(wait)),
        us(wait.max_ns),
        us(wait.total_ns),
        us(mean(wait.total_ns, numbers.contended)),
        numbers.bounces.to_string(),
        numbers.acquisitions.to_string(),
        us(shortest(hold)),
        us(hold.max_ns),
        us(numbers.hold_ns),
        us(mean(numbers.hold_ns, numbers.acquisitions)),
    ];
    // The colon stands in the gap before the first column.
    let mut text = format!("{name:>NAME$}:{:>14}", cells[0]);
    cells[1..].iter().for_each(|cell| text += &format!(" {cell:>14}"));
    text + "\n"
}

/// The shortest, as far as it is known; 0 of nothing.
fn shortest(times: &Times) -> f64 {
    times.min_ns.or_else(|| times.percentile_ns(0.0)).unwrap_or(0.0)
}

fn us(ns: f64) -> String {
    format!("{:.2}", ns / 1e3)
}

/// The waiters, then the holders that they waited for; empty if there were no waits.
///
/// The kernel counts one holder for each contention, the one at its beginning. Here a wait counts for each
/// of its holders, so the contentions are divided by these counts: both lists have the same sum.
fn points(lock: &Lock, name: &str) -> String {
    let waiters: Vec<(usize, u64)> =
        lock.sites.iter().enumerate().map(|(site, s)| (site, s.numbers.contended)).collect();
    let contentions = waiters.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
    let mut blamed: BTreeMap<usize, u64> = BTreeMap::new();
    for blame in &lock.blame {
        if let Some(holder) = blame.holder {
            let count = blamed.entry(holder).or_default();
            *count = count.saturating_add(blame.count);
        }
    }
    let blamed: Vec<(usize, f64)> =
        blamed.into_iter().map(|(holder, count)| (holder, count as f64)).collect();
    // As long as the names of the lines above.
    let suffix = if lock.of_mode(Mode::Read).acquisitions > 0 { 2 } else { 0 };
    let rule = format!("{:>NAME$}\n", "-".repeat(name.chars().count() + suffix));
    [waiters, divided(contentions, &blamed)]
        .into_iter()
        .map(|mut points| {
            points.retain(|&(_, count)| count > 0);
            points.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
            points.truncate(POINTS);
            points
        })
        .filter(|points| !points.is_empty())
        .map(|points| {
            let point = |(site, count): (usize, u64)| {
                let stack = lock.sites.get(site).map_or(&[][..], |site| &site.stack);
                let (address, symbol) = place(stack);
                format!("{name:>NAME$} {count:>14} {address:>29} {symbol}\n")
            };
            points.into_iter().map(point).fold(rule.clone(), |text, line| text + &line)
        })
        .collect()
}

/// `count` in whole parts by weight: the largest remainders are rounded up.
fn divided(count: u64, weights: &[(usize, f64)]) -> Vec<(usize, u64)> {
    let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
    if all <= 0.0 {
        return Vec::new();
    }
    let exact = |weight: f64| count as f64 * (weight / all);
    let mut parts: Vec<(usize, u64)> =
        weights.iter().map(|&(what, weight)| (what, exact(weight) as u64)).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let remainder = |at: &usize| exact(weights[*at].1) - parts[*at].1 as f64;
    order.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    let whole = parts.iter().map(|(_, part)| part).sum();
    for at in order.into_iter().take(count.saturating_sub(whole) as usize) {
        parts[at].1 += 1;
    }
    parts
}

/// `[<address>]` in the module, and `function+0xoffset/0xsize`.
fn place(stack: &[Frame]) -> (String, String) {
    let Some(frame) = code_of(stack) else { return ("[<0000000000000000>]".into(), "0x0".into()) };
    let symbol = match (&frame.function, frame.function_offset) {
        (Some(function), Some(offset)) => {
            let size = frame.function_size.unwrap_or(offset);
            format!("{}+{offset:#x}/{size:#x}", word(function))
        }
        (Some(function), None) => word(function),
        (None, _) => format!("{:#x}", frame.offset),
    };
    (format!("[<{:016x}>]", frame.offset), symbol)
}

/// A name as one word without a colon: readers take the columns apart at blanks, and a line with a
/// colon for a class. C has no names that are otherwise; `std::mutex` becomes `std.mutex`.
fn word(text: &str) -> String {
    let text = plain(text).replace("::", ".").replace(':', ".");
    text.split_whitespace().collect::<Vec<_>>().join("_")
}

/// Names that are given once each.
#[derive(Default)]
struct Names(HashMap<String, u32>);

impl Names {
    /// The name of a lock's class: its own name, or where it was created; the end of what
    /// is too long. A second one of a name is `name#2`, as the kernel's.
    fn of(&mut self, lock: &Lock) -> String {
        let name = match code_of(&lock.created) {
            Some(Frame { function: Some(function), function_offset: Some(offset), .. })
                if !lock.is_symbol =>
            {
                format!("{}+{offset:#x}", word(function))
            }
            _ => word(&lock.name),
        };
        let name: Vec<char> = name.chars().collect();
        let name: String = name[name.len().saturating_sub(LONGEST - 3)..].iter().collect();
        let times = self.0.entry(name.clone()).or_default();
        *times += 1;
        if *times == 1 { name } else { format!("{name}#{times}") }
    }
}

#[cfg(test)]
mod tests {
    use super::divided;

    #[test]
    fn parts_have_the_sum() {
        assert_eq!(divided(11, &[(0, 9.0), (1, 7.0), (2, 4.0)]), [(0, 5), (1, 4), (2, 2)]);
        assert_eq!(divided(1, &[(3, 1.0), (4, 1.0)]).iter().map(|part| part.1).sum::<u64>(), 1);
        assert_eq!(divided(5, &[(3, 2.5)]), [(3, 5)]);
        assert!(divided(5, &[]).is_empty() && divided(5, &[(1, 0.0)]).is_empty());
    }
}

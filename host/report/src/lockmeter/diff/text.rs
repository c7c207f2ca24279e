//! The comparison for people, for a terminal of 100 columns.

use lockwright_analysis::lockmeter::diff::{Change, Compared, Comparison, FEWEST, Metric, Runs};

use super::gate::{Judged, Verdict};
use crate::lockmeter::text::format::{percent, time};
use crate::prose::words::{count, number, plain, quote};
use crate::text::stack::Stacks;
use lockwright_analysis::lockmeter::model::Mode;

/// Runs of a side below which small changes of many metrics are not found.
const FEW: usize = 5;
/// Sites shown of one lock.
const MOST_SITES: usize = 5;
/// Where the columns end.
const COLUMNS: [usize; 3] = [44, 57, 70];

/// The text for a side without a value.
const NONE: &str = "-";

/// Renders it, with the first `top` locks; 0: all.
pub fn render(comparison: &Comparison, judged: &[Judged], top: usize) -> String {
    let mut page = Page { text: String::new(), stacks: Stacks::new() };
    page.head(comparison);
    page.title("all locks together");
    comparison.total.iter().for_each(|change| page.change(change, 1));
    let shown = if top == 0 { comparison.locks.len() } else { top.min(comparison.locks.len()) };
    for lock in &comparison.locks[..shown] {
        page.lock(comparison, lock);
    }
    if shown < comparison.locks.len() {
        let more = count((comparison.locks.len() - shown) as u64, "more lock class");
        page.line("");
        page.line(&format!("{more}, whose waits have changed less: --top 0"));
    }
    page.verdicts(judged);
    page.text
}

struct Page {
    text: String,
    stacks: Stacks,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.text += text.trim_end();
        self.text.push('\n');
    }

    fn head(&mut self, comparison: &Comparison) {
        let Comparison { before, after, .. } = comparison;
        self.line("lockwright diff");
        self.line(&format!("  before: {}", side(before)));
        self.line(&format!("  after:  {}", side(after)));
        let fewest = before.count.min(after.count);
        too_few(fewest).iter().for_each(|line| self.line(&format!("  {line}")));
        if fewest >= FEWEST {
            self.line("  change: after against before, and its 95 % interval; `*` marks what is more than chance, though so");
            self.line("  many metrics are compared");
        }
    }

    fn title(&mut self, name: &str) {
        let titles = ["before", "after", "change"];
        self.line("");
        let mut line = name.to_owned();
        let width = |line: &str| line.chars().count();
        if width(&line) > COLUMNS[0] - titles[0].len() - 2 {
            self.line(&line);
            line.clear();
        }
        for (title, end) in titles.iter().zip(COLUMNS) {
            let space = end.saturating_sub(width(&line)).max(title.len() + 1);
            line += &format!("{title:>space$}");
        }
        self.line(&line);
    }

    fn lock(&mut self, comparison: &Comparison, lock: &Compared) {
        let name = plain(&quote(&lock.name));
        self.title(&format!("{name}{}", presence(comparison, lock)));
        lock.changes.iter().for_each(|change| self.change(change, 1));
        for site in lock.sites.iter().take(MOST_SITES) {
            let place =
                self.stacks.own(&site.stack).unwrap_or_else(|| "an unknown place".to_owned());
            let how = match site.mode {
                Some(Mode::Read) => ", reading",
                Some(Mode::Write) => ", writing",
                _ => "",
            };
            self.line(&format!("  {place}{how}{}", presence(comparison, site)));
            site.changes.iter().for_each(|change| self.change(change, 2));
        }
        if lock.sites.len() > MOST_SITES {
            self.line(&format!(
                "  {}",
                count((lock.sites.len() - MOST_SITES) as u64, "more place")
            ));
        }
    }

    fn change(&mut self, change: &Change, depth: usize) {
        let name = match change.metric {
            Metric::Wait => "wait in a run",
            Metric::Hold => "hold, mean",
            Metric::Acquisitions => "acquisitions/s",
            Metric::Contended => "contended %",
            Metric::Utilisation => "utilisation %",
        };
        let shown = |number: Option<f64>| value(change.metric, number);
        let mut line = format!("{:indent$}{name}", "", indent = 2 * depth);
        let cells = [shown(change.before), shown(change.after), relative(change.ratio)];
        for (cell, end) in cells.iter().zip(COLUMNS) {
            line += &format!("{cell:>0$}", end.saturating_sub(line.chars().count()));
        }
        if let Some((low, high)) = change.interval {
            let star = if change.is_sure { " *" } else { "" };
            line += &format!("  [{} .. {}]{star}", relative(Some(low)), relative(Some(high)));
        }
        self.line(&line);
    }

    fn verdicts(&mut self, judged: &[Judged]) {
        if !judged.is_empty() {
            self.line("");
        }
        for one in judged {
            let lock =
                one.lock.as_ref().map_or("all locks together".into(), |name| plain(&quote(name)));
            let interval = one.change.interval.map_or_else(String::new, |(low, high)| {
                format!(" [{} .. {}]", relative(Some(low)), relative(Some(high)))
            });
            let verdict = verdict(one.verdict);
            let change = relative(one.change.ratio);
            self.line(&format!(
                "fail if {}: {verdict} by {lock}: {change}{interval}",
                plain(&one.condition)
            ));
        }
    }
}

/// The value of a metric on one side.
pub fn value(metric: Metric, value: Option<f64>) -> String {
    let show: fn(f64) -> String = match metric {
        Metric::Wait | Metric::Hold => time,
        Metric::Acquisitions => rate,
        Metric::Contended | Metric::Utilisation => percent,
    };
    value.map_or_else(|| NONE.to_owned(), show)
}

/// "5 runs of server, 1.23 s on average; 0 records lost".
fn side(runs: &Runs) -> String {
    let lost = match runs.lost {
        0 => "0 records lost".to_owned(),
        lost => format!("{} lost: numbers are too small", count(lost, "record")),
    };
    let programs: Vec<_> = runs.programs.iter().map(|program| plain(program)).collect();
    format!(
        "{} of {}, {} on average; {lost}",
        count(runs.count as u64, "run"),
        programs.join(", "),
        time(runs.mean_ns)
    )
}

/// The outcome of a condition.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Exceeded => "exceeded",
        Verdict::Unsure => "beyond it, but that may be chance",
        Verdict::Kept => "not exceeded",
    }
}

/// What is not claimed because a side has this few runs, and the remedy.
pub fn too_few(fewest: usize) -> Vec<String> {
    let remedy = format!("measure each side {FEW} times or more, and name all runs");
    match fewest {
        FEW.. => Vec::new(),
        FEWEST.. => vec![
            format!(
                "with {fewest} runs on a side only large changes are found, and what is 0 in some runs is"
            ),
            format!("not judged where both have {fewest}: {remedy}"),
        ],
        _ => vec![
            format!(
                "{} on a side: no change is marked, as nobody can know how much of it is chance;",
                count(fewest as u64, "run")
            ),
            remedy,
        ],
    }
}

/// In which runs a lock or place was not met.
pub fn presence(comparison: &Comparison, compared: &Compared) -> &'static str {
    match (compared.in_before, compared.in_after) {
        (0, _) => ", only after",
        (_, 0) => ", only before",
        (before, after) if before < comparison.before.count || after < comparison.after.count => {
            ", not in all runs"
        }
        _ => "",
    }
}

fn rate(per_second: f64) -> String {
    if per_second < 100.0 { format!("{per_second:.1}") } else { number(per_second.round() as u64) }
}

/// A ratio as a change: `+12.3%`, `-4.56%`, `x15`, `new`.
pub fn relative(ratio: Option<f64>) -> String {
    let Some(ratio) = ratio else { return NONE.to_owned() };
    let percent = (ratio - 1.0) * 100.0;
    match percent.abs() {
        _ if ratio.is_infinite() => "new".to_owned(),
        _ if ratio >= 10.0 => format!("x{ratio:.0}"),
        size if size < 0.005 => "0%".to_owned(),
        size if size < 9.995 => format!("{percent:+.2}%"),
        size if size < 99.95 => format!("{percent:+.1}%"),
        _ => format!("{percent:+.0}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_short() {
        let ratios = [1.0, 1.000_01, 1.0123, 0.5, 0.0, 2.5, 15.2, f64::INFINITY];
        let texts = ["0%", "0%", "+1.23%", "-50.0%", "-100%", "+150%", "x15", "new"];
        assert_eq!(ratios.map(|ratio| relative(Some(ratio))), texts);
    }
}

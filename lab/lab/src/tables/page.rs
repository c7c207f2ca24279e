//! The page: Markdown that is as easy to read on a terminal, and the same as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::publication::{Comparison, Here, Publication, Row};
use super::verdict::{Outcome, Verdict};
use super::{Options, later, name, plot};
use crate::bench::{Plot, Section};

/// All that was measured.
pub struct Page {
    /// What it ran on.
    machine: Vec<(String, String)>,
    options: Options,
    documents: Vec<Publication>,
}

impl Page {
    /// The page of `documents`, measured just now.
    pub(super) fn new(options: &Options, mut documents: Vec<Publication>) -> Self {
        if options.smoke {
            // Two short rounds decide nothing.
            documents.iter_mut().for_each(|document| document.verdicts.clear());
        }
        let mut machine = lockwright_measure::machine::describe(&[]);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        machine.push(("load at the end".to_owned(), load.trim().to_owned()));
        Self { machine, options: options.clone(), documents }
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Whether there is a figure of this machine's.
    pub fn has_figures(&self) -> bool {
        let comparisons = self.documents.iter().flat_map(|document| &document.comparisons);
        comparisons.flat_map(|comparison| &comparison.rows).any(|row| row.here.figure().is_some())
    }

    /// What was not measured, and why: of each document.
    pub fn missing(&self) -> impl Iterator<Item = (u8, &str)> {
        self.documents.iter().flat_map(|document| {
            let rows = document.comparisons.iter().flat_map(|comparison| &comparison.rows);
            rows.filter_map(|row| match &row.here {
                Here::Missing(why) => Some((document.number, why.as_str())),
                _ => None,
            })
        })
    }

    /// Plots of the comparisons.
    pub fn plots(&self) -> Vec<Plot> {
        plot::plots(&self.documents)
    }

    /// For people: Markdown.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(out, "# Five published kernel benchmarks, and this machine\n");
        let _ = writeln!(
            out,
            "Made by `cargo xtask bench tables`. {} rounds of each comparison, in each of which all arms take turns; \
             figures are medians of the rounds, or of their ratios, with an interval of 95 % confidence if there are \
             enough rounds. If the published machine is bigger, only the shape can agree.\n",
            self.options.rounds
        );
        if self.options.smoke {
            let _ = writeln!(out, "A smoke run: the figures mean nothing.\n");
        }
        let mut facts = vec![["".to_owned(), "This machine".to_owned()]];
        facts.extend(self.machine.iter().map(|(name, value)| [name.clone(), value.clone()]));
        table(&mut out, &facts.iter().map(|row| row.to_vec()).collect::<Vec<_>>(), 2);
        self.summary(&mut out);
        for document in &self.documents {
            one(&mut out, document);
        }
        if self.options.only.is_none() {
            later::write(&mut out);
        }
        out
    }

    /// Every claim on a line, and how many there are of each verdict, those that differ first.
    fn summary(&self, out: &mut String) {
        let _ = writeln!(out, "\n## What differs, and what agrees\n");
        if self.options.smoke {
            let _ = writeln!(out, "A smoke run decides nothing.");
            return;
        }
        let _ = writeln!(out, "{}\n", self.counts());
        let mut rows = vec![vec!["Publication".into(), "It says".into(), "Here".into()]];
        let mut all: Vec<_> = self
            .documents
            .iter()
            .flat_map(|document| document.verdicts.iter().map(|verdict| (document.number, verdict)))
            .collect();
        // Stable: claims of one publication stay together.
        all.sort_by_key(|(_, verdict)| verdict.outcome.rank());
        rows.extend(all.into_iter().map(|(number, verdict)| {
            vec![name(number).into(), verdict.claim.clone(), verdict.outcome.words()]
        }));
        table(out, &rows, 3);
        let _ = writeln!(
            out,
            "\nAn interval decides, and a median without one does not. `differs in part`: some points agree, and others \
             do not. `too small to see`: at most a hundredth. `needs N CPUs`: the intervals include both answers, and \
             the published machine had so many more CPUs. `an input`: the program was set by the published figure, so \
             that it agrees says nothing. `Ours` are aims of lockwright, which nobody published."
        );
    }

    /// "Of 40 claims, 3 differ, ...".
    fn counts(&self) -> String {
        let all: Vec<_> = self.documents.iter().flat_map(|document| &document.verdicts).collect();
        let count = |wanted: fn(Outcome) -> bool| {
            all.iter().filter(|verdict| wanted(verdict.outcome)).count()
        };
        format!(
            "Of {} claims, {} differ, {} differ in part, {} are not decided, {} need more CPUs, {} are too small to see, \
             {} agree, and {} are inputs.",
            all.len(),
            count(|it| matches!(it, Outcome::Differs(..))),
            count(|it| matches!(it, Outcome::InPart(..))),
            count(|it| matches!(it, Outcome::Undecided(..))),
            count(|it| matches!(it, Outcome::NeedsCpus(_))),
            count(|it| it == Outcome::TooSmall),
            count(|it| it == Outcome::Agrees),
            count(|it| it == Outcome::Input),
        )
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let machine: serde_json::Map<_, _> = self
            .machine
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
            .collect();
        json!({
            "machine": machine,
            "rounds": self.options.rounds,
            "smoke": self.options.smoke,
            "documents": self.documents.iter().map(Publication::json).collect::<Vec<_>>(),
        })
    }
}

fn one(out: &mut String, document: &Publication) {
    let _ = writeln!(out, "\n## {}: {}\n", name(document.number), document.title);
    let _ = writeln!(out, "{}\n", document.source);
    for paragraph in &document.method {
        let _ = writeln!(out, "{paragraph}\n");
    }
    for comparison in &document.comparisons {
        compared(out, comparison);
    }
    for Verdict { claim, outcome, because } in &document.verdicts {
        let _ = writeln!(out, "- {claim}: {}. {because}", outcome.words());
    }
    for section in &document.sections {
        in_full(out, section);
    }
    for block in &document.blocks {
        let _ = writeln!(out, "\n### {}\n\n```", block.title);
        let _ = writeln!(out, "{}\n```", block.text.trim_end());
    }
}

fn compared(out: &mut String, comparison: &Comparison) {
    let _ = writeln!(out, "### {}\n", comparison.title);
    let head = ["", "published", "here", "interval", "here / published"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(comparison.rows.iter().map(cells));
    table(out, &rows, 1);
    let _ = writeln!(out);
}

fn cells(row: &Row) -> Vec<String> {
    let show = |figure: f64| row.unit.show(figure);
    let interval = match &row.here {
        Here::Measured(of) => format!("{} to {}", show(of.low), show(of.high)),
        _ => String::new(),
    };
    let here = match &row.here {
        Here::Missing(why) => why.clone(),
        Here::Nothing(why) => (*why).to_owned(),
        measured => measured.figure().map(show).unwrap_or_default(),
    };
    let ratio = row.ratio().map(|ratio| format!("{ratio:.3}")).unwrap_or_default();
    vec![row.what.clone(), row.published.map(show).unwrap_or_default(), here, interval, ratio]
}

fn in_full(out: &mut String, section: &Section) {
    let _ = writeln!(out, "\n### {}\n", section.title);
    let mut rows = vec![section.columns.iter().map(|name| (*name).to_owned()).collect()];
    rows.extend(section.rows.iter().cloned());
    table(out, &rows, 1);
    for note in &section.notes {
        let _ = writeln!(out, "\n{note}");
    }
}

/// A table of Markdown, its columns as wide as their widest cell; the first `left` to the left, the
/// others to the right. The first row is the head.
fn table(out: &mut String, rows: &[Vec<String>], left: usize) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0).max(3)).collect();
    for (index, row) in rows.iter().enumerate() {
        let mut line = String::from("|");
        for (column, width) in widths.iter().copied().enumerate() {
            let cell = row.get(column).map_or("", String::as_str);
            let _ = if column < left {
                write!(line, " {cell:<width$} |")
            } else {
                write!(line, " {cell:>width$} |")
            };
        }
        let _ = writeln!(out, "{line}");
        if index == 0 {
            let mark = |(column, width): (usize, &usize)| {
                let colon = if column < left { "-" } else { ":" };
                format!("{}{colon}|", "-".repeat(width + 1))
            };
            let marks: String = widths.iter().enumerate().map(mark).collect();
            let _ = writeln!(out, "|{marks}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_markdown_and_line_up() {
        let rows = [["lock", "ns"], ["mcs", "12.5"]].map(|row| row.map(str::to_owned).to_vec());
        let mut out = String::new();
        table(&mut out, &rows, 1);
        assert_eq!(out, "| lock |   ns |\n|------|-----:|\n| mcs  | 12.5 |\n");
    }
}

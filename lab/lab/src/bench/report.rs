//! The output of a benchmark: tables for people, the same as JSON for machines.

use std::fmt::Write;

use serde_json::{Value, json};

/// A table of one question.
pub struct Section {
    /// The question.
    pub title: String,
    /// Names of the columns; the first is that of the rows' names.
    pub columns: Vec<&'static str>,
    /// Rows: as many cells as columns.
    pub rows: Vec<Vec<String>>,
    /// What must be said with it: how it was measured, what was published.
    pub notes: Vec<String>,
    /// The figures behind the rows.
    pub json: Value,
}

/// A plot as a file.
pub struct Plot {
    /// What the file is called.
    pub name: String,
    /// SVG.
    pub svg: String,
}

/// All that was measured.
pub struct Report {
    /// What it ran on.
    pub machine: Vec<(String, String)>,
    /// Rounds of each section.
    pub rounds: usize,
    /// The tables.
    pub sections: Vec<Section>,
    /// Libraries whose locks could not be measured, and why.
    pub missing: Vec<String>,
    /// Plots, if they were wanted.
    pub plots: Vec<Plot>,
}

impl Report {
    /// For people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        for (name, value) in &self.machine {
            let _ = writeln!(out, "{name:>10}: {value}");
        }
        for section in &self.sections {
            let _ = writeln!(out, "\n{}\n", section.title);
            table(&mut out, &section.columns, &section.rows);
            for note in &section.notes {
                let _ = writeln!(out, "{note}");
            }
        }
        for missing in &self.missing {
            let _ = writeln!(out, "Without the locks of {missing}");
        }
        out
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let machine: serde_json::Map<_, _> = self
            .machine
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
            .collect();
        let sections: Vec<_> = self
            .sections
            .iter()
            .map(|section| json!({ "title": section.title, "notes": section.notes, "results": section.json }))
            .collect();
        json!({
            "machine": machine, "rounds": self.rounds, "sections": sections, "missing": self.missing,
        })
    }
}

/// Columns as wide as their widest cell, the first to the left and the others to the right.
fn table(out: &mut String, columns: &[&str], rows: &[Vec<String>]) {
    let width = |index: usize| {
        let cells = rows.iter().map(|row| row[index].chars().count());
        cells.chain([columns[index].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns.len()).map(width).collect();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for (index, cell) in cells.enumerate() {
            let width = widths[index];
            let _ = if index == 0 {
                write!(text, "  {cell:<width$}")
            } else {
                write!(text, "  {cell:>width$}")
            };
        }
        let _ = writeln!(out, "{}", text.trim_end());
    };
    line(&mut columns.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
}

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The same of what may be less than nothing.
pub fn grouped_signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_in_groups() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(822_135), "822,135");
        assert_eq!(grouped(1_257_109), "1,257,109");
        assert_eq!(grouped_signed(-4321), "-4,321");
    }

    #[test]
    fn columns_line_up() {
        let mut out = String::new();
        table(
            &mut out,
            &["lock", "ns"],
            &[vec!["mcs".into(), "12.5".into()], vec!["a".into(), "3".into()]],
        );
        assert_eq!(out, "  lock    ns\n  mcs   12.5\n  a        3\n");
    }
}

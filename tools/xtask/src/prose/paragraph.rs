//! Paragraphs: text without its markup, joined over line breaks, that knows which line each part came from.

use std::ops::Range;

/// So much is quoted before a fault and behind it, in bytes.
const QUOTED: usize = 45;

/// A paragraph of a document, a block of comments, or a line of output.
#[derive(Default)]
pub struct Paragraph {
    text: String,
    /// Where in the text each line begins, and the number of that line in the file.
    lines: Vec<(usize, usize)>,
}

impl Paragraph {
    pub fn text(&self) -> &str {
        &self.text
    }

    fn push(&mut self, number: usize, line: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), number));
        self.text += line;
    }

    /// The number of the line that holds a place in the text; of a fault that begins with the stop of the
    /// sentence before, that sentence's.
    pub fn line_at(&self, place: usize) -> usize {
        let behind = self.lines.partition_point(|(start, _)| *start <= place);
        self.lines[behind.saturating_sub(1)].1
    }

    /// A fault and the words around it.
    pub fn around(&self, fault: Range<usize>) -> String {
        let from = self.text.floor_char_boundary(fault.start.saturating_sub(QUOTED));
        let to = self.text.ceil_char_boundary((fault.end + QUOTED).min(self.text.len()));
        self.text[from..to].to_owned()
    }
}

/// The paragraphs of a document in Markdown: neither code nor tables.
pub fn of_document(text: &str) -> Vec<Paragraph> {
    let mut fenced = false;
    join(text, |line| {
        if line.starts_with("```") {
            fenced = !fenced;
            return "";
        }
        if fenced || line.starts_with("    ") || line.starts_with('|') { "" } else { line.trim() }
    })
}

/// The blocks of comments of a source in Rust: `//`, `///` and `//!`, each alone on its line.
pub fn of_rust(text: &str) -> Vec<Paragraph> {
    join(text, |line| {
        let Some(comment) = line.trim_start().strip_prefix("//") else { return "" };
        comment.strip_prefix(['/', '!']).unwrap_or(comment).trim()
    })
}

/// The blocks of comments of a source in C or C++.
pub fn of_c(text: &str) -> Vec<Paragraph> {
    join(text, |line| {
        let line = line.trim_start();
        let comment = ["//", "/*", "*"].iter().find_map(|mark| line.strip_prefix(mark));
        comment.map_or("", |comment| comment.trim_start_matches('*').trim_end_matches("*/").trim())
    })
}

/// The lines of what the command prints: it does not break sentences. Neither the marks of a report's margin nor
/// the lines of source in it are text.
pub fn of_output(text: &str) -> Vec<Paragraph> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut paragraph = Paragraph::default();
        let is_source = line
            .split_once(" | ")
            .is_some_and(|(margin, _)| margin.trim_start().parse::<u32>().is_ok());
        if !is_source {
            let margin = |c: char| c.is_whitespace() || matches!(c, '|' | '=');
            paragraph.push(number, line.trim_start_matches(margin));
        }
        lines.push(paragraph);
    }
    lines
}

/// Joins lines that follow each other; `prose` gives the prose of a line, which may be none.
fn join(text: &str, mut prose: impl FnMut(&str) -> &str) -> Vec<Paragraph> {
    let mut paragraphs = vec![Paragraph::default()];
    for (number, line) in (1..).zip(text.lines()) {
        let last = paragraphs.last_mut().expect("there is one from the start");
        match prose(line) {
            "" if last.text.is_empty() => {}
            "" => paragraphs.push(Paragraph::default()),
            line => last.push(number, line),
        }
    }
    paragraphs.retain(|paragraph| !paragraph.text.is_empty());
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(paragraphs: &[Paragraph]) -> Vec<&str> {
        paragraphs.iter().map(Paragraph::text).collect()
    }

    #[test]
    fn a_document_has_neither_its_code_nor_its_tables() {
        let document = "# Title\n\nOne\ntwo.\n\n    code\n\n```c\nmore code\n```\n| a | table |\n";
        assert_eq!(texts(&of_document(document)), ["# Title", "One two."]);
    }

    #[test]
    fn comments_are_blocks_without_their_marks() {
        let rust = "//! One\n//! two.\n//!\n//! Three.\nlet x = 1; // none\n    /// Four.\n    fn f() {}\n";
        assert_eq!(texts(&of_rust(rust)), ["One two.", "Three.", "Four."]);
        let c = "/** One\n * two. */\nint x;\n// Three.\n";
        assert_eq!(texts(&of_c(c)), ["One two.", "Three."]);
    }

    #[test]
    fn output_has_a_paragraph_a_line_without_its_margin_and_source() {
        let report = "error: one\n   |\n   = note: two\n12 |     three();\n   | ^^ four\n";
        assert_eq!(texts(&of_output(report)), ["error: one", "", "note: two", "", "^^ four"]);
    }

    #[test]
    fn a_place_in_a_paragraph_knows_its_line() {
        let paragraphs = of_rust("fn f() {}\n// One\n// two\n// three.\n");
        let lines = ["One", "two", "three"]
            .map(|word| paragraphs[0].line_at(paragraphs[0].text().find(word).unwrap()));
        assert_eq!(lines, [2, 3, 4]);
    }
}

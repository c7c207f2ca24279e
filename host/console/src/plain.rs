//! The way out for strings of the program and the user, which may contain anything.
//!
//! | output | function | what reaches it |
//! |---|---|---|
//! | a name, path or argument within a line | [`line`] | one line without controls |
//! | a whole text, page or XML document | [`text`] | newlines, tabs, and our own styles if asked for |
//! | a JSON document | [`json`] | the same strings, with the controls as `\u` escapes |
//!
//! Every format calls [`line`] for each string that is not ours: a newline in a name would forge a
//! line of the report. The command passes every text through [`text`] again when it writes it, so
//! that a forgotten call cannot move a cursor or clear a screen.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write as _};

/// A control to a terminal, or to whatever lays out the text.
///
/// C1 controls act like escape sequences in some terminals. Marks of direction show a text in
/// another order than that of its bytes, and line separators end lines in some viewers.
pub fn is_control(c: char) -> bool {
    match c {
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' => true,
        // Invisible within a text; noncharacters, which XML refuses.
        '\u{200b}'..='\u{200d}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => true,
        // Tags: invisible letters.
        '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// What stands for a control: the picture of one that has any.
fn picture(c: char) -> char {
    match c {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        _ => '\u{fffd}',
    }
}

/// One line without any control.
pub fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => line.push(' '),
            '\t' => line.push_str("    "),
            c if is_control(c) => line.push(picture(c)),
            c => line.push(c),
        }
    }
    line
}

/// Whether a text may have styles of ours in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Styles {
    /// No escape sequence passes.
    None,
    /// Sequences that set colours and weights pass (SGR: `ESC [ digits m`).
    Sgr,
}

/// Lines without any control but newlines, tabs and styles.
pub fn text(text: &str, styles: Styles) -> Cow<'_, str> {
    let passes = |c: char| !is_control(c) || c == '\n' || c == '\t';
    let Some(first) = text.find(|c| !passes(c)) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(c) = rest.chars().next() {
        let len = match style(rest) {
            Some(len) if styles == Styles::Sgr => {
                out.push_str(&rest[..len]);
                len
            }
            _ => {
                out.push(if passes(c) { c } else { picture(c) });
                c.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    Cow::Owned(out)
}

/// The length of the style that `text` begins with.
fn style(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then_some(2 + end + 1)
}

/// A JSON document with the controls in its strings as escapes. Outside of strings there are none
/// but white space.
pub fn json(document: String) -> String {
    if document.chars().all(passes_in_json) {
        return document;
    }
    let mut out = String::with_capacity(document.len());
    escape(&document, &mut out);
    out
}

fn passes_in_json(c: char) -> bool {
    !is_control(c) || c <= ' '
}

fn escape(document: &str, out: &mut String) {
    for c in document.chars() {
        if passes_in_json(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
}

/// Serialises a document to `out` as [`json`] has it, indented, with a newline at its end. A large one so takes
/// no memory.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_json(document: &impl serde::Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    let mut out = JsonWriter { out: io::BufWriter::new(out), escaped: String::new() };
    serde_json::to_writer_pretty(&mut out, document)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// As [`write_json`], as a text.
pub fn json_text(document: &impl serde::Serialize) -> String {
    let mut text = Vec::new();
    write_json(document, &mut text)
        .expect("strings and numbers under string keys always serialise");
    String::from_utf8(text).expect("the writer takes text only")
}

/// Writes a document with the controls in its strings as escapes. The serialiser hands over whole characters.
struct JsonWriter<W: io::Write> {
    out: io::BufWriter<W>,
    escaped: String,
}

impl<W: io::Write> io::Write for JsonWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The one control of ASCII that a serialiser leaves as it is.
        if bytes.iter().all(|&byte| byte < 0x7f) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.escaped.clear();
        escape(text, &mut self.escaped);
        self.out.write_all(self.escaped.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_without_controls() {
        assert_eq!(line("a\x1b[31mb\r\nc"), "a\u{241b}[31mb\u{240d} c");
        assert_eq!(
            line("\u{9b}2J\u{202e}x\u{2066}\u{2028}\u{7f}"),
            "\u{fffd}2J\u{fffd}x\u{fffd}\u{fffd}\u{2421}"
        );
        assert_eq!(line("gr\u{fc}n \u{1f512}"), "gr\u{fc}n \u{1f512}");
        let all: String = ('\0'..=char::MAX).collect();
        assert!(!line(&all).chars().any(|c| is_control(c) || c.is_control()));
    }

    #[test]
    fn only_styles_pass_and_only_if_asked_for() {
        let hostile = "\x1b[1;31merror\x1b[0m:\t\x1b[2J\x1b]0;x\x07\x1b[\n\x1b";
        let plain =
            "\u{241b}[1;31merror\u{241b}[0m:\t\u{241b}[2J\u{241b}]0;x\u{2407}\u{241b}[\n\u{241b}";
        assert_eq!(text(hostile, Styles::None), plain);
        let styled = "\x1b[1;31merror\x1b[0m:\t\u{241b}[2J\u{241b}]0;x\u{2407}\u{241b}[\n\u{241b}";
        assert_eq!(text(hostile, Styles::Sgr), styled);
        assert!(matches!(text("a\n\tb", Styles::None), Cow::Borrowed(_)));
    }

    #[test]
    fn a_document_keeps_its_strings() {
        let name = "\u{7f}\u{9b}31m\u{202e}\u{e0041}\u{feff}";
        let document = json(serde_json::to_string_pretty(&[name]).expect("a string"));
        assert!(!document.chars().any(|c| is_control(c) && c != '\n'), "{document}");
        let read: Vec<String> = serde_json::from_str(&document).expect("a document");
        assert_eq!(read, [name]);
        assert_eq!(json_text(&[name]), document + "\n");
    }
}

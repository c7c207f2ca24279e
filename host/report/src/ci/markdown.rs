//! The report as a page of Markdown, for a step's summary or a comment: a table of findings, and the whole
//! text of each behind its title.

use std::fmt::Write;

use super::{Options, entries};
use crate::text;
use crate::verdict::Judged;

/// Bytes of a page. GitHub takes no more than a MiB for a step.
const MOST: usize = 900 << 10;

/// Renders the page; ends with a newline.
pub fn render(judged: &Judged<'_>, options: Options) -> String {
    let (entries, texts) = entries(judged, options);
    let shown = judged.shown(|finding| options.all || !finding.grade.is_counted_only());
    let last_line = text::last_line(&shown, judged.remarks(options.all));
    let (name, rest) = last_line.split_once(": ").unwrap_or(("lockwright", &last_line));
    let mut page = format!("## {name}\n\n{}\n", inline(rest));
    if entries.is_empty() {
        return page;
    }
    page += "\n| | finding | where | test |\n|---|---|---|---|\n";
    let mut whole = String::new();
    let mut cut = 0;
    for entry in &entries {
        let kind = entry.finding.kind.name();
        let grade = entry.finding.grade.name();
        let mark = if entry.fails { "**fails**" } else { "" };
        let place = entry.place.as_ref();
        let place =
            place.map_or_else(String::new, |place| format!("{}:{}", place.file, place.line));
        let test = entry.test.as_deref().unwrap_or("several processes");
        let title = inline(&entry.title);
        let row = format!(
            "| {mark} | {kind} ({grade}): {} | {} | {} |\n",
            cell(&title),
            cell(&inline(&place)),
            cell(&inline(test))
        );
        let text = texts.text(entry.finding);
        let fence = fence(&text);
        let details = format!(
            "\n<details><summary>{kind} ({grade}): {}</summary>\n\n{fence}text\n{text}\n{fence}\n\n</details>\n",
            html(&entry.title)
        );
        if page.len() + whole.len() + row.len() + details.len() > MOST {
            cut += 1;
            continue;
        }
        page += &row;
        whole += &details;
    }
    page += &whole;
    if cut > 0 {
        let _ = writeln!(
            page,
            "\n{cut} more have no room on this page; the text, --json and --sarif have all."
        );
    }
    page
}

/// Text that Markdown and HTML are to leave alone; code in backquotes stays code.
fn inline(text: &str) -> String {
    let mut out = String::new();
    let mut code = false;
    for c in text.chars() {
        match c {
            '`' => {
                code = !code;
                out.push(c);
            }
            '<' | '>' | '&' if !code => out += &format!("&#{};", u32::from(c)),
            '\\' | '*' | '_' | '[' | ']' | '~' | '#' | '!' | '$' if !code => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    // An odd backquote would take the rest of the page along.
    if code { out.replace('`', "&#96;") } else { out }
}

/// Text where HTML is read and no Markdown.
fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The same in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A fence that no line of the text ends.
fn fence(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text() {
        assert_eq!(inline("a_b <script> `x<y>_z`"), "a\\_b &#60;script&#62; `x<y>_z`");
        assert_eq!(inline("`a"), "&#96;a");
        assert_eq!(html("a<b>&`c`"), "a&lt;b&gt;&amp;`c`");
        assert_eq!(cell("a|b"), "a\\|b");
        assert_eq!(fence("a ```` b"), "`````");
        assert_eq!(fence("a `b`"), "```");
    }
}

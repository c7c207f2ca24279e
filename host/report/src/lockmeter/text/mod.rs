//! The report for people, for a terminal of 100 columns.
//!
//! First what was measured and how well, then the locks with the places that take them. Then come
//! the waiters and holders of the worst locks, and what the numbers suggest. Then come waits for
//! locks made of futexes, waits for no lock, and unfinished waits. Notes come last.

mod advice;
mod blame;
mod columns;
mod empty;
pub(crate) mod format;
mod futexes;
mod head;
mod instances;
mod locks;
mod style;
mod waiting;
mod waits;

use super::view::View;
use crate::prose::words::plain;
use crate::text::stack::{Stacks, shorten};
use lockwright_analysis::lockmeter::model::{Lock, MeterReport};
use style::Style;

/// How the text is to look.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextOptions {
    /// With ANSI colours.
    pub colour: bool,
    /// The part to show.
    pub view: View,
}

/// The data that the sections share.
struct Page<'r> {
    report: &'r MeterReport,
    view: View,
    style: Style,
    stacks: Stacks,
    /// The locks shown, in order: the sections refer to them by number.
    shown: Vec<&'r Lock>,
    text: String,
}

/// Renders the whole report; ends with a newline.
pub fn render(report: &MeterReport, options: &TextOptions) -> String {
    let mut page = Page {
        report,
        view: options.view,
        style: Style { colour: options.colour },
        stacks: Stacks::new(),
        shown: Vec::new(),
        text: String::new(),
    };
    head::write(&mut page);
    if report.locks.is_empty() {
        empty::write(&mut page);
    } else {
        let selection = page.view.locks(report);
        page.shown.clone_from(&selection.locks);
        locks::write(&mut page, &selection);
        instances::write(&mut page, &selection);
        blame::write(&mut page, &selection);
        advice::write(&mut page);
    }
    futexes::write(&mut page);
    waits::write(&mut page);
    waiting::write(&mut page);
    if page.view.processes {
        head::write_processes(&mut page);
    }
    head::write_notes(&mut page);
    page.text
}

impl Page<'_> {
    fn line(&mut self, text: &str) {
        self.text += text.trim_end();
        self.text.push('\n');
    }

    /// Begins a section.
    fn section(&mut self, title: &str, rest: &str) {
        let title = self.style.heading(title);
        self.line("");
        self.line(&format!("{title}{rest}"));
    }

    /// Where a site is, in words.
    fn place(&self, stack: &[lockwright_analysis::finding::Frame]) -> String {
        self.stacks.own(stack).unwrap_or_else(|| "an unknown place".to_owned())
    }

    /// A lock in a sentence: by its name if it has one, else by its number in the table of locks.
    fn reference(&self, lock: &Lock) -> String {
        match self.shown.iter().position(|shown| std::ptr::eq(*shown, lock)) {
            Some(number) if !lock.is_symbol => format!("lock #{}", number + 1),
            _ => quoted(lock),
        }
    }
}

/// A lock by its name or description.
fn quoted(lock: &Lock) -> String {
    let name = shorten(&plain(&lock.name));
    if lock.is_symbol { format!("`{name}`") } else { name }
}

//! A page of text, and what its sections share.

use super::style::Style;
use crate::lockmeter::view::View;
use crate::prose::words::plain;
use crate::text::stack::{Stacks, shorten};
use lockwright_analysis::lockmeter::model::{Lock, MeterReport};

/// The data that the sections share.
pub struct Page<'r> {
    pub report: &'r MeterReport,
    pub view: View,
    pub style: Style,
    pub stacks: Stacks,
    /// The locks shown, in order: the sections refer to them by number.
    pub shown: Vec<&'r Lock>,
    pub text: String,
}

impl Page<'_> {
    pub fn line(&mut self, text: &str) {
        self.text += text.trim_end();
        self.text.push('\n');
    }

    /// Begins a section.
    pub fn section(&mut self, title: &str, rest: &str) {
        let title = self.style.heading(title);
        self.line("");
        self.line(&format!("{title}{rest}"));
    }

    /// Where a site is, in words.
    pub fn place(&self, stack: &[lockwright_analysis::finding::Frame]) -> String {
        self.stacks.own(stack).unwrap_or_else(|| "an unknown place".to_owned())
    }

    /// A lock in a sentence: by its name if it has one, else by its number in the table of locks.
    pub fn reference(&self, lock: &Lock) -> String {
        match self.shown.iter().position(|shown| std::ptr::eq(*shown, lock)) {
            Some(number) if !lock.is_symbol => format!("lock #{}", number + 1),
            _ => quoted(lock),
        }
    }
}

/// A lock by its name or description.
pub fn quoted(lock: &Lock) -> String {
    let name = shorten(&plain(&lock.name));
    if lock.is_symbol { format!("`{name}`") } else { name }
}

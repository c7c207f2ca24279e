//! A section of a page, and the parts that many have.

use maud::{Markup, html};

use crate::lockmeter::text::format::{maybe_time, percent, within};
use lockwright_analysis::lockmeter::model::Bounds;

/// A part of the page that the table of contents names.
#[derive(Clone, Debug)]
pub struct Section {
    /// The target of links.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// How much there is of it, next to the title in the contents.
    pub count: Option<String>,
    /// Its contents.
    pub body: Markup,
}

impl Section {
    /// With heading and body.
    pub fn new(id: &'static str, title: &'static str, body: Markup) -> Self {
        Self { id, title, count: None, body }
    }

    /// The same with a number of things.
    #[must_use]
    pub fn counting(self, count: usize) -> Self {
        Self { count: Some(crate::prose::words::number(count as u64)), ..self }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// The meaning of the heading, shown where the pointer rests.
    pub about: &'static str,
    /// Numbers are set right and sorted as such.
    pub is_number: bool,
}

impl Column {
    /// A column of words.
    pub const fn text(title: &'static str) -> Self {
        Self { title, about: "", is_number: false }
    }

    /// A column of numbers.
    pub const fn number(title: &'static str, about: &'static str) -> Self {
        Self { title, about, is_number: true }
    }
}

/// A table that can be sorted, and searched with everything else.
pub fn table(caption: &str, columns: &[Column], rows: &Markup) -> Markup {
    html! {
        div.scroll.rows tabindex="0" role="region" aria-label=(caption) {
            table.sortable {
                caption { (caption) }
                thead { tr { @for column in columns {
                    th scope="col" .n[column.is_number]
                        title=[Some(column.about).filter(|about| !about.is_empty())] { (column.title) }
                } } }
                tbody { (rows) }
            }
        }
    }
}

/// A number's cell: as it is shown, and what it is sorted by.
pub fn number_cell(shown: &str, value: f64) -> Markup {
    html! { td.n data-v=(sort_key(value)) { (shown) } }
}

/// The cell of a time in nanoseconds; what is not known is sorted below all.
pub fn times(ns: Option<f64>) -> Markup {
    number_cell(&maybe_time(ns), ns.unwrap_or(-1.0))
}

/// As [`times`], with the bounds of a figure that is not exact.
pub fn times_within(ns: Option<f64>, bounds: Option<Bounds>) -> Markup {
    html! { td.n data-v=(sort_key(ns.unwrap_or(-1.0))) { (maybe_time(ns))
    @if let Some(bounds) = bounds { br; small { (within(bounds)) } } } }
}

/// The cell of a part of a whole, in percent.
pub fn part_cell(part: f64) -> Markup {
    number_cell(&percent(part), part * 100.0)
}

/// Short, as there are many.
fn sort_key(value: f64) -> String {
    let rounded = value.round();
    if value.fract() == 0.0 || value.abs() >= 1000.0 {
        format!("{rounded:.0}")
    } else {
        format!("{value:.4}")
    }
}

/// The items that are not on the page, and where they are.
pub fn left_out(count: usize, what: &str, option: &str) -> Markup {
    html! {
        @if count > 0 {
            p.cut { (crate::prose::words::count(count as u64, &format!("more {what}"))) " not on this page: "
                code { (option) } " has all" }
        }
    }
}

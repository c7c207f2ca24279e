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
mod page;
mod style;
mod timeline;
pub(crate) mod waiting;
pub(crate) mod waits;
mod wakers;

use super::view::View;
use crate::text::stack::Stacks;
use lockwright_analysis::lockmeter::model::MeterReport;
use page::Page;
use style::Style;

/// How the text is to look.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextOptions {
    /// With ANSI colours.
    pub colour: bool,
    /// The part to show.
    pub view: View,
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
    }
    advice::write(&mut page);
    futexes::write(&mut page);
    waits::write(&mut page);
    waiting::write(&mut page);
    timeline::write(&mut page);
    if page.view.processes {
        head::write_processes(&mut page);
    }
    head::write_notes(&mut page);
    page.text
}

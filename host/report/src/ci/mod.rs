//! Reports for CI services: annotations in the source, a page for the step, a list of
//! tests. docs/ci.md has them in use.

mod entry;
mod github;
mod junit;
mod markdown;
mod test_name;

pub use github::render as github;
pub use junit::render as junit;
pub use markdown::render as markdown;

use crate::text::OneByOne;
use crate::verdict::Judged;
use entry::Entry;
use lockwright_analysis::finding::Grade;

/// The contents to show.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Also what is only counted.
    pub all: bool,
    /// The least serious grade that fails the run.
    pub fail_on: Grade,
}

/// Columns of the text of a finding.
const WIDTH: usize = 100;

/// The entries of a report, most serious first, and what renders the text of each.
fn entries<'r>(judged: &Judged<'r>, options: Options) -> (Vec<Entry<'r>>, OneByOne<'r>) {
    let report = judged.report;
    let texts = OneByOne::new(report, WIDTH);
    let shown = judged.counted().filter(|f| options.all || !f.grade.is_counted_only());
    let entry = |finding| Entry::new(report, finding, options.fail_on, texts.stacks());
    (shown.map(entry).collect(), texts)
}

//! What a CI service shows of a report: lines beside the source, a page for the step, a list of
//! tests. docs/ci.md has them in use.

mod entry;
mod github;
mod junit;
mod markdown;
mod test_name;

pub use github::render as github;
pub use junit::render as junit;
pub use markdown::render as markdown;

use crate::verdict::Judged;
use lockwright_analysis::finding::Grade;

/// What is to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Also what is only counted.
    pub all: bool,
    /// The least serious grade that fails the run.
    pub fail_on: Grade,
}

/// The entries of a report, most serious first.
fn entries<'r>(judged: &Judged<'r>, options: Options) -> Vec<entry::Entry<'r>> {
    let shown = judged.counted().filter(|f| options.all || !f.grade.is_counted_only());
    shown.map(|finding| entry::Entry::new(judged.report, finding, options.fail_on)).collect()
}

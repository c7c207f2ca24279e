//! What the sections of a page show.

use crate::listing::LockGraph;
use crate::text::stack::Stacks;
use crate::verdict::Judged;
use lockwright_analysis::finding::Finding;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::merge::Run as MergedRun;
use lockwright_analysis::symbolize::source::Sources;
use lockwright_analysis::traced::EveryWait;

/// The data of a run's page.
#[derive(Clone, Copy, Debug)]
pub struct Run<'r> {
    /// The findings, if the checker ran.
    pub found: Option<&'r Judged<'r>>,
    /// Show the grades that are only counted otherwise, too.
    pub all: bool,
    /// The measurement, if there is one.
    pub metered: Option<&'r MeterReport>,
    /// All waits for locks, the kernel's included, if it was asked for those.
    pub every_wait: &'r [EveryWait<'r>],
    /// The lock classes and their dependencies, by process.
    pub graphs: &'r [LockGraph],
    /// The runs that were merged; none where the page is of one run.
    pub runs: &'r [MergedRun],
}

/// The data that the sections of a page share.
pub struct Context<'r> {
    pub sources: Sources,
    pub stacks: Stacks,
    /// Findings shown: finding `i` is at `#f{i + 1}`.
    pub findings: Vec<&'r Finding>,
}

//! The part on coverage that both JSON documents share: how much was watched.

use serde::Serialize;

use crate::prose::coverage;
use lockwright_analysis::finding::ModuleNote;
use lockwright_analysis::finding::coverage::{Completeness, Gap, Note};

/// Fields of an object that says whether everything was watched.
#[derive(Serialize)]
pub struct CompletenessOut {
    complete: bool,
    incomplete: Vec<GapOut>,
}

impl CompletenessOut {
    /// The parts of `completeness`.
    pub fn new(completeness: &Completeness) -> Self {
        Self {
            complete: completeness.is_whole(),
            incomplete: completeness.gaps.iter().map(GapOut::new).collect(),
        }
    }
}

/// Why a process was not watched whole.
#[derive(Serialize)]
struct GapOut {
    pid: u32,
    reason: &'static str,
    why: String,
    help: String,
}

impl GapOut {
    fn new(gap: &Gap) -> Self {
        let coverage::Gap { why, help } = coverage::gap(&gap.missing);
        Self { pid: gap.pid, reason: gap.missing.reason(), why, help }
    }
}

/// The missing names of a module.
#[derive(Serialize)]
pub struct ModuleOut<'r> {
    module: &'r str,
    note: &'static str,
}

/// That of all `modules`.
pub fn modules(modules: &[ModuleNote]) -> Vec<ModuleOut<'_>> {
    modules
        .iter()
        .map(|of| ModuleOut { module: &of.module, note: coverage::names(of.missing) })
        .collect()
}

/// The notes on a process.
pub fn notes(notes: &[Note]) -> Vec<String> {
    notes.iter().map(coverage::note).collect()
}

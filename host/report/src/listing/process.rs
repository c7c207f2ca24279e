//! A process and its dependencies.

use lockwright_analysis::dependencies::Dependencies;
use lockwright_analysis::model::{Model, Sources};

/// One process and its dependencies.
pub struct Process<'a> {
    /// Its place among the ledgers.
    pub index: usize,
    pub model: Model<'a>,
    pub dependencies: Dependencies,
}

impl Process<'_> {
    /// Process id and program.
    pub fn title(&self) -> String {
        let header = self.model.ledger.header();
        format!("process {} ({})", header.pid, self.model.ledger.text(header.exe))
    }
}

pub fn processes<'a>(sources: &Sources<'a>, count: usize) -> Vec<Process<'a>> {
    let process = |index| {
        let model = Model::new(sources, index);
        let dependencies = Dependencies::new(&model);
        Process { index, model, dependencies }
    };
    (0..count).map(process).collect()
}

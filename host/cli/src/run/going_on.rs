//! The ledgers of a run that may go on, and which processes write to them yet.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use lockwright_ledger::Ledger;

use super::clocks::monotonic_ns;
use crate::ledger_dir::{ledgers_in, writer_of, writer_of_annex};
use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::lockmeter::model::{self, End, MeterReport};
use lockwright_analysis::process_end::ProcessEnd;
use lockwright_analysis::symbolize::Images;

/// Ledgers, those of sandboxed children in others' files among them.
pub struct GoingOn {
    /// All that can be read.
    pub ledgers: Vec<Ledger>,
    /// The processes that have not ended: by the id in its own namespace, which its ledger has, its id here.
    pub live: HashMap<u32, u32>,
}

impl GoingOn {
    /// Reads them.
    pub fn read(paths: &[PathBuf]) -> Self {
        let (mut ledgers, mut live) = (Vec::new(), HashMap::new());
        let mut add = |ledger: Ledger, writer: Option<u32>| {
            // A process that has called exec is another one in its next ledger.
            let has_ended = ProcessEnd::of(&ledger) != ProcessEnd::Unknown;
            live.extend(writer.filter(|_| !has_ended).map(|pid| (ledger.header().pid, pid)));
            ledgers.push(ledger);
        };
        for path in paths {
            let Ok(ledger) = Ledger::open(path) else { continue };
            add(ledger, writer_of(path));
            for (part, annex) in (1..).zip(Ledger::annexes(path)) {
                let writer = writer_of_annex(path, part, annex.header().pid);
                add(annex, writer);
            }
        }
        Self { ledgers, live }
    }

    /// What was measured of processes that have not ended was measured up to `now`, CLOCK_MONOTONIC ns.
    pub fn until(&self, now: u64) -> Vec<End> {
        self.live.keys().map(|&pid| End { pid, at_ns: now, status: None }).collect()
    }

    /// What was measured up to now.
    pub fn measured(&self, images: &Rc<Images>) -> MeterReport {
        let symbols = AllSymbols::with_images(&self.ledgers, images);
        model::build_with(&self.ledgers, &symbols.each(), &self.until(monotonic_ns()))
    }

    /// As [`Self::read`], of the run in `dir`.
    pub fn read_run(dir: &Path) -> Self {
        Self::read(&ledgers_in(dir).unwrap_or_default())
    }
}

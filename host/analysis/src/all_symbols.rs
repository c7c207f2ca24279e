//! The names of all ledgers of a report.

use lockwright_ledger::reader::Ledger;

use crate::model::Symbolise;
use crate::symbolize::{DebugDirs, Images, Symbols};

/// Names for the addresses of the ledgers of a report: [`Symbolise`] for each, in their order. What
/// one part of a report has looked up, the others need not.
pub struct AllSymbols<'l>(Vec<Symbols<'l>>);

impl<'l> AllSymbols<'l> {
    /// Opens nothing yet; all share the modules that are opened.
    pub fn new(ledgers: &'l [Ledger]) -> Self {
        let images = Images::new(DebugDirs::from_env());
        let of = |ledger| Symbols::with_images(ledger, images.clone());
        Self(ledgers.iter().map(of).collect())
    }

    /// Those of each ledger.
    pub fn each(&self) -> Vec<&dyn Symbolise> {
        self.0.iter().map(|symbols| symbols as &dyn Symbolise).collect()
    }
}

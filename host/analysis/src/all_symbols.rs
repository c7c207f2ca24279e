//! The names of all ledgers of a report.

use std::rc::Rc;

use lockwright_ledger::reader::Ledger;

use crate::model::Symbolise;
use crate::symbolize::{DebugDirs, Images, Symbols};

/// Names for the addresses of the ledgers of a report: [`Symbolise`] for each, in their order. What
/// one part of a report has looked up, the others need not.
pub struct AllSymbols<'l>(Vec<Symbols<'l>>);

impl<'l> AllSymbols<'l> {
    /// Opens nothing yet; all share the modules that are opened.
    pub fn new(ledgers: &'l [Ledger]) -> Self {
        Self::with_images(ledgers, &Images::new(DebugDirs::from_env()))
    }

    /// As [`AllSymbols::new`], with modules that are open already, as where ledgers are read again and again.
    pub fn with_images(ledgers: &'l [Ledger], images: &Rc<Images>) -> Self {
        let of = |ledger| Symbols::with_images(ledger, Rc::clone(images));
        Self(ledgers.iter().map(of).collect())
    }

    /// Those of each ledger.
    pub fn each(&self) -> Vec<&dyn Symbolise> {
        self.0.iter().map(|symbols| symbols as &dyn Symbolise).collect()
    }
}

//! What each kind of finding can say about itself.

use lockwright_analysis::finding::Finding;

/// The sentences about what was found: a kind of finding without one of these does not compile.
pub trait Sentences {
    /// One line naming the locks.
    fn title(&self, finding: &Finding) -> String;

    /// Why its grade: sentences without a final full stop.
    fn evidence(&self, finding: &Finding) -> Vec<String>;

    /// The remedy, likewise: the next steps, the best first.
    fn help(&self, finding: &Finding) -> Vec<String>;
}

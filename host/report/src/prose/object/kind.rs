//! What each kind of fault says.

use super::case::Case;

/// The words for one kind of fault.
pub trait Kind {
    /// One line naming the object.
    fn title(&self, case: &Case<'_>) -> String;

    /// What else is known of it: sentences without a final full stop.
    fn evidence(&self, case: &Case<'_>) -> Vec<String>;

    /// What it is that the C library leaves undefined; empty if that is nothing.
    fn undefined(&self) -> &'static str {
        ""
    }

    /// The evidence says who initialised the object.
    fn names_maker(&self) -> bool {
        false
    }

    /// The remedy: the next steps, the best first. Empty ones are left out.
    fn help(&self, case: &Case<'_>) -> Vec<String>;
}

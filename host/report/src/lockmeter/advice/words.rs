//! How suggestions name things.

use crate::text::stack::Stacks;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::Site;

/// A place in words.
pub fn place(stack: &[Frame]) -> String {
    Stacks::new().own(stack).unwrap_or_else(|| "an unknown place".to_owned())
}

/// The place of a site in words.
pub fn site(site: &Site) -> String {
    place(&site.stack)
}

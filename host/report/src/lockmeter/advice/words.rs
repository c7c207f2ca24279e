//! How suggestions name things.

use super::rule::Supposed;
use crate::text::stack::Stacks;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::Site;
use lockwright_analysis::lockmeter::what_if::Remedy;

/// A place in words.
pub fn place(stack: &[Frame]) -> String {
    Stacks::new().own(stack).unwrap_or_else(|| "an unknown place".to_owned())
}

/// Supposes that a site does half of its work after the release.
pub fn half(index: usize, of: &Site) -> Supposed {
    Supposed {
        text: format!("{} held it half as long", site(of)),
        remedy: Remedy::Shorter { site: index, part: 0.5 },
    }
}

/// Locks that one is supposed to be divided into.
const INTO: usize = 4;

/// Supposes that what the lock protects is divided among several locks.
pub fn divided() -> Supposed {
    Supposed {
        text: format!("it were {INTO} locks, each used as often"),
        remedy: Remedy::Divided { into: INTO },
    }
}

/// The place of a site in words.
pub fn site(site: &Site) -> String {
    place(&site.stack)
}

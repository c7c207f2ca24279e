use lockwright::qspinlock::RawQspinlock;

use crate::exclusion::{excludes, exclusive_models};
use crate::world::Loom;

exclusive_models!(RawQspinlock<Loom>);

/// A holder, one that is pending, the head of the queue, and one behind it.
#[test]
fn four_threads_exclude_each_other() {
    excludes::<RawQspinlock<Loom>>(4, 1, Some(1));
}

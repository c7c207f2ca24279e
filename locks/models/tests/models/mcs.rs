use lockwright::mcs::{Mcs, Node};

use crate::exclusion::{Exclusive, exclusion_models};
use crate::world::Loom;

impl Exclusive for Mcs<Loom> {
    fn new() -> Self {
        Self::new_in()
    }

    fn locked(&self, section: impl FnOnce()) {
        let node = Node::new();
        // SAFETY: it stays here until the unlock.
        unsafe { self.lock(&node) };
        section();
        // SAFETY: this thread took `self` with `node` above and still holds it.
        unsafe { self.unlock(&node) };
    }

    fn try_locked(&self, section: impl FnOnce()) -> bool {
        let node = Node::new();
        // SAFETY: it stays here until the unlock.
        let taken = unsafe { self.try_lock(&node) };
        if taken {
            section();
            // SAFETY: `try_lock` took `self` with `node` for this thread, which still holds it.
            unsafe { self.unlock(&node) };
        }
        taken
    }
}

exclusion_models!(Mcs<Loom>);

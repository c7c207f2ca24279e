use std::sync::Arc;

use lockwright::semaphore::RawSemaphore;
use loom::thread;

use crate::exclusion::{Exclusive, exclusion_models};
use crate::world::{self, Loom};

impl Exclusive for RawSemaphore<Loom> {
    fn new() -> Self {
        Self::new_in(1)
    }

    fn locked(&self, section: impl FnOnce()) {
        self.down();
        section();
        self.up();
    }

    fn try_locked(&self, section: impl FnOnce()) -> bool {
        let taken = self.try_down();
        if taken {
            section();
            self.up();
        }
        taken
    }
}

exclusion_models!(RawSemaphore<Loom>);

/// Whether the deadline comes before or after the hand-over, nothing is lost and nothing is taken
/// twice.
#[test]
fn a_deadline_races_with_up() {
    world::check(None, || {
        let semaphore = Arc::new(RawSemaphore::<Loom>::new_in(0));
        let other = {
            let semaphore = Arc::clone(&semaphore);
            thread::spawn(move || semaphore.up())
        };
        let had = semaphore.down_until(Some(0));
        other.join().unwrap();
        assert_ne!(semaphore.try_down(), had);
    });
}

#[test]
fn who_has_gone_down_may_free_it() {
    for deadline in [None, Some(0)] {
        world::check(None, move || {
            let semaphore = &*Box::leak(Box::new(RawSemaphore::<Loom>::new_in(0)));
            let other = thread::spawn(move || semaphore.up());
            if semaphore.down_until(deadline) {
                world::free(semaphore);
            }
            other.join().unwrap();
        });
    }
}

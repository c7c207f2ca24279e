use std::sync::Arc;

use lockwright::bkl::RawBkl;
use lockwright::tas::RawTas;
use loom::thread;

use crate::exclusion::{Counter, Exclusive, exclusion_models};
use crate::world::{self, Loom};

type Big<L> = RawBkl<Loom, L>;

impl<L: lockwright::exclusive::Exclusive + 'static> Exclusive for Big<L> {
    fn new() -> Self {
        Self::new_in()
    }

    fn locked(&self, section: impl FnOnce()) {
        self.lock();
        self.lock();
        section();
        // SAFETY: this thread called `lock` twice above and has released neither.
        unsafe {
            self.unlock();
            self.unlock();
        }
    }

    fn try_locked(&self, section: impl FnOnce()) -> bool {
        let taken = self.try_lock();
        if taken {
            section();
            // SAFETY: this thread took `self` with `try_lock` above and still holds it.
            unsafe { self.unlock() };
        }
        taken
    }
}

mod spinlock {
    use super::*;
    exclusion_models!(Big<RawTas<Loom>>);
}

mod semaphore {
    use lockwright::semaphore::RawBinary;

    use super::*;
    exclusion_models!(Big<RawBinary<Loom>>);
}

/// Others have the lock during a sleep, not before and not after it, and the depth stays.
#[test]
fn a_sleep_gives_it_away_and_takes_it_back() {
    world::check(Some(3), || {
        let shared = Arc::new((Big::<RawTas<Loom>>::new_in(), Counter::default()));
        let work = |shared: &(Big<RawTas<Loom>>, Counter)| {
            let (bkl, count) = shared;
            bkl.lock();
            bkl.lock();
            count.increment();
            bkl.schedule(|| assert_eq!(bkl.depth(), None));
            count.increment();
            assert_eq!(bkl.depth(), Some(1));
            // SAFETY: this thread called `lock` twice above, and `schedule` gave back both.
            unsafe {
                bkl.unlock();
                bkl.unlock();
            }
            assert_eq!(bkl.depth(), None);
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || work(&shared))
        };
        work(&shared);
        other.join().unwrap();
        assert_eq!(shared.1.read(), 4);
    });
}

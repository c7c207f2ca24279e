//! The big kernel lock with real threads.

use std::panic::Location;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use lockwright::bkl::RawBkl;
use lockwright::exclusive::Exclusive;
use lockwright::platform::linux::Linux;
use lockwright::semaphore::RawBinary;
use lockwright::ticket::RawTicket;

fn retaken_with_its_depth<L: Exclusive>() {
    let bkl = RawBkl::<Linux, L>::new_in();
    let (ask, asked) = channel();
    let (answer, answered) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for () in asked {
                let had = bkl.try_lock();
                if had {
                    // SAFETY: this thread took `bkl` with `try_lock` above and still holds it.
                    unsafe { bkl.unlock() };
                }
                answer.send(had).unwrap();
            }
        });
        let other_can_have_it = || {
            ask.send(()).unwrap();
            answered.recv().unwrap()
        };
        for _ in 0..3 {
            bkl.lock();
        }
        assert_eq!(bkl.depth(), Some(2));
        assert!(!other_can_have_it());
        assert!(bkl.schedule(other_can_have_it), "kept while its owner sleeps");
        assert_eq!(bkl.depth(), Some(2));
        assert!(!other_can_have_it(), "not taken again");
        // SAFETY: this thread called `lock` three times above, and `schedule` gave back all three.
        unsafe {
            bkl.unlock();
            bkl.unlock();
            assert!(!other_can_have_it(), "free, though one level is left");
            bkl.unlock();
        }
        assert_eq!(bkl.depth(), None);
        assert!(other_can_have_it());
        assert!(bkl.schedule(other_can_have_it), "taken by who did not have it");
        assert!(!bkl.is_locked());
        drop(ask);
    });
}

#[test]
fn the_spinlock_is_retaken_at_a_schedule_point_with_its_depth() {
    retaken_with_its_depth::<RawTicket<Linux>>();
}

#[test]
fn the_semaphore_is_retaken_at_a_schedule_point_with_its_depth() {
    retaken_with_its_depth::<RawBinary<Linux>>();
}

#[test]
fn a_sleep_that_panics_takes_it_back() {
    let bkl = RawBkl::<Linux, RawTicket<Linux>>::new_in();
    bkl.lock();
    let sleep = || bkl.schedule(|| std::panic::resume_unwind(Box::new(())));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(sleep)).unwrap_err();
    assert_eq!(bkl.depth(), Some(0));
    // SAFETY: this thread took `bkl` with `lock` above and still holds it.
    unsafe { bkl.unlock() };
}

/// A lock that remembers who took it.
struct Witness {
    raw: RawTicket<Linux>,
    seen: Mutex<Vec<u32>>,
}

// SAFETY: it is a ticket lock that also notes its callers, and that does not change who holds it.
unsafe impl Exclusive for Witness {
    const SPINS: bool = true;

    fn new() -> Self {
        Self { raw: RawTicket::new(), seen: Mutex::default() }
    }
    fn lock(&self) {
        self.seen.lock().unwrap().push(Location::caller().line());
        self.raw.lock();
    }
    fn try_lock(&self) -> bool {
        self.raw.try_lock()
    }
    /// # Safety
    /// The contract is that of `Exclusive::unlock`.
    unsafe fn unlock(&self) {
        // SAFETY: by the trait's contract the calling thread holds this lock, and so `raw`.
        unsafe { self.raw.unlock() }
    }
    fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }
}

#[test]
fn a_reacquisition_is_a_call_site_of_its_own() {
    static BKL: std::sync::LazyLock<RawBkl<Linux, Witness>> =
        std::sync::LazyLock::new(RawBkl::new_in);
    let first = line!() + 1;
    BKL.lock();
    BKL.lock();
    let again = line!() + 1;
    BKL.schedule(|| ());
    // SAFETY: this thread called `lock` twice above, and `schedule` gave back both.
    unsafe {
        BKL.unlock();
        BKL.unlock();
    }
    assert_eq!(BKL.raw().seen.lock().unwrap().as_slice(), [first, again]);
}

//! Writers of the rwsem do not starve among readers that overlap, on a platform whose clock and
//! patience are the test's.

#![cfg(feature = "std")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use lockwright::event::{Counted, Event, Events};
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;
use lockwright::rwsem::RawRwSem;

mod platform;

use platform::as_linux;

/// Linux with a clock that advances each time it is read; a spinner gives up only when that clock
/// says so.
#[derive(Debug)]
struct Patient;

static NOW: AtomicU64 = AtomicU64::new(0);

impl Platform for Patient {
    as_linux!();

    fn need_resched(_rounds: u32) -> bool {
        false
    }
    /// 100 us a look.
    fn now() -> u64 {
        NOW.fetch_add(100_000, Ordering::SeqCst)
    }
}

type Sem = RawRwSem<Counted<Patient>>;

fn count(event: Event) -> usize {
    Events::of::<Patient>().get(event)
}

fn up_read(sem: &Sem) {
    // SAFETY: the test releases what it holds.
    unsafe { sem.up_read() };
}

/// Readers hold the lock for longer than a writer spins on them, which it notes in the owner field;
/// then it sleeps. Readers that come from then on do not join those before it, one relieving the
/// other for ever.
#[test]
fn a_writer_does_not_starve_among_overlapping_readers() {
    let sem = &Sem::new_in();
    sem.down_read();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            sem.down_write();
            // SAFETY: this thread took `sem` with `down_write` above and still holds it.
            unsafe { sem.up_write() };
        });
        // The event of a writer that has found readers not worth spinning on.
        while count(Event::RwsemOptNospin) == 0 || count(Event::RwsemSleepWriter) == 0 {
            thread::yield_now();
        }
        assert!(!writer.is_finished());
        // A reader that has no time to wait gets the lock by overtaking the writer, or not at all.
        let overtaken = (0..100).filter(|_| sem.down_read_until(Some(0))).count();
        (0..overtaken).for_each(|_| up_read(sem));
        up_read(sem);
        writer.join().unwrap();
        assert_eq!(overtaken, 0, "readers join readers ahead of the writer");
        assert_eq!(count(Event::RwsemRlockSteal), 0);
    });
    assert!(!sem.is_locked() && !sem.is_contended());
}

//! A spinlock of one's own that tells lockwright what it does, in a program without a single
//! pthread lock.
//!
//!     cargo build --example spinlock
//!     lockwright check -- target/debug/examples/spinlock
//!
//! Two threads take the two locks in both orders, though never at the same time: the report says
//! what may come of it one day. With the argument `deadlock` it does happen.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::thread;

use lockwright::annotate::{self, Flags, Lock};

/// A test-and-set lock.
struct Spin {
    told: Lock,
    taken: AtomicBool,
}

struct Guard<'a>(&'a Spin);

impl Spin {
    const fn new() -> Self {
        Self { told: Lock::new(), taken: AtomicBool::new(false) }
    }

    fn lock(&self) -> Guard<'_> {
        self.told.acquire(Flags::EXCLUSIVE);
        if self.taken.swap(true, Acquire) {
            self.told.contended();
            while self.taken.swap(true, Acquire) {
                while self.taken.load(Relaxed) {
                    thread::yield_now();
                    spin_loop();
                }
            }
        }
        self.told.acquired();
        Guard(self)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.told.release();
        self.0.taken.store(false, Release);
    }
}

static ACCOUNTS: Spin = Spin::new();
static JOURNAL: Spin = Spin::new();

/// Counts threads as they come to a point; nothing that the tool would take for an order between
/// them.
struct Meeting(AtomicU32);

impl Meeting {
    fn arrive_and_await(&self, others: u32) {
        self.0.fetch_add(1, AcqRel);
        while self.0.load(Acquire) < others {
            thread::yield_now();
        }
    }
}

fn main() {
    let deadlock = std::env::args().nth(1).as_deref() == Some("deadlock");
    annotate::set_name(&ACCOUNTS.told, "accounts");
    annotate::set_name(&JOURNAL.told, "journal");
    static FIRST: Meeting = Meeting(AtomicU32::new(0));
    static DONE: Meeting = Meeting(AtomicU32::new(0));

    let transfer = thread::Builder::new().name("transfer".into()).spawn(move || {
        let _accounts = ACCOUNTS.lock();
        FIRST.arrive_and_await(if deadlock { 2 } else { 1 });
        let _journal = JOURNAL.lock();
    });
    let audit = thread::Builder::new().name("audit".into()).spawn(move || {
        if !deadlock {
            DONE.arrive_and_await(2);
        }
        let _journal = JOURNAL.lock();
        FIRST.arrive_and_await(2);
        let _accounts = ACCOUNTS.lock();
    });
    transfer.expect("a thread").join().expect("no panic");
    DONE.arrive_and_await(1);
    audit.expect("a thread").join().expect("no panic");
    println!("the end");
}

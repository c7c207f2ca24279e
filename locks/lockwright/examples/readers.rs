//! Reader-writer locks that one thread reads twice, and another writes at another time. Where new
//! readers wait behind a writer that waits, the two wait for each other if the writer comes between.
//!
//!     cargo build --example readers
//!     lockwright check -- target/debug/examples/readers twice
//!
//! `twice`: a `lockwright::sync::RwLock`. `once`: one reading after the other. `tried`: the second
//! does not wait. `parked`: parking_lot's lock, twice. `recursive`: its lock whose readers go ahead of
//! writers that wait, twice.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use lockwright::annotate;
use lockwright::sync::RwLock;
use lockwright::traced::{Traced, TracedFair};
use parking_lot::{RawRwLock, RawRwLockRecursive};

static PRICES: RwLock<u32> = RwLock::new(1);
static PARKED: lock_api::RwLock<TracedFair<RawRwLock>, u32> = lock_api::RwLock::new(1);
static RECURSIVE: lock_api::RwLock<Traced<RawRwLockRecursive>, u32> = lock_api::RwLock::new(1);

#[inline(never)]
fn price() -> u32 {
    *PRICES.read().unwrap()
}

#[inline(never)]
fn total() -> u32 {
    let prices = PRICES.read().unwrap();
    *prices + price()
}

fn reads(how: &str) -> u32 {
    match how {
        "twice" => total(),
        "once" => price() + price(),
        "tried" => *PRICES.read().unwrap() + *PRICES.try_read().expect("nobody writes"),
        "parked" => *PARKED.read() + *PARKED.read(),
        "recursive" => *RECURSIVE.read() + *RECURSIVE.read(),
        _ => panic!("twice, once, tried, parked or recursive?"),
    }
}

fn writes() {
    *PRICES.write().unwrap() += 1;
    *PARKED.write() += 1;
    *RECURSIVE.write() += 1;
}

/// The two threads are there at the same time, or the tool would see that they cannot meet.
fn main() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let how = std::env::args().nth(1).unwrap_or_default();
    annotate::set_name(&PRICES, "prices");
    let writer = thread::Builder::new().name("writer".into()).spawn(|| {
        while !DONE.load(Relaxed) {
            thread::yield_now();
        }
        writes();
    });
    let sum = reads(&how);
    DONE.store(true, Relaxed);
    writer.expect("a thread").join().expect("no panic");
    assert_eq!(sum, 2);
}

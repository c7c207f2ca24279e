//! Waits for a mutex of parking_lot whose number is known: the holder gives it up only when the
//! other thread has gone to sleep for it.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use parking_lot::{Mutex, MutexGuard};

const ROUNDS: u32 = 50;

static SHARED: Mutex<u32> = Mutex::new(0);
static TID: AtomicU32 = AtomicU32::new(0);
static GIVEN_UP: AtomicU32 = AtomicU32::new(0);
/// The round that the other thread is to wait in, and that it has done.
static ROUND: AtomicU32 = AtomicU32::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);

fn tid() -> u32 {
    let link = fs::read_link("/proc/thread-self").expect("proc");
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// Waits until the thread sleeps in a futex call: it makes no other than for the mutex.
fn await_asleep(tid: u32) {
    loop {
        let call = fs::read_to_string(format!("/proc/self/task/{tid}/syscall")).expect("proc");
        if call.starts_with("202 ") {
            return;
        }
        thread::yield_now();
    }
}

#[inline(never)]
fn wants() {
    *SHARED.lock() += 1;
}

#[inline(never)]
fn gives_up(guard: MutexGuard<'_, u32>) {
    drop(guard);
    // After which there is more to do: so the call is not its last, and the frame is there.
    GIVEN_UP.fetch_add(1, SeqCst);
}

fn main() {
    let other = thread::spawn(|| {
        TID.store(tid(), SeqCst);
        for round in 1..=ROUNDS {
            while ROUND.load(SeqCst) < round {
                thread::yield_now();
            }
            wants();
            DONE.store(round, SeqCst);
        }
    });
    while TID.load(SeqCst) == 0 {
        thread::yield_now();
    }
    for round in 1..=ROUNDS {
        let guard = SHARED.lock();
        ROUND.store(round, SeqCst);
        await_asleep(TID.load(SeqCst));
        gives_up(guard);
        while DONE.load(SeqCst) < round {
            thread::yield_now();
        }
    }
    other.join().unwrap();
    println!("{}", SHARED.lock());
}

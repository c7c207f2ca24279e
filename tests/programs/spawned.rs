//! Two mutexes of the C library in both orders, in closures that `thread::spawn` runs.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

unsafe extern "C" {
    fn pthread_mutex_lock(mutex: *mut [u64; 5]) -> i32;
    fn pthread_mutex_unlock(mutex: *mut [u64; 5]) -> i32;
}

struct Lock(UnsafeCell<[u64; 5]>);

// SAFETY: only the C library looks into it.
unsafe impl Sync for Lock {}

static FIRST: Lock = Lock(UnsafeCell::new([0; 5]));
static SECOND: Lock = Lock(UnsafeCell::new([0; 5]));
static TURN: AtomicU32 = AtomicU32::new(0);

fn await_turn(mine: u32) {
    while TURN.load(Ordering::Relaxed) != mine {
        thread::yield_now();
    }
}

#[inline(never)]
fn nest<T>(outer: &Lock, inner: &Lock, what: T) -> T {
    // SAFETY: zeroes are an unlocked mutex, and it is never moved.
    unsafe {
        pthread_mutex_lock(outer.0.get());
        pthread_mutex_lock(inner.0.get());
        pthread_mutex_unlock(inner.0.get());
        pthread_mutex_unlock(outer.0.get());
    }
    what
}

fn main() {
    let one = thread::spawn(|| {
        nest(&FIRST, &SECOND, 1u32);
        TURN.store(1, Ordering::Relaxed);
        await_turn(2);
    });
    let two = thread::spawn(|| {
        await_turn(1);
        nest(&SECOND, &FIRST, 1u32);
        TURN.store(2, Ordering::Relaxed);
    });
    one.join().unwrap();
    two.join().unwrap();
}

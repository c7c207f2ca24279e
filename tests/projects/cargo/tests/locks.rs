//! Locks of the C library's: those of std are futexes of its own.

use std::cell::UnsafeCell;
use std::ffi::c_int;

/// Zeros are a mutex that nobody holds.
#[repr(C, align(16))]
struct Mutex(UnsafeCell<[u8; 64]>);

// SAFETY: it is for threads to share.
unsafe impl Sync for Mutex {}

unsafe extern "C" {
    fn pthread_mutex_lock(mutex: *const Mutex) -> c_int;
    fn pthread_mutex_unlock(mutex: *const Mutex) -> c_int;
}

static STOCK: Mutex = Mutex(UnsafeCell::new([0; 64]));
static ORDERS: Mutex = Mutex(UnsafeCell::new([0; 64]));

fn take(first: &Mutex, second: &Mutex) {
    // SAFETY: mutexes, and statics stay where they are.
    unsafe {
        pthread_mutex_lock(first);
        pthread_mutex_lock(second);
        pthread_mutex_unlock(second);
        pthread_mutex_unlock(first);
    }
}

#[test]
fn selling_takes_both_locks_in_both_orders() {
    // The two take turns, by what lockwright does not know: so the test always ends.
    let (tell, told) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || {
        told.recv().unwrap();
        take(&ORDERS, &STOCK);
    });
    take(&STOCK, &ORDERS);
    tell.send(()).unwrap();
    other.join().unwrap();
}

#[test]
fn counting_takes_one_lock() {
    // SAFETY: the mutex is a static, which is initialised and never moves.
    unsafe {
        pthread_mutex_lock(&STOCK);
        pthread_mutex_unlock(&STOCK);
    }
}

//! Two threads take two mutexes of std in opposite orders, and hang. Their words do not name the
//! holder.

use std::sync::{Barrier, Mutex};
use std::thread;

static LEFT: Mutex<u32> = Mutex::new(0);
static RIGHT: Mutex<u32> = Mutex::new(0);

fn both(first: &Mutex<u32>, second: &Mutex<u32>, both_hold: &Barrier) -> u32 {
    let first = first.lock().unwrap();
    both_hold.wait();
    *first + *second.lock().unwrap()
}

fn main() {
    let both_hold = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| both(&LEFT, &RIGHT, &both_hold));
        scope.spawn(|| both(&RIGHT, &LEFT, &both_hold));
    });
}

//! rustc 1.95 loses this at opt-level 2 and 3: the subtraction of a comparison that is also
//! returned. Exits with 0 if it is compiled right.

use std::sync::atomic::{AtomicU32, Ordering::Release};

#[inline]
fn take(count: &mut u32) -> bool {
    let free = *count != 0;
    *count -= u32::from(free);
    free
}

#[inline(never)]
fn down(lock: &AtomicU32, count: &mut u32, sleep: fn()) -> bool {
    if take(count) {
        lock.store(0, Release);
        return true;
    }
    lock.store(0, Release);
    sleep();
    false
}

fn main() {
    let mut count = std::hint::black_box(1);
    let taken = down(&AtomicU32::new(1), &mut count, || ());
    std::process::exit(i32::from(!taken || count != 0));
}

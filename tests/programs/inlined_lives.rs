//! Lives of inlined locks: on stacks of threads that have ended, in memory that is used again, over a fork, and under a handler that
//! unwinds. The first argument says which.

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
    fn signal(number: i32, handler: usize) -> usize;
    fn setitimer(which: i32, new: *const [i64; 4], old: *mut [i64; 4]) -> i32;
    fn backtrace(buffer: *mut *mut u8, size: i32) -> i32;
}

static SHARED: Mutex<u64> = Mutex::new(0);
static FRAMES: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
fn nest(outer: &Mutex<u64>, inner: &Mutex<u64>) -> u64 {
    let outer = outer.lock().unwrap();
    *outer + *inner.lock().unwrap()
}

/// Each thread has two mutexes of its own, and takes them in an order of its own.
#[inline(never)]
fn own_pair(is_turned: bool) -> u64 {
    let pair = [Mutex::new(1), Mutex::new(2)];
    if is_turned { nest(&pair[1], &pair[0]) } else { nest(&pair[0], &pair[1]) }
}

fn stacks() {
    for is_turned in [false, true, false, true] {
        // Not joined: nothing orders one thread before the next as far as anybody sees. The next has the stack of this one.
        drop(thread::spawn(move || own_pair(is_turned)));
        while std::fs::read_dir("/proc/self/task").unwrap().count() > 1 {
            thread::yield_now();
        }
    }
}

/// Takes a lock thrice at one place, with nothing held. The loop is one: its number of turns is not known.
#[inline(never)]
fn thrice(lock: &Mutex<u64>) {
    (0..black_box(3)).for_each(|_| *black_box(lock).lock().unwrap() += 1);
}

/// A hundred locks have the same memory, one after the other, and are taken at the same place.
fn reborn() {
    (0..100).for_each(|_| thrice(&Box::new(Mutex::new(0))));
}

/// One lock is taken as often.
fn kept() {
    let lock = Box::new(Mutex::new(0));
    (0..100).for_each(|_| thrice(&lock));
}

fn forks() {
    let guard = SHARED.lock().unwrap();
    // SAFETY: the child has one thread, as its parent has.
    let child = unsafe { fork() };
    drop(guard);
    *SHARED.lock().unwrap() += 1;
    if child == 0 {
        // SAFETY: ends the child.
        unsafe { _exit(0) };
    }
    let mut status = 0;
    // SAFETY: the kernel writes to `status`.
    unsafe { waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
}

extern "C" fn look(_: i32) {
    let mut frames = [std::ptr::null_mut(); 64];
    // SAFETY: room for as many.
    let n = unsafe { backtrace(frames.as_mut_ptr(), 64) };
    FRAMES.fetch_add(n as u64, Relaxed);
}

fn profile() {
    const SIGPROF: i32 = 27;
    const ITIMER_PROF: i32 = 2;
    look(0);
    let every_millisecond = [0, 1_000, 0, 1_000];
    // SAFETY: a handler, and a timer that has it called.
    unsafe {
        signal(SIGPROF, look as extern "C" fn(i32) as usize);
        setitimer(ITIMER_PROF, &every_millisecond, std::ptr::null_mut());
    }
    let before = FRAMES.load(Relaxed);
    while FRAMES.load(Relaxed) < before + 5_000 {
        for _ in 0..10_000 {
            *SHARED.lock().unwrap() += 1;
        }
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("stacks") => stacks(),
        Some("fork") => forks(),
        Some("profile") => profile(),
        Some("reborn") => reborn(),
        Some("kept") => kept(),
        other => panic!("{other:?}"),
    }
    println!("done");
}

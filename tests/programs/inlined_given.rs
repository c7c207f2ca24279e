//! A guard that another thread drops, as parking_lot's may be with its feature `send_guard`: a thread takes JOURNAL and gives its guard to a
//! dropper. What follows is one order of JOURNAL and ACCOUNTS, and the same thread, or the one that deposits, takes the other.
//!
//! These cannot deadlock. `after`: the thread takes ACCOUNTS when the guard is dropped. `meanwhile`: it does so when it has given the
//! guard away, and the dropper waits for nobody. `ended`: it has ended before the guard is dropped.
//!
//! This can. `kept`: after a guard is dropped so, another function takes JOURNAL and ACCOUNTS, and keeps both.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard};
use std::thread;

static ACCOUNTS: Mutex<u64> = Mutex::new(0);
static JOURNAL: Mutex<u64> = Mutex::new(0);
/// The guard may be dropped; it is dropped; the first thread is done.
static MAY_DROP: AtomicBool = AtomicBool::new(false);
static IS_DROPPED: AtomicBool = AtomicBool::new(false);
static IS_DONE: AtomicBool = AtomicBool::new(false);

struct Given(MutexGuard<'static, u64>);

// SAFETY: the mutex of a futex does not care which thread releases it.
unsafe impl Send for Given {}

fn until(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        spin_loop();
        thread::yield_now();
    }
}

#[inline(never)]
fn drops(guards: Receiver<Given>) {
    let guard = guards.recv().unwrap();
    until(&MAY_DROP);
    drop(guard.0);
    IS_DROPPED.store(true, SeqCst);
}

#[inline(never)]
fn count() {
    *ACCOUNTS.lock().unwrap() += 1;
}

#[inline(never)]
fn withdraw() {
    let mut journal = JOURNAL.lock().unwrap();
    *ACCOUNTS.lock().unwrap() -= 1;
    *journal += 1;
}

#[inline(never)]
fn deposit() {
    let mut accounts = ACCOUNTS.lock().unwrap();
    *JOURNAL.lock().unwrap() += 1;
    *accounts += 1;
}

fn main() {
    let how = std::env::args().nth(1).expect("how");
    let (give, guards) = channel();
    let dropper = thread::spawn(move || drops(guards));
    let first = {
        let how = how.clone();
        thread::spawn(move || {
            give.send(Given(JOURNAL.lock().unwrap())).unwrap();
            MAY_DROP.store(how == "after" || how == "kept", SeqCst);
            match how.as_str() {
                "after" | "kept" => until(&IS_DROPPED),
                _ => {}
            }
            match how.as_str() {
                "after" | "meanwhile" => count(),
                "kept" => withdraw(),
                _ => {}
            }
            MAY_DROP.store(how != "ended", SeqCst);
            IS_DONE.store(true, SeqCst);
        })
    };
    let second = {
        thread::spawn(move || {
            until(&IS_DONE);
            until(&IS_DROPPED);
            deposit();
        })
    };
    first.join().unwrap();
    MAY_DROP.store(true, SeqCst);
    dropper.join().unwrap();
    second.join().unwrap();
}

//! A thread of `std::thread::scope` takes JOURNAL and then ACCOUNTS. Main takes them in the other order: `after` the scope, `before`
//! it, or `inside` it, when the thread is about to end but has not been waited for. `nested`: after the scope, and the thread is one
//! of a scope within it. `plain`: the thread is not scoped, and nobody joins it.
//!
//! `turns`: a thread of a later scope takes main's part. `later`: a thread that is created after the scope does, and is not scoped.
//!
//! These can deadlock, though main takes them outside a scope, too. `both`: at the same place before the scope and inside it.
//! `unscoped`: the thread is created inside, but is not the scope's. `outer`: a thread of the scope creates it while it is in a scope of
//! its own, as one of the outer scope, and takes main's part after its own. `together`: another thread of the same scope takes main's part.
//! `earlier`: a thread that was created before the scope does, and `within`: in a scope within the scope. `at_end`: the thread takes them
//! in a destructor of a variable of its own, for which the scope does not wait.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

static ACCOUNTS: Mutex<u64> = Mutex::new(0);
static JOURNAL: Mutex<u64> = Mutex::new(0);
static DONE: AtomicBool = AtomicBool::new(false);
static DEPOSITED: AtomicBool = AtomicBool::new(false);

#[inline(never)]
fn withdraw() {
    let mut journal = JOURNAL.lock().unwrap();
    *ACCOUNTS.lock().unwrap() -= 1;
    *journal += 1;
    drop(journal);
    DONE.store(true, SeqCst);
}

#[inline(never)]
fn deposit() {
    let mut accounts = ACCOUNTS.lock().unwrap();
    *JOURNAL.lock().unwrap() += 1;
    *accounts += 1;
}

#[inline(never)]
fn deposit_then() {
    await_done();
    deposit();
    DEPOSITED.store(true, SeqCst);
}

struct AtEnd;

impl Drop for AtEnd {
    fn drop(&mut self) {
        withdraw();
    }
}

thread_local! {
    static AT_END: AtEnd = const { AtEnd };
}

fn await_done() {
    while !DONE.load(SeqCst) {
        thread::yield_now();
    }
}

fn main() {
    *ACCOUNTS.lock().unwrap() = 10;
    let how = std::env::args().nth(1).expect("how");
    if how == "before" {
        deposit();
    }
    if how == "both" {
        // The first time, nobody else knows the locks.
        (0..2).for_each(|_| deposit());
    }
    if how == "earlier" {
        let _ = thread::spawn(deposit_then);
    }
    if how == "plain" {
        let _ = thread::spawn(withdraw);
        await_done();
    } else {
        thread::scope(|scope| {
            if how == "nested" {
                scope.spawn(|| thread::scope(|inner| drop(inner.spawn(withdraw))));
            } else if how == "unscoped" {
                let _ = thread::spawn(withdraw);
            } else if how == "outer" {
                scope.spawn(move || {
                    thread::scope(|_| drop(scope.spawn(withdraw)));
                    await_done();
                    deposit();
                });
            } else if how == "at_end" {
                scope.spawn(|| AT_END.with(|_| ()));
            } else {
                scope.spawn(withdraw);
            }
            if how == "together" {
                scope.spawn(deposit_then);
            }
            if how == "within" {
                thread::scope(|inner| drop(inner.spawn(deposit_then)));
            }
            if matches!(how.as_str(), "inside" | "both") {
                await_done();
                deposit();
            }
        });
    }
    if how == "turns" {
        thread::scope(|scope| drop(scope.spawn(deposit_then)));
    }
    if how == "later" {
        let _ = thread::spawn(deposit_then).join();
    }
    if how == "earlier" {
        while !DEPOSITED.load(SeqCst) {
            thread::yield_now();
        }
    }
    if matches!(how.as_str(), "after" | "nested" | "plain" | "unscoped" | "at_end") {
        await_done();
        deposit();
    }
}

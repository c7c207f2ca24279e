//! Locks of each sort in both orders, by threads that take turns; with `ordered`, in one.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;

use parking_lot::{Condvar, FairMutex, Mutex, ReentrantMutex, RwLock, RwLockUpgradableReadGuard};

static FIRST: Mutex<u32> = Mutex::new(0);
static SECOND: Mutex<u32> = Mutex::new(0);
static TABLE: RwLock<u32> = RwLock::new(0);
static INDEX: RwLock<u32> = RwLock::new(0);
static FAIR: FairMutex<u32> = FairMutex::new(0);
static AGAIN: ReentrantMutex<u32> = ReentrantMutex::new(0);
static CHANGED: Condvar = Condvar::new();
static HAS_WAITED: AtomicBool = AtomicBool::new(false);

fn first_then_second() {
    let _first = FIRST.lock();
    *SECOND.lock() += 1;
}

fn second_then_first() {
    let _second = SECOND.lock();
    *FIRST.lock() += 1;
}

fn table_then_fair() {
    let table = TABLE.upgradable_read();
    let mut table = RwLockUpgradableReadGuard::upgrade(table);
    *table += 1;
    *FAIR.lock() += 1;
}

fn fair_then_table() {
    let _fair = FAIR.lock();
    assert!(*TABLE.read() < 100);
}

fn table_then_index() {
    let _table = TABLE.upgradable_read();
    assert!(*INDEX.upgradable_read() < 100);
}

fn index_then_table() {
    let _index = INDEX.upgradable_read();
    assert!(*TABLE.upgradable_read() < 100);
}

/// A reader lets an upgradable reader in.
fn index_then_reads_table() {
    let index = INDEX.upgradable_read();
    let _index = RwLockUpgradableReadGuard::downgrade(index);
    assert!(*TABLE.read_recursive() < 100);
}

fn again_then_table() {
    let _outer = AGAIN.lock();
    let _inner = AGAIN.lock();
    // A thread that reads again must say that it does.
    let _table = TABLE.read();
    assert!(*TABLE.read_recursive() < 100);
}

fn wait_for_first() {
    let mut first = FIRST.lock();
    CHANGED.wait_while(&mut first, |first| *first == 0);
    *SECOND.lock() += 1;
    drop(first);
    HAS_WAITED.store(true, SeqCst);
}

/// Else the two would meet where the waiter is woken late.
fn second_then_first_when_it_has_waited() {
    while !HAS_WAITED.load(SeqCst) {
        thread::yield_now();
    }
    second_then_first();
}

fn change() {
    *FIRST.lock() += 1;
    CHANGED.notify_all();
}

/// The second begins when the first is done, by nothing that says that it must be so.
fn run(one: fn(), other: fn()) {
    let turn = AtomicU32::new(0);
    let step = |me, what: fn()| {
        while turn.load(SeqCst) != me {
            thread::yield_now();
        }
        what();
        turn.store(me + 1, SeqCst);
    };
    thread::scope(|scope| {
        scope.spawn(|| step(0, one));
        scope.spawn(|| step(1, other));
    });
}

fn main() {
    let what = std::env::args().nth(1).unwrap_or_default();
    match what.as_str() {
        "mutexes" => run(first_then_second, second_then_first),
        "table" => run(table_then_fair, fair_then_table),
        "upgradable" => run(table_then_index, index_then_table),
        "read" => run(table_then_index, index_then_reads_table),
        "waits" => thread::scope(|scope| {
            scope.spawn(wait_for_first);
            run(change, second_then_first_when_it_has_waited);
        }),
        "ordered" => {
            run(first_then_second, first_then_second);
            run(table_then_fair, table_then_fair);
            run(again_then_table, again_then_table);
            run(change, wait_for_first);
        }
        _ => panic!("what?"),
    }
    // One at a time: else they are held together.
    let mut sum = *FIRST.lock();
    sum += *SECOND.lock();
    sum += *TABLE.read();
    sum += *FAIR.lock();
    println!("{what}: {sum}");
}

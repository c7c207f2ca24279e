//! parking_lot's locks, traced: the tool knows what it otherwise cannot see.
//!
//!     cargo build --example traced
//!     lockwright check -- target/debug/examples/traced orders
//!     lockwright meter -- target/debug/examples/traced times
//!
//! `orders`: two threads take two mutexes in both orders, one after the other. `times`: one thread
//! holds a mutex for which another waits; what they measured goes to stdout, as the least and the
//! most that it can have been. `readers`, `timeout`: what else there is to tell.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use lockwright::annotate;
use lockwright::traced::Traced;

type Mutex<T> = lock_api::Mutex<Traced<parking_lot::RawMutex>, T>;
type RwLock<T> = lock_api::RwLock<Traced<parking_lot::RawRwLock>, T>;

static ACCOUNTS: Mutex<u32> = Mutex::new(0);
static JOURNAL: Mutex<u32> = Mutex::new(0);
static INDEX: RwLock<u32> = RwLock::new(0);

/// Does it in a thread of its own, which is named after it.
fn in_thread<T: Send>(name: &str, f: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(name.into()).spawn_scoped(scope, f);
        thread.expect("a thread").join().expect("no panic")
    })
}

#[inline(never)]
fn transfer() {
    let mut accounts = ACCOUNTS.lock();
    *JOURNAL.lock() += 1;
    *accounts += 1;
}

#[inline(never)]
fn audit() {
    let journal = JOURNAL.lock();
    assert_eq!(*ACCOUNTS.lock(), *journal);
}

/// The two threads are there at the same time, or the tool would see that they cannot meet.
fn orders() {
    annotate::set_name(&JOURNAL, "journal");
    let done = &AtomicBool::new(false);
    thread::scope(|scope| {
        let audits = thread::Builder::new().name("audit".into()).spawn_scoped(scope, || {
            while !done.load(Relaxed) {
                thread::yield_now();
            }
            audit();
        });
        audits.expect("a thread");
        in_thread("transfer", || {
            transfer();
            done.store(true, Relaxed);
        });
    });
}

fn truth(name: &str, least: Duration, most: Duration) {
    println!("{name}={}\n{name}_around={}", least.as_nanos(), most.as_nanos());
}

static HOLDS: AtomicBool = AtomicBool::new(false);
/// Kernel thread id of the waiter, once it is about to wait.
static WAITER: AtomicU32 = AtomicU32::new(0);

/// The thread with this id sleeps.
fn is_asleep(tid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S"))
}

/// When the mutex was asked for, had, was waited for by the other thread, was about to be let go,
/// and was let go.
struct Hold {
    asked: Instant,
    had: Instant,
    awaited: Instant,
    leaves: Instant,
    left: Instant,
}

#[inline(never)]
fn holder() -> Hold {
    let asked = Instant::now();
    let accounts = ACCOUNTS.lock();
    let had = Instant::now();
    HOLDS.store(true, Relaxed);
    // However busy the machine is: the other thread does wait, and not just for the tool.
    let mut looks = 0;
    while looks < 20 {
        thread::sleep(Duration::from_millis(1));
        let tid = WAITER.load(Relaxed);
        looks = if tid != 0 && is_asleep(tid) { looks + 1 } else { 0 };
    }
    let awaited = Instant::now();
    thread::sleep(Duration::from_millis(50));
    let leaves = Instant::now();
    drop(accounts);
    Hold { asked, had, awaited, leaves, left: Instant::now() }
}

/// Returns when the thread asked for the mutex, and when it got it.
#[inline(never)]
fn waiter() -> (Instant, Instant) {
    while !HOLDS.load(Relaxed) {
        thread::yield_now();
    }
    // The name of this link is the thread's id.
    let own = std::fs::read_link("/proc/thread-self").expect("procfs");
    let own = own.file_name().and_then(|id| id.to_str()?.parse().ok()).expect("an id");
    let asked = Instant::now();
    WAITER.store(own, Relaxed);
    let _accounts = ACCOUNTS.lock();
    (asked, Instant::now())
}

#[inline(never)]
fn often() {
    for _ in 0..1000 {
        *JOURNAL.lock() += 1;
    }
}

fn times() {
    thread::scope(|scope| {
        let waits = scope.spawn(waiter);
        let hold = holder();
        let (asked, got) = waits.join().expect("no panic");
        truth("hold", hold.leaves - hold.had, hold.left - hold.asked);
        truth("wait", hold.leaves - hold.awaited, got - asked);
        truth("by_holder", hold.leaves - hold.awaited, hold.left - asked);
    });
    often();
}

#[inline(never)]
fn reads() -> u32 {
    let outer = INDEX.read();
    let inner = INDEX.try_read().expect("nobody writes");
    *outer + *inner
}

#[inline(never)]
fn writes() {
    let mut index = INDEX.write();
    *index += 1;
    let index = lock_api::RwLockWriteGuard::downgrade(index);
    assert_eq!(*index, 1);
}

#[inline(never)]
fn upgrades() {
    let index = INDEX.upgradable_read();
    let mut index = lock_api::RwLockUpgradableReadGuard::upgrade(index);
    *index += 1;
}

#[inline(never)]
fn gives_up() {
    assert!(ACCOUNTS.try_lock().is_none());
    assert!(ACCOUNTS.try_lock_for(Duration::from_millis(20)).is_none());
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("orders") => orders(),
        Some("times") => times(),
        Some("readers") => {
            writes();
            reads();
            upgrades();
        }
        Some("timeout") => {
            let _accounts = ACCOUNTS.lock();
            in_thread("impatient", gives_up);
        }
        _ => println!("orders, times, readers or timeout?"),
    }
}

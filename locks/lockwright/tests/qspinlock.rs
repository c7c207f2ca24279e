//! The queued spinlock in signal handlers: a waiter is interrupted, and the handler waits for
//! another lock.

use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use lockwright::event::{Counted, Event, Events};
use lockwright::platform::linux::Linux;
use lockwright::qspinlock::RawQspinlock;

type Lock = RawQspinlock<Counted<Linux>>;

static OUTER: LazyLock<Lock> = LazyLock::new(Lock::new_in);
static INNER: LazyLock<Lock> = LazyLock::new(Lock::new_in);
static HANDLED: AtomicBool = AtomicBool::new(false);

fn locked(lock: &Lock) {
    lock.lock();
    // SAFETY: this thread took `lock` with `lock` above and still holds it.
    unsafe { lock.unlock() };
}

extern "C" fn handler(_: libc::c_int) {
    locked(&INNER);
    HANDLED.store(true, SeqCst);
}

fn count(event: Event) -> usize {
    Events::of::<Counted<Linux>>().get(event)
}

fn until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_handler_that_waits_uses_the_second_node() {
    // SAFETY: the handler only spins on a lock that what it interrupts does not hold.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    OUTER.lock();
    INNER.lock();
    thread::scope(|scope| {
        // The pending ones, so that the next newcomer queues.
        scope.spawn(|| locked(&OUTER));
        scope.spawn(|| locked(&INNER));
        until(|| OUTER.is_contended() && INNER.is_contended());
        let id = std::sync::mpsc::channel();
        scope.spawn(move || {
            // SAFETY: `pthread_self` takes no arguments and only names the calling thread.
            id.0.send(unsafe { libc::pthread_self() }).unwrap();
            locked(&OUTER);
        });
        let waiter = id.1.recv().unwrap();
        until(|| count(Event::LockSlowpath) == 1);
        // It counts before it claims its node: a signal in between would find the first one free.
        thread::sleep(Duration::from_millis(20));
        // SAFETY: it waits, as we hold the lock.
        unsafe { libc::pthread_kill(waiter, libc::SIGUSR1) };
        until(|| count(Event::LockSlowpath) == 2);
        // SAFETY: this thread took `OUTER` and `INNER` above and still holds both.
        unsafe {
            OUTER.unlock();
            INNER.unlock();
        }
    });
    assert!(HANDLED.load(SeqCst));
    assert_eq!(count(Event::LockUseNode2), 1);
    assert_eq!(count(Event::LockPending), 2);
    assert!(!OUTER.is_locked() && !INNER.is_locked());
}

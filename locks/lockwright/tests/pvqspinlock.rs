//! The paravirtual spinlock under the events that it counts. Counts are of the process: one test at
//! a time.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lockwright::event::{Counted, Event, Events};
use lockwright::platform::linux::Linux;
use lockwright::pvqspinlock::{Hybrid, Mode, RawPvQspinlock, SingleSteal, Unfair};

type Lock<M> = RawPvQspinlock<Counted<Linux>, M>;

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn count(event: Event) -> usize {
    Events::of::<Counted<Linux>>().get(event)
}

fn await_more(event: Event, than: usize) {
    while count(event) <= than {
        thread::sleep(Duration::from_millis(1));
    }
}

/// A head that has halted is kicked by the unlock, and so is what has halted behind it.
fn halted_waiters_are_kicked<M: Mode>() {
    let _alone = alone();
    let lock = &Lock::<M>::new_in();
    let locked = || {
        lock.lock();
        // SAFETY: this thread took `lock` with `lock` above and still holds it.
        unsafe { lock.unlock() };
    };
    let halts = [Event::PvWaitHead, Event::PvWaitNode].map(count);
    let [slow, kicks, hops] =
        [Event::LockSlowpath, Event::PvKickUnlock, Event::PvHashHops].map(count);
    lock.lock();
    thread::scope(|scope| {
        scope.spawn(locked);
        await_more(Event::PvWaitHead, halts[0]);
        // Ahead of the queue or in it: another that waits.
        scope.spawn(locked);
        thread::sleep(Duration::from_millis(10));
        // SAFETY: this thread took `lock` with `lock` above and still holds it.
        unsafe { lock.unlock() };
    });
    assert!(!lock.is_locked());
    assert!(count(Event::LockSlowpath) > slow);
    assert!(count(Event::PvKickUnlock) > kicks);
    assert!(count(Event::PvHashHops) > hops);
}

#[test]
fn a_halted_waiter_is_kicked_if_hybrid() {
    halted_waiters_are_kicked::<Hybrid>();
}

#[test]
fn a_halted_waiter_is_kicked_if_stealing_once() {
    halted_waiters_are_kicked::<SingleSteal>();
}

/// Behind a head that has halted, a thread that may look only once queues; and halts at once, as
/// its predecessor does not run.
#[test]
fn who_queues_behind_a_halted_head_halts_early() {
    let _alone = alone();
    let lock = &Lock::<SingleSteal>::new_in();
    let locked = || {
        lock.lock();
        // SAFETY: this thread took `lock` with `lock` above and still holds it.
        unsafe { lock.unlock() };
    };
    let [heads, nodes, early] =
        [Event::PvWaitHead, Event::PvWaitNode, Event::PvWaitEarly].map(count);
    lock.lock();
    thread::scope(|scope| {
        scope.spawn(locked);
        await_more(Event::PvWaitHead, heads);
        scope.spawn(locked);
        await_more(Event::PvWaitNode, nodes);
        await_more(Event::PvWaitEarly, early);
        // SAFETY: this thread took `lock` with `lock` above and still holds it.
        unsafe { lock.unlock() };
    });
    assert!(!lock.is_locked());
}

/// The hybrid rule: with a queue whose head has halted, a newcomer waits outside and goes ahead.
#[test]
fn who_comes_goes_ahead_of_a_halted_head() {
    let _alone = alone();
    let lock = &Lock::<Hybrid>::new_in();
    let [heads, stolen] = [Event::PvWaitHead, Event::PvLockStealing].map(count);
    lock.lock();
    let over = &AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Relaxed) {
                lock.lock();
                // SAFETY: this thread took `lock` with `lock` above and still holds it.
                unsafe { lock.unlock() };
            }
        });
        await_more(Event::PvWaitHead, heads);
        while count(Event::PvLockStealing) <= stolen {
            // SAFETY: this thread took `lock` with `lock` above and still holds it.
            unsafe { lock.unlock() };
            // Usually before the other one has woken.
            lock.lock();
        }
        over.store(true, SeqCst);
        // SAFETY: this thread took `lock` with `lock` above and still holds it.
        unsafe { lock.unlock() };
    });
}

/// Without a queue, every acquisition in the slow path is stolen, and nobody halts.
#[test]
fn unfair_locks_have_no_queue() {
    let _alone = alone();
    let lock = &Lock::<Unfair>::new_in();
    let [stolen, slow, halts] =
        [Event::PvLockStealing, Event::LockSlowpath, Event::PvWaitHead].map(count);
    // Until one has come in time.
    while count(Event::PvLockStealing) == stolen {
        lock.lock();
        thread::scope(|scope| {
            scope.spawn(|| {
                lock.lock();
                // SAFETY: this thread took `lock` with `lock` above and still holds it.
                unsafe { lock.unlock() };
            });
            thread::sleep(Duration::from_millis(10));
            // SAFETY: this thread took `lock` with `lock` above and still holds it.
            unsafe { lock.unlock() };
        });
    }
    assert_eq!(count(Event::LockSlowpath), slow);
    assert_eq!(count(Event::PvWaitHead), halts);
    assert!(!lock.is_locked());
}

/// Where the kernel stops the machine: the unlock finds a byte that is neither of a held lock.
#[test]
fn an_unlock_without_a_lock_names_the_lock() {
    let lock = &RawPvQspinlock::<Linux>::new_in();
    lock.lock();
    // SAFETY: this thread took `lock` with `lock` above and still holds it.
    unsafe { lock.unlock() };
    // SAFETY: the lock is not held, as planted: nobody else uses it.
    let again = || unsafe { lock.unlock() };
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(again)).unwrap_err();
    let message = payload.downcast::<String>().expect("a message with an address");
    let address = format!("{:#x}", std::ptr::from_ref(lock).addr());
    assert!(message.contains(&address), "{message}");
}

//! Rows that several threads find and work on at once. Their asserts say little; the check `tsan`
//! runs them under ThreadSanitizer, which reports each access that races with another.

mod host;

use std::cell::UnsafeCell;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire as AcquireOrder, Relaxed, Release};
use std::thread;

use lockwright_engines::lockdep::{Acquire, Core, Ident, ThreadState};
use lockwright_engines::lockmeter::board::{Boards, Hold};
use lockwright_engines::lockmeter::{
    Call, LockMeter, MeterThread, Pending, Shares, key as cell_key,
};
use lockwright_engines::wakes::{Waker, Wakes};
use lockwright_ledger::rows::meter::Board;
use lockwright_ledger::rows::{Wake, mode};

use host::{Host, state};

const TIMES: u32 = 2000;

/// Under ThreadSanitizer this test must fail: the check `tsan` asks for it by name, to see that a
/// race would be found.
#[test]
#[ignore = "a planted race, for the check `tsan`"]
fn a_planted_race() {
    struct Shared(*mut u64);
    // SAFETY: none: this is the planted fault. Two threads write the word, unsynchronised.
    unsafe impl Sync for Shared {}
    impl Shared {
        fn write(&self) {
            // SAFETY: none: this is the planted fault. Two threads write the word, unsynchronised.
            unsafe { self.0.write_volatile(self.0.read_volatile() + 1) };
        }
    }
    let shared = Shared(Box::into_raw(Box::new(0)));
    let write = || (0..TIMES).for_each(|_| shared.write());
    thread::scope(|scope| {
        scope.spawn(write);
        scope.spawn(write);
    });
}

#[test]
fn waiters_and_wakers_of_one_word() {
    let wakes = Wakes::new();
    let row = Box::leak(Box::new(Wake { state: 1, addr: 0x1000, ..Wake::default() }));
    let row = &raw mut *row;
    // SAFETY: a fresh row, which is never freed.
    unsafe { wakes.add(0x1000, row) };
    let wait = || {
        for _ in 0..TIMES {
            if let Some(place) = wakes.enter(0x1000) {
                place.waker();
                place.leave();
            }
        }
    };
    let wake = || {
        for when_ns in 0..TIMES.into() {
            if let Some(waiter) = wakes.waited_for(0x1000)
                && let Some(told) = waiter.tell(&Waker { tid: 1, when_ns, ..Waker::default() })
                && when_ns % 2 == 0
            {
                told.take_back();
            }
        }
    };
    thread::scope(|scope| {
        // Joined by handle, as ThreadSanitizer does not see how a scope waits.
        let threads = [scope.spawn(wait), scope.spawn(wait), scope.spawn(wake)];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    // SAFETY: all threads have been joined.
    assert_eq!(unsafe { (*row).waiters }, 0);
}

#[test]
fn words_of_one_set_take_rows_from_each_other() {
    let wakes = Wakes::new();
    let first = (0u64..8).map(|_| {
        let row = Box::leak(Box::new(Wake { state: 1, ..Wake::default() }));
        &raw mut *row
    });
    // The set is full of rows that nobody waits at: each newcomer takes one over.
    // SAFETY: fresh rows, which are never freed.
    first.for_each(|row| unsafe { wakes.add(0x1000, row) });
    let same_set = |addr: &u64| !wakes.has_room(*addr);
    let addrs: Vec<_> = (0x1000u64..).step_by(8).filter(same_set).take(12).collect();
    let wakes = &wakes;
    thread::scope(|scope| {
        let enters = |thread: usize| {
            let addrs = &addrs;
            scope.spawn(move || {
                for i in 0..TIMES as usize {
                    let addr = addrs[(i * 5 + thread) % addrs.len()];
                    if let Some(place) = wakes.enter(addr) {
                        if let Some(waiter) = wakes.waited_for(addr) {
                            waiter.tell(&Waker { tid: thread as u32, ..Waker::default() });
                        }
                        place.leave();
                    }
                }
            })
        };
        let threads = [enters(0), enters(1), enters(2)];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn waiters_and_holders_at_one_board() {
    let boards = Boards::new();
    let boards = &boards;
    let hold = |now| Hold { addr: 0x1000, site: 1, since: now / 2, now, shared: false, tid: 1 };
    thread::scope(|scope| {
        let wait = || {
            scope.spawn(|| {
                for now in 0..TIMES.into() {
                    match boards.enter(0x1000, now) {
                        Some(place) => _ = boards.leave(&place, None),
                        None => {
                            let board = Box::leak(Box::new(Board { state: 1, ..Board::default() }));
                            // SAFETY: a fresh row, which is never freed.
                            let place = unsafe { boards.add(0x1000, now, board) };
                            _ = boards.leave(&place, None);
                        }
                    }
                }
            })
        };
        let charge = move || (0..TIMES.into()).for_each(|now| boards.charge(&hold(now)));
        let threads = [wait(), wait(), scope.spawn(charge)];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(!boards.is_waited_for(0x1000));
}

/// A value behind a lock whose words the sanitizer sees.
struct Locked<T> {
    is_locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is used with the lock held only.
unsafe impl<T> Sync for Locked<T> {}

impl<T> Locked<T> {
    fn new(value: T) -> Self {
        Self { is_locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        while self.is_locked.swap(true, AcquireOrder) {
            thread::yield_now();
        }
        // SAFETY: the lock is ours, and `f` cannot keep the reference.
        let result = f(unsafe { &mut *self.value.get() });
        self.is_locked.store(false, Release);
        result
    }
}

/// A thread's row, for the thread that it is meant for.
struct Own<T>(*mut T);

impl<T> Clone for Own<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Own<T> {}

// SAFETY: each is used by one thread, which is what the test is about.
unsafe impl<T> Send for Own<T> {}

impl<T> Own<T> {
    fn get(self) -> *mut T {
        self.0
    }
}

const ADDRS: [u64; 2] = [0x1000, 0x2000];

/// Acquires a lock as the host does, except for waiting for it.
fn lock(core: &Locked<Host>, thread: &mut ThreadState, which: usize, mode: u16) {
    let site = 7 + which as u64;
    let ident = core.with(|host| host.locks[which]);
    let acquire = Acquire { addr: ADDRS[which], ident, mode, site };
    loop {
        let mut probe = thread.probe(ident, mode, site);
        if !probe.is_hit() {
            probe = core.with(|host| host.core.enter(thread, &acquire, probe, &mut |_| 0));
        }
        thread.wait_begin(&acquire, probe.node());
        core.with(|host| host.core.find_deadlock(thread, false, 1));
        thread.wait_end();
        if thread.reserve(ident, mode, site, probe) {
            return thread.acquired(acquire.addr);
        }
        // Another thread has shut the stack.
        assert!(core.with(|host| host.core.grow_held(thread)));
    }
}

/// All that a thread does without the core's lock which writes what others look at.
fn locks_and_waits(core: &Locked<Host>, thread: &mut ThreadState) {
    let cond = Acquire { addr: 0x3000, ident: Ident::NONE, mode: mode::COND_WAIT, site: 9 };
    for i in 0..TIMES / 4 {
        lock(core, thread, 0, 0);
        if thread.recurse(ADDRS[0]) {
            thread.release(ADDRS[0]);
        }
        lock(core, thread, 1, 0);
        // Out of order: a gap, which is closed when the next lock is taken.
        thread.release(ADDRS[0]);
        thread.cond_release(ADDRS[1]);
        thread.wait_begin(&cond, 0);
        thread.wait_end();
        thread.cond_reacquired(ADDRS[1]);
        thread.mark_robust(i % 2 == 0);
        thread.is_obstacle(0);
        thread.release(ADDRS[1]);
        thread.set_blocked_signals(u64::from(i % 3));
        thread.set_open_signals(u64::from(i % 2) << 13);
    }
}

/// What one thread does with another's row, with the core's lock held.
fn looks_at_others(core: &Locked<Host>, own: &mut ThreadState, other: u32) {
    for i in 0..TIMES / 4 {
        core.with(|host| {
            let (ident, addr) = (host.locks[i as usize % 2], ADDRS[i as usize % 2]);
            let core: &mut Core = &mut host.core;
            core.thread_joins(other, own.id());
            core.holder_in(addr, addr + 1);
            core.held_by_others(own.id(), |_, held, _| assert!(held.is_held()));
            core.cond_waiter(0x3000, own.id());
            core.cond_waiter_elsewhere(0x3000, 1);
            core.find_barrier_deadlock(1);
            core.thread_name(other, b"other");
            core.thread_joins(other, 0);
            match i % 4 {
                0 => _ = core.released_by_other(addr, ident),
                1 => core.signals_changed(1 << (i % 64)),
                2 => _ = core.give_up(Some(&mut *own), addr),
                _ => core.thread_cancelled(other, own.id()),
            }
        });
        // Without that lock.
        // SAFETY: a row of a leaked ledger.
        let is_waiting = core.with(|host| host.core.thread(other)).map(|row| row.is_waiting());
        assert!(is_waiting.flatten().is_some());
    }
}

/// A thread takes and releases locks and waits, while another looks for deadlocks, unlocks what the
/// first holds, and changes which signals are open in it.
#[test]
fn a_thread_that_locks_and_one_that_looks_at_what_it_holds() {
    let mut host = Host::new();
    let [locker, looker] = [host.create(), host.create()].map(Own);
    let other = state(locker.get()).id();
    let core = &Locked::new(host);
    // SAFETY: handed to one thread below, and to no other.
    let locks = move || locks_and_waits(core, unsafe { &mut *locker.get() });
    // SAFETY: `looker` is handed to this one thread, and to no other.
    let looks = move || looks_at_others(core, unsafe { &mut *looker.get() }, other);
    thread::scope(|scope| {
        let threads = [scope.spawn(locks), scope.spawn(looks)];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Two threads take two locks in both orders, each walks along what the other waits for and holds.
#[test]
fn two_threads_that_look_for_a_deadlock_with_each_other() {
    let mut host = Host::new();
    let rows = [host.create(), host.create()].map(Own);
    let core = &Locked::new(host);
    let run = |which: usize| {
        let row = rows[which];
        move || {
            // SAFETY: handed to this thread and to no other.
            let thread = unsafe { &mut *row.get() };
            for _ in 0..TIMES / 4 {
                lock(core, thread, which, 0);
                lock(core, thread, 1 - which, 0);
                thread.release(ADDRS[1 - which]);
                thread.release(ADDRS[which]);
            }
        }
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(run(0)), scope.spawn(run(1))];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Rows of threads that have ended become those of others, while a third has an old row's address.
#[test]
fn rows_that_are_removed_and_used_again_while_another_thread_looks() {
    let mut host = Host::new();
    host.core.reclaim_eagerly();
    let thread = host.create();
    let row = host.core.thread(state(thread).id()).expect("a thread");
    let id = host.end(thread);
    host.join(id);
    let (core, is_over) = (&Locked::new(host), &AtomicBool::new(false));
    let row = Own(Box::into_raw(Box::new(row)));
    let churn = move || {
        for _ in 0..TIMES / 8 {
            core.with(|host| {
                let thread = host.create();
                host.lock_alone(thread);
                let id = host.end(thread);
                host.join(id);
            });
        }
        is_over.store(true, Relaxed);
    };
    let look = move || {
        // SAFETY: a row of a leaked ledger, boxed above.
        let row = unsafe { Box::from_raw(row.get()) };
        while !is_over.load(Relaxed) {
            // Whichever thread it is, or none.
            _ = (row.kernel_id(), row.is_waiting());
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(churn), scope.spawn(look)];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A thread takes and releases measured locks, more and more at once, while another asks since when it
/// holds one of them.
#[test]
fn a_measured_thread_and_one_that_waits_for_its_lock() {
    const MOST: u64 = 300;
    let mut host = Host::new();
    let mut meter = LockMeter::new();
    let row = Own(meter.thread_start(host.core.writer(), 1, 0).expect("room"));
    let (core, is_over) = (&Locked::new((host, meter)), &AtomicBool::new(false));
    let run = move || {
        // SAFETY: handed to this thread and to no other.
        let thread = unsafe { &mut *row.get() };
        let cell = core.with(|(host, meter)| {
            meter.pending_memory(host.core.writer(), thread);
            let call = Call { class: 1, site: 1, ..Call::default() };
            let key = cell_key(1 << 32, 0, 1);
            meter.cell(&mut host.core, thread, key, &call, &mut |_| 0).expect("room")
        });
        let wait = |ended| Pending::new(cell, ended, 1, Shares::NONE);
        for _ in 0..TIMES / 200 {
            for addr in 1..=MOST {
                if !thread.has_room() {
                    let grows = |(host, meter): &mut (Host, LockMeter)| {
                        meter.grow_held(host.core.writer(), thread)
                    };
                    assert!(core.with(grows));
                }
                thread.acquired(addr * 8, cell, addr % 2);
                if thread.can_keep() {
                    thread.keep(&wait(addr));
                }
            }
            thread.recurse(8);
            thread.unrecurse(8);
            for addr in (1..=MOST).rev() {
                let held = thread.entry_of(addr * 8).expect("held");
                thread.record_kept(&held, |_, _| {});
                thread.remove(addr * 8);
            }
        }
        is_over.store(true, Relaxed);
    };
    let look = move || {
        let mut addr = 0;
        while !is_over.load(Relaxed) {
            addr = addr % MOST + 1;
            // SAFETY: a row of a leaked ledger.
            let found = unsafe { MeterThread::find_foreign(row.get(), addr * 8) };
            assert!(found.is_none_or(|(site, since)| site == 1 && since <= MOST));
        }
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(run), scope.spawn(look)];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

//! Rows that several threads find and work on at once. Their asserts say little; the check `tsan`
//! runs them under ThreadSanitizer, which reports each access that races with another.

use std::thread;

use lockwright_engines::lockmeter::board::{Boards, Hold};
use lockwright_engines::wakes::{Waker, Wakes};
use lockwright_ledger::rows::Wake;
use lockwright_ledger::rows::meter::Board;

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
            // SAFETY: as above.
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
    let hold = |now| Hold { addr: 0x1000, site: 1, since: now / 2, now, shared: false };
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

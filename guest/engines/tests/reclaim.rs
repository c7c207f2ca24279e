//! A program that makes threads for ever: its ledger stays as it is.

mod host;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::{Origin, Tell};
use lockwright_ledger::layout::bounded;
use lockwright_ledger::rows::{Evidence, Segment, Thread, event, lock_kind, sync_kind};

use host::{Host, before, state};

/// The same again, many times, takes no more than after a tenth of it.
fn stays_as_it_is(host: &mut Host, times: u32, mut again: impl FnMut(&mut Host)) {
    (0..times / 10).for_each(|_| again(host));
    let (used, ..) = host.size();
    (0..times).for_each(|_| again(host));
    let (after, threads, segments) = host.size();
    assert_eq!(after, used, "the ledger has grown");
    assert!(threads <= 2_000 && segments <= 4_000, "{threads} threads, {segments} segments");
    assert_eq!(host.core.ledger().header().bounded.load(Relaxed), 0, "nothing has a bound here");
}

/// The same again, many times, comes to the bound of `kinds`, and takes no more from there on.
fn comes_to_its_bound(kinds: u32, host: &mut Host, times: u32, mut again: impl FnMut(&mut Host)) {
    let bounded = |host: &Host| host.core.ledger().header().bounded.load(Relaxed);
    let mut told = 0;
    while bounded(host) == 0 {
        again(host);
        told += 1;
        assert!(told < 50_000, "no bound after {told} times");
    }
    // Until the segments have doubled once more, after which rows are removed.
    (0..2 * times).for_each(|_| again(host));
    let (used, ..) = host.size();
    (0..times).for_each(|_| again(host));
    let (after, threads, segments) = host.size();
    assert_eq!(after, used, "the ledger has grown, with {threads} threads and {segments} segments");
    assert!(used < 32 << 20, "{used} bytes at the bound");
    assert_eq!(bounded(host), kinds);
    let until = host.core.ledger().header().orders_until.load(Relaxed);
    assert_eq!(until != 0, kinds != bounded::USES, "orders until {until}");
}

#[test]
fn one_thread_after_the_other() {
    let mut host = Host::new();
    stays_as_it_is(&mut host, 100_000, |host| {
        let thread = host.create();
        host.work(thread);
        let id = host.end(thread);
        host.join(id);
    });
}

#[test]
fn what_removed_threads_did_stays_counted() {
    let mut host = Host::new();
    for _ in 0..10_000 {
        let thread = host.create();
        host.work(thread);
        state(thread).did(event::SEMAPHORE);
        let id = host.end(thread);
        host.join(id);
    }
    let ledger = host.core.ledger();
    // SAFETY: rows of this ledger, which stay mapped; no thread but this one writes them.
    let row = |id| unsafe { ledger.row_ptr::<Thread>(id).as_ref() };
    let rows = (1..=20_000).filter_map(row);
    let (left, acquisitions, semaphores) = rows.fold((0, 0, 0), |(n, a, s), row| {
        (n + 1, a + row.acquisitions, s + row.events[event::SEMAPHORE])
    });
    assert!(left < 2_000, "{left} threads are on record");
    let removed = |word: &AtomicU64| word.load(Relaxed);
    assert_eq!(acquisitions + removed(&ledger.header().removed_acquisitions), 20_000);
    let events = &ledger.header().removed_events;
    assert_eq!(semaphores + removed(&events[event::SEMAPHORE]), 10_000);
}

#[test]
fn a_pool_of_threads_that_overlap_while_their_creator_takes_locks() {
    let mut host = Host::new();
    let mut pool = std::collections::VecDeque::new();
    stays_as_it_is(&mut host, 50_000, |host| {
        let thread = host.create();
        host.work(thread);
        host.work(host.main);
        pool.push_back(thread);
        if pool.len() > 16 {
            let first = pool.pop_front().expect("it has some");
            let id = host.end(first);
            host.join(id);
        }
    });
}

#[test]
fn threads_that_nobody_joins() {
    let mut host = Host::new();
    stays_as_it_is(&mut host, 50_000, |host| {
        let thread = host.create();
        host.work(thread);
        let id = host.end(thread);
        host.core.thread_settled(id);
    });
}

#[test]
fn creations_that_fail() {
    let mut host = Host::new();
    stays_as_it_is(&mut host, 10_000, |host| {
        let (segment, _) = host.core.thread_creates(state(host.main), &mut |_| 0);
        host.core.creation_is_over(segment);
        let thread = host.create();
        let id = host.end(thread);
        host.join(id);
    });
}

#[test]
fn a_thread_that_may_be_joined_stays_on_record() {
    let mut host = Host::new();
    host.core.reclaim_eagerly();
    let first = host.create();
    let first = host.end(first);
    for _ in 0..100 {
        let thread = host.create();
        let id = host.end(thread);
        host.join(id);
    }
    assert!(host.core.thread(first).is_some());
    host.join(first);
    let next = host.create();
    host.end(next);
    assert!(host.core.thread(first).is_none());
}

#[test]
fn a_lock_that_is_held_while_threads_come_and_go() {
    let mut host = Host::new();
    host.lock(host.main, 1);
    stays_as_it_is(&mut host, 50_000, |host| {
        let thread = host.create();
        host.lock_alone(thread);
        let id = host.end(thread);
        host.join(id);
    });
}

#[test]
fn threads_created_with_a_lock_held_that_they_take_themselves() {
    stays_as_it_is(&mut Host::new(), 20_000, |host| {
        host.lock(host.main, 0);
        let thread = host.create();
        host.unlock(host.main, 0);
        host.lock_alone(thread);
        let id = host.end(thread);
        host.join(id);
    });
}

#[test]
fn a_semaphore_for_each_request() {
    let mut addr = 0x10_0000;
    comes_to_its_bound(bounded::SYNCS, &mut Host::new(), 20_000, |host| {
        addr += 64;
        host.core.sync_init(sync_kind::SEMAPHORE, addr, 0);
        let thread = host.create();
        host.lock_alone(thread);
        host.core.sem_posts(state(thread), addr);
        host.core.sem_granted(state(host.main), addr);
        let id = host.end(thread);
        host.join(id);
    });
}

#[test]
fn a_barrier_that_is_made_again_at_its_place() {
    let mut host = Host::new();
    stays_as_it_is(&mut host, 50_000, |host| {
        // No thread comes to it.
        host.core.sync_init(sync_kind::BARRIER, 0x10_0000, 2);
        let thread = host.create();
        let id = host.end(thread);
        host.join(id);
    });
    host.core.sync_init(sync_kind::SEMAPHORE, 0x10_0000, 0);
    assert_eq!(host.core.sem_posts(state(host.main), 0x10_0000), Tell::All);
}

#[test]
fn a_thread_that_signals_for_each_request() {
    comes_to_its_bound(bounded::SIGNALLERS, &mut Host::new(), 20_000, |host| {
        let thread = host.create();
        host.lock_alone(thread);
        state(thread).signals();
        let probe = state(thread).probe_signal(0x20_0000);
        host.core.signalled(state(thread), 0x20_0000, probe, 4, &mut |frames| {
            frames[0] = 5;
            1
        });
        host.lock(thread, 0);
        let probe = state(thread).probe_signal_holding(0x20_0000);
        host.core.signalled_holding(state(thread), 0x20_0000, probe, 4, &mut |frames| {
            frames[0] = 6;
            1
        });
        host.unlock(thread, 0);
        let id = host.end(thread);
        host.join(id);
    });
}

#[test]
fn threads_with_a_signal_open() {
    comes_to_its_bound(bounded::USES, &mut Host::new(), 70_000, |host| {
        let thread = host.create();
        state(thread).set_open_signals(1 << 14);
        host.work(thread);
        let id = host.end(thread);
        host.join(id);
    });
}

/// A lock is made for each request, and another is taken within it.
#[test]
fn nested_locks_that_come_and_go() {
    let mut host = Host::new();
    let again = |host: &mut Host| {
        let origin = Origin::Init(&[40]);
        let own = host.core.new_lock(lock_kind::MUTEX, origin).expect("a class");
        let kept = std::mem::replace(&mut host.locks[0], own);
        let thread = host.create();
        host.work(thread);
        host.locks[0] = kept;
        let id = host.end(thread);
        host.join(id);
    };
    (0..20_000).for_each(|_| again(&mut host));
    let (used, ..) = host.size();
    (0..20_000).for_each(|_| again(&mut host));
    assert_eq!(host.size().0, used, "the ledger has grown");
    assert!(used < 16 << 20, "{used} bytes");
    assert!(host.core.ledger().header().pairs_folded.load(Relaxed) > 0);
}

/// Random threads that create, join and take locks, told twice: of all segments that any row
/// refers to the same ones come before the same others, whether or not what is not needed is
/// left out meanwhile.
#[test]
fn what_is_left_out_changes_no_order() {
    let mut random = 7u64;
    let mut below = move |n: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % n
    };
    let (mut all_pairs, mut left_out) = (0, 0);
    for _ in 0..60 {
        let mut twins = [Host::new(), Host::new()];
        twins[1].core.reclaim_eagerly();
        let mut live = vec![[twins[0].main, twins[1].main]];
        let mut ended: Vec<u32> = Vec::new();
        let mut routine = 0;
        for _ in 0..150 {
            let (choice, thread) = (below(12), live[below(live.len())]);
            let mut new = [thread[0]; 2];
            let last = live.len() - 1;
            let victim = below(live.len());
            let joined = if ended.is_empty() { 0 } else { ended[below(ended.len())] };
            for (i, host) in twins.iter_mut().enumerate() {
                let state = state(thread[i]);
                match choice {
                    0..=3 => {
                        let (segment, stack) = host.core.thread_creates(state, &mut |_| 0);
                        new[i] = host.core.thread_start(2, 2, segment, stack).expect("room");
                    }
                    4 => host.lock_alone(thread[i]),
                    5..=7 if last > 0 && victim > 0 => drop(host.end(live[victim][i])),
                    8..=10 if joined != 0 => host.core.thread_joined(state, joined),
                    11 if routine == 0 => {
                        host.core.routine_ran(state);
                    }
                    11 => host.core.routine_is_past(state, routine),
                    _ => {}
                }
            }
            match choice {
                0..=3 => live.push(new),
                5..=7 if last > 0 && victim > 0 => {
                    ended.push(state(live.remove(victim)[0]).id());
                }
                8..=10 => ended.retain(|&id| id != joined),
                11 if routine == 0 => {
                    let now = state(thread[0]).segment();
                    routine = twins[0].core.ledger().get::<Segment>(now).map_or(0, |row| row.prev);
                }
                _ => {}
            }
        }
        let [whole, short] = twins.each_ref().map(|host| host.core.ledger());
        let evidence = (1..short.len_of::<Evidence>()).filter_map(|id| short.get::<Evidence>(id));
        let mut needed: Vec<u32> = evidence.map(|row| row.segment).collect();
        needed.extend(live.iter().map(|thread| state(thread[0]).segment()));
        for &a in &needed {
            assert!(short.get::<Segment>(a).is_some(), "segment {a} is gone");
            for &b in &needed {
                assert_eq!(before(short, a, b), before(whole, a, b), "segments {a} and {b}");
                all_pairs += 1;
            }
        }
        left_out += whole.count_of::<Segment>() - short.count_of::<Segment>();
    }
    assert!(all_pairs > 10_000 && left_out > 500, "{all_pairs} pairs, {left_out} left out");
}

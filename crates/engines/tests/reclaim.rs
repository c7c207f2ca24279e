//! A program that makes threads for ever: its ledger stays as it is.

mod host;

use lockwright_ledger::rows::{Evidence, Segment};

use host::{Host, before, state};

/// The same again, many times, takes no more than after a tenth of it.
fn stays_as_it_is(host: &mut Host, times: u32, mut again: impl FnMut(&mut Host)) {
    (0..times / 10).for_each(|_| again(host));
    let (used, ..) = host.size();
    (0..times).for_each(|_| again(host));
    let (after, threads, segments) = host.size();
    assert_eq!(after, used, "the ledger has grown");
    assert!(threads <= 2_000 && segments <= 4_000, "{threads} threads, {segments} segments");
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
    assert!(host.core.ledger().get::<Thread>(first).is_some());
    host.join(first);
    let next = host.create();
    host.end(next);
    assert!(host.core.ledger().get::<Thread>(first).is_none());
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

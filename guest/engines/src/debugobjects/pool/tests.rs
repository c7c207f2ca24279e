//! Tests of situations that cannot be caused from outside: locks that are held when the process
//! forks, and batches one by one.

extern crate std;

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::vec::Vec;

use super::super::lock::Patience;
use super::env::Env;
use super::global::Pools;
use super::sizes::{BATCH, LOCAL, POOL_SIZE};
use super::source::Source;
use super::stack::{List, Stack};
use super::switches::Switches;
use crate::debugobjects::Local;

fn map(bytes: usize) -> *mut u8 {
    // SAFETY: the layout's size is not 0: callers ask for whole pages or slabs.
    unsafe { alloc_zeroed(Layout::from_size_align(bytes, bytes).unwrap()) }
}

/// # Safety
/// `at` is from `map` with the same number of bytes, and nobody uses it.
unsafe fn unmap(at: *mut u8, bytes: usize) {
    // SAFETY: from `map`, the caller's promise.
    unsafe { dealloc(at, Layout::from_size_align(bytes, bytes).unwrap()) }
}

static SOURCE: Source = Source { map, unmap, relax: |_| std::thread::yield_now() };

/// The environment of a process that forked `era - 1` times.
fn env(era: u32, switches: Switches) -> Env {
    let patience = Patience { turns: Patience::SHORT, relax: SOURCE.relax, era };
    Env { source: &SOURCE, switches, patience }
}

fn take(pools: &Pools, local: *mut Local, n: u32, env: &Env) -> List {
    let mut list = List::new();
    for _ in 0..n {
        pools.fill(env).unwrap();
        // SAFETY: this is the test's only thread, so no other thread uses `local`.
        let record = unsafe { pools.take(local.as_ref(), env) }.unwrap();
        // SAFETY: `take` just returned the record, so nobody else has it.
        unsafe { list.push(record) };
    }
    list
}

/// All records are somewhere, `used` of them in nobody's pool.
fn assert_used(pools: &Pools, used: u64) {
    let stats = pools.stats();
    assert_eq!(stats.pool_used, used);
    let unused = stats.pool_free + stats.pool_pcp_free + stats.on_free_list;
    assert_eq!(stats.objs_allocated - stats.objs_freed, used + unused, "{stats:?}");
}

#[test]
fn pools_whose_lock_was_held_at_a_fork_are_left_alone() {
    for switches in [Switches::UNPATCHED, Switches::PATCHED, Switches::SHAPE_2024] {
        let (pools, parent, child) = (Pools::new(), env(1, switches), env(2, switches));
        let mine = pools.start_local(&parent).unwrap();
        let theirs = pools.start_local(&parent).unwrap();
        let ours = take(&pools, mine, 100, &parent);
        let others = take(&pools, theirs, 100, &parent);
        // Another thread is moving records, and another one is within the slab.
        std::mem::forget(pools.lock(&parent).unwrap());
        pools.slab.0.hold(&parent);
        pools.forked(mine, 1, &child);
        // What the other had looked ahead, and nothing else.
        assert!(pools.stats().pool_free < u64::from(BATCH));
        assert_used(&pools, 200);
        // There is more, and what was had before can be given up: its memory is not used again.
        let new = take(&pools, mine, 3000, &child);
        for list in [ours, others, new] {
            // SAFETY: this is the test's only thread, so no other thread uses `mine` or the records
            // of `list`.
            unsafe { pools.give(mine.as_ref(), list, &child) }.unwrap();
        }
        pools.free_excess(u64::MAX / 2, &child).unwrap();
        pools.free_excess(u64::MAX, &child).unwrap();
        assert_used(&pools, 0);
    }
}

#[test]
fn records_of_a_thread_within_an_operation_at_a_fork_are_left_alone() {
    let switches = Switches::PATCHED;
    let (pools, parent, child) = (Pools::new(), env(1, switches), env(2, switches));
    let (mine, theirs) = (pools.start_local(&parent).unwrap(), pools.start_local(&parent).unwrap());
    let _records = take(&pools, theirs, 1, &parent);
    let before = pools.stats();
    assert_eq!(before.pool_pcp_free, u64::from(BATCH) - 1);
    // SAFETY: `theirs` came from `start_local`, and its memory stays mapped.
    let busy = Local::begin(unsafe { theirs.as_ref() });
    pools.forked(mine, 1, &child);
    std::mem::forget(busy);
    let after = pools.stats();
    assert_eq!((after.pool_free, after.pool_pcp_free), (before.pool_free, 0));
    assert_eq!(after.objs_freed, before.pool_pcp_free);
    assert_used(&pools, 1);
    // Nor is its own part used again.
    assert_ne!(pools.start_local(&child).unwrap(), theirs);
}

#[test]
fn the_pools_sizes_are_the_kernels() {
    let env = env(1, Switches::PATCHED);
    let pools = Pools::new();
    let local = pools.start_local(&env).unwrap();
    let first = take(&pools, local, 1, &env);
    // 1,024 to begin with, of which the thread looked 16 ahead.
    assert_eq!(pools.stats().pool_free, u64::from(POOL_SIZE - BATCH));
    let mut list = take(&pools, local, 2000, &env);
    // SAFETY: the test's only thread; just taken.
    unsafe {
        pools.give(local.as_ref(), first, &env).unwrap();
        while let Some(record) = list.pop() {
            let mut one = List::new();
            one.push(record);
            pools.give(local.as_ref(), one, &env).unwrap();
            let stats = pools.stats();
            assert!(stats.pool_pcp_free <= u64::from(LOCAL));
            // It is full at its size and 16 for each thread; then the rest waits.
            let full = u64::from(POOL_SIZE + 2 * BATCH);
            assert!(stats.pool_free < full && (stats.on_free_list == 0 || stats.pool_free > 1024));
        }
    }
    assert!(pools.stats().on_free_list > 0);
    assert_used(&pools, 0);
}

/// Stacks in both shapes against counts and a set.
#[test]
fn stacks_lose_nothing_and_have_nothing_twice() {
    for batched in [false, true] {
        shuffle(batched);
    }
}

fn shuffle(batched: bool) {
    let mut records: Vec<[u64; 4]> = std::vec![[0; 4]; 500];
    let mut all: Vec<*mut u8> = records.iter_mut().map(|r| (&raw mut *r).cast()).collect();
    all.sort_unstable();
    let mut seed = 9u64;
    let mut random = move |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % n
    };
    let mut stacks = [Stack::new(), Stack::new()];
    let mut free = all.clone();
    for _ in 0..20_000 {
        let which = random(2) as usize;
        let before = stacks[which].len();
        match random(4) {
            0 => {
                for _ in 0..random(40) {
                    let Some(record) = free.pop() else { break };
                    // SAFETY: the record was just popped off `free`, so nobody else has it.
                    unsafe { stacks[which].push(record, batched) };
                }
            }
            1 => {
                let record = stacks[which].pop();
                assert_eq!(record.is_some(), before > 0);
                free.extend(record);
            }
            2 => {
                let [a, b] = &mut stacks;
                let (from, to) = if which == 0 { (a, b) } else { (b, a) };
                let there = to.len();
                let moved = from.move_batch(to, batched);
                assert!(moved <= BATCH && (moved > 0) == (before > 0));
                assert_eq!((from.len(), to.len()), (before - moved, there + moved));
            }
            _ => {
                let most = random(60) as u32;
                let mut list = stacks[which].take(most);
                assert_eq!(list.len(), most.min(before));
                while let Some(record) = list.pop() {
                    free.push(record);
                }
            }
        }
        let there: u32 = stacks.iter().map(Stack::len).sum();
        assert_eq!(there as usize + free.len(), all.len());
    }
    for stack in &mut stacks {
        while let Some(record) = stack.pop() {
            free.push(record);
        }
    }
    free.sort_unstable();
    assert!(free == all);
}

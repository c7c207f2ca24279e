//! Threads of one finding meet: each is paused just before the call that would close its cycle, until the others are at
//! theirs. Once locks and threads form a cycle, all go on, into their deadlock.

use core::sync::atomic::{AtomicU32, Ordering::*};

use lockwright_engines::lockdep::ThreadState;
use lockwright_ledger::steering::{MOST_HELD, MOST_PAUSED, Pause, Steering, pause_state};

use super::plan::plan;
use crate::os::{sys, time, tls};
use crate::recorder::state;

/// How often to try for the list's lock. Its holder does nothing there that takes time, but it may be killed.
const MOST_TRIES: u32 = 10_000;

/// A thread that is in somebody's way goes on after this part of the longest pause: whoever it waits for may be on the way.
const PART_IN_THE_WAY: u64 = 8;

/// After this many pauses in vain, one arrival in so many (as a power of two) is paused.
const MOST_DOUBLINGS: u32 = 10;

/// What a thread that comes to a place of the plan has.
pub struct Arrival {
    pid: u32,
    thread: u64,
    wanted: u64,
    held: [u64; MOST_HELD],
    held_count: usize,
}

impl Arrival {
    /// What the calling thread has, which wants a lock or the end of a thread.
    pub fn new(thread: Option<&ThreadState>, wanted: u64) -> Self {
        let mut arrival = Self {
            pid: sys::pids().0,
            // SAFETY: it reads the thread's own descriptor, and takes no lock.
            thread: unsafe { libc::pthread_self() },
            wanted,
            held: [0; MOST_HELD],
            held_count: 0,
        };
        let held = thread.into_iter().flat_map(ThreadState::held).filter(|held| held.is_held());
        for (place, held) in arrival.held.iter_mut().zip(held) {
            *place = held.addr;
            arrival.held_count += 1;
        }
        arrival
    }

    fn held(&self) -> &[u64] {
        &self.held[..self.held_count]
    }

    fn has(&self, wanted: u64) -> bool {
        self.thread == wanted || self.held().contains(&wanted)
    }
}

/// The thread comes to the path of this index, and wants a lock or the end of a thread.
pub fn come(plan: &Steering, index: usize, thread: Option<&ThreadState>, wanted: u64) {
    let path = &plan.paths[index];
    let arrival = Arrival::new(thread, wanted);
    if path.needs_held.load(Relaxed) != 0 && arrival.held_count == 0 {
        return;
    }
    path.arrivals.fetch_add(1, Relaxed);
    tls::set_steered(wanted);
    let Some(pause) = locked(plan, || enter(plan, index, &arrival)).flatten() else { return };
    look_for_waiters(plan, pause, &arrival);
    let ended = wait(plan, pause);
    pause.state.store(pause_state::FREE, Release);
    if ended != pause_state::MET {
        let doublings = path.pauses.load(Relaxed).min(MOST_DOUBLINGS);
        path.skip.store((1 << doublings) - 1, Relaxed);
    }
    match ended {
        pause_state::MET => &path.met,
        pause_state::IN_THE_WAY => &path.in_the_way,
        _ => &path.timed_out,
    }
    .fetch_add(1, Relaxed);
}

/// Has all threads go on that form a cycle with this one; if there is no such cycle, enters it in the list. `None`: it is not
/// to be paused.
fn enter<'p>(plan: &'p Steering, index: usize, arrival: &Arrival) -> Option<&'p Pause> {
    let path = &plan.paths[index];
    let mut cycle = [0; MOST_PAUSED];
    if let Some(length) = cycle_of(plan, arrival, &mut cycle) {
        path.met.fetch_add(1, Relaxed);
        for &at in &cycle[..length] {
            end(&plan.paused[at], pause_state::MET);
        }
        return None;
    }
    let is_first = is_first(plan, index as u32);
    let is_last = |(_, pause): (usize, &Pause)| !self::is_first(plan, pause.path.load(Relaxed));
    let others =
        || paused(plan, arrival.pid).filter(|(_, it)| it.path.load(Relaxed) != index as u32);
    if others().any(is_last) {
        if is_first {
            // The other waits for this thread.
            return None;
        }
        path.elsewhere.fetch_add(1, Relaxed);
    } else if path.skip.load(Relaxed) > 0 {
        path.skip.fetch_sub(1, Relaxed);
        return None;
    }
    if plan.left_ns.load(Relaxed) == 0 {
        return None;
    }
    let pause = enter_row(plan, index, arrival, 0)?;
    path.pauses.fetch_add(1, Relaxed);
    if !is_first {
        // What waited for a thread to be here goes on.
        for (_, early) in others().filter(|&it| !is_last(it)) {
            end(early, pause_state::MET);
        }
    }
    Some(pause)
}

/// Threads are paused at this path before the first lock of their part.
fn is_first(plan: &Steering, path: u32) -> bool {
    plan.paths[path as usize % plan.paths.len()].first.load(Relaxed) != 0
}

/// Enters a thread in the list of those that are paused; `None`: there is no row for it.
pub fn enter_row<'p>(
    plan: &'p Steering,
    index: usize,
    arrival: &Arrival,
    order: u64,
) -> Option<&'p Pause> {
    let free = |pause: &&Pause| pause.state.load(Acquire) == pause_state::FREE;
    let pause = plan.paused.iter().find(free)?;
    pause.path.store(index as u32, Relaxed);
    pause.pid.store(arrival.pid, Relaxed);
    pause.wanted.store(arrival.wanted, Relaxed);
    pause.thread.store(arrival.thread, Relaxed);
    pause.order.store(order, Relaxed);
    pause.held_count.store(arrival.held_count as u32, Relaxed);
    for (word, &held) in pause.held.iter().zip(arrival.held()) {
        word.store(held, Relaxed);
    }
    // Release pairs with the Acquire in `paused`: the rest is there.
    pause.state.store(pause_state::PAUSED, Release);
    Some(pause)
}

/// Which paused threads form a cycle with this one, by their indices, and how many they are: it wants what the first has, and
/// so on, and the last wants what it has.
fn cycle_of(plan: &Steering, arrival: &Arrival, cycle: &mut [usize; MOST_PAUSED]) -> Option<usize> {
    let mut wanted = arrival.wanted;
    for length in 0..MOST_PAUSED {
        let (at, pause) = paused(plan, arrival.pid)
            .find(|&(at, pause)| has(pause, wanted) && !cycle[..length].contains(&at))?;
        cycle[length] = at;
        wanted = pause.wanted.load(Relaxed);
        if arrival.has(wanted) {
            return Some(length + 1);
        }
    }
    None
}

/// The paused threads of a process, those that are to go on soon among them: what they wait for may come before.
pub fn paused(plan: &Steering, pid: u32) -> impl Iterator<Item = (usize, &Pause)> {
    plan.paused.iter().enumerate().filter(move |(_, pause)| {
        // Acquire pairs with the Release in `enter_row`.
        let state = pause.state.load(Acquire);
        matches!(state, pause_state::PAUSED | pause_state::IN_THE_WAY)
            && pause.pid.load(Relaxed) == pid
    })
}

fn has(pause: &Pause, wanted: u64) -> bool {
    let count = (pause.held_count.load(Relaxed) as usize).min(MOST_HELD);
    pause.thread.load(Relaxed) == wanted
        || pause.held[..count].iter().any(|held| held.load(Relaxed) == wanted)
}

fn end(pause: &Pause, why: u32) {
    // One that has ended by itself meanwhile stays so.
    let ends = |state| match state {
        pause_state::PAUSED => Some(why),
        pause_state::IN_THE_WAY if why == pause_state::MET => Some(why),
        _ => None,
    };
    // Release pairs with the Acquire in `wait`.
    let _ = pause.state.fetch_update(Release, Relaxed, ends);
    sys::futex_wake(&pause.state, 1);
}

/// Waits until the pause is ended, or its time is up, and says by what [`pause_state`]: `PAUSED` for the time.
fn wait(plan: &Steering, pause: &Pause) -> u32 {
    let longest = plan.longest_ns.load(Relaxed).min(plan.left_ns.load(Relaxed));
    let begun = time::now_ns();
    let mut end = begun.saturating_add(longest);
    let mut result = pause_state::PAUSED;
    loop {
        let now = time::now_ns();
        // Acquire pairs with the Release in `end`.
        let state = pause.state.load(Acquire);
        if state == pause_state::MET {
            result = state;
            break;
        }
        if state == pause_state::IN_THE_WAY && result != state {
            result = state;
            end = end.min(now.saturating_add(longest / PART_IN_THE_WAY));
        }
        if now >= end {
            break;
        }
        sys::futex_wait(&pause.state, state, (end - now) as i64);
    }
    spend(plan, time::now_ns().saturating_sub(begun));
    result
}

/// Takes so many nanoseconds off what pauses and delays of the run may take.
pub fn spend(plan: &Steering, ns: u64) {
    let _ = plan.left_ns.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(ns)));
}

/// The calling thread begins to wait for the lock at `addr`, in the acquisition `node` of the ledger (0: it has none): if a
/// paused thread holds it, that one goes on soon.
#[cold]
pub fn waits(addr: u64, node: u32) {
    let Some(plan) = plan() else { return };
    let pid = sys::pids().0;
    // One that waits at a place of the plan is no reason why threads do not come to one.
    let node = if tls::steered() == addr { 0 } else { node };
    tls::set_steered(0);
    let holder = paused(plan, pid).find(|(_, pause)| has(pause, addr));
    if let Some((_, pause)) = holder {
        stands_in_the_way(plan, pause, pid, node);
    }
}

/// Somebody may wait already, since before the thread was entered in the list, for a lock that it holds.
pub fn look_for_waiters(plan: &Steering, pause: &Pause, arrival: &Arrival) {
    let waiter = state::with_core(|core| core.waiter_for(arrival.held())).flatten();
    if let Some(node) = waiter {
        stands_in_the_way(plan, pause, arrival.pid, node);
    }
}

fn stands_in_the_way(plan: &Steering, pause: &Pause, pid: u32, node: u32) {
    let path = &plan.paths[pause.path.load(Relaxed) as usize % plan.paths.len()];
    if node != 0 {
        path.waiter_pid.store(pid, Relaxed);
        path.waiter_node.store(node, Relaxed);
    }
    end(pause, pause_state::IN_THE_WAY);
    if path.apart.load(Relaxed) != 0 {
        changed(plan);
    }
}

/// Threads that are kept apart look again whether they may go on.
pub fn changed(plan: &Steering) {
    // Release pairs with the Acquire in `apart::come`.
    plan.changes.fetch_add(1, Release);
    sys::futex_wake(&plan.changes, i32::MAX);
}

/// Runs `f` with the list's lock. `None`: it could not be had.
pub fn locked<T>(plan: &Steering, f: impl FnOnce() -> T) -> Option<T> {
    let lock: &AtomicU32 = &plan.lock;
    for _ in 0..MOST_TRIES {
        // Acquire pairs with the Release below: what the last holder entered is seen.
        if lock.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
            let result = f();
            lock.store(0, Release);
            return Some(result);
        }
        sys::yield_now();
    }
    plan.shut_out.fetch_add(1, Relaxed);
    None
}

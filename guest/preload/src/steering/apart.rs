//! Threads of one finding are kept apart: none takes the first lock of its part of the cycle while another is in another
//! part. Threads of one part do not exclude each other, and those that wait are served in the order in which they came.
//!
//! A thread that waits here may hold what a thread inside needs. So it goes on as soon as somebody waits for a lock that it
//! holds, and in any case once its time is up: the finding may then happen, as without us.

use core::sync::atomic::Ordering::*;

use lockwright_engines::lockdep::{ThreadState, recursions};
use lockwright_ledger::steering::{Pause, Steering, pause_state};

use super::handlers;
use super::meeting::{Arrival, changed, enter_row, locked, look_for_waiters, paused};
use super::plan::plan;
use super::rows::{forget_dead, go_in, leave, own};
use crate::os::{sys, time, tls};

/// The thread comes to the path of this index, the first lock of its part, which is at `lock`.
pub fn come(plan: &Steering, index: usize, thread: Option<&ThreadState>, lock: u64) {
    let path = &plan.paths[index];
    let (pid, tid) = (sys::pids().0, sys::gettid());
    if is_in(plan, index, thread, pid, tid) {
        return;
    }
    path.arrivals.fetch_add(1, Relaxed);
    let order = plan.orders.fetch_add(1, Relaxed).into();
    let begun = time::now_ns();
    let end = begun.saturating_add(plan.longest_ns.load(Relaxed));
    let arrival = Arrival::new(thread, lock);
    let mut row: Option<&Pause> = None;
    let mut is_new = true;
    loop {
        // Acquire pairs with the Release in `changed`: rows that were given up are seen to be free.
        let seen = plan.changes.load(Acquire);
        let is_free = locked(plan, || {
            if may_enter(plan, index, pid, tid, order) {
                return Some(go_in(plan, index, pid, tid, lock));
            }
            if row.is_none() {
                row = enter_row(plan, index, &arrival, order);
                row?;
                path.pauses.fetch_add(1, Relaxed);
            }
            None
        });
        if let Some(row) = row.filter(|_| core::mem::take(&mut is_new)) {
            look_for_waiters(plan, row, &arrival);
        }
        let state = row.map_or(pause_state::FREE, |row| row.state.load(Acquire));
        let now = time::now_ns();
        let why = match is_free {
            Some(Some(true)) => None,
            // It is not seen by others.
            None | Some(Some(false)) => Some(&plan.shut_out),
            Some(None) if row.is_none() => Some(&plan.shut_out),
            Some(None) if state == pause_state::IN_THE_WAY => Some(&path.in_the_way),
            Some(None) if now >= end => Some(&path.timed_out),
            Some(None) => {
                sys::futex_wait(&plan.changes, seen, (end - now) as i64);
                forget_dead(plan, pid);
                continue;
            }
        };
        if let Some(count) = why {
            count.fetch_add(1, Relaxed);
        }
        if let Some(row) = row {
            path.waited_ns.fetch_add(now.saturating_sub(begun), Relaxed);
            row.state.store(pause_state::FREE, Release);
            changed(plan);
        }
        return;
    }
}

/// The calling thread gives up the lock at `lock`: it is no longer in the part that this was the first lock of.
///
/// # Safety
/// Called by a stub of a function that releases a lock, before it does.
pub unsafe extern "C" fn departs(lock: u64) {
    let Some(plan) = plan() else { return };
    let (pid, tid) = (sys::pids().0, sys::gettid());
    // SAFETY: the thread's own state or null; read here, before the wrapper that is called next has a reference to it.
    let thread = unsafe { tls::get().as_ref() };
    let is_last =
        thread.and_then(|thread| thread.held_of(lock)).is_none_or(|held| recursions(&held) == 0);
    if !is_last {
        return;
    }
    for inside in own(plan, pid, tid).filter(|inside| inside.lock.load(Relaxed) == lock) {
        let path = &plan.paths[inside.path.load(Relaxed) as usize % plan.paths.len()];
        leave(plan, inside);
        handlers::interrupt(path);
    }
}

/// Whether the thread is in a part of the same finding already. What it is in no longer is forgotten: its lock was not taken
/// after all.
fn is_in(plan: &Steering, index: usize, thread: Option<&ThreadState>, pid: u32, tid: u32) -> bool {
    if tls::rooms() == 0 {
        return false;
    }
    let finding = plan.paths[index].apart.load(Relaxed);
    let mut is_in = false;
    for inside in own(plan, pid, tid) {
        let lock = inside.lock.load(Relaxed);
        match thread.is_some_and(|thread| thread.find(lock).is_some()) {
            true => is_in |= of(plan, inside.path.load(Relaxed)).0 == finding,
            false => leave(plan, inside),
        }
    }
    is_in
}

/// The finding that a path is of, and whether it excludes itself.
fn of(plan: &Steering, path: u32) -> (u32, bool) {
    let path = &plan.paths[path as usize % plan.paths.len()];
    (path.apart.load(Relaxed), path.alone.load(Relaxed) != 0)
}

fn exclude(plan: &Steering, one: usize, other: u32) -> bool {
    let (finding, alone) = of(plan, one as u32);
    of(plan, other).0 == finding && (one as u32 != other || alone)
}

/// Nobody who excludes the path is inside, or has come before and waits.
fn may_enter(plan: &Steering, index: usize, pid: u32, tid: u32, order: u64) -> bool {
    let inside = plan.inside.iter().filter(|inside| {
        let owner = inside.tid.load(Acquire);
        owner != 0 && owner != tid && inside.pid.load(Relaxed) == pid
    });
    let mut waits =
        paused(plan, pid).filter(|(_, pause)| pause.order.load(Relaxed) < order).map(|(_, it)| it);
    !inside.map(|it| &it.path).any(|path| exclude(plan, index, path.load(Relaxed)))
        && !waits.any(|pause| exclude(plan, index, pause.path.load(Relaxed)))
}

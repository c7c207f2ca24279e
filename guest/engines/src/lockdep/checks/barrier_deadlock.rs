//! Deadlocks in which threads wait at a barrier.
//!
//! A thread at a barrier waits for any other threads to come. So it waits for good if all threads
//! that could come wait for good themselves: for a lock that a thread at the barrier holds, for its
//! end, at another barrier. They are the largest set in which each thread waits for one of the set,
//! or at a barrier for all. One thread that runs, or waits for something else, may come, or
//! create one that does; and so may one that was created and has not begun.

use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::fence;

use lockwright_ledger::rows::mode;

use super::cycle::{Cycle, MOST};
use crate::lockdep::acquire::Ident;
use crate::lockdep::recorder::Recorder;

/// A live thread.
#[derive(Clone, Copy, Default)]
struct Live {
    id: u32,
    /// The wait that it was seen in.
    seq: u32,
    waits: bool,
}

/// The live threads, and which of them wait. With more than [`MOST`], there is no verdict.
struct Threads {
    live: [Live; MOST],
    len: usize,
}

impl Threads {
    fn all(&self) -> &[Live] {
        &self.live[..self.len]
    }

    fn stuck(&self) -> impl Iterator<Item = u32> {
        self.all().iter().filter(|live| live.waits).map(|live| live.id)
    }
}

/// A cycle of threads that wait for good, some of them at barriers. To be looked for by a thread that
/// has published its wait, or has ended, while others wait at barriers.
pub(crate) fn find(recorder: &Recorder) -> Option<Cycle> {
    if recorder.awaits_threads() {
        return None;
    }
    let mut threads = all_waiting(recorder)?;
    while let Some(i) = (0..threads.len)
        .find(|&i| threads.live[i].waits && next_stuck(recorder, &threads, i).is_none())
    {
        threads.live[i].waits = false;
    }
    let at_barrier =
        |i: &usize| threads.live[*i].waits && barrier_of(recorder, threads.live[*i].id).is_some();
    let mut at = (0..threads.len).find(at_barrier)?;
    let mut path = [0; MOST];
    let mut len = 0;
    let first = loop {
        let id = threads.live[at].id;
        if let Some(first) = path[..len].iter().position(|&on| on == id) {
            break first;
        }
        path[len] = id;
        len += 1;
        let next = next_stuck(recorder, &threads, at)?;
        at = threads.all().iter().position(|live| live.id == next)?;
    };
    // Pairs with the fence in `wait_begin`: see each wait either unchanged or over.
    fence(SeqCst);
    let is_same = |live: &Live| !live.waits || recorder.is_in(live.id, live.seq);
    if !threads.all().iter().all(is_same) {
        return None;
    }
    // What is no part of the cycle leads to it.
    let cycle = &path[first..len];
    cycle
        .iter()
        .any(|&id| barrier_of(recorder, id).is_some())
        .then(|| Cycle::of(cycle.iter().copied()))
}

/// The live threads. `None` where one that is not at a barrier does not wait: it can come.
fn all_waiting(recorder: &Recorder) -> Option<Threads> {
    let mut threads = Threads { live: [Live::default(); MOST], len: 0 };
    let mut next = recorder.first_live();
    while let Some((id, _, after)) = recorder.live_thread(next) {
        next = after;
        let seq = recorder.wait_of(id)?;
        *threads.live.get_mut(threads.len)? = Live { id, seq, waits: true };
        threads.len += 1;
    }
    Some(threads)
}

/// A stuck thread for which thread `i` waits; none where somebody else may end its wait.
fn next_stuck(recorder: &Recorder, threads: &Threads, i: usize) -> Option<u32> {
    let id = threads.live[i].id;
    let wait = recorder.thread(id)?.wait();
    if wait.mode & mode::BARRIER == 0 {
        return threads.stuck().find(|&other| recorder.owns(other, wait.addr, wait.mode));
    }
    let barrier = barrier_of(recorder, id)?;
    let comes = |live: &&Live| barrier_of(recorder, live.id) != Some(barrier);
    let mut missing = threads.all().iter().filter(comes);
    let first = missing.next().filter(|live| live.waits)?;
    if !missing.all(|live| live.waits) {
        return None;
    }
    // A thread that waits for a lock of this one, if there is one.
    let waits_for_it = |other: &u32| {
        barrier_of(recorder, *other) != Some(barrier)
            && recorder.thread(*other).map(|thread| thread.wait()).is_some_and(|wait| {
                wait.mode & (mode::BARRIER | mode::JOIN) == 0
                    && recorder.owns(id, wait.addr, wait.mode)
            })
    };
    let is_at_another =
        |other: &u32| barrier_of(recorder, *other).is_some_and(|other| other != barrier);
    let best = threads.stuck().find(waits_for_it);
    best.or_else(|| threads.stuck().find(is_at_another)).or(Some(first.id))
}

/// The barrier at which the thread waits, and in which round; none once the round is complete.
fn barrier_of(recorder: &Recorder, id: u32) -> Option<(u64, u32)> {
    let wait = recorder.thread(id)?.wait();
    let is_open = wait.is_under_way()
        && wait.mode & mode::BARRIER != 0
        && recorder.is_round_open(wait.addr, Ident::new(wait.inst, wait.class));
    is_open.then_some((wait.addr, wait.inst))
}

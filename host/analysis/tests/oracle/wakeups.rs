//! Waits for what another thread has to tell, with a lock kept that this one must take first.
//!
//! The oracle counts what happens: a wait on a condition variable is for one more signal than was
//! waited for so far, as programs wait that look at their predicate first, and a wait for a semaphore
//! is for a post. So a signal that comes early is not lost. A thread is *stuck* in a state if each
//! thread that could still signal is stuck, too, or waits for a lock that a stuck thread has.
//!
//! Then, of the report on the observed run:
//! - *nothing is cried*: for each `likely` finding of a wait with a lock kept, a state is reached
//!   in which the waiter is stuck, and the signaller waits for that lock of the waiter's, or of one
//!   that waits for a lock of the waiter's, and so on;
//! - *nothing is missed*: each stuck waiter all of whose signallers wait for locks that it keeps has a
//!   finding that is `likely`, as far as the run shows these (see [`is_shown`]).

use std::collections::BTreeSet;

use lockwright_analysis::finding::Grade;

use crate::program::{Event, How, Lock, Op, Run};
use crate::search::{Search, Waking};

/// A thread waits for an event with a lock kept that one which has the event happen waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kept {
    pub waiter: usize,
    pub signaller: usize,
    pub lock: usize,
}

/// What is found of such a wait.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub grade: Grade,
    pub kept: Kept,
}

/// What can be reached of a run.
#[derive(Default)]
pub struct Reached {
    /// The waiter is stuck, and so is the signaller.
    pub stuck: BTreeSet<Kept>,
    /// All possible signallers wait for locks of the waiter's, and the run shows it.
    pub shown: BTreeSet<Kept>,
}

/// What can be reached of a run.
pub fn reached(run: &Run) -> Reached {
    let search = Search::new(run).expect("a sound run");
    let mut reached = Reached::default();
    let has_events = run.threads.iter().flatten().any(|step| step.op.awaits().is_some());
    if !has_events {
        return reached;
    }
    search.explore(Waking::Told, |state| {
        let stuck = search.stuck(state);
        for waiter in (0..state.len()).filter(|&thread| stuck[thread]) {
            let Some(event) = search.awaited(state, waiter) else { continue };
            let signallers = search.signallers(state, event);
            let kept = |&signaller: &usize| {
                let lock = search.blocked_by(state, signaller, waiter)?;
                Some((Kept { waiter, signaller, lock }, state[signaller]))
            };
            let all: Vec<(Kept, usize)> = signallers.iter().filter_map(kept).collect();
            reached.stuck.extend(all.iter().map(|(kept, _)| kept));
            let through = |&signaller: &usize| {
                let lock = search.blocked_through(state, signaller, waiter)?;
                stuck[signaller].then_some(Kept { waiter, signaller, lock })
            };
            reached.stuck.extend(signallers.iter().filter_map(through));
            let is_direct = all.len() == signallers.len();
            if is_direct && is_shown(run, &search, event, (waiter, state[waiter])) {
                reached.shown.extend(all.iter().map(|(kept, _)| kept));
            }
        }
    });
    reached
}

/// Whether the run shows that the wait `at` (thread and step) needs what all signallers take.
///
/// That is so if the thread did wait there, and the run shows what the signallers take. Each signal
/// after a wait with a lock kept must follow an acquisition of a lock that this wait keeps. The
/// signaller must have made it since its last signal. These must be known: if nothing is held, the
/// ledger records the class, not the lock. And there must be one such signal after this wait began,
/// of each thread.
fn is_shown(run: &Run, search: &Search<'_>, event: Event, at: (usize, usize)) -> bool {
    let (waiter, wait) = at;
    if run.threads.iter().flatten().any(|step| step.site.is_some()) {
        return false;
    }
    let kept: Vec<usize> = search.held_at(waiter, wait);
    let Some(signals) = recorded_signals(run, search, event, at) else { return false };
    let by_others: Vec<&Signal> = signals.iter().filter(|s| s.thread != waiter).collect();
    let is_after = |signal: &&Signal| {
        by_others.iter().any(|later| later.is_after && later.thread == signal.thread)
    };
    !by_others.is_empty()
        && by_others.iter().all(is_after)
        && by_others.iter().all(|signal| needs(run, search, &kept, signal))
}

/// A signal of an event.
struct Signal {
    thread: usize,
    step: usize,
    /// It comes after the wait that is looked at.
    is_after: bool,
}

/// The signals of an event that came after the first wait for it with a lock kept. `None` if the
/// wait at `wait` did not have to wait in the run.
fn recorded_signals(
    run: &Run,
    search: &Search<'_>,
    event: Event,
    wait: (usize, usize),
) -> Option<Vec<Signal>> {
    let mut state = vec![0; run.threads.len()];
    let (mut is_kept, mut is_after) = (false, false);
    let mut there = 0;
    let mut found = Vec::new();
    for &thread in &run.order {
        let step = state[thread];
        let op = run.threads[thread][step].op;
        let begins = match op {
            Op::SleepBegin { event: e, slept, .. } => slept && Event::Condition(e) == event,
            Op::AwaitBegin(e) => Event::Semaphore(e) == event,
            _ => false,
        };
        if (thread, step + 1) == wait {
            if there > 0 {
                return None;
            }
            is_after = true;
        }
        if op.provides() == Some(event) {
            there += 1;
            if is_kept {
                found.push(Signal { thread, step, is_after });
            }
        }
        there -= i32::from(op.awaits() == Some(event));
        state[thread] += 1;
        is_kept |= begins && !search.held_at(thread, step + 1).is_empty();
    }
    Some(found)
}

/// Whether a thread takes, on its way to the signal, one of the locks `kept`.
fn needs(run: &Run, search: &Search<'_>, kept: &[usize], signal: &Signal) -> bool {
    let Signal { thread, step: signal, .. } = *signal;
    let steps = &run.threads[thread];
    let tells = |op: Op| op.is_order() && !matches!(op, Op::Await(_));
    let begin = steps[..signal].iter().rposition(|step| tells(step.op));
    // A signal for which nobody has waited yet begins no round that is known.
    let is_known = begin.is_none_or(|at| !matches!(steps[at].op, Op::Signal(_) | Op::Post(_)));
    let begin = steps[..signal].iter().rposition(|step| step.op.is_order()).map_or(0, |at| at + 1);
    is_known
        && (begin..signal).any(|at| match steps[at].op {
            Op::Acquire { lock, how: How::Wait, read: false, .. } => {
                let class = run.locks[lock].class();
                let of_class = |other: &&Lock| other.class() == class;
                let is_only = run.locks.iter().filter(of_class).count() == 1;
                // A lock that the thread already holds is taken at once.
                let held = search.held_at(thread, at);
                kept.contains(&lock) && is_only && !held.contains(&lock)
            }
            _ => false,
        })
}

/// The planted fault: a finding for each wait in the run with a lock kept that one who signals takes
/// at any time, be it before the wait, after the signal, or on the way to another.
pub fn careless(run: &Run) -> Vec<Told> {
    let search = Search::new(run).expect("a sound run");
    let mut all = Vec::new();
    for (waiter, steps) in run.threads.iter().enumerate() {
        for (at, step) in steps.iter().enumerate() {
            let Some(event) = step.op.awaits() else { continue };
            let kept = search.held_at(waiter, at);
            let signallers = search.signallers(&vec![0; run.threads.len()], event);
            for signaller in signallers.into_iter().filter(|&thread| thread != waiter) {
                let taken = run.threads[signaller].iter().filter_map(|step| match step.op {
                    Op::Acquire { lock, .. } => Some(lock).filter(|lock| kept.contains(lock)),
                    _ => None,
                });
                let told =
                    |lock| Told { grade: Grade::Likely, kept: Kept { waiter, signaller, lock } };
                all.extend(taken.map(told));
            }
        }
    }
    all
}

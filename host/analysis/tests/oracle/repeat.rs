//! Whether another run leaves the very same record and reaches the cycle.
//!
//! A chain of locks that a thread has been seen to take is remembered, and taken once more in the
//! same segment costs one look-up and leaves no trace: that is what the fast path is. So the record
//! does not tell a run from one in which a thread goes one more round through what it has done
//! already. If that other run can come to the cycle by a reordering of its own and this one cannot,
//! no grade would be right for both; the graver one is given.
//!
//! Such a run is looked for by adding a round to threads of the cycle (and to writers that come
//! between): what a thread holds when it waits, taken once more after that in the same segment and
//! given up again; or all that it holds at some time, given up and taken again. Then both runs are
//! recorded, and their ledgers are compared row by row.

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Evidence, Hold, Lock, Node, Row, Segment, Sync};

use crate::observe::ledger;
use crate::program::{How, Kind, Op, Run, Step};
use crate::search::{Cycle, Search, is_possible};
use crate::wakeups::{self, Kept};

/// Combinations of rounds looked at.
const MOST: usize = 1000;

/// A round that a thread may go.
#[derive(Clone)]
struct Round {
    thread: usize,
    /// Before which of its steps.
    at: usize,
    steps: Vec<Step>,
}

/// Whether a run with the same record reaches the cycle.
pub fn reaches(run: &Run, cycle: &Cycle) -> bool {
    let options = |run: &Run, thread: usize| match cycle.iter().find(|wait| wait.0 == thread) {
        Some(&(_, lock)) => rounds(run, thread, |of, _| of == lock),
        None => {
            let is_wanted =
                |of: usize| run.locks[of].kind == Kind::Writers && cycle.iter().any(|w| w.1 == of);
            rounds(run, thread, |of, read| !read && is_wanted(of))
        }
    };
    is_so_of_another(run, options, |run| {
        Search::new(run).is_some_and(|search| search.cycles().contains_key(cycle))
    })
}

/// Whether in a run with the same record the thread waits for good with the lock kept.
pub fn keeps(run: &Run, kept: &Kept) -> bool {
    let options = |run: &Run, thread: usize| match thread == kept.signaller {
        true => rounds(run, thread, |of, _| of == kept.lock),
        false => Vec::new(),
    };
    is_so_of_another(run, options, |run| {
        Search::new(run).is_some() && wakeups::reached(run).stuck.contains(kept)
    })
}

/// Whether `is_so` says so of a run with the same record: those with a round more in one thread first,
/// then in two, and so on. The rounds of a thread are `of`, and the breaks.
fn is_so_of_another(
    run: &Run,
    of: impl Fn(&Run, usize) -> Vec<Round>,
    is_so: impl Fn(&Run) -> bool,
) -> bool {
    let run = &with_sites(run);
    let record = ledger(run);
    let leaves_no_trace = |rounds: &[&Round]| {
        observed(run, rounds).is_some_and(|other| is_same(&record, &ledger(&other)))
    };
    let mut looked = 0;
    let rounds: Vec<Round> = (0..run.threads.len())
        .flat_map(|thread| of(run, thread).into_iter().chain(breaks(run, thread)))
        .filter(|round| leaves_no_trace(&[round]))
        .collect();
    let mut chosen: Vec<Vec<&Round>> = vec![Vec::new()];
    while !chosen.is_empty() {
        let mut longer_yet = Vec::new();
        for rounds_before in chosen {
            let last = rounds_before.last().map(|round| round.thread);
            for round in rounds.iter().filter(|round| last.is_none_or(|it| round.thread > it)) {
                let mut all = rounds_before.clone();
                all.push(round);
                looked += 1;
                if looked > MOST {
                    return false;
                }
                let mut longer = run.clone();
                for round in &all {
                    let (at, steps) = (round.at, round.steps.iter().copied());
                    longer.threads[round.thread].splice(at..at, steps);
                }
                if is_so(&longer) && leaves_no_trace(&all) {
                    return true;
                }
                longer_yet.push(all);
            }
        }
        chosen = longer_yet;
    }
    false
}

/// Every step has a call site of its own, or the one it shares.
fn with_sites(run: &Run) -> Run {
    const FIRST: usize = 5000;
    let mut run = run.clone();
    for (i, step) in run.threads.iter_mut().flatten().enumerate() {
        step.site.get_or_insert(FIRST + i);
    }
    run
}

/// The run with rounds gone at some time at which that could be.
fn observed(run: &Run, rounds: &[&Round]) -> Option<Run> {
    let Some((round, others)) = rounds.split_last() else { return Some(run.clone()) };
    let run = observed(run, others)?;
    let thread = round.thread;
    let mut done = 0;
    (0..=run.order.len()).find_map(|time| {
        if time > 0 && run.order[time - 1] == thread {
            done += 1;
        }
        if done != round.at {
            return None;
        }
        let mut longer = run.clone();
        longer.threads[thread].splice(done..done, round.steps.iter().copied());
        longer.order.splice(time..time, vec![thread; round.steps.len()]);
        is_possible(&longer).then_some(longer)
    })
}

fn is_same(a: &Ledger, b: &Ledger) -> bool {
    fn rows<R: Row + std::fmt::Debug>(ledger: &Ledger) -> Vec<String> {
        ledger.rows::<R>().map(|(id, row)| format!("{id} {row:?}")).collect()
    }
    rows::<Node>(a) == rows::<Node>(b)
        && rows::<Evidence>(a) == rows::<Evidence>(b)
        && rows::<Segment>(a) == rows::<Segment>(b)
        && rows::<Hold>(a) == rows::<Hold>(b)
        && rows::<Lock>(a) == rows::<Lock>(b)
        && rows::<Sync>(a) == rows::<Sync>(b)
}

/// The rounds of a thread to each of its waits for a lock that `is_wanted`, at each later place.
fn rounds(run: &Run, thread: usize, is_wanted: impl Fn(usize, bool) -> bool) -> Vec<Round> {
    let steps = &run.threads[thread];
    let mut rounds = Vec::new();
    for (wait, step) in steps.iter().enumerate() {
        let waits = match step.op {
            Op::Acquire { lock, how, read, .. } => how != How::Try && is_wanted(lock, read),
            Op::WaitEnd { lock, .. } | Op::SleepEnd { lock, .. } => is_wanted(lock, false),
            _ => false,
        };
        if !waits {
            continue;
        }
        let begin =
            steps[..wait].iter().rposition(|step| step.op.is_order()).map_or(0, |at| at + 1);
        let round = round(&steps[begin..=wait]);
        for at in wait + 1..=steps.len() {
            if steps[at - 1].op.is_order() {
                break;
            }
            rounds.push(Round { thread, at, steps: round.clone() });
        }
    }
    rounds
}

/// The places at which a thread may give up all that it holds and take it again.
fn breaks(run: &Run, thread: usize) -> Vec<Round> {
    let mut held: Vec<Step> = Vec::new();
    let mut all = Vec::new();
    for (at, step) in run.threads[thread].iter().enumerate() {
        if !held.is_empty() && !step.op.is_second_half() {
            let release = |step: &Step| match step.op {
                Op::Acquire { lock, id, .. } => Step { op: Op::Release { lock, id }, ..*step },
                _ => *step,
            };
            let mut steps: Vec<Step> = held.iter().rev().map(release).collect();
            steps.extend(&held);
            all.push(Round { thread, at, steps });
        }
        match step.op {
            Op::Acquire { .. } => held.push(*step),
            Op::Release { id, .. } => held.retain(|step| id_of(step.op) != Some(id)),
            _ => {}
        }
    }
    all
}

/// What it takes to wait once more as at the end of `steps`: all that is held then, and all that
/// was held when that was taken, given up when it was given up, and what is left at the end.
fn round(steps: &[Step]) -> Vec<Step> {
    let is_end = |op: Op, id| match op {
        Op::Release { .. } | Op::WaitEnd { .. } | Op::SleepEnd { .. } => id_of(op) == Some(id),
        _ => false,
    };
    let ends = |id: usize| steps.iter().position(|step| is_end(step.op, id));
    let last = steps.last().and_then(|step| id_of(step.op));
    let mut wanted: Vec<usize> = last.into_iter().collect();
    let is_last = |step: &Step| begun(step.op).is_some_and(|id| Some(id) == last);
    let mut until = steps.iter().position(is_last).unwrap_or(0);
    // From there back: each acquisition that is still held when one that is wanted begins.
    for (at, step) in steps[..until].iter().enumerate().rev() {
        let Some(id) = begun(step.op) else { continue };
        if ends(id).is_none_or(|end| end > until) {
            wanted.push(id);
            until = at;
        }
    }
    let is_wanted = |op: Op| id_of(op).is_some_and(|id| wanted.contains(&id));
    let mut round: Vec<Step> = steps.iter().copied().filter(|step| is_wanted(step.op)).collect();
    let given_up: Vec<usize> = round
        .iter()
        .filter(|s| matches!(s.op, Op::Release { .. }))
        .filter_map(|s| id_of(s.op))
        .collect();
    let left: Vec<Step> = round
        .iter()
        .rev()
        .filter_map(|step| match step.op {
            Op::Acquire { lock, id, .. } if !given_up.contains(&id) => {
                Some(Step { op: Op::Release { lock, id }, site: step.site })
            }
            _ => None,
        })
        .collect();
    round.extend(left);
    round
}

fn begun(op: Op) -> Option<usize> {
    match op {
        Op::Acquire { id, .. } | Op::WaitBegin { id, .. } | Op::SleepBegin { id, .. } => Some(id),
        _ => None,
    }
}

fn id_of(op: Op) -> Option<usize> {
    match op {
        Op::Acquire { id, .. }
        | Op::Release { id, .. }
        | Op::WaitBegin { id, .. }
        | Op::WaitEnd { id, .. }
        | Op::SleepBegin { id, .. }
        | Op::SleepEnd { id, .. } => Some(id),
        _ => None,
    }
}

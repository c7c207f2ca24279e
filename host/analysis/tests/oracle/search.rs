//! The oracle: every state that some interleaving of a run's threads reaches.
//!
//! A state is how far each thread is; what it holds there follows from that alone.

use std::collections::BTreeMap;

use crate::program::{Event, How, Kind, Lock, Op, Run, Step};

/// A lock held, how often, and how.
#[derive(Clone, Copy, Debug)]
struct Held {
    lock: usize,
    read: bool,
    count: u32,
}

/// Which thread waits for what in a cycle: (thread, lock), sorted. The end of a thread is numbered
/// behind the locks ([`end_of`]).
pub type Cycle = Vec<(usize, usize)>;

/// What a thread waits for.
struct Wait {
    lock: usize,
    /// The threads that it waits for.
    blockers: Vec<usize>,
    /// For good, and that can be known (see [`Search::cycles`]).
    sure: bool,
}

/// A routine that runs once.
struct Routine {
    /// The thread that runs it.
    thread: usize,
    is_over: bool,
}

/// What ends a wait on a condition variable, in addition to its mutex being free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waking {
    /// That what is waited for has happened.
    Told,
    /// Nothing: it may end at any time.
    Spurious,
    /// That the thread has signalled that did in the run.
    AsInRun,
}

/// The end of a thread, as something that is waited for.
pub fn end_of(run: &Run, thread: usize) -> usize {
    run.locks.len() + thread
}

/// A barrier, as something that is waited for.
pub fn barrier_of(run: &Run, barrier: usize) -> usize {
    run.locks.len() + run.threads.len() + barrier
}

/// A run prepared for searching.
pub struct Search<'r> {
    run: &'r Run,
    /// By thread and position: what it holds before that step.
    held: Vec<Vec<Vec<Held>>>,
    /// By thread: its creator, and at which step.
    creator: Vec<Option<(usize, usize)>>,
    /// By thread and step that ends a wait on a condition variable: the last signal of another thread in that time, by thread
    /// and step.
    wakers: BTreeMap<(usize, usize), (usize, usize)>,
}

impl<'r> Search<'r> {
    /// `None` if the threads' steps make no sense by themselves.
    pub fn new(run: &'r Run) -> Option<Self> {
        let mut creator = vec![None; run.threads.len()];
        for (thread, steps) in run.threads.iter().enumerate() {
            for (at, step) in steps.iter().enumerate() {
                if let Op::Create(new) = step.op {
                    creator[new] = Some((thread, at));
                }
            }
        }
        // A routine that takes no lock blocks no thread, and is not recorded.
        if !run.threads.iter().all(|steps| routines_take_locks(steps)) {
            return None;
        }
        let held = (0..run.threads.len()).map(|thread| holdings(run, thread)).collect();
        let held: Option<Vec<_>> = held;
        Some(Self { run, held: held?, creator, wakers: wakers(run) })
    }

    fn op(&self, state: &[usize], thread: usize) -> Option<Op> {
        self.run.threads[thread].get(state[thread]).map(|step| step.op)
    }

    fn has_started(&self, state: &[usize], thread: usize) -> bool {
        self.creator[thread].is_none_or(|(creator, at)| state[creator] > at)
    }

    /// Whether the thread can take its next step.
    pub fn is_enabled(&self, state: &[usize], thread: usize) -> bool {
        self.is_enabled_by(state, thread, Waking::Told)
    }

    /// Whether the thread can take its next step, and learns of a death in it as it did in the run.
    ///
    /// Which of several threads learns of a death may be another in each interleaving, and programs do mostly the same
    /// then. So the interleavings that are looked at need not agree with the run in that.
    pub fn is_as_in_run(&self, state: &[usize], thread: usize) -> bool {
        let learns_rightly = match self.op(state, thread) {
            Some(Op::Acquire { lock, how, .. }) if self.run.locks[lock].kind == Kind::Robust => {
                let is_it = |op: &Op| matches!(*op, Op::Acquire { lock: l, how: How::OwnerDied, .. } if l == lock);
                let learned = self.count(|thread, steps| &steps[..state[thread]], is_it);
                (how == How::OwnerDied) == (self.dead_owners(state, lock) > learned)
            }
            _ => true,
        };
        learns_rightly && self.is_enabled(state, thread)
    }

    fn is_enabled_by(&self, state: &[usize], thread: usize, waking: Waking) -> bool {
        if !self.has_started(state, thread) {
            return false;
        }
        match self.op(state, thread) {
            None => false,
            Some(Op::Acquire { lock, how, read, .. }) => {
                let holders = self.holders(state, thread, lock, read).len();
                match self.run.locks[lock].kind {
                    Kind::Counting(seats) => holders < seats,
                    // A thread learns of a death after it.
                    Kind::Robust if how == How::OwnerDied => {
                        holders == 0 && self.dead_owners(state, lock) > 0
                    }
                    _ => holders == 0,
                }
            }
            Some(Op::WaitEnd { lock, .. }) => self.holders(state, thread, lock, false).is_empty(),
            Some(Op::SleepEnd { lock, event, .. }) => {
                let is_woken = match waking {
                    Waking::Told => self.is_there(state, Event::Condition(event)),
                    Waking::Spurious => true,
                    Waking::AsInRun => {
                        let waker = self.wakers.get(&(thread, state[thread]));
                        waker.is_none_or(|&(other, at)| state[other] > at)
                    }
                };
                is_woken && self.holders(state, thread, lock, false).is_empty()
            }
            Some(Op::Join(other)) => self.has_ended(state, other),
            Some(Op::Pass(barrier)) => {
                let is_it = |&op: &Op| op == Op::Arrive(barrier);
                self.count(|_, steps| steps, is_it) == self.count(|t, s| &s[..state[t]], is_it)
            }
            Some(Op::Await(semaphore)) => self.is_there(state, Event::Semaphore(semaphore)),
            // Who called first would run the routine itself: that is not followed.
            Some(Op::OnceCall { id, .. }) => self.routine(state, id).is_some_and(|it| it.is_over),
            Some(
                Op::Release { .. }
                | Op::WaitBegin { .. }
                | Op::SleepBegin { .. }
                | Op::AwaitBegin(_)
                | Op::Signal(_)
                | Op::Create(_)
                | Op::OnceBegin { .. }
                | Op::OnceEnd { .. }
                | Op::Arrive(_)
                | Op::Post(_),
            ) => true,
        }
    }

    /// The routine of a control, if it has begun.
    fn routine(&self, state: &[usize], id: usize) -> Option<Routine> {
        let at = |thread: usize, end: bool| {
            self.run.threads[thread].iter().position(|step| match step.op {
                Op::OnceBegin { id: other, .. } => !end && other == id,
                Op::OnceEnd { id: other, .. } => end && other == id,
                _ => false,
            })
        };
        (0..state.len()).find_map(|thread| {
            let (begin, end) = (at(thread, false)?, at(thread, true)?);
            let is_over = state[thread] > end;
            (state[thread] > begin).then_some(Routine { thread, is_over })
        })
    }

    /// The event has happened more often than it was waited for.
    fn is_there(&self, state: &[usize], event: Event) -> bool {
        let done = |is_it: &dyn Fn(Op) -> bool| self.count(|t, s| &s[..state[t]], |&op| is_it(op));
        done(&|op| op.provides() == Some(event)) > done(&|op| op.awaits() == Some(event))
    }

    /// The thread is about to wait for an event, and the event is not there.
    pub fn sleeps(&self, state: &[usize], thread: usize) -> bool {
        match self.op(state, thread) {
            Some(Op::SleepBegin { event, .. }) => !self.is_there(state, Event::Condition(event)),
            _ => false,
        }
    }

    /// How far the thread is after its next step. A thread that finds what it would wait for goes
    /// on at once.
    fn after(&self, state: &[usize], thread: usize, waking: Waking) -> usize {
        let begins = matches!(self.op(state, thread), Some(Op::SleepBegin { .. }));
        match begins && waking == Waking::Told && !self.sleeps(state, thread) {
            true => state[thread] + 2,
            false => state[thread] + 1,
        }
    }

    /// How many of the steps that `of` picks from each thread's `is_it` says so of.
    fn count(
        &self,
        of: impl Fn(usize, &'r [Step]) -> &'r [Step],
        is_it: impl Fn(&Op) -> bool,
    ) -> usize {
        let threads = self.run.threads.iter().enumerate();
        threads.flat_map(|(t, steps)| of(t, steps)).filter(|step| is_it(&step.op)).count()
    }

    /// Threads that have ended with the lock.
    fn dead_owners(&self, state: &[usize], lock: usize) -> usize {
        let has_died = |&thread: &usize| {
            let held = &self.held[thread][state[thread]];
            self.has_ended(state, thread) && held.iter().any(|held| held.lock == lock)
        };
        (0..state.len()).filter(has_died).count()
    }

    fn has_ended(&self, state: &[usize], thread: usize) -> bool {
        state[thread] == self.run.threads[thread].len()
    }

    /// Threads that hold `lock` in a way that keeps `thread` from it, itself included.
    fn holders(&self, state: &[usize], thread: usize, lock: usize, read: bool) -> Vec<usize> {
        let mine = self.run.locks[lock].kind == Kind::Recursive;
        let in_the_way = |&other: &usize| {
            !(mine && other == thread || self.has_ended(state, other))
                && self.held[other][state[other]]
                    .iter()
                    .any(|h| h.lock == lock && !(h.read && read))
        };
        (0..state.len()).filter(in_the_way).collect()
    }

    fn wait(&self, state: &[usize], thread: usize) -> Option<Wait> {
        if !self.has_started(state, thread) {
            return None;
        }
        let (lock, read, timed) = match self.op(state, thread)? {
            Op::Acquire { how: How::Try, .. } => return None,
            // No single thread is waited for.
            Op::Acquire { lock, .. } if matches!(self.run.locks[lock].kind, Kind::Counting(_)) => {
                return None;
            }
            Op::Acquire { lock, how, read, .. } => (lock, read, how == How::Timed),
            Op::WaitEnd { lock, .. } | Op::SleepEnd { lock, .. } => (lock, false, false),
            Op::Join(other) if self.has_ended(state, other) => return None,
            Op::Join(other) => {
                let lock = end_of(self.run, other);
                let steps = &self.run.threads[thread][..state[thread]];
                let sure = !self.has_heard(steps, other) && !self.signals_holding(steps, other);
                return Some(Wait { lock, blockers: vec![other], sure });
            }
            Op::OnceCall { lock, id } => {
                let running = self.routine(state, id).filter(|routine| !routine.is_over)?;
                return Some(Wait { lock, blockers: vec![running.thread], sure: true });
            }
            Op::Pass(barrier) => {
                let is_it = |step: &Step| step.op == Op::Arrive(barrier);
                let comes =
                    |&other: &usize| self.run.threads[other][state[other]..].iter().any(is_it);
                let blockers: Vec<usize> = (0..state.len()).filter(comes).collect();
                let lock = barrier_of(self.run, barrier);
                return (!blockers.is_empty()).then_some(Wait { lock, blockers, sure: true });
            }
            _ => return None,
        };
        let holders = self.holders(state, thread, lock, read);
        let of_class = |other: &&Lock| other.class() == self.run.locks[lock].class();
        let is_only_one = self.run.locks.iter().filter(of_class).count() == 1;
        // If nothing is held, the ledger records the class of the acquired lock, not the lock.
        let is_known = is_only_one || !self.held[thread][state[thread]].is_empty();
        if !holders.is_empty() {
            return Some(Wait { lock, blockers: holders, sure: !timed && is_known });
        }
        if !read || self.run.locks[lock].kind != Kind::Writers {
            return None;
        }
        // Readers hold it; a writer that has come to wait for them meanwhile holds this one up.
        let writers: Vec<bool> = (0..state.len())
            .filter(|&other| other != thread && self.has_started(state, other))
            .filter_map(|other| match self.op(state, other)? {
                Op::Acquire { lock: other, how, read: false, .. }
                    if other == lock && how != How::Try =>
                {
                    Some(how == How::Timed)
                }
                _ => None,
            })
            .collect();
        let readers = self.holders(state, thread, lock, false);
        let sure = is_only_one && !timed && writers.iter().any(|&timed| !timed);
        let waits = !writers.is_empty() && !readers.is_empty();
        waits.then_some(Wait { lock, blockers: readers, sure })
    }

    /// Whether a thread has waited on a condition in `steps`, with a lock held of which the thread
    /// `other` takes one of the class: what that may have told it is not known.
    fn has_heard(&self, steps: &[Step], other: usize) -> bool {
        let class = |lock: usize| self.run.locks[lock].class();
        let taken = |step: &Step| match step.op {
            Op::Acquire { lock, .. } => Some(class(lock)),
            _ => None,
        };
        let waits = steps
            .iter()
            .any(|step| matches!(step.op, Op::WaitEnd { .. } | Op::SleepEnd { slept: true, .. }));
        let others = self.run.threads[other].iter();
        waits && others.filter_map(taken).any(|it| steps.iter().filter_map(taken).any(|s| s == it))
    }

    /// Whether the thread `other` signals a condition with a lock held of which a thread has taken
    /// one of the class in `steps`: it may announce its end.
    fn signals_holding(&self, steps: &[Step], other: usize) -> bool {
        let class = |lock: usize| self.run.locks[lock].class();
        let is_taken = |held: &usize| {
            steps.iter().any(|step| match step.op {
                Op::Acquire { lock, .. } => class(lock) == class(*held),
                _ => false,
            })
        };
        let mut held = Vec::new();
        self.run.threads[other].iter().any(|step| {
            match step.op {
                Op::Acquire { lock, .. } => held.push(lock),
                // A recursive lock is held until the last release.
                Op::Release { lock, .. } => {
                    held.iter().rposition(|&other| other == lock).map(|at| held.remove(at));
                }
                Op::Signal(_) => return held.iter().any(is_taken),
                _ => {}
            }
            false
        })
    }

    /// Every cycle of waiting threads that can be reached, and whether that can be known for sure.
    /// It cannot if somebody has a deadline and may back out. Nor if a reader waits behind a
    /// writer, or a thread that is joined waits with nothing held, and the lock is not the only one
    /// of its class: for a thread that holds nothing the ledger records the class, not the lock.
    /// Nor if the joiner has waited on a condition before, and may have learned of the other's end;
    /// or if the other signals one with the lock held.
    ///
    /// A signal that ends a wait on a condition variable orders nothing here. But what can only be reached where a wait ends
    /// without the signal that ended it in the run is not known for sure.
    pub fn cycles(&self) -> BTreeMap<Cycle, bool> {
        let mut found = BTreeMap::new();
        self.explore(Waking::Spurious, |state| self.cycles_of(state, &mut found));
        if !self.wakers.is_empty() {
            let mut as_in_run = BTreeMap::new();
            self.explore(Waking::AsInRun, |state| self.cycles_of(state, &mut as_in_run));
            for (cycle, sure) in &mut found {
                *sure &= as_in_run.get(cycle).copied().unwrap_or(false);
            }
        }
        found
    }

    /// The cycles that can be reached if what threads tell each other orders them, as it does where a queue or a flag goes with
    /// the condition variable.
    pub fn cycles_as_told(&self) -> BTreeMap<Cycle, bool> {
        let mut found = BTreeMap::new();
        self.explore(Waking::Told, |state| self.cycles_of(state, &mut found));
        found
    }

    /// Every state that can be reached.
    pub fn explore(&self, waking: Waking, mut visit: impl FnMut(&[usize])) {
        let lengths: Vec<usize> = self.run.threads.iter().map(|steps| steps.len() + 1).collect();
        let number = |state: &[usize]| {
            state.iter().zip(&lengths).fold(0, |number, (&at, &length)| number * length + at)
        };
        let mut seen = vec![false; lengths.iter().product()];
        seen[0] = true;
        let mut open = vec![vec![0; lengths.len()]];
        while let Some(state) = open.pop() {
            visit(&state);
            for thread in 0..state.len() {
                if self.is_enabled_by(&state, thread, waking) {
                    let mut next = state.clone();
                    next[thread] = self.after(&state, thread, waking);
                    let number = number(&next);
                    if !std::mem::replace(&mut seen[number], true) {
                        open.push(next);
                    }
                }
            }
        }
    }

    /// The threads that never go on from this state: each waits for one that does not either, or,
    /// where any of several could end its wait, for several. A thread that could back out is none
    /// of them.
    pub fn stuck(&self, state: &[usize]) -> Vec<bool> {
        let mut stuck: Vec<bool> = (0..state.len())
            .map(|thread| {
                let is_timed = matches!(
                    self.op(state, thread),
                    Some(Op::Acquire { how: How::Timed | How::Try, .. }) | None
                );
                !is_timed && !self.is_enabled(state, thread)
            })
            .collect();
        // Until no thread is left that could be woken.
        while let Some(thread) =
            (0..state.len()).find(|&thread| stuck[thread] && !self.stays(state, thread, &stuck))
        {
            stuck[thread] = false;
        }
        stuck
    }

    /// Whether the thread, which cannot go on in this state, cannot if those that are `stuck` never
    /// do.
    fn stays(&self, state: &[usize], thread: usize, stuck: &[bool]) -> bool {
        let is_stuck = |&other: &usize| stuck[other];
        if !self.has_started(state, thread) {
            return self.creator[thread].is_some_and(|(creator, _)| stuck[creator]);
        }
        let op = self.op(state, thread);
        let event = op.and_then(Op::awaits).filter(|&event| !self.is_there(state, event));
        if let Some(event) = event {
            return self.signallers(state, event).iter().all(is_stuck);
        }
        match op {
            Some(Op::Acquire { lock, read, .. }) => {
                let holders = self.holders(state, thread, lock, read);
                match self.run.locks[lock].kind {
                    Kind::Counting(_) => holders.iter().all(is_stuck),
                    _ => holders.iter().any(is_stuck),
                }
            }
            Some(Op::WaitEnd { lock, .. } | Op::SleepEnd { lock, .. }) => {
                self.holders(state, thread, lock, false).iter().any(is_stuck)
            }
            Some(Op::Join(other)) => is_stuck(&other),
            Some(Op::OnceCall { id, .. }) => {
                self.routine(state, id).is_some_and(|routine| stuck[routine.thread])
            }
            // What keeps it is looked for no further.
            _ => false,
        }
    }

    /// The threads that may still have the event happen.
    pub fn signallers(&self, state: &[usize], event: Event) -> Vec<usize> {
        let is_ahead = |&thread: &usize| {
            let ahead = &self.run.threads[thread][state[thread]..];
            ahead.iter().any(|step| step.op.provides() == Some(event))
        };
        (0..state.len()).filter(is_ahead).collect()
    }

    /// The locks that a thread holds before a step.
    pub fn held_at(&self, thread: usize, at: usize) -> Vec<usize> {
        self.held[thread][at].iter().map(|held| held.lock).collect()
    }

    /// What the thread waits for and that is no lock, if it is not there.
    pub fn awaited(&self, state: &[usize], thread: usize) -> Option<Event> {
        let op = self.op(state, thread).filter(|_| self.has_started(state, thread))?;
        op.awaits().filter(|&event| !self.is_there(state, event))
    }

    /// The lock that the thread waits for and `holder` has.
    pub fn blocked_by(&self, state: &[usize], thread: usize, holder: usize) -> Option<usize> {
        let Some(Op::Acquire { lock, how: How::Wait, read, .. }) = self.op(state, thread) else {
            return None;
        };
        let is_blocked = self.has_started(state, thread)
            && self.holders(state, thread, lock, read).contains(&holder);
        is_blocked.then_some(lock)
    }

    /// The lock that the thread waits for, if its holder waits for a lock of another thread, and so on up to `holder`.
    pub fn blocked_through(&self, state: &[usize], thread: usize, holder: usize) -> Option<usize> {
        let waits = |thread: usize| match self.op(state, thread) {
            Some(Op::Acquire { lock, how: How::Wait, read, .. })
                if self.has_started(state, thread) =>
            {
                Some((lock, self.holders(state, thread, lock, read)))
            }
            _ => None,
        };
        let (lock, mut open) = waits(thread)?;
        let mut seen = vec![thread];
        while let Some(next) = open.pop() {
            if next == holder {
                return Some(lock);
            }
            if !seen.contains(&next) {
                seen.push(next);
                open.extend(waits(next).into_iter().flat_map(|(_, holders)| holders));
            }
        }
        None
    }

    fn cycles_of(&self, state: &[usize], found: &mut BTreeMap<Cycle, bool>) {
        let waits: Vec<_> = (0..state.len()).map(|thread| self.wait(state, thread)).collect();
        if waits.iter().all(Option::is_none) {
            return;
        }
        for first in 0..state.len() {
            // Each cycle once: from its least thread, by way of greater ones.
            let mut paths = vec![vec![first]];
            while let Some(path) = paths.pop() {
                let Some(wait) = &waits[path[path.len() - 1]] else { continue };
                for &next in &wait.blockers {
                    if next == first {
                        let of = |&t: &usize| waits[t].as_ref().map(|wait| (t, wait));
                        let all: Vec<(usize, &Wait)> = path.iter().filter_map(of).collect();
                        let sure = all.iter().all(|(_, wait)| wait.sure);
                        let mut cycle: Cycle = all.iter().map(|(t, w)| (*t, w.lock)).collect();
                        cycle.sort_unstable();
                        *found.entry(cycle).or_default() |= sure;
                    } else if next > first && !path.contains(&next) {
                        let mut longer = path.clone();
                        longer.push(next);
                        paths.push(longer);
                    }
                }
            }
        }
    }
}

/// See [`Search::wakers`].
fn wakers(run: &Run) -> BTreeMap<(usize, usize), (usize, usize)> {
    let mut wakers = BTreeMap::new();
    let mut at = vec![0; run.threads.len()];
    // By thread that waits: for what, and who signalled it last.
    let mut waits: BTreeMap<usize, (usize, Option<(usize, usize)>)> = BTreeMap::new();
    for &thread in &run.order {
        let here = (thread, at[thread]);
        match run.threads[thread][at[thread]].op {
            Op::SleepBegin { event, slept: true, .. } => _ = waits.insert(thread, (event, None)),
            Op::SleepEnd { .. } => {
                if let Some((_, Some(waker))) = waits.remove(&thread) {
                    wakers.insert(here, waker);
                }
            }
            Op::Signal(event) => {
                for (_, last) in waits.values_mut().filter(|wait| wait.0 == event) {
                    *last = Some(here);
                }
            }
            _ => {}
        }
        at[thread] += 1;
    }
    wakers
}

/// What a thread holds before each of its steps and after the last. `None` if it gives up what it
/// does not hold, or would wait for itself.
fn holdings(run: &Run, thread: usize) -> Option<Vec<Vec<Held>>> {
    let mut held: Vec<Held> = Vec::new();
    let mut all = vec![held.clone()];
    for step in &run.threads[thread] {
        match step.op {
            Op::Acquire { lock, read, .. } => take(run, &mut held, lock, read)?,
            Op::OnceBegin { lock, .. } => take(run, &mut held, lock, false)?,
            Op::WaitEnd { lock, .. } | Op::SleepEnd { lock, .. } => {
                take(run, &mut held, lock, false)?
            }
            Op::Release { lock, .. } | Op::OnceEnd { lock, .. } => {
                let at = held.iter().rposition(|h| h.lock == lock)?;
                held[at].count -= 1;
                if held[at].count == 0 {
                    held.remove(at);
                }
            }
            Op::WaitBegin { lock, .. } | Op::SleepBegin { lock, .. } => {
                let at = held.iter().position(|h| h.lock == lock && h.count == 1)?;
                held.remove(at);
            }
            _ => {}
        }
        all.push(held.clone());
    }
    Some(all)
}

/// Whether each routine that a thread runs acquires a lock.
fn routines_take_locks(steps: &[Step]) -> bool {
    let at = |end: bool| {
        steps.iter().position(|step| match step.op {
            Op::OnceBegin { .. } => !end,
            Op::OnceEnd { .. } => end,
            _ => false,
        })
    };
    let is_acquired = |step: &Step| matches!(step.op, Op::Acquire { .. });
    match (at(false), at(true)) {
        (Some(begin), Some(end)) => steps[begin..end].iter().any(is_acquired),
        _ => true,
    }
}

fn take(run: &Run, held: &mut Vec<Held>, lock: usize, read: bool) -> Option<()> {
    match held.iter_mut().find(|h| h.lock == lock) {
        None => held.push(Held { lock, read, count: 1 }),
        Some(h) if h.read && read || run.locks[lock].kind == Kind::Recursive => h.count += 1,
        Some(_) => return None,
    }
    Some(())
}

/// Whether a run's order is one that its threads can have taken.
pub fn is_possible(run: &Run) -> bool {
    let Some(search) = Search::new(run) else { return false };
    let mut state = vec![0; run.threads.len()];
    for (i, &thread) in run.order.iter().enumerate() {
        if !search.is_as_in_run(&state, thread) {
            return false;
        }
        if let Some(Op::SleepBegin { slept, .. }) = search.op(&state, thread)
            && (slept != search.sleeps(&state, thread)
                || !slept && run.order.get(i + 1) != Some(&thread))
        {
            return false;
        }
        state[thread] += 1;
    }
    run.threads.iter().zip(&state).all(|(steps, &at)| steps.len() == at)
}

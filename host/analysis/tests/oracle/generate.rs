//! Random programs, and one run of each that came to its end.
//!
//! A thread is a sequence of critical sections, nested and sometimes crossing each other, with
//! trylocks, condition waits, waits for what another thread signals or posts, and creations and joins of other threads, also with locks held.

use crate::program::{How, Kind, Lock, Op, Run, Step};
use crate::rng::Rng;
use crate::search::{Search, is_possible};

/// States of a program, at most: the product of its threads' lengths.
const MOST_STATES: usize = 60_000;

struct Generator<'g> {
    rng: &'g mut Rng,
    locks: Vec<Lock>,
    /// Call sites are shared between operations.
    shares_sites: bool,
    ids: usize,
}

/// What a program has in addition to locks and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// Waits for what another thread tells, now and then.
    Events,
    /// A routine that runs once.
    Once,
    /// A semaphore with two seats or three.
    Seats,
    /// A robust mutex, with which a thread ends.
    Death,
}

/// A random run; the same for the same seed.
pub fn run(rng: &mut Rng, extra: Extra) -> Run {
    loop {
        if let Some(run) = attempt(rng, extra) {
            return run;
        }
    }
}

fn attempt(rng: &mut Rng, extra: Extra) -> Option<Run> {
    let locks = locks(rng);
    let shares_sites = rng.chance(15);
    let count = 2 + rng.below(3);
    let mut generator = Generator { rng, locks, shares_sites, ids: 0 };
    let mut threads: Vec<Vec<Step>> = (0..count).map(|_| generator.thread(count)).collect();
    for thread in 1..count {
        generator.parents(&mut threads, thread);
    }
    if generator.rng.chance(15) {
        generator.barrier(&mut threads);
    }
    let has_semaphore = generator.rng.chance(20);
    let Generator { rng, locks, shares_sites, ids } = generator;
    // What a seed's programs do with locks alone stays as it is.
    let mut events = rng.another();
    let mut generator = Generator { rng: &mut events, locks, shares_sites, ids };
    if extra == Extra::Once {
        generator.once(&mut threads)?;
    } else if extra == Extra::Seats {
        generator.seats(&mut threads)?;
    } else if extra == Extra::Death {
        generator.death(&mut threads);
    } else {
        if has_semaphore {
            generator.semaphore(&mut threads);
        }
        if generator.rng.chance(40) {
            generator.condition(&mut threads);
        }
    }
    let locks = generator.locks;
    let waits_first = events.chance(70);
    let states: usize = threads.iter().map(|steps| steps.len() + 1).product();
    let run = Run { locks, threads, order: Vec::new() };
    if states > MOST_STATES {
        return None;
    }
    observe(run, waits_first, rng)
}

fn locks(rng: &mut Rng) -> Vec<Lock> {
    let classes = 1 + rng.below(4);
    let mut locks = Vec::new();
    let kinds =
        [Kind::Mutex, Kind::Mutex, Kind::Recursive, Kind::Readers, Kind::Writers, Kind::Spin];
    let only = rng.chance(60).then(|| rng.pick(&kinds));
    for class in 0..classes {
        let kind = only.filter(|_| rng.chance(80)).unwrap_or_else(|| rng.pick(&kinds));
        let letter = char::from(b'A' + class as u8);
        let instances = if rng.chance(25) { 2 } else { 1 };
        for instance in 1..=instances {
            let name =
                if instances == 1 { letter.to_string() } else { format!("{letter}{instance}") };
            locks.push(Lock { name, kind });
        }
    }
    locks.truncate(5);
    if locks.len() == 1 {
        locks.push(Lock { name: "Z".into(), kind: Kind::Mutex });
    }
    locks
}

impl Generator<'_> {
    fn thread(&mut self, threads: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        // Fewer steps where there are more threads.
        let sections = 1 + self.rng.below(if threads > 3 { 2 } else { 3 });
        for _ in 0..sections {
            self.section(&mut steps, &mut Vec::new(), 0);
        }
        steps
    }

    fn site(&mut self) -> Option<usize> {
        self.shares_sites.then(|| 1 + self.rng.below(4))
    }

    fn section(&mut self, steps: &mut Vec<Step>, held: &mut Vec<(usize, bool)>, depth: usize) {
        let lock = self.rng.below(self.locks.len());
        let kind = self.locks[lock].kind;
        let has_readers = matches!(kind, Kind::Readers | Kind::Writers);
        let read = has_readers && self.rng.chance(60);
        let again = held.iter().find(|h| h.0 == lock);
        if let Some(&(_, held_shared)) = again
            && !(kind == Kind::Recursive || held_shared && read)
        {
            return;
        }
        let how = match self.rng.below(20) {
            0..2 => How::Try,
            2 if kind != Kind::Spin => How::Timed,
            _ => How::Wait,
        };
        self.ids += 1;
        let id = self.ids;
        let site = self.site();
        let again = again.is_some();
        steps.push(Step { op: Op::Acquire { lock, how, read, id }, site });
        held.push((lock, read));
        if depth < 3 {
            for _ in 0..self.rng.below(if depth == 0 { 3 } else { 2 }) + usize::from(depth == 0) {
                self.section(steps, held, depth + 1);
            }
        }
        let waits = kind == Kind::Mutex || kind == Kind::Recursive && !again;
        if waits && held.iter().filter(|h| h.0 == lock).count() == 1 && self.rng.chance(6) {
            self.ids += 1;
            let id = self.ids;
            let site = self.site();
            steps.push(Step { op: Op::WaitBegin { lock, id }, site });
            steps.push(Step { op: Op::WaitEnd { lock, id }, site });
        }
        let at = held.iter().rposition(|h| h.0 == lock).expect("pushed above");
        held.remove(at);
        // Sometimes a lock is given up before one that was taken later, as hand over hand.
        let mut end = steps.len();
        if !again && self.rng.chance(12) && matches!(steps[end - 1].op, Op::Release { .. }) {
            end -= 1;
        }
        steps.insert(end, Step { op: Op::Release { lock, id }, site: None });
    }

    /// Somewhere in a thread.
    fn place(&mut self, steps: &[Step]) -> usize {
        let at = self.rng.below(steps.len() + 1);
        if is_awake(steps, at) { at } else { at - 1 }
    }

    /// Has two threads or more meet.
    fn barrier(&mut self, threads: &mut [Vec<Step>]) {
        let count = threads.len();
        let apart = self.rng.below(threads.len() + 1);
        for (i, steps) in threads.iter_mut().enumerate() {
            if i != apart || count == 2 {
                let at = self.place(steps);
                steps.insert(at, Step { op: Op::Arrive(0), site: None });
                steps.insert(at + 1, Step { op: Op::Pass(0), site: None });
            }
        }
    }

    /// Has a thread do one of its critical sections in a routine that runs once, and others call for that
    /// somewhere. `None` if there is no section for it.
    fn once(&mut self, threads: &mut [Vec<Step>]) -> Option<()> {
        let runner = self.rng.below(threads.len());
        let steps = &mut threads[runner];
        let begins: Vec<(usize, usize)> = (0..steps.len())
            .filter_map(|at| match steps[at].op {
                Op::Acquire { id, .. } => {
                    let is_end = |step: &Step| matches!(step.op, Op::Release { id: other, .. } if other == id);
                    Some((at, steps.iter().position(is_end)? + 1))
                }
                _ => None,
            })
            .filter(|&(begin, end)| is_awake(steps, begin) && is_awake(steps, end))
            .collect();
        if begins.is_empty() {
            return None;
        }
        let (begin, end) = self.rng.pick(&begins);
        self.locks.push(Lock { name: "O".into(), kind: Kind::Once });
        self.ids += 1;
        let (lock, id) = (self.locks.len() - 1, self.ids);
        steps.insert(end, Step { op: Op::OnceEnd { lock, id }, site: None });
        steps.insert(begin, Step { op: Op::OnceBegin { lock, id }, site: None });
        for other in (0..threads.len()).filter(|&other| other != runner) {
            for _ in 0..self.rng.below(3) {
                let at = self.place(&threads[other]);
                threads[other].insert(at, Step { op: Op::OnceCall { lock, id }, site: None });
            }
        }
        Some(())
    }

    /// Has threads do some of their outermost critical sections with a seat of a semaphore taken. `None` if fewer do than it
    /// takes to run out of seats.
    fn seats(&mut self, threads: &mut [Vec<Step>]) -> Option<()> {
        let seats = 2 + self.rng.below(2);
        let lock = self.locks.len();
        self.locks.push(Lock { name: "N".into(), kind: Kind::Counting(seats) });
        let mut users = 0;
        for steps in threads.iter_mut() {
            let mut sections = outermost(steps);
            sections.retain(|_| self.rng.chance(85));
            users += usize::from(!sections.is_empty());
            for (begin, end) in sections.into_iter().rev() {
                self.ids += 1;
                let id = self.ids;
                let take = Op::Acquire { lock, how: How::Wait, read: false, id };
                steps.insert(end, Step { op: Op::Release { lock, id }, site: None });
                steps.insert(begin, Step { op: take, site: None });
            }
        }
        (users > seats).then_some(())
    }

    /// Has a thread end with a robust mutex, which others take, one of them because of that.
    fn death(&mut self, threads: &mut [Vec<Step>]) {
        let lock = self.locks.len();
        self.locks.push(Lock { name: "R".into(), kind: Kind::Robust });
        let owner = self.rng.below(threads.len());
        let heir = (owner + 1 + self.rng.below(threads.len() - 1)) % threads.len();
        self.within(&mut threads[heir], lock, How::OwnerDied);
        for steps in threads.iter_mut() {
            if self.rng.chance(40) {
                self.within(steps, lock, How::Wait);
            }
        }
        // What the owner does with the mutex held: its last section, or nothing.
        let steps = &mut threads[owner];
        let last = outermost(steps).last().map(|&(begin, _)| begin);
        let at = last.filter(|_| self.rng.chance(60)).unwrap_or(steps.len());
        self.ids += 1;
        let take = Op::Acquire { lock, how: How::Wait, read: false, id: self.ids };
        steps.insert(at, Step { op: take, site: None });
    }

    /// Has a thread do some of its steps with `lock` held.
    fn within(&mut self, steps: &mut Vec<Step>, lock: usize, how: How) {
        let end = self.place(steps);
        let begin = self.place(&steps[..end]);
        self.ids += 1;
        let id = self.ids;
        let take = Op::Acquire { lock, how, read: false, id };
        steps.insert(end, Step { op: Op::Release { lock, id }, site: None });
        steps.insert(begin, Step { op: take, site: None });
    }

    /// Has a thread post a semaphore that another waits for, once or twice. (With several posters
    /// the order is known of each wait, but not that of two posts neither can have been if two
    /// threads wait in a cycle before them.)
    fn semaphore(&mut self, threads: &mut [Vec<Step>]) {
        let poster = self.rng.below(threads.len());
        let waiter = (poster + 1 + self.rng.below(threads.len() - 1)) % threads.len();
        for _ in 0..1 + self.rng.below(2) {
            let (wait, post) = ([Op::AwaitBegin(0), Op::Await(0)], [Op::Post(0)]);
            let kept = self.insert(&mut threads[waiter], &wait);
            self.insert_with(&mut threads[poster], &kept, &post);
        }
    }

    /// Has a thread wait on a condition variable for what another does, once or twice: with its own
    /// mutex or one of the others, and told with the mutex held or not.
    fn condition(&mut self, threads: &mut [Vec<Step>]) {
        let signaller = self.rng.below(threads.len());
        let waiter = (signaller + 1 + self.rng.below(threads.len() - 1)) % threads.len();
        let mutexes: Vec<usize> =
            (0..self.locks.len()).filter(|&l| self.locks[l].kind == Kind::Mutex).collect();
        let lock = match mutexes.is_empty() || self.rng.chance(70) {
            true => {
                self.locks.push(Lock { name: "Q".into(), kind: Kind::Mutex });
                self.locks.len() - 1
            }
            false => self.rng.pick(&mutexes),
        };
        for i in 0..1 + self.rng.below(2) {
            let signaller = match i == 0 || self.rng.chance(70) {
                true => signaller,
                false => (waiter + 1 + self.rng.below(threads.len() - 1)) % threads.len(),
            };
            let (id, of) = (self.ids + 1, self.ids + 2);
            self.ids += 3;
            let acquire = |id| Op::Acquire { lock, how: How::Wait, read: false, id };
            let release = |id| Op::Release { lock, id };
            let (event, slept) = (0, true);
            let begin = Op::SleepBegin { lock, event, id: of, slept };
            let end = Op::SleepEnd { lock, event, id: of, slept };
            let kept = self.insert(&mut threads[waiter], &[acquire(id), begin, end, release(id)]);
            let id = self.ids;
            let ops: &[Op] = match self.rng.below(3) {
                0 => &[Op::Signal(event)],
                1 => &[acquire(id), release(id), Op::Signal(event)],
                _ => &[acquire(id), Op::Signal(event), release(id)],
            };
            self.insert_with(&mut threads[signaller], &kept, ops);
        }
    }

    /// Has a thread do this somewhere. Returns the locks that it holds there.
    fn insert(&mut self, steps: &mut Vec<Step>, ops: &[Op]) -> Vec<usize> {
        let at = self.place(steps);
        let mut held = Vec::new();
        for step in &steps[..at] {
            match step.op {
                Op::Acquire { lock, .. } | Op::WaitEnd { lock, .. } | Op::SleepEnd { lock, .. } => {
                    held.push(lock);
                }
                Op::Release { lock, .. }
                | Op::WaitBegin { lock, .. }
                | Op::SleepBegin { lock, .. } => {
                    let at = held.iter().rposition(|&l| l == lock).expect("it is held");
                    held.remove(at);
                }
                _ => {}
            }
        }
        steps.splice(at..at, ops.iter().map(|&op| Step { op, site: None }));
        held
    }

    /// Has a thread do this somewhere, often after it has taken one of the locks `kept`.
    fn insert_with(&mut self, steps: &mut Vec<Step>, kept: &[usize], ops: &[Op]) {
        let mut all = Vec::new();
        let mut end = None;
        if !kept.is_empty() && self.rng.chance(70) {
            let lock = self.rng.pick(kept);
            self.ids += 1;
            let id = self.ids;
            let how = if self.rng.chance(85) { How::Wait } else { How::Timed };
            all.push(Op::Acquire { lock, how, read: false, id });
            match self.rng.chance(80) {
                true => all.push(Op::Release { lock, id }),
                false => end = Some(Op::Release { lock, id }),
            }
        }
        all.extend(ops.iter().copied().chain(end));
        self.insert(steps, &all);
    }

    /// Has somebody create `thread`, and perhaps join it.
    fn parents(&mut self, threads: &mut [Vec<Step>], thread: usize) {
        if self.rng.chance(45) {
            return;
        }
        let parent = self.rng.below(thread);
        let steps = &mut threads[parent];
        let at = self.rng.below(steps.len() + 1);
        if !is_awake(steps, at) {
            return;
        }
        steps.insert(at, Step { op: Op::Create(thread), site: None });
        let later = at + 1 + self.rng.below(steps.len() - at);
        if self.rng.chance(60) && is_awake(steps, later) {
            steps.insert(later, Step { op: Op::Join(thread), site: None });
        }
    }
}

/// From where a thread holds nothing until it holds nothing again. What orders it with other threads does not lie within.
fn outermost(steps: &[Step]) -> Vec<(usize, usize)> {
    let (mut sections, mut held, mut begin, mut is_alone) = (Vec::new(), 0, 0, true);
    for (at, step) in steps.iter().enumerate() {
        match step.op {
            Op::Acquire { .. } => {
                if held == 0 {
                    (begin, is_alone) = (at, true);
                }
                held += 1;
            }
            Op::Release { .. } => {
                held -= 1;
                if held == 0 && is_alone {
                    sections.push((begin, at + 1));
                }
            }
            op => is_alone &= !op.is_order(),
        }
    }
    sections
}

/// Not in the middle of a condition wait, nor of a barrier.
fn is_awake(steps: &[Step], at: usize) -> bool {
    !steps.get(at).is_some_and(|step| step.op.is_second_half())
}

/// One run of the program that comes to its end, if a few attempts find one: trylocks that fail in
/// it are taken out.
fn observe(program: Run, waits_first: bool, rng: &mut Rng) -> Option<Run> {
    for _ in 0..4 {
        if let Some(run) = observe_once(program.clone(), waits_first, rng) {
            debug_assert!(is_possible(&run), "{}", run.story());
            return Some(run);
        }
    }
    None
}

fn observe_once(mut run: Run, waits_first: bool, rng: &mut Rng) -> Option<Run> {
    let mut state = vec![0; run.threads.len()];
    // Long strides of one thread and short ones of all.
    let patience = rng.pick(&[1, 3, 10]);
    let mut thread = 0;
    loop {
        let search = Search::new(&run)?;
        let failing = (0..state.len()).find_map(|thread| {
            let step = run.threads[thread].get(state[thread])?;
            match step.op {
                Op::Acquire { how: How::Try, id, .. } if !search.is_enabled(&state, thread) => {
                    Some(id)
                }
                _ => None,
            }
        });
        let enabled: Vec<usize> =
            (0..state.len()).filter(|&thread| search.is_as_in_run(&state, thread)).collect();
        if run.threads.iter().zip(&state).all(|(steps, &at)| steps.len() == at) {
            return Some(run);
        }
        if let Some(id) = failing
            && (enabled.is_empty() || rng.chance(50))
        {
            run = without(&run, id)?;
            continue;
        }
        if enabled.is_empty() {
            return None;
        }
        if !enabled.contains(&thread) || rng.below(patience) == 0 {
            thread = rng.pick(&enabled);
        }
        // Mostly one waits before another tells it.
        let provides = |&thread: &usize| {
            let step = run.threads[thread].get(state[thread]);
            step.and_then(|step| step.op.provides()).is_some_and(|event| {
                !(0..state.len()).any(|waiter| search.awaited(&state, waiter) == Some(event))
            })
        };
        if waits_first && provides(&thread) {
            let others: Vec<usize> = enabled.iter().copied().filter(|t| !provides(t)).collect();
            if !others.is_empty() {
                thread = rng.pick(&others);
            }
        }
        let sleeps = search.sleeps(&state, thread);
        match &mut run.threads[thread][state[thread]].op {
            // What it would wait for has happened.
            Op::SleepBegin { slept, .. } if !sleeps => {
                *slept = false;
                if let Op::SleepEnd { slept, .. } = &mut run.threads[thread][state[thread] + 1].op {
                    *slept = false;
                }
                state[thread] += 1;
                run.order.push(thread);
            }
            _ => {}
        }
        state[thread] += 1;
        run.order.push(thread);
    }
}

/// The run without an acquisition and its release.
pub fn without(run: &Run, id: usize) -> Option<Run> {
    let mut smaller = run.clone();
    smaller.order.clear();
    let mut at = vec![0; run.threads.len()];
    let is_it = |op: Op| match op {
        Op::Acquire { id: i, .. }
        | Op::Release { id: i, .. }
        | Op::WaitBegin { id: i, .. }
        | Op::WaitEnd { id: i, .. }
        | Op::SleepBegin { id: i, .. }
        | Op::SleepEnd { id: i, .. }
        | Op::OnceBegin { id: i, .. }
        | Op::OnceEnd { id: i, .. }
        | Op::OnceCall { id: i, .. } => i == id,
        _ => false,
    };
    for &thread in &run.order {
        if !is_it(run.threads[thread][at[thread]].op) {
            smaller.order.push(thread);
        }
        at[thread] += 1;
    }
    for steps in &mut smaller.threads {
        steps.retain(|step| !is_it(step.op));
    }
    Some(smaller)
}

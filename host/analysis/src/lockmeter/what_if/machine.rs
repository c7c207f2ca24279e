//! A simulated machine: processors, threads that use one lock or several alike, and how they pass it on.
//!
//! A thread thinks (runs, and sleeps), takes a lock, holds it (runs, and sleeps), and begins again: a closed network of
//! queues. A free lock goes to the first thread that asks, as glibc's do. A release wakes one waiter, which asks again once it has a
//! processor. Meanwhile another thread may have taken the lock. Readers share it, and go before writers; but the last reader
//! passes it on to a writer that waits, and a writer to the readers that wait, as glibc's do. Threads that are ready have the
//! processors in turn, for a slice each. A thread that wakes up has a processor soon, as under Linux.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use fastrand::Rng;

use super::holds::{Hold, Holds, Parts};

/// How long a thread runs while others are ready, ns: Linux's base slice on machines with few processors.
const SLICE_NS: f64 = 3e6;
/// How long a thread runs before one that wakes up may take its place, ns.
const LEAST_RUN_NS: f64 = 1e6;
/// Acquisitions that do not count: the machine has to come to its usual state.
const WARM_UP: u64 = 500;

/// How threads' times between acquisitions are distributed; the ledger has only their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// All alike.
    Constant,
    /// As if threads came at random.
    Exponential,
    /// As if threads came at random, went through so many places one right after the other, and then thought for long.
    Bursts(u32),
}

/// What the ledger does not say about the machine.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// How threads think.
    pub thinking: Thinking,
    /// From the release of a lock to the moment at which the woken thread is ready to run, ns.
    pub wake_ns: f64,
    /// A thread that wakes up goes before those that are ready, and may take a processor away.
    pub wake_preempts: bool,
}

/// One thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// What it does between two acquisitions, on average.
    pub think: Parts,
    /// Where it takes the lock: the place, and how often.
    pub places: Vec<(usize, f64)>,
}

/// A place that takes the lock.
#[derive(Clone, Debug)]
pub struct Place {
    /// How long it holds it.
    pub holds: Holds,
    /// It only reads.
    pub is_shared: bool,
}

/// The program, as far as it matters here.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its threads.
    pub threads: Vec<Thread>,
    /// The places.
    pub places: Vec<Place>,
    /// Processors of the machine.
    pub processors: usize,
    /// Locks: each acquisition is of one of them, by chance.
    pub locks: usize,
}

/// When a simulation ends.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// After so many waits.
    pub waits: u64,
    /// After so many acquisitions in any case.
    pub acquisitions: u64,
}

/// What a simulated run shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Acquisitions.
    pub acquisitions: f64,
    /// Those that waited.
    pub contended: f64,
    /// Simulated time, ns.
    pub elapsed_ns: f64,
    /// All waits, ns.
    pub wait_ns: f64,
    /// The time between acquisitions that the threads slept, ns.
    pub away_ns: f64,
}

impl Outcome {
    /// Acquisitions a nanosecond.
    pub fn rate(&self) -> f64 {
        if self.elapsed_ns > 0.0 { self.acquisitions / self.elapsed_ns } else { 0.0 }
    }

    /// The wait for an acquisition, ns.
    pub fn wait(&self) -> f64 {
        if self.acquisitions > 0.0 { self.wait_ns / self.acquisitions } else { 0.0 }
    }
}

/// What a thread does when it has run long enough, or slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It has thought, and sleeps before the next acquisition.
    Away,
    /// It asks for a lock.
    Ask,
    /// It has run with the lock held, and sleeps.
    Asleep,
    /// It releases the lock.
    Release,
}

#[derive(Debug)]
struct Task {
    then: Then,
    /// How long it has to run before that, ns.
    left: f64,
    /// Since when it has its processor, and since when of that it has been accounted.
    on_since: f64,
    ran_to: f64,
    is_running: bool,
    /// Counts its times on a processor: an event of an earlier one is void.
    turn: u64,
    lock: usize,
    place: usize,
    hold: Hold,
    away: f64,
    waits_since: Option<f64>,
    /// The lock was passed on to it.
    is_granted: bool,
    /// Acquisitions that are left of a burst.
    burst: u32,
}

#[derive(Debug, Default)]
struct Lock {
    readers: usize,
    has_writer: bool,
    waiting: VecDeque<usize>,
    /// Threads that were woken and have not asked again.
    woken: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    at: f64,
    number: u64,
    task: usize,
    /// The turn of a running thread; `None`: a thread is ready.
    turn: Option<u64>,
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.number.cmp(&other.number))
    }
}

struct Machine<'w> {
    load: &'w Workload,
    habits: Habits,
    rng: Rng,
    now: f64,
    events: BinaryHeap<Reverse<Event>>,
    numbers: u64,
    tasks: Vec<Task>,
    locks: Vec<Lock>,
    running: Vec<usize>,
    ready: VecDeque<usize>,
    taken: u64,
    outcome: Outcome,
    began: f64,
}

/// What happens in a simulation at most, for each acquisition that it may have.
const EVENTS_EACH: u64 = 50;

/// Runs the program for some time.
pub fn simulate(load: &Workload, habits: Habits, limits: Limits, seed: u64) -> Outcome {
    let mut machine = Machine::new(load, habits, seed);
    machine.begin();
    let most = limits.acquisitions + WARM_UP;
    // A damaged ledger may have times of years, which are very many turns on a processor.
    let mut left = EVENTS_EACH * most;
    while machine.taken < most && (machine.outcome.contended as u64) < limits.waits && left > 0 {
        left -= 1;
        let Some(Reverse(event)) = machine.events.pop() else { break };
        machine.now = event.at;
        machine.happens(event);
    }
    machine.outcome.elapsed_ns = machine.now - machine.began;
    machine.outcome
}

impl<'w> Machine<'w> {
    fn new(load: &'w Workload, habits: Habits, seed: u64) -> Self {
        let task = || Task {
            then: Then::Away,
            left: 0.0,
            on_since: 0.0,
            ran_to: 0.0,
            is_running: false,
            turn: 0,
            lock: 0,
            place: 0,
            hold: Hold::default(),
            away: 0.0,
            waits_since: None,
            is_granted: false,
            burst: 0,
        };
        Self {
            load,
            habits,
            rng: Rng::with_seed(seed),
            now: 0.0,
            events: BinaryHeap::new(),
            numbers: 0,
            tasks: load.threads.iter().map(|_| task()).collect(),
            locks: (0..load.locks.max(1)).map(|_| Lock::default()).collect(),
            running: Vec::new(),
            ready: VecDeque::new(),
            taken: 0,
            outcome: Outcome::default(),
            began: 0.0,
        }
    }

    fn begin(&mut self) {
        for task in 0..self.tasks.len() {
            self.think(task, Parts::default());
            // Not all at once.
            let whole = self.load.threads[task].think.sum();
            let at = self.rng.f64() * whole;
            self.schedule(at, task, None);
        }
    }

    fn schedule(&mut self, at: f64, task: usize, turn: Option<u64>) {
        self.numbers += 1;
        self.events.push(Reverse(Event { at, number: self.numbers, task, turn }));
    }

    /// A time of this mean.
    fn time(&mut self, mean: f64) -> f64 {
        match self.habits.thinking {
            Thinking::Constant => mean,
            _ => -mean * (1.0 - self.rng.f64()).ln(),
        }
    }

    fn think(&mut self, task: usize, after: Parts) {
        let mut think = self.load.threads[task].think;
        if let Thinking::Bursts(times) = self.habits.thinking {
            let of = &mut self.tasks[task];
            // The whole time of a burst comes before it.
            let by = if of.burst == 0 { f64::from(times) } else { 0.0 };
            of.burst = if of.burst == 0 { times - 1 } else { of.burst - 1 };
            think = think.scaled(by);
        }
        let (running, away) = (self.time(think.running), self.time(think.asleep));
        let of = &mut self.tasks[task];
        of.left = running + after.running;
        of.away = away + after.asleep;
        of.then = Then::Away;
    }

    fn happens(&mut self, event: Event) {
        match event.turn {
            None => self.is_ready(event.task),
            Some(turn) => {
                let task = &self.tasks[event.task];
                if task.is_running && task.turn == turn {
                    self.has_run(event.task);
                }
            }
        }
    }

    /// A thread that slept is ready to run.
    fn is_ready(&mut self, task: usize) {
        if self.running.len() < self.load.processors {
            return self.run(task);
        }
        if !self.habits.wake_preempts {
            return self.ready.push_back(task);
        }
        let now = self.now;
        let longest = self
            .running
            .iter()
            .copied()
            .min_by(|&a, &b| self.tasks[a].on_since.total_cmp(&self.tasks[b].on_since));
        match longest.filter(|&other| now - self.tasks[other].on_since >= LEAST_RUN_NS) {
            Some(other) => {
                self.stop(other);
                self.ready.push_back(other);
                self.run(task);
            }
            None => self.ready.push_front(task),
        }
    }

    /// The thread has a processor from now on.
    fn run(&mut self, task: usize) {
        self.running.push(task);
        let now = self.now;
        let of = &mut self.tasks[task];
        of.is_running = true;
        (of.on_since, of.ran_to) = (now, now);
        self.goes_on(task);
    }

    /// It runs up to the end of what it does, or of its slice.
    fn goes_on(&mut self, task: usize) {
        let of = &mut self.tasks[task];
        of.turn += 1;
        let slice = (of.on_since + SLICE_NS - self.now).max(0.0);
        // With a processor for each there is nobody to make room for.
        let alone = self.ready.is_empty() && self.load.threads.len() <= self.load.processors;
        let time = if alone { of.left } else { of.left.min(slice) };
        let turn = of.turn;
        self.schedule(self.now + time, task, Some(turn));
    }

    /// The thread gives its processor up.
    fn stop(&mut self, task: usize) {
        self.account(task);
        self.tasks[task].is_running = false;
        self.running.retain(|&other| other != task);
    }

    fn account(&mut self, task: usize) {
        let of = &mut self.tasks[task];
        of.left = (of.left - (self.now - of.ran_to)).max(0.0);
        of.ran_to = self.now;
    }

    /// Somebody else may have the processor.
    fn next(&mut self) {
        if self.running.len() < self.load.processors
            && let Some(task) = self.ready.pop_front()
        {
            self.run(task);
        }
    }

    /// A running thread has come to the end of what it did, or of its slice.
    fn has_run(&mut self, task: usize) {
        self.account(task);
        // Times are rounded.
        if self.tasks[task].left > 1e-3 {
            match self.ready.is_empty() {
                true => self.tasks[task].on_since = self.now,
                false => {
                    self.stop(task);
                    self.ready.push_back(task);
                    return self.next();
                }
            }
            return self.goes_on(task);
        }
        self.tasks[task].left = 0.0;
        match self.tasks[task].then {
            Then::Away => {
                self.tasks[task].then = Then::Ask;
                let away = self.tasks[task].away;
                self.sleeps(task, away, true);
            }
            Then::Ask => self.asks(task),
            Then::Asleep => {
                self.tasks[task].then = Then::Release;
                let asleep = self.tasks[task].hold.inside.asleep;
                self.sleeps(task, asleep, false);
            }
            Then::Release => self.releases(task),
        }
    }

    fn sleeps(&mut self, task: usize, ns: f64, is_away: bool) {
        if ns <= 0.0 {
            return self.goes_on(task);
        }
        if is_away && self.counts() {
            self.outcome.away_ns += ns;
        }
        self.stop(task);
        self.schedule(self.now + ns, task, None);
        self.next();
    }

    fn counts(&self) -> bool {
        self.taken >= WARM_UP
    }

    fn asks(&mut self, task: usize) {
        if core::mem::take(&mut self.tasks[task].is_granted) {
            return self.takes(task);
        }
        let is_first = self.tasks[task].waits_since.is_none();
        if is_first {
            let (place, lock) = (self.place_of(task), self.rng.usize(..self.locks.len()));
            let hold = self.load.places[place].holds.draw(&mut self.rng);
            let of = &mut self.tasks[task];
            (of.place, of.lock, of.hold) = (place, lock, hold);
        }
        let (of, now) = (&self.tasks[task], self.now);
        let is_shared = self.load.places[of.place].is_shared;
        let lock = &mut self.locks[of.lock];
        if !is_first {
            lock.woken -= 1;
        }
        let is_free = !lock.has_writer && (is_shared || lock.readers == 0);
        if !is_free {
            lock.waiting.push_back(task);
            self.tasks[task].waits_since.get_or_insert(now);
            self.stop(task);
            return self.next();
        }
        if is_shared {
            lock.readers += 1;
        } else {
            lock.has_writer = true;
        }
        self.takes(task);
    }

    fn takes(&mut self, task: usize) {
        self.taken += 1;
        if self.taken == WARM_UP {
            (self.outcome, self.began) = (Outcome::default(), self.now);
        }
        let of = &mut self.tasks[task];
        let since = of.waits_since.take();
        of.left = of.hold.inside.running;
        of.then = Then::Asleep;
        if self.counts() {
            self.outcome.acquisitions += 1.0;
            if let Some(since) = since {
                self.outcome.contended += 1.0;
                self.outcome.wait_ns += self.now - since;
            }
        }
        self.goes_on(task);
    }

    fn place_of(&mut self, task: usize) -> usize {
        let places = &self.load.threads[task].places;
        let main = places.iter().map(|(_, weight)| *weight).fold(0.0, f64::max) / 2.0;
        let all: f64 = places.iter().map(|(_, weight)| weight).sum();
        let mut at = self.rng.f64() * all;
        let drawn = places.iter().find(|(_, weight)| {
            at -= weight;
            at < 0.0
        });
        let drawn = drawn.or(places.last());
        if let (Thinking::Bursts(times), Some((_, weight))) = (self.habits.thinking, drawn)
            && *weight >= main
        {
            // The places that are often gone through are so in their order.
            let nth = (times - 1 - self.tasks[task].burst.min(times - 1)) as usize;
            let mut often = places.iter().filter(|(_, weight)| *weight >= main).cycle();
            return often.nth(nth).map_or(0, |&(place, _)| place);
        }
        drawn.map_or(0, |&(place, _)| place)
    }

    fn releases(&mut self, task: usize) {
        let of = &self.tasks[task];
        let (is_shared, after) = (self.load.places[of.place].is_shared, of.hold.after);
        let lock = &mut self.locks[of.lock];
        if is_shared {
            lock.readers -= 1;
        } else {
            lock.has_writer = false;
        }
        let mut woken = Vec::new();
        if lock.readers == 0 && lock.woken == 0 {
            let places = &self.load.places;
            let reads = |task: &usize| places[self.tasks[*task].place].is_shared;
            let (readers, writers): (Vec<usize>, Vec<usize>) =
                lock.waiting.iter().copied().partition(reads);
            if is_shared {
                // The last reader passes it on to a writer.
                lock.has_writer = !writers.is_empty();
                woken.extend(writers.first().copied());
                woken.iter().for_each(|&task| self.tasks[task].is_granted = true);
                lock.waiting.retain(|task| !woken.contains(task));
            } else if readers.is_empty() {
                woken.extend(lock.waiting.pop_front());
                lock.woken = woken.len();
            } else {
                lock.readers = readers.len();
                readers.iter().for_each(|&task| self.tasks[task].is_granted = true);
                woken = readers;
                lock.waiting = writers.into();
            }
        }
        for other in woken {
            self.schedule(self.now + self.habits.wake_ns, other, None);
        }
        self.think(task, after);
        self.goes_on(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockmeter::model::Histogram;

    const LIMITS: Limits = Limits { waits: u64::MAX, acquisitions: 100_000 };
    const RANDOM: Habits =
        Habits { thinking: Thinking::Exponential, wake_ns: 0.0, wake_preempts: true };

    /// Holds that are exponentially distributed.
    fn exponential(mean: f64) -> Holds {
        let mut histogram = Histogram::default();
        let parts = 2_000;
        for part in 0..parts {
            let quantile = (f64::from(part) + 0.5) / f64::from(parts);
            histogram.record(-mean * (1.0 - quantile).ln(), 1);
        }
        Holds::of(&histogram, mean * f64::from(parts))
    }

    fn constant(ns: f64) -> Holds {
        let mut histogram = Histogram::default();
        histogram.record(ns, 1);
        Holds::of(&histogram, ns)
    }

    fn load(threads: usize, think: Parts, holds: Holds, processors: usize) -> Workload {
        let thread = Thread { think, places: vec![(0, 1.0)] };
        let places = vec![Place { holds, is_shared: false }];
        Workload { threads: vec![thread; threads], places, processors, locks: 1 }
    }

    fn near(a: f64, b: f64, part: f64) -> bool {
        (a - b).abs() <= part * b.abs()
    }

    /// The machine repairman's formula (M/M/1 with N customers): the lock is free with the probability
    /// 1 / sum over k of N! / (N - k)! (hold / think)^k.
    #[test]
    fn waits_are_those_of_the_machine_repairman() {
        let (think, hold) = (3_000.0, 1_000.0);
        for threads in [2, 4, 8] {
            let away = Parts { running: 0.0, asleep: think };
            let outcome = simulate(&load(threads, away, exponential(hold), 8), RANDOM, LIMITS, 1);
            let (mut term, mut sum) = (1.0, 1.0);
            for busy in 0..threads {
                term *= (threads - busy) as f64 * hold / think;
                sum += term;
            }
            let rate = (1.0 - 1.0 / sum) / hold;
            let wait = threads as f64 / rate - think - hold;
            assert!(near(outcome.rate(), rate, 0.02), "{threads}: {} {rate}", outcome.rate());
            assert!(near(outcome.wait(), wait, 0.03), "{threads}: {} {wait}", outcome.wait());
        }
    }

    /// With two threads that never think, one waits for each whole hold of the other, if nobody passes it.
    /// As in a damaged ledger: more threads than processors, and times of years.
    #[test]
    fn times_of_years_are_given_up() {
        let away = Parts { running: 1e17, asleep: 0.0 };
        let outcome = simulate(&load(4, away, constant(1e17), 2), RANDOM, LIMITS, 1);
        assert!((outcome.contended as u64) < LIMITS.waits);
    }

    #[test]
    fn a_saturated_lock_is_held_all_the_time() {
        let away = Parts { running: 0.0, asleep: 10.0 };
        let outcome = simulate(&load(4, away, constant(1_000.0), 8), RANDOM, LIMITS, 1);
        assert!(near(outcome.rate(), 1e-3, 0.01), "{}", outcome.rate());
        assert!(near(outcome.wait(), 3_000.0 - 10.0, 0.01), "{}", outcome.wait());
    }

    #[test]
    fn processors_limit_what_threads_do_without_the_lock() {
        let busy = Parts { running: 900.0, asleep: 0.0 };
        let load = Workload { locks: 1_000, ..load(8, busy, constant(100.0), 2) };
        let outcome = simulate(&load, RANDOM, LIMITS, 1);
        assert!(near(outcome.rate(), 2.0 / 1_000.0, 0.02), "{}", outcome.rate());
    }

    #[test]
    fn a_woken_thread_that_comes_late_leaves_the_lock_to_others() {
        let away = Parts { running: 0.0, asleep: 2_000.0 };
        let at = |wake_ns| {
            let habits = Habits { wake_ns, ..RANDOM };
            simulate(&load(4, away, constant(1_000.0), 8), habits, LIMITS, 1)
        };
        let (fast, slow) = (at(0.0), at(5_000.0));
        assert!(slow.contended < fast.contended, "{slow:?} {fast:?}");
        assert!(slow.wait_ns / slow.contended > fast.wait_ns / fast.contended, "{slow:?}");
    }

    #[test]
    fn readers_share_a_lock_and_writers_do_not() {
        let away = Parts { running: 0.0, asleep: 1_000.0 };
        let mut load = load(4, away, constant(1_000.0), 8);
        load.places[0].is_shared = true;
        assert_eq!(simulate(&load, RANDOM, LIMITS, 1).contended, 0.0);
        load.places.push(Place { holds: constant(1_000.0), is_shared: false });
        load.threads[0].places = vec![(1, 1.0)];
        let outcome = simulate(&load, RANDOM, LIMITS, 1);
        assert!(outcome.contended > 0.1 * outcome.acquisitions, "{outcome:?}");
        // A writer comes in though there always is a reader: the last one passes the lock on.
        assert!(outcome.rate() > 4.0 / 6_000.0, "{outcome:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let away = Parts { running: 100.0, asleep: 1_000.0 };
        let load = load(4, away, exponential(700.0), 2);
        let wait = |seed| simulate(&load, RANDOM, LIMITS, seed).wait_ns;
        assert_eq!(wait(1), wait(1));
        assert_ne!(wait(1), wait(2));
    }
}

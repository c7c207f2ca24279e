//! One execution: threads that take turns as a strategy says, and what is wrong with that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use corosensei::Yielder;
use lockwright::platform::PerCpu;

use super::roles::{Mode, Patience, Role};
use super::schedule::{Deviation, Point, Schedule, Strategy, Threads};
use super::trace::{SourceLine, Step, What};
use crate::arena::{self, Arena};
use crate::cell::{Long, Word};
use crate::rng::Rng;
use crate::task::Fiber;

/// After so many points for each thread in which nobody got on, threads are scheduled fairly; after
/// twice as many nobody will get on.
const PATIENCE: u64 = 500;

/// Why a thread stops at a scheduling point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is about to access a word.
    Access,
    /// It looks again at what it waits for.
    Spin,
    /// It sleeps.
    Sleep,
    /// It is over.
    End,
}

/// What a lock did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// These threads had it at the same time, and not all of them to read.
    NotExcluded(Vec<u32>),
    /// These threads sleep, and nobody is left to wake them.
    Asleep(Vec<u32>),
    /// This thread has read what was half written: the first word and the second one differ.
    Torn(u32, u32, u32),
    /// This thread was refused the lock so many nanoseconds before its deadline.
    GaveUp(u32, u64),
    /// Nobody gets on, though all are scheduled fairly: these threads are not over.
    NoProgress(Vec<u32>),
    /// This thread waited, and so many that came later had the lock before it.
    Overtaken(u32, u32),
    /// This thread panicked.
    Panicked(u32, String),
}

impl Wrong {
    /// Whether this is the same fault, of whatever threads.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

struct Sleep {
    address: usize,
    bits: u32,
    deadline: Option<u64>,
    end: Awakening,
}

/// How a sleep ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awakening {
    /// Somebody wakes the thread.
    Woken,
    /// Its deadline has come.
    TooLate,
    /// It returns early, as sleeps may.
    Early,
}

/// What a thread wants of the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Claim {
    #[default]
    None,
    Asks,
    Has(Mode),
}

#[derive(Default)]
struct Thread {
    fiber: Option<Fiber>,
    yielder: Option<*const Yielder<(), ()>>,
    sleep: Option<Sleep>,
    is_over: bool,
    claim: Claim,
    /// How it will have what it asks for.
    wants: Option<Mode>,
    /// The number of its request.
    request: u64,
    /// The first request that came after it had begun to wait.
    waits_from: Option<u64>,
    overtaken: u32,
}

/// An execution.
pub struct Execution {
    threads: Vec<Thread>,
    ready: Threads,
    running: u32,
    next: Option<u32>,
    strategy: Strategy,
    /// Takes over where nobody gets on. It is the same in each replay: no deviation.
    fair: Strategy,
    /// Scheduling points so far.
    pub points: u64,
    idle: u64,
    skipped: u64,
    /// The threads that wait for a word, first come, first served.
    sleepers: Vec<u32>,
    requests: u64,
    bound: Option<u32>,
    pub worst: u32,
    pub wrong: Option<Wrong>,
    /// The deviations that it has come to.
    pub schedule: Schedule,
    /// Points, the threads that could have run there, and the one that does by default.
    pub choices: Option<Vec<(u64, Threads, u32)>>,
    /// The thread that ran at each point.
    pub order: u64,
    pub steps: Option<Vec<Step>>,
    pub per_cpu: Vec<&'static PerCpu<Word, Long>>,
    /// What is placed, by address.
    places: Vec<(usize, usize, &'static str)>,
}

impl Execution {
    pub fn new(threads: u32, strategy: Strategy, bound: Option<u32>, arena: &mut Arena) -> Self {
        let keep = |cpu: u32| arena.keep_for_cpu(cpu as usize, PerCpu::new());
        Self {
            per_cpu: (0..threads).map(keep).collect(),
            threads: (0..threads).map(|_| Thread::default()).collect(),
            ready: Threads::first(threads),
            running: 0,
            next: None,
            strategy,
            fair: Strategy::Walk { one_in: 2, early: None, rng: Rng::new(1) },
            points: 0,
            idle: 0,
            skipped: 0,
            sleepers: Vec::new(),
            requests: 0,
            bound,
            worst: 0,
            wrong: None,
            schedule: Schedule::default(),
            choices: None,
            // FNV-1a's.
            order: 0xcbf2_9ce4_8422_2325,
            steps: None,
            places: Vec::new(),
        }
    }

    /// Names what lies at an address.
    pub fn name(&mut self, address: usize, size: usize, name: &'static str) {
        self.places.push((address, size, name));
    }

    /// Runs threads until all are over, or something is wrong. `enter` makes it the execution that the words of locks
    /// ask, until what it gives is dropped.
    pub fn run<E>(&mut self, arena: &Arena, enter: fn(*mut Self) -> E, body: &dyn Fn(u32)) {
        let threads = self.threads.len() as u32;
        let at: *mut Self = self;
        for number in 0..threads {
            let stack = arena.stack(number as usize);
            // SAFETY: `at` and `body` are there as long as fibers run: all end, or are reset, below.
            // No reference to the execution lives while one runs.
            unsafe {
                let fiber: Fiber =
                    corosensei::Coroutine::with_stack_unchecked(stack, move |yielder, ()| {
                        (&mut (*at).threads)[number as usize].yielder =
                            Some(ptr::from_ref(yielder));
                        let panicked = catch_unwind(AssertUnwindSafe(|| body(number)));
                        if let Err(panic) = panicked {
                            (*at).fail(Wrong::Panicked(number, message(&*panic)));
                        }
                    });
                (&mut (*at).threads)[number as usize].fiber = Some(fiber);
            }
        }
        let _entered = enter(at);
        // SAFETY: only this thread uses it; no reference to it lives while a fiber runs.
        unsafe {
            (*at).next = Some(0);
            (*at).leaves(Stop::Access);
            if (*at).next.is_none() && (*at).wrong.is_none() {
                (*at).next = Some(0);
            }
            while let Some(next) = (*at).next.take() {
                (*at).running = next;
                let mut fiber =
                    (&mut (*at).threads)[next as usize].fiber.take().expect("it is one");
                if fiber.resume(()).as_return().is_some() {
                    (&mut (*at).threads)[next as usize].is_over = true;
                    (*at).ready.remove(next);
                    if (*at).wrong.is_none() {
                        (*at).leaves(Stop::End);
                    }
                } else {
                    (&mut (*at).threads)[next as usize].fiber = Some(fiber);
                }
                if (*at).wrong.is_some() {
                    break;
                }
            }
            for thread in &mut (*at).threads {
                if let Some(mut fiber) = thread.fiber.take() {
                    // What is on its stack is not dropped.
                    fiber.force_reset();
                }
            }
        }
    }

    /// Something is wrong: it is the last that happens.
    pub fn fail(&mut self, wrong: Wrong) {
        self.next = None;
        self.wrong.get_or_insert(wrong);
    }

    fn living(&self) -> Vec<u32> {
        let living = |number: &u32| !self.threads[*number as usize].is_over;
        (0..self.threads.len() as u32).filter(living).collect()
    }

    /// A scheduling point of the running thread. True: its fiber is to be left.
    pub fn leaves(&mut self, stop: Stop) -> bool {
        if self.wrong.is_some() {
            return true;
        }
        self.points += 1;
        self.idle += 1;
        let patience = PATIENCE * self.threads.len() as u64;
        if self.idle > 2 * patience {
            self.fail(Wrong::NoProgress(self.living()));
            return true;
        }
        let now = self.now();
        self.end_sleeps_until(now);
        if self.ready.is_empty() && !self.pass_time() {
            let living = self.living();
            if !living.is_empty() {
                self.fail(Wrong::Asleep(living));
            }
            return true;
        }
        let waits = stop != Stop::Access;
        let (running, ready) = (self.running, self.ready);
        let asleep = Threads::of(&self.sleepers);
        let point = Point { number: self.points, running, ready, asleep, waits };
        let default = point.default_thread();
        let is_fair = self.idle > patience;
        let strategy = if is_fair { &mut self.fair } else { &mut self.strategy };
        let chosen = strategy.choose(&point);
        if !is_fair {
            if let Some(choices) = &mut self.choices {
                choices.push((self.points, ready.and(asleep), default));
            }
            if chosen != default {
                self.schedule.0.push(Deviation { point: self.points, thread: chosen });
            }
        }
        if asleep.has(chosen) {
            self.end_sleep(chosen, Awakening::Early);
        }
        self.order = (self.order ^ u64::from(chosen)).wrapping_mul(0x0100_0000_01b3);
        if chosen != self.running || stop == Stop::End {
            self.next = Some(chosen);
        }
        chosen != self.running
    }

    /// Nobody is ready: the next deadline comes, if there is one.
    fn pass_time(&mut self) -> bool {
        let timed = self.sleepers.iter().filter_map(|&thread| {
            Some((self.threads[thread as usize].sleep.as_ref()?.deadline?, thread))
        });
        let Some((deadline, first)) = timed.min_by_key(|(deadline, _)| *deadline) else {
            return false;
        };
        self.skipped += deadline.saturating_sub(self.now());
        self.end_sleep(first, Awakening::TooLate);
        true
    }

    /// Ends the sleeps whose deadlines have come, though others can go on.
    fn end_sleeps_until(&mut self, now: u64) {
        let is_late = |thread: &u32| {
            let sleep = self.threads[*thread as usize].sleep.as_ref();
            sleep.and_then(|sleep| sleep.deadline).is_some_and(|deadline| deadline <= now)
        };
        let late: Vec<u32> = self.sleepers.iter().copied().filter(is_late).collect();
        for thread in late {
            self.end_sleep(thread, Awakening::TooLate);
        }
    }

    fn end_sleep(&mut self, thread: u32, end: Awakening) {
        self.sleepers.retain(|other| *other != thread);
        self.threads[thread as usize].sleep.as_mut().expect("it sleeps").end = end;
        self.ready.add(thread);
    }

    pub const fn running(&self) -> u32 {
        self.running
    }

    pub fn yielder(&self) -> *const Yielder<(), ()> {
        self.threads[self.running as usize].yielder.expect("its fiber runs")
    }

    /// A point takes a nanosecond.
    pub const fn now(&self) -> u64 {
        self.points + self.skipped
    }

    pub fn sleep(&mut self, address: usize, bits: u32, deadline: Option<u64>) {
        let me = self.running;
        self.threads[me as usize].sleep =
            Some(Sleep { address, bits, deadline, end: Awakening::Woken });
        self.sleepers.push(me);
        self.ready.remove(me);
    }

    /// How the running thread's sleep has ended.
    pub fn slept(&mut self) -> Awakening {
        self.threads[self.running as usize].sleep.take().expect("it has slept").end
    }

    pub fn wake(&mut self, address: usize, count: u32, bits: u32) {
        let mut left = count;
        let Self { threads, sleepers, ready, .. } = self;
        sleepers.retain(|thread| {
            let sleep = threads[*thread as usize].sleep.as_ref().expect("it sleeps");
            let woken = left > 0 && sleep.address == address && sleep.bits & bits != 0;
            if woken {
                left -= 1;
                ready.add(*thread);
            }
            !woken
        });
    }

    // What threads report about themselves.

    /// The running thread asks for the lock.
    pub fn ask(&mut self, role: Role) {
        let request = self.requests;
        self.requests += 1;
        let me = &mut self.threads[self.running as usize];
        me.claim = Claim::Asks;
        me.wants = Some(match role {
            Role::Write => Mode::Write,
            Role::Read => Mode::Read,
            Role::Upgrade => Mode::Upgradable,
        });
        me.request = request;
        me.waits_from = None;
        me.overtaken = 0;
        let what = match role {
            Role::Write => What::Write,
            Role::Read => What::Read,
            Role::Upgrade => What::Upgrade,
        };
        self.note(what, 0, 0, None);
    }

    /// The running thread waits.
    pub fn waits(&mut self) {
        let requests = self.requests;
        let me = &mut self.threads[self.running as usize];
        if me.claim == Claim::Asks {
            me.waits_from.get_or_insert(requests);
        }
    }

    /// The running thread has got the lock so.
    pub fn acquire(&mut self, mode: Mode) {
        let me = self.running as usize;
        let what = match (mode, self.threads[me].claim) {
            (Mode::Peek, _) => What::Peek,
            (Mode::Write, Claim::Has(Mode::Upgradable)) => What::Upgraded,
            _ => What::Acquired,
        };
        self.note(what, 0, 0, None);
        if mode != Mode::Peek {
            let was = std::mem::replace(&mut self.threads[me].claim, Claim::Has(mode));
            if was == Claim::Asks {
                self.count_overtaking();
            }
        }
        self.check();
    }

    /// The running thread will have the lock so only.
    pub fn weaken(&mut self, mode: Mode) {
        self.threads[self.running as usize].claim = Claim::Has(mode);
        self.note(What::Downgrades, 0, 0, None);
    }

    /// The holder may share the lock with all others.
    pub fn check(&mut self) {
        let mode = |thread: u32| match self.threads[thread as usize].claim {
            Claim::Has(mode) => Some((thread, mode)),
            _ => None,
        };
        let holders: Vec<(u32, Mode)> = (0..self.threads.len() as u32).filter_map(mode).collect();
        let clashes = holders.iter().enumerate().any(|(number, (_, one))| {
            holders[number + 1..].iter().any(|(_, other)| !one.shares(*other))
        });
        if clashes {
            self.fail(Wrong::NotExcluded(holders.into_iter().map(|(thread, _)| thread).collect()));
        }
    }

    /// The running thread has read the two words of the data, which are always written together.
    pub fn look_at(&mut self, (first, second): (u32, u32)) {
        if first != second {
            self.fail(Wrong::Torn(self.running, first, second));
        }
    }

    fn count_overtaking(&mut self) {
        let me = self.running as usize;
        let (request, mine) = (self.threads[me].request, self.threads[me].wants);
        for number in 0..self.threads.len() {
            let other = &mut self.threads[number];
            let came_before = other.waits_from.is_some_and(|from| request >= from);
            let shares = mine.zip(other.wants).is_some_and(|(mine, theirs)| mine.shares(theirs));
            if other.claim != Claim::Asks || !came_before || shares {
                continue;
            }
            other.overtaken += 1;
            let overtaken = other.overtaken;
            self.worst = self.worst.max(overtaken);
            if self.bound.is_some_and(|bound| overtaken > bound) {
                self.fail(Wrong::Overtaken(number as u32, overtaken));
            }
        }
    }

    /// The running thread begins to release the lock.
    pub fn release(&mut self) {
        self.threads[self.running as usize].claim = Claim::None;
        self.note(What::Releases, 0, 0, None);
    }

    /// The running thread has done what it wanted with the lock, or was refused it.
    pub fn done(&mut self, acquired: bool, patience: Patience) {
        if let (false, Patience::Until(deadline)) = (acquired, patience) {
            let early = deadline.saturating_sub(self.now());
            if early > 0 {
                self.fail(Wrong::GaveUp(self.running, early));
            }
        }
        self.idle = 0;
        self.threads[self.running as usize].claim = Claim::None;
        self.note(if acquired { What::Released } else { What::Refused }, 0, 0, None);
    }

    // The trace.

    pub fn note(&mut self, what: What, address: usize, size: usize, source: Option<SourceLine>) {
        if self.steps.is_none() {
            return;
        }
        self.end_step();
        let before = value(address, size);
        let step = Step {
            point: self.points,
            thread: self.running,
            what,
            address,
            size,
            word: (address != 0).then(|| self.word(address)),
            values: before.map(|before| (before, before)),
            source,
        };
        if let Some(steps) = &mut self.steps {
            steps.push(step);
        }
    }

    /// The last step has happened: its word has its new value.
    pub fn end_step(&mut self) {
        if let Some(Step { address, size, values: Some(values), .. }) =
            self.steps.as_mut().and_then(|steps| steps.last_mut())
        {
            values.1 = value(*address, *size).unwrap_or(values.0);
        }
    }

    fn word(&self, address: usize) -> String {
        let at =
            |from: usize, size: usize| address.checked_sub(from).filter(|offset| *offset < size);
        for (from, size, name) in &self.places {
            if let Some(offset) = at(*from, *size) {
                return format!("{name}+{offset:#x}");
            }
        }
        for (cpu, kept) in self.per_cpu.iter().enumerate() {
            if let Some(offset) = at(ptr::from_ref(*kept).addr(), size_of_val(*kept)) {
                return format!("CPU {cpu}'s+{offset:#x}");
            }
        }
        if let Some((cpu, offset)) = arena::kept_by_library(address) {
            return format!("CPU {cpu}'s of the library+{offset:#x}");
        }
        match arena::stack_of(address) {
            Some(thread) => format!("thread {thread}'s stack"),
            None => "memory elsewhere".to_owned(),
        }
    }
}

/// The value of a word, if it lies where all can be read.
fn value(address: usize, size: usize) -> Option<u64> {
    arena::line(address)?;
    // SAFETY: of the arena, and a word that the running thread is about to access or has just
    // accessed: it is mapped and aligned. One thread of the host does all.
    unsafe {
        match size {
            1 => Some(u64::from((address as *const u8).read_volatile())),
            2 => Some(u64::from((address as *const u16).read_volatile())),
            4 => Some(u64::from((address as *const u32).read_volatile())),
            8 => Some((address as *const u64).read_volatile()),
            _ => None,
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

//! A thread of the simulated machine, or a virtual CPU with one.

use std::collections::VecDeque;

use corosensei::{Coroutine, Yielder};

use crate::account::{Spent, TaskTimes};
use crate::arena::FixedStack;
use crate::spin::{PauseLoop, Round, Rounds};
use crate::store::Posted;
use crate::time::Time;

/// The fiber that a task is.
pub type Fiber = Coroutine<(), (), (), FixedStack>;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is on a CPU.
    Running,
    /// It is in a CPU's queue.
    Queued,
    /// It was woken, and will be in a queue.
    Waking,
    /// It sleeps.
    Asleep,
    /// It has halted, and its CPU waits with it for a while.
    Polling,
    /// It is over.
    Ended,
}

/// A sleep.
#[derive(Clone, Copy, Debug)]
pub struct Sleep {
    pub address: usize,
    pub since: Time,
    /// Nobody has woken it; its deadline has.
    pub too_late: bool,
}

pub struct Task {
    pub state: State,
    /// Its own time: how far it has come.
    pub clock: Time,
    /// Events of other generations are no more its own.
    pub generation: u32,
    pub cpu: u32,
    /// How long it has run, as CFS compares it.
    pub run_time: Time,
    /// Since when it runs, as far as its run time does not have it yet.
    pub since: Time,
    /// When it was preempted.
    pub left: Option<Time>,
    /// It waits for a cache line.
    pub in_flight: bool,
    /// Stores that have retired, and have not taken effect.
    pub buffer: VecDeque<Posted>,
    /// It waits until none is left.
    pub is_draining: bool,
    pub round: Round,
    pub last_round: Round,
    /// Rounds that it spins for by a parked look at their end.
    pub parked: Option<Rounds>,
    /// Rounds that it was parked for.
    pub rounds: u32,
    /// The number of its round, where it has asked whether it is to go on.
    pub asked: Option<u32>,
    pub pauses: PauseLoop,
    pub sleep: Option<Sleep>,
    /// For how long it is polled for at its next halt.
    pub poll: Time,
    pub times: TaskTimes,
    pub fiber: Option<Fiber>,
    /// Set by the fiber as it begins.
    pub yielder: *const Yielder<(), ()>,
}

impl Task {
    pub fn new(fiber: Fiber, pauses: PauseLoop) -> Self {
        Self {
            state: State::Waking,
            clock: 0,
            generation: 0,
            cpu: 0,
            run_time: 0,
            since: 0,
            left: None,
            in_flight: false,
            buffer: VecDeque::new(),
            is_draining: false,
            round: Round::default(),
            last_round: Round::default(),
            parked: None,
            rounds: 0,
            asked: None,
            pauses,
            sleep: None,
            poll: 0,
            times: TaskTimes::default(),
            fiber: Some(fiber),
            yielder: std::ptr::null(),
        }
    }

    /// Time passes for it.
    pub const fn spend(&mut self, what: Spent, time: Time) {
        self.clock += time;
        self.times.add(what, time);
    }

    /// Time passes for it until then, if it is not there already.
    pub const fn spend_until(&mut self, what: Spent, time: Time) {
        self.spend(what, time.saturating_sub(self.clock));
    }

    /// A PAUSE is over: a round of looks begins.
    pub fn begin_round(&mut self) {
        let begun = Round { begin: self.clock, ..Round::default() };
        self.last_round = std::mem::replace(&mut self.round, begun);
        self.asked = None;
    }
}

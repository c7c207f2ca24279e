//! The simulation itself: events in the order of virtual time, tasks on CPUs, lines in caches.
//!
//! A task's fiber runs ahead until the next event of another task. Events at the same time go by
//! kind and number, never by the order in which they were noted. So the order does not depend on
//! how events come to be.
//!
//! ```text
//!   fiber:   access(word)  -> is it my turn?  no: note the event, switch to the main loop
//!   main:    next event    -> a task's: switch to its fiber      a CPU's: end of a turn
//! ```

mod posted;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use lockwright::event::Event as LockEvent;
use lockwright::platform::{PerCpu, Waited};

use crate::account::{Class, Place, Spent};
use crate::arena;
use crate::cache::{Costs, Line, ON_AVERAGE, Operation, Service};
use crate::cell::{Long, Word};
use crate::delays::Delays;
use crate::futex::Futexes;
use crate::machine::{Machine, Topology};
use crate::rng::Rng;
use crate::runqueue::RunQueue;
use crate::spin::{Look, PauseLoop, Rounds};
use crate::task::{Sleep, State, Task};
use crate::time::{MICROSECOND, MILLISECOND, NANOSECOND, Time, nanoseconds};

/// An event: when, whose, and of which generation.
type Event = (Time, u32, u32);

/// Whose: the balancing of queues, the CPUs' ends of turns and other work, the tasks', the store
/// buffers'.
const BALANCE: u32 = 0;
const FIRST_CPU: u32 = 1;
const FIRST_OTHER_WORK: u32 = 1 << 15;
const FIRST_TASK: u32 = 1 << 16;

/// Requests of a task's store buffer have its number plus this.
const BUFFER: usize = 1 << 15;

/// What is left out of the arena.
const ELSEWHERE: &str = "memory that was not placed";
const STACKS: &str = "stacks";

/// Costs that are no line's, in picoseconds.
#[derive(Clone, Debug)]
pub struct Prices {
    step: Time,
    pause: Time,
    switch: Time,
    wake: Time,
    waker: Time,
    syscall: Time,
    exit: Time,
    latency: Time,
    granularity: Time,
    wakeup: Time,
    balance: Time,
    pub patience_rounds: u32,
    other_work: (Time, Time),
    pause_gap: Time,
    pause_window: Time,
    pause_window_grow: f64,
    poll_start: Time,
    poll_most: Time,
}

impl Prices {
    fn new(machine: &Machine) -> Self {
        let cycles = |count| nanoseconds(machine.cycles(count));
        let us = |time: f64| (time * MICROSECOND as f64) as Time;
        let ms = |time: f64| (time * MILLISECOND as f64) as Time;
        let (scheduler, hypervisor) = (&machine.scheduler, &machine.hypervisor);
        let pause = cycles(machine.instruction.pause).max(1);
        Self {
            step: cycles(machine.instruction.step),
            pause,
            switch: us(scheduler.switch_us),
            wake: us(scheduler.wake_us),
            waker: us(scheduler.waker_us),
            syscall: nanoseconds(scheduler.syscall_ns),
            exit: cycles(hypervisor.exit_cycles),
            latency: ms(scheduler.latency_ms),
            granularity: ms(scheduler.min_granularity_ms),
            wakeup: ms(scheduler.wakeup_ms),
            balance: ms(scheduler.balance_ms),
            // As locks/lockwright/src/platform/patience.rs has it.
            patience_rounds: (us(scheduler.patience_us) / pause).clamp(1 << 6, 1 << 12) as u32,
            other_work: (ms(scheduler.other_work_ms), us(scheduler.other_work_us)),
            pause_gap: cycles(hypervisor.pause_gap_cycles),
            pause_window: cycles(hypervisor.pause_window_cycles),
            pause_window_grow: hypervisor.pause_window_grow,
            poll_start: us(hypervisor.poll_start_us),
            poll_most: us(hypervisor.poll_most_us),
        }
    }
}

/// A CPU.
#[derive(Clone, Debug, Default)]
struct Cpu {
    /// The task on it.
    current: Option<usize>,
    queue: RunQueue,
    /// Since when it is that one's turn.
    turn: Time,
    /// Ends of turns of other generations are no more.
    generation: u32,
    /// A turn has ended in the middle of an access, which ends first.
    is_overdue: bool,
}

/// A task, or a store buffer, that waits for a line.
#[derive(Clone, Copy, Debug)]
struct Request {
    who: usize,
    cpu: u32,
    /// When it comes to the line's home.
    comes: Time,
}

/// How far an access has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is over.
    Done,
    /// Its line comes at the task's time.
    UnderWay,
    /// Others are first: its fiber is to be left.
    Waits,
}

pub struct World {
    pub topology: Topology,
    costs: Costs,
    pub prices: Prices,
    /// Tasks are virtual CPUs.
    pub is_guest: bool,
    parks: bool,
    delays: Delays,
    pub rng: Rng,
    events: BinaryHeap<Reverse<Event>>,
    now: Time,
    /// When workloads are to end.
    pub end: Time,
    pub tasks: Vec<Task>,
    cpus: Vec<Cpu>,
    /// Whose fiber runs.
    pub running: Option<usize>,
    futexes: Futexes,
    lines: Vec<Line>,
    /// The task that are parked on each.
    parked: Vec<Vec<usize>>,
    /// The requests for each, in the order in which they come to its home. The first has an event, unless one is being
    /// served.
    requests: Vec<VecDeque<Request>>,
    /// By line: how many requests have gone before the first of these.
    overtaken: Vec<u32>,
    place_of: Vec<u32>,
    /// The number of a line of the arena plus 1; 0: not used yet.
    of_arena: Vec<u32>,
    /// Lines elsewhere.
    of_others: HashMap<usize, usize>,
    pub places: Vec<Place>,
    /// First and last line of what was placed, in order.
    pub regions: Vec<(usize, usize, u32)>,
    pub per_cpu: Vec<&'static PerCpu<Word, Long>>,
    pub counts: Vec<u64>,
    /// How many events of tasks there were.
    pub steps: u64,
}

impl World {
    pub fn new(
        machine: &Machine,
        cpus: u32,
        guest: bool,
        parks: bool,
        delays: Delays,
        seed: u64,
    ) -> Self {
        let places = [ELSEWHERE, STACKS];
        Self {
            topology: Topology::new(&machine.shape),
            costs: Costs::new(machine),
            prices: Prices::new(machine),
            is_guest: guest,
            parks,
            delays,
            rng: Rng::new(seed),
            events: BinaryHeap::new(),
            now: 0,
            end: 0,
            tasks: Vec::new(),
            cpus: vec![Cpu::default(); cpus as usize],
            running: None,
            futexes: Futexes::default(),
            lines: Vec::new(),
            parked: Vec::new(),
            requests: Vec::new(),
            overtaken: Vec::new(),
            place_of: Vec::new(),
            of_arena: vec![0; arena::lines()],
            of_others: HashMap::new(),
            places: places.iter().map(|name| place(name)).collect(),
            regions: Vec::new(),
            per_cpu: Vec::new(),
            counts: vec![0; LockEvent::ALL.len()],
            steps: 0,
        }
    }

    /// The socket that the running task is on.
    pub fn socket(&self) -> u32 {
        let me = self.running.expect("a task runs");
        self.topology.socket(self.topology.core(self.tasks[me].cpu))
    }

    /// The watch over a new task's PAUSEs.
    pub fn pause_loop(&self) -> PauseLoop {
        PauseLoop::new(self.prices.pause_gap, self.prices.pause_window)
    }

    // Events.

    fn note(&mut self, time: Time, who: u32, generation: u32) {
        self.events.push(Reverse((time, who, generation)));
    }

    fn note_task(&mut self, time: Time, task: usize) {
        self.note(time, FIRST_TASK + task as u32, self.tasks[task].generation);
    }

    /// Lets all tasks begin, each at a time of its own within a microsecond.
    pub fn begin(&mut self) {
        let cpus = self.cpus.len() as u32;
        // Where all of a machine can be used, that is done.
        let has_choice = self.tasks.len() < self.cpus.len() && cpus == self.topology.cpus();
        for task in 0..self.tasks.len() {
            let number = task as u32;
            self.tasks[task].cpu = match has_choice {
                true => self.topology.idlest(number),
                false => number % cpus,
            };
            let begin = self.rng.below(MICROSECOND);
            self.note_task(begin, task);
        }
        self.note(self.prices.balance, BALANCE, 0);
        if self.prices.other_work.1 > 0 {
            for cpu in 0..self.cpus.len() {
                self.plan_other_work(cpu);
            }
        }
    }

    /// Whether all is over.
    pub fn is_over(&self) -> bool {
        self.tasks.iter().all(|task| task.state == State::Ended)
    }

    /// Goes on to the next event that is a fiber's, and says whose. None: `limit` has come.
    pub fn next_fiber(&mut self, limit: Time) -> Option<usize> {
        while let Some(Reverse((time, who, generation))) = self.events.pop() {
            if time > limit {
                return None;
            }
            self.now = time;
            if who >= FIRST_TASK + BUFFER as u32 {
                self.go_on_with_stores((who - FIRST_TASK) as usize - BUFFER);
            } else if who >= FIRST_TASK {
                let task = (who - FIRST_TASK) as usize;
                if self.tasks[task].generation == generation && self.is_to_run(task) {
                    self.running = Some(task);
                    return Some(task);
                }
            } else if who >= FIRST_OTHER_WORK {
                self.do_other_work((who - FIRST_OTHER_WORK) as usize);
            } else if who >= FIRST_CPU {
                let cpu = (who - FIRST_CPU) as usize;
                if self.cpus[cpu].generation == generation {
                    self.end_turn(cpu);
                }
            } else {
                self.balance();
            }
        }
        None
    }

    /// A task's event. False: it is none of its fiber.
    fn is_to_run(&mut self, task: usize) -> bool {
        match self.tasks[task].state {
            State::Running => {
                self.unpark_at_limit(task);
                return true;
            }
            State::Waking => self.arrive(task),
            State::Asleep => {
                // Its deadline.
                let sleep = self.tasks[task].sleep.as_mut().expect("it sleeps");
                sleep.too_late = true;
                let address = sleep.address;
                self.futexes.remove(address, task);
                self.wake(task);
            }
            State::Polling => self.fall_asleep(task),
            State::Queued | State::Ended => {}
        }
        false
    }

    // The running task.

    fn me(&mut self) -> &mut Task {
        let running = self.running.expect("a task runs");
        &mut self.tasks[running]
    }

    /// Whether the running task's event is the next one. If not it is noted: the fiber is to be
    /// left.
    pub fn is_my_turn(&mut self) -> bool {
        let me = self.running.expect("a task runs");
        let time = self.tasks[me].clock;
        let who = FIRST_TASK + me as u32;
        let first = self.events.peek().is_none_or(|Reverse(next)| (time, who) < (next.0, next.1));
        if first {
            self.now = time;
        } else {
            self.note_task(time, me);
        }
        first
    }

    /// Before an access: what lies between, and an explorer's delay.
    pub fn approach(&mut self) {
        self.steps += 1;
        let (step, steps) = (self.prices.step, self.steps);
        let delay = self.delays.of(steps, &mut self.rng);
        let me = self.me();
        me.spend(Spent::Computing, step);
        if delay > 0 {
            me.spend(Spent::Preempted, delay);
            me.round.differs = true;
        }
    }

    /// The running task's access, whose turn it is: begins it.
    pub fn access(&mut self, address: usize, operation: Operation) -> Progress {
        let me = self.running.expect("a task runs");
        let at = self.line_of(address);
        let Task { clock: now, cpu, .. } = self.tasks[me];
        let hit = self.lines[at].hit(operation, cpu, now, &self.topology, &self.costs);
        if let Some(service) = hit {
            self.pay(me, at, &service);
            let hits = service.class == Class::Hit;
            self.note_in_round(me, at, address, operation, now, hits);
            return Progress::Done;
        }
        self.tasks[me].round.differs = true;
        let line = &self.lines[at];
        if line.is_served() || line.free_at > now || !self.requests[at].is_empty() {
            self.request(at, me, cpu, now);
            self.tasks[me].in_flight = true;
            return Progress::Waits;
        }
        self.serve(me, at, operation)
    }

    /// Goes on with the running task's access, which is the first of its line's requests now.
    pub fn access_first(&mut self, address: usize, operation: Operation) -> Progress {
        let me = self.running.expect("a task runs");
        let at = self.line_of(address);
        let first = self.requests[at].pop_front();
        debug_assert_eq!(first.map(|first| first.who), Some(me));
        let waited = self.now - self.tasks[me].clock;
        self.places[self.place_of[at] as usize].wait += waited;
        self.tasks[me].spend(Spent::Memory, waited);
        self.serve(me, at, operation)
    }

    /// What the next transfer takes, in thousandths of the average.
    fn scale(&mut self) -> Time {
        let spread = self.costs.spread;
        ON_AVERAGE - spread + self.rng.below(2 * spread + 1)
    }

    fn serve(&mut self, me: usize, at: usize, operation: Operation) -> Progress {
        let Task { clock: now, cpu, .. } = self.tasks[me];
        // It may have come with a request of its sibling.
        let hit = self.lines[at].hit(operation, cpu, now, &self.topology, &self.costs);
        let service = hit.unwrap_or_else(|| {
            let scale = self.scale();
            self.lines[at].begin(operation, scale, cpu, now, &self.topology, &self.costs)
        });
        self.pay(me, at, &service);
        if service.is_whole {
            self.tasks[me].in_flight = true;
            return Progress::UnderWay;
        }
        if operation != Operation::Load {
            self.unpark_all(at, me);
        }
        self.land(me);
        self.let_next_request(at);
        Progress::Done
    }

    /// Ends the running task's access, whose line has come.
    pub fn complete(&mut self, address: usize, operation: Operation) {
        let me = self.running.expect("a task runs");
        let at = self.line_of(address);
        let Task { clock: now, cpu, .. } = self.tasks[me];
        self.lines[at].complete(operation, cpu, now, &self.topology);
        // A load takes from nobody what is looked at.
        if operation != Operation::Load {
            self.unpark_all(at, me);
        }
        self.land(me);
        self.let_next_request(at);
    }

    fn pay(&mut self, me: usize, at: usize, service: &Service) {
        let place = &mut self.places[self.place_of[at] as usize];
        place.count[service.class as usize] += 1;
        place.time[service.class as usize] += service.took;
        let spent = if service.class == Class::Hit { Spent::Computing } else { Spent::Memory };
        self.tasks[me].spend(spent, service.took);
    }

    /// Notes what a hit is for a spinning loop.
    fn note_in_round(
        &mut self,
        me: usize,
        at: usize,
        address: usize,
        operation: Operation,
        now: Time,
        hits: bool,
    ) {
        let round = &mut self.tasks[me].round;
        if operation == Operation::Load {
            let look = Look { line: at, address, offset: now - round.begin };
            round.differs |= !hits || !round.looks.push(look);
        } else {
            round.differs = true;
            self.unpark_all(at, me);
        }
    }

    /// An access is over: its task may be preempted again.
    fn land(&mut self, task: usize) {
        self.tasks[task].in_flight = false;
        let cpu = self.tasks[task].cpu as usize;
        if std::mem::take(&mut self.cpus[cpu].is_overdue) {
            let now = self.now;
            self.set_end_of_turn(cpu, now);
        }
    }

    /// Has `who`, on a CPU, wait for a line that is not free.
    fn request(&mut self, at: usize, who: usize, cpu: u32, now: Time) {
        let line = &self.lines[at];
        let comes = now + line.way(self.topology.core(cpu), &self.topology, &self.costs);
        // Whose event is noted stays the first.
        let noted = usize::from(!line.is_served()).min(self.requests[at].len());
        let later = self.requests[at].iter().skip(noted).rev();
        let behind = later.take_while(|request| request.comes > comes).count();
        let place = self.requests[at].len() - behind;
        self.requests[at].insert(place, Request { who, cpu, comes });
        if self.requests[at].len() == 1 && !line.is_served() {
            let free_at = line.free_at;
            self.note_request(free_at, who);
        }
    }

    /// The next of a line's requests is served as soon as the line is free.
    fn let_next_request(&mut self, at: usize) {
        self.prefer_own_socket(at);
        if let Some(next) = self.requests[at].front() {
            let (free_at, next) = (self.lines[at].free_at.max(self.now), next.who);
            self.note_request(free_at, next);
        }
    }

    /// Lets a request of the socket that has the line go first, a few times.
    fn prefer_own_socket(&mut self, at: usize) {
        let most = self.costs.local_first;
        let overtaken = std::mem::take(&mut self.overtaken[at]);
        let Some(owner) = self.lines[at].owner().filter(|_| overtaken < most) else { return };
        let socket = self.topology.socket(owner);
        let is_local =
            |request: &Request| self.topology.socket(self.topology.core(request.cpu)) == socket;
        let found = self.requests[at].iter().position(is_local).filter(|&found| found > 0);
        if let Some(local) = found.and_then(|found| self.requests[at].remove(found)) {
            self.requests[at].push_front(local);
            self.overtaken[at] = overtaken + 1;
        }
    }

    fn line_of(&mut self, address: usize) -> usize {
        let Some(at) = arena::line(address) else {
            let line = address / arena::LINE;
            if let Some(known) = self.of_others.get(&line) {
                return *known;
            }
            let new = self.new_line(0);
            self.of_others.insert(line, new);
            return new;
        };
        match self.of_arena[at] {
            0 => {
                let place = if arena::is_of_stack(at) { 1 } else { self.region_of(at) };
                let new = self.new_line(place);
                self.of_arena[at] = new as u32 + 1;
                new
            }
            known => known as usize - 1,
        }
    }

    fn region_of(&self, line: usize) -> u32 {
        let region = self.regions.partition_point(|region| region.1 < line);
        self.regions.get(region).filter(|region| region.0 <= line).map_or(0, |region| region.2)
    }

    fn new_line(&mut self, place: u32) -> usize {
        let home = self.running.map_or(0, |_| self.socket());
        self.lines.push(Line::new(home, self.lines.len()));
        self.parked.push(Vec::new());
        self.requests.push(VecDeque::new());
        self.overtaken.push(0);
        self.place_of.push(place);
        self.lines.len() - 1
    }

    // Spinning.

    /// A PAUSE. True: it exits to the hypervisor, in its turn.
    pub fn pause(&mut self) -> bool {
        let (pause, watched) = (self.prices.pause, self.is_guest && self.prices.pause_gap > 0);
        let me = self.me();
        if watched && me.pauses.pause(me.clock) {
            return true;
        }
        me.spend(Spent::Pausing, pause);
        me.begin_round();
        false
    }

    /// Whether the running task may be parked for at most so many rounds: then it is, and its fiber
    /// is to be left.
    pub fn park(&mut self, most: u32) -> bool {
        let me = self.running.expect("a task runs");
        let pause = self.prices.pause;
        let watched = self.is_guest && self.prices.pause_gap > 0;
        let patience = self.prices.patience_rounds;
        let task = &self.tasks[me];
        let looks = &task.round.looks;
        if !self.parks || most < 2 || task.round.differs || looks.as_slice().is_empty() {
            return false;
        }
        let core = self.topology.core(task.cpu);
        // None was taken since.
        let held = looks.as_slice().iter().all(|look| self.lines[look.line].is_at(core));
        if !held || *looks != task.last_round.looks {
            return false;
        }
        let period = pause + (task.clock - task.round.begin);
        let mut limit = u64::from(most);
        if watched {
            limit = limit.min(task.pauses.before_exit(task.clock, period));
        }
        if let Some(rounds) = task.asked {
            limit = limit.min(patience.saturating_sub(rounds).into());
        }
        if limit < 2 {
            return false;
        }
        let limit = limit.min(u64::from(u32::MAX)) as u32;
        let looks = looks.clone();
        let rounds = Rounds { from: task.clock, pause, period, limit, looks };
        for look in rounds.looks.as_slice() {
            let parked = &mut self.parked[look.line];
            if !parked.contains(&me) {
                parked.push(me);
            }
        }
        let last = rounds.look(limit);
        self.tasks[me].parked = Some(rounds);
        // It may be for ever.
        if limit < u32::MAX {
            self.note_task(last, me);
        }
        true
    }

    /// `writer` writes to a line now: threads that spin on the line read it again.
    fn unpark_all(&mut self, line: usize, writer: usize) {
        if self.parked[line].is_empty() {
            return;
        }
        let mut parked = std::mem::take(&mut self.parked[line]);
        for task in parked.drain(..) {
            let rounds = self.tasks[task].parked.as_ref().expect("it is parked");
            // At the same time the lower number goes first.
            let round =
                rounds.first_with_load_at(self.now, task < writer, |look| look.line == line);
            self.unpark(task, round);
        }
        // Keeps its memory.
        self.parked[line] = parked;
    }

    /// Ends a task's parking, at this round.
    fn unpark(&mut self, task: usize, round: u32) {
        let rounds = self.tasks[task].parked.take().expect("it is parked");
        for look in rounds.looks.as_slice() {
            self.parked[look.line].retain(|other| *other != task);
        }
        let watched = self.is_guest && self.prices.pause_gap > 0;
        let load = self.costs.load;
        let looked = u64::from(round - 1);
        for look in rounds.looks.as_slice() {
            let place = &mut self.places[self.place_of[look.line] as usize];
            place.count[Class::Hit as usize] += looked;
            place.time[Class::Hit as usize] += looked * load;
        }
        let this = &mut self.tasks[task];
        if watched {
            this.pauses.pauses(rounds.from, rounds.period, round);
        }
        let paused = u64::from(round) * rounds.pause;
        this.spend(Spent::Pausing, paused);
        this.spend_until(Spent::Computing, rounds.look(round));
        this.rounds = round;
        this.begin_round();
        this.generation += 1;
        let clock = this.clock;
        self.note_task(clock, task);
    }

    fn unpark_at_limit(&mut self, task: usize) {
        if let Some(limit) = self.tasks[task].parked.as_ref().map(|rounds| rounds.limit) {
            self.unpark(task, limit);
            // This is that event.
            self.tasks[task].generation += 1;
        }
    }

    /// The running task's PAUSEs have become an exit. True: its CPU is another's now, and its fiber
    /// is to be left.
    pub fn exit_pause_loop(&mut self) -> bool {
        let Prices { exit, pause, pause_window_grow: grow, .. } = self.prices;
        let me = self.me();
        me.spend(Spent::Pausing, pause);
        me.spend(Spent::System, exit);
        me.pauses.window = (me.pauses.window as f64 * grow) as Time;
        let clock = me.clock;
        me.pauses.forget(clock);
        me.begin_round();
        self.give_way()
    }

    /// Rounds that the running task was parked for.
    pub fn parked_rounds(&mut self) -> u32 {
        self.me().rounds
    }

    /// Whether a thread that has spun for so many rounds should let others run: never in a guest's
    /// kernel, which spins with preemption off.
    pub fn need_resched(&mut self, rounds: u32) -> bool {
        let patience = self.prices.patience_rounds;
        if self.is_guest {
            return false;
        }
        self.me().asked = Some(rounds);
        rounds >= patience
    }

    // System calls.

    /// A system call of the running task, or a hypercall.
    pub fn enter_system(&mut self) {
        let took = if self.is_guest { self.prices.exit } else { self.prices.syscall };
        let me = self.me();
        me.spend(Spent::System, took);
        me.round.differs = true;
    }

    /// The running task goes to sleep, in its turn. Its fiber is to be left.
    pub fn sleep(&mut self, address: usize, bits: u32, deadline: Option<Time>) {
        let me = self.running.expect("a task runs");
        self.futexes.push(address, me, bits);
        let clock = self.tasks[me].clock;
        let polls = self.is_guest
            && deadline.is_none()
            && self.cpus[self.tasks[me].cpu as usize].queue.is_empty()
            && self.tasks[me].poll > 0;
        let task = &mut self.tasks[me];
        task.sleep = Some(Sleep { address, since: clock, too_late: false });
        task.generation += 1;
        if polls {
            task.state = State::Polling;
            let until = clock + task.poll;
            self.note_task(until, me);
        } else {
            self.now = clock;
            self.fall_asleep(me);
            if let Some(deadline) = deadline {
                self.note_task(deadline.max(clock), me);
            }
        }
    }

    /// How the sleep of the running task has ended.
    pub fn slept(&mut self) -> Waited {
        let sleep = self.me().sleep.take().expect("it has slept");
        if sleep.too_late { Waited::TooLate } else { Waited::Woken }
    }

    /// It leaves its CPU, where it halted or waits.
    fn fall_asleep(&mut self, task: usize) {
        self.stop_clock(task);
        self.tasks[task].state = State::Asleep;
        self.tasks[task].generation += 1;
        let cpu = self.tasks[task].cpu as usize;
        self.cpus[cpu].current = None;
        self.fill(cpu);
    }

    /// The running task wakes waiters at the address, in its turn. A virtual CPU's is an exit, which has all of it.
    pub fn wake_at(&mut self, address: usize, count: u32, bits: u32) {
        for task in self.futexes.take(address, count, bits) {
            if self.tasks[task].state == State::Polling {
                let exit = self.prices.exit;
                self.end_halt(task);
                let now = self.now;
                let this = &mut self.tasks[task];
                this.state = State::Running;
                this.generation += 1;
                this.spend_until(Spent::Asleep, now);
                this.spend(Spent::System, exit);
                let clock = this.clock;
                self.note_task(clock, task);
            } else {
                self.wake(task);
                if !self.is_guest {
                    let took = self.prices.waker;
                    self.me().spend(Spent::System, took);
                }
            }
        }
    }

    fn wake(&mut self, task: usize) {
        if self.is_guest {
            self.end_halt(task);
        }
        self.tasks[task].state = State::Waking;
        self.tasks[task].generation += 1;
        let arrival = self.now + self.prices.wake;
        self.note_task(arrival, task);
    }

    /// What a halt teaches for the next (KVM's halt_poll_ns of a virtual CPU).
    fn end_halt(&mut self, task: usize) {
        let Prices { poll_start, poll_most, .. } = self.prices;
        let now = self.now;
        let this = &mut self.tasks[task];
        let halted = now.saturating_sub(this.sleep.expect("it has halted").since);
        if halted > poll_most {
            this.poll = 0;
        } else if halted > this.poll {
            this.poll = (this.poll * 2).clamp(poll_start, poll_most);
        }
    }

    // The scheduler.

    /// Adds what a task has run to its run time.
    fn stop_clock(&mut self, task: usize) {
        let now = self.now;
        let this = &mut self.tasks[task];
        this.run_time += now.saturating_sub(this.since);
        this.since = now.max(this.since);
    }

    /// A woken task looks for a CPU: its last one, an idle one near it, any that is idle; else it
    /// waits at its last one.
    fn arrive(&mut self, task: usize) {
        let last = self.tasks[task].cpu;
        let core = self.topology.core(last);
        let idle = |cpu: &u32| self.cpus[*cpu as usize].current.is_none();
        let distance = |cpu: &u32| (self.topology.between(core, self.topology.core(*cpu)), *cpu);
        let all = 0..self.cpus.len() as u32;
        let found = if idle(&last) { Some(last) } else { all.filter(idle).min_by_key(distance) };
        let cpu = found.unwrap_or(last) as usize;
        let from = self.cpus[last as usize].queue.least();
        let here = self.cpus[cpu].queue.least();
        let (latency, now) = (self.prices.latency, self.now);
        let this = &mut self.tasks[task];
        if this.sleep.is_some() {
            this.spend_until(Spent::Asleep, now);
        }
        // A task that has slept for long must not run for long in return.
        let run_time = this.run_time.max(from.saturating_sub(latency / 2));
        this.run_time = (run_time + here).saturating_sub(from);
        this.cpu = cpu as u32;
        this.state = State::Queued;
        let run_time = this.run_time;
        self.cpus[cpu].queue.push(run_time, task);
        match self.cpus[cpu].current {
            None => self.fill(cpu),
            Some(current) if self.tasks[current].state == State::Polling => {
                self.fall_asleep(current);
            }
            Some(current) => {
                self.stop_clock(current);
                if self.tasks[current].run_time > run_time + self.prices.wakeup {
                    let now = self.now;
                    self.set_end_of_turn(cpu, now);
                } else if self.cpus[cpu].queue.len() == 1 {
                    self.plan_end_of_turn(cpu);
                }
            }
        }
    }

    /// Gives a CPU that has nobody to the next of its queue, or of the longest one elsewhere.
    fn fill(&mut self, cpu: usize) {
        debug_assert!(self.cpus[cpu].current.is_none());
        if self.cpus[cpu].queue.is_empty() {
            self.pull(cpu, 1);
        }
        if let Some((_, task)) = self.cpus[cpu].queue.pop() {
            self.switch_to(cpu, task);
        }
    }

    /// Gives a CPU to a task.
    fn switch_to(&mut self, cpu: usize, task: usize) {
        let begin = self.now + self.prices.switch;
        let (switch, window) = (self.prices.switch, self.prices.pause_window);
        let now = self.now;
        let this = &mut self.tasks[task];
        if let Some(left) = this.left.take() {
            // What it was at when it was preempted takes as long as it would have.
            // Who left of itself may have been a little ahead.
            this.spend(Spent::Preempted, now.saturating_sub(left));
        } else {
            this.spend_until(Spent::Preempted, now);
        }
        this.spend(Spent::System, switch);
        this.state = State::Running;
        this.cpu = cpu as u32;
        this.since = begin;
        this.pauses.window = window;
        this.generation += 1;
        let clock = this.clock;
        self.note_task(clock, task);
        self.cpus[cpu].current = Some(task);
        self.cpus[cpu].turn = begin;
        self.cpus[cpu].generation += 1;
        self.cpus[cpu].is_overdue = false;
        self.plan_end_of_turn(cpu);
    }

    /// Those who wait shall all have run within the scheduler's latency.
    fn plan_end_of_turn(&mut self, cpu: usize) {
        let Prices { latency, granularity, .. } = self.prices;
        let Cpu { queue, turn, .. } = &self.cpus[cpu];
        if !queue.is_empty() {
            let length = (latency / (queue.len() as u64 + 1)).max(granularity);
            let end = (turn + length).max(self.now);
            self.set_end_of_turn(cpu, end);
        }
    }

    fn set_end_of_turn(&mut self, cpu: usize, time: Time) {
        self.cpus[cpu].generation += 1;
        let generation = self.cpus[cpu].generation;
        self.note(time, FIRST_CPU + cpu as u32, generation);
    }

    /// The end of a turn.
    fn end_turn(&mut self, cpu: usize) {
        let Some(current) = self.cpus[cpu].current else { return };
        if self.tasks[current].state != State::Running {
            return;
        }
        if self.tasks[current].in_flight {
            // An instruction is interrupted before or after, not within.
            self.cpus[cpu].is_overdue = true;
            return;
        }
        if let Some(rounds) = &self.tasks[current].parked {
            // It goes on up to here first, as it would have if it were not parked.
            let round = rounds.first_with_load_at(self.now, false, |_| true);
            self.unpark(current, round);
            let now = self.now;
            self.set_end_of_turn(cpu, now);
            return;
        }
        self.stop_clock(current);
        let run_time = self.tasks[current].run_time;
        if self.cpus[cpu].queue.next_run_time().is_some_and(|next| next < run_time) {
            self.leave(cpu, current);
            self.cpus[cpu].queue.push(run_time, current);
            self.fill(cpu);
        } else {
            self.cpus[cpu].turn = self.now;
            self.plan_end_of_turn(cpu);
        }
    }

    fn plan_other_work(&mut self, cpu: usize) {
        let time = self.now + self.rng.below(2 * self.prices.other_work.0);
        self.note(time, FIRST_OTHER_WORK + cpu as u32, 0);
    }

    /// Something else needs a CPU for a while: the task that runs there continues later.
    fn do_other_work(&mut self, cpu: usize) {
        if let Some(current) = self.cpus[cpu].current.filter(|task| self.is_on_cpu(*task)) {
            if self.tasks[current].in_flight {
                // An instruction is interrupted before or after, not within.
                let again = self.now + MICROSECOND;
                return self.note(again, FIRST_OTHER_WORK + cpu as u32, 0);
            }
            if let Some(rounds) = &self.tasks[current].parked {
                let round = rounds.first_with_load_at(self.now, false, |_| true);
                self.unpark(current, round);
            }
            let length = self.rng.below(self.prices.other_work.1);
            let this = &mut self.tasks[current];
            this.spend(Spent::Preempted, length);
            this.round.differs = true;
            this.generation += 1;
            let clock = this.clock;
            self.note_task(clock, current);
        }
        self.plan_other_work(cpu);
    }

    fn is_on_cpu(&self, task: usize) -> bool {
        self.tasks[task].state == State::Running
    }

    /// A running task leaves its CPU, and could go on.
    fn leave(&mut self, cpu: usize, task: usize) {
        let now = self.now;
        let this = &mut self.tasks[task];
        this.state = State::Queued;
        this.left = Some(now);
        this.generation += 1;
        self.cpus[cpu].current = None;
    }

    /// The running task lets others run, in its turn. False: nobody wants to.
    pub fn give_way(&mut self) -> bool {
        let me = self.running.expect("a task runs");
        let cpu = self.tasks[me].cpu as usize;
        self.now = self.now.max(self.tasks[me].clock);
        let Some((_, next)) = self.cpus[cpu].queue.pop() else { return false };
        self.stop_clock(me);
        self.leave(cpu, me);
        let run_time = self.tasks[me].run_time;
        self.cpus[cpu].queue.push(run_time, me);
        self.switch_to(cpu, next);
        true
    }

    /// The running task is over.
    pub fn end_task(&mut self, task: usize) {
        // Its last event may be behind its clock.
        self.now = self.now.max(self.tasks[task].clock);
        let cpu = self.tasks[task].cpu as usize;
        self.tasks[task].state = State::Ended;
        self.tasks[task].generation += 1;
        self.cpus[cpu].current = None;
        self.fill(cpu);
    }

    /// Busy CPUs even out their queues: each takes one from the longest, if that has more than it
    /// has itself.
    fn balance(&mut self) {
        for cpu in 0..self.cpus.len() {
            let was_idle = self.cpus[cpu].current.is_none();
            let own = self.cpus[cpu].queue.len();
            if self.pull(cpu, own + 1) {
                if was_idle {
                    self.fill(cpu);
                } else {
                    self.plan_end_of_turn(cpu);
                }
            }
        }
        let next = self.now + self.prices.balance;
        self.note(next, BALANCE, 0);
    }

    /// Takes one from the longest queue of at least so many: of the same socket if there are
    /// several.
    fn pull(&mut self, cpu: usize, least: usize) -> bool {
        let socket = |cpu: usize| self.topology.socket(self.topology.core(cpu as u32));
        let candidates =
            (0..self.cpus.len()).filter(|other| self.cpus[*other].queue.len() >= least);
        let key = |other: &usize| {
            (self.cpus[*other].queue.len(), socket(*other) == socket(cpu), Reverse(*other))
        };
        let Some(from) = candidates.filter(|other| *other != cpu).max_by_key(key) else {
            return false;
        };
        let Some((run_time, task)) = self.cpus[from].queue.pop_last() else { return false };
        let here = self.cpus[cpu].queue.least();
        let run_time = (run_time + here).saturating_sub(self.cpus[from].queue.least());
        self.tasks[task].run_time = run_time;
        self.tasks[task].cpu = cpu as u32;
        self.cpus[cpu].queue.push(run_time, task);
        true
    }

    /// The running task's time, in nanoseconds.
    pub fn clock(&mut self) -> u64 {
        let me = self.me();
        me.round.differs = true;
        me.clock / NANOSECOND
    }

    /// The running task's time.
    pub fn time(&mut self) -> Time {
        self.me().clock
    }

    /// Whether the running task has come to the end of what is simulated.
    pub fn is_past_end(&mut self) -> bool {
        let end = self.end;
        self.me().clock >= end
    }

    /// The running task computes.
    pub fn compute(&mut self, time: Time) {
        let me = self.me();
        me.spend(Spent::Computing, time);
        me.round.differs = true;
    }

    /// A full fence of the running task.
    pub fn fence(&mut self) {
        let locked = self.costs.locked;
        let me = self.me();
        me.spend(Spent::Computing, locked);
        me.round.differs = true;
    }
}

/// A place without traffic.
pub fn place(name: &str) -> Place {
    Place { name: name.to_owned(), ..Place::default() }
}

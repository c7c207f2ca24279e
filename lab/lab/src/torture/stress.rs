//! Writers and readers, as many as asked for, until it is over; and what disturbs them meanwhile.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::affinity::Cpus;
use super::data::Data;
use super::parameters::{Parameters, RtBoost};
use super::random::Random;
use super::signals::{self, Handler, Handlings, Storm, Takes, Targets};
use super::statistics::{Side, Statistics};
use super::types::Type;
use super::worker::{self, Guarded, Role, Shared, Worker};

/// How often the main thread looks at the torture.
const TICK: Duration = Duration::from_millis(10);

/// An observer of a run.
pub trait Watcher {
    /// Called at each look. False: the run is to end.
    fn goes_on(&mut self, now: &Statistics) -> bool {
        let _ = now;
        true
    }

    /// Called every [`Parameters::stat_interval`].
    fn show(&mut self, now: &Statistics) {
        let _ = now;
    }
}

/// Nobody does.
impl Watcher for () {}

/// Tortures a lock. Threads that the lock keeps for ever are left behind.
pub fn stress(
    torture_type: &Type,
    parameters: &Parameters,
    watcher: &mut dyn Watcher,
) -> Statistics {
    let mut run = Run::start(torture_type, parameters);
    let stalled = run.watch(watcher);
    run.end(torture_type, stalled)
}

/// What a signal's handler takes, of a lock of this type.
fn takes(torture_type: &Type, shared: &Arc<Shared>) -> Option<Takes> {
    if torture_type.irqsave {
        let shared = Arc::clone(shared);
        return Some(Box::new(move || signals::take(&*shared.lock.ops, &shared.lock.data)));
    }
    torture_type.irq.then(|| -> Takes {
        let own = Guarded { ops: (torture_type.boxed)(), data: Data::default() };
        Box::new(move || signals::take(&*own.ops, &own.data))
    })
}

/// A run under way.
struct Run {
    shared: Arc<Shared>,
    workers: Vec<Arc<Worker>>,
    /// Receives a message from each thread that ends.
    ended: Receiver<()>,
    storm: Option<Storm>,
    cpus: Cpus,
}

impl Run {
    fn start(torture_type: &Type, parameters: &Parameters) -> Self {
        let guarded = || Guarded { ops: (torture_type.boxed)(), data: Data::default() };
        let shared = Arc::new(Shared {
            lock: guarded(),
            nested: (0..parameters.nested_locks).map(|_| guarded()).collect(),
            stop: AtomicBool::new(false),
            pause: AtomicBool::new(false),
            targets: Targets::default(),
            boost_once_in: boost_once_in(torture_type, parameters),
            parameters: parameters.clone(),
        });
        let readers = if torture_type.readers { parameters.nreaders_stress } else { 0 };
        let roles = std::iter::repeat_n(Role::Writer, parameters.nwriters_stress)
            .chain(std::iter::repeat_n(Role::Reader, readers));
        let workers: Vec<_> =
            roles.map(|role| Arc::new(Worker { role, counts: Default::default() })).collect();
        let storm = (parameters.signals || parameters.stops).then(|| {
            let stops = parameters.stops.then_some(parameters.seed);
            let workers = workers.clone();
            let progress = move || workers.iter().map(|worker| worker.operations()).sum();
            let handler = Handler {
                takes: takes(torture_type, &shared),
                stops,
                progress: Some(Box::new(progress)),
            };
            Storm::new(handler, Arc::clone(&shared))
        });
        let (tell, ended) = channel();
        for (worker, seed) in workers.iter().zip(parameters.seed..) {
            let (worker, shared, tell) = (Arc::clone(worker), Arc::clone(&shared), tell.clone());
            thread::spawn(move || {
                worker::employ(&shared, &worker, seed);
                // Nobody listens any more if others have stalled.
                let _ = tell.send(());
            });
        }
        Self { shared, workers, ended, storm, cpus: Cpus::new() }
    }

    /// Waits for all threads, and disturbs them meanwhile. Returns how many are left that do not
    /// come.
    fn watch(&mut self, watcher: &mut dyn Watcher) -> usize {
        let shared = Arc::clone(&self.shared);
        let parameters = &shared.parameters;
        let mut random = Random::new(parameters.seed);
        let begin = Instant::now();
        let mut shuffle = Every::new(parameters.shuffle_interval, begin);
        let mut turn = Every::new(parameters.onoff_interval, begin + parameters.onoff_holdoff);
        let mut stutter = Every::new(parameters.stutter, begin);
        let mut show = Every::new(parameters.stat_interval, begin);
        let mut running = self.workers.len();
        // When something has happened last, and how much until then.
        let (mut last, mut done) = (begin, (0, running));
        while running > 0 {
            match self.ended.recv_timeout(TICK) {
                Ok(()) => {
                    running -= 1;
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("a thread under torture panicked"),
            }
            let now = Instant::now();
            let statistics = self.statistics();
            let over =
                !parameters.shutdown_secs.is_zero() && now - begin >= parameters.shutdown_secs;
            if over || !watcher.goes_on(&statistics) {
                shared.stop.store(true, Relaxed);
                shared.pause.store(false, Relaxed);
            } else if stutter.is_due(now) {
                shared.pause.fetch_xor(true, Relaxed);
            }
            if shuffle.is_due(now) {
                self.cpus.shuffle(&shared.targets);
            }
            if turn.is_due(now) {
                self.cpus.turn(&mut random, &shared.targets);
            }
            if show.is_due(now) {
                watcher.show(&statistics);
            }
            let progress = (statistics.operations(), running);
            if progress != done || shared.pause.load(Relaxed) {
                (last, done) = (now, progress);
            } else if now - last >= parameters.stall {
                break;
            }
        }
        running
    }

    /// What came of it until now. What is lost is known in the end only.
    fn statistics(&self) -> Statistics {
        let Handlings { signals, stops, fail: signal_fail } =
            self.storm.as_ref().map(Storm::handlings).unwrap_or_default();
        let mut statistics = Statistics {
            signals,
            stops,
            signal_fail,
            moves: self.cpus.moves,
            ..Default::default()
        };
        for worker in &self.workers {
            add(&mut statistics, worker);
        }
        statistics
    }

    fn end(mut self, torture_type: &Type, stalled: usize) -> Statistics {
        // For those that were given up: what they have not begun yet, they need not.
        self.shared.stop.store(true, Relaxed);
        let mut statistics = self.statistics();
        statistics.stalled = stalled;
        if stalled == 0 {
            let written = if torture_type.readers {
                statistics.writes.total()
            } else {
                statistics.writes.total() + statistics.reads.total()
            };
            statistics.lost = written.saturating_sub(self.shared.lock.data.writes());
        }
        if let Some(storm) = self.storm.take() {
            storm.end(stalled > 0);
        }
        statistics
    }
}

impl Statistics {
    /// All that the threads have done.
    fn operations(&self) -> u64 {
        [&self.writes, &self.reads].map(|side| side.total() + side.refused).iter().sum()
    }
}

fn add(statistics: &mut Statistics, worker: &Worker) {
    let counts = &worker.counts;
    let side: &mut Side = match worker.role {
        Role::Writer => &mut statistics.writes,
        Role::Reader => &mut statistics.reads,
    };
    side.acquired.push(counts.acquired.load(Relaxed));
    side.refused += counts.refused.load(Relaxed);
    side.fail += counts.fail.load(Relaxed);
    statistics.late += counts.late.load(Relaxed);
    statistics.longest_wait_ns =
        statistics.longest_wait_ns.max(counts.longest_wait_ns.load(Relaxed));
    statistics.boosts += counts.boosts.load(Relaxed);
    statistics.boosts_refused += counts.boosts_refused.load(Relaxed);
}

/// One in so many acquisitions boosts its thread; 0: none does.
fn boost_once_in(torture_type: &Type, parameters: &Parameters) -> u64 {
    let boosts = match parameters.rt_boost {
        RtBoost::Never => false,
        RtBoost::RtMutex => torture_type.name == "rtmutex_lock",
        RtBoost::Sleeping => torture_type.sleeps,
    };
    if boosts { parameters.rt_boost_factor.max(1) } else { 0 }
}

/// Something that is due again and again.
struct Every {
    interval: Duration,
    next: Instant,
}

impl Every {
    /// For the first time one interval after `begin`; never if that is zero.
    fn new(interval: Duration, begin: Instant) -> Self {
        Self { interval, next: begin + interval }
    }

    fn is_due(&mut self, now: Instant) -> bool {
        if self.interval.is_zero() || now < self.next {
            return false;
        }
        self.next = now + self.interval;
        true
    }
}

//! Writers and readers, as many as asked for, until it is over.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

use super::Parameters;
use super::data::Data;
use super::ops::{Ops, Type};
use super::random::Random;
use super::signals::{Does, Storm, Targets};
use super::statistics::{Side, Statistics};

struct Shared {
    lock: Box<dyn Ops>,
    data: Data,
    stop: AtomicBool,
    targets: Targets,
    parameters: Parameters,
}

impl AsRef<Targets> for Shared {
    fn as_ref(&self) -> &Targets {
        &self.targets
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Writer,
    Reader,
}

/// What a thread has done.
#[derive(Clone, Copy, Default)]
struct Done {
    acquired: u64,
    refused: u64,
    fail: u64,
}

/// How a lock is asked for.
enum Asked {
    Try,
    Until(u64),
    Wait,
}

/// Tortures a lock. Threads that the lock keeps for ever are left behind.
pub fn stress(torture_type: &Type, parameters: &Parameters) -> Statistics {
    let shared = Arc::new(Shared {
        lock: (torture_type.boxed)(),
        data: Data::default(),
        stop: AtomicBool::new(false),
        targets: Targets::default(),
        parameters: parameters.clone(),
    });
    let storm = parameters.signals.then(|| {
        let does = match torture_type.irq {
            true => Does::Lock((torture_type.boxed)()),
            false => Does::Nothing,
        };
        Storm::new(does, Arc::clone(&shared))
    });
    let readers = if torture_type.readers { parameters.nreaders_stress } else { 0 };
    let roles = std::iter::repeat_n(Role::Writer, parameters.nwriters_stress)
        .chain(std::iter::repeat_n(Role::Reader, readers));
    let (tell, told) = channel();
    let mut running = 0;
    for (seed, role) in roles.enumerate() {
        let (shared, tell) = (Arc::clone(&shared), tell.clone());
        thread::spawn(move || employ(&shared, role, seed as u64 + 1, &tell));
        running += 1;
    }
    drop(tell);
    thread::sleep(parameters.shutdown);
    shared.stop.store(true, Relaxed);
    let mut statistics = Statistics::default();
    while running > 0 {
        match told.recv_timeout(parameters.stall) {
            Ok((role, done)) => {
                running -= 1;
                let side = match role {
                    Role::Writer => &mut statistics.writes,
                    Role::Reader => &mut statistics.reads,
                };
                add(side, done);
            }
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => panic!("a thread under torture panicked"),
        }
    }
    statistics.stalled = running;
    if running == 0 {
        let written = if torture_type.readers {
            statistics.writes.total()
        } else {
            statistics.writes.total() + statistics.reads.total()
        };
        statistics.lost = written.saturating_sub(shared.data.writes());
    }
    if let Some(storm) = storm {
        (statistics.signals, statistics.signal_fail) = storm.end(running > 0);
    }
    statistics
}

fn add(side: &mut Side, done: Done) {
    side.acquired.push(done.acquired);
    side.refused += done.refused;
    side.fail += done.fail;
}

/// One place of a thread, which new ones take over at `onoff_interval`.
fn employ(shared: &Arc<Shared>, role: Role, seed: u64, tell: &Sender<(Role, Done)>) {
    let mut random = Random::new(seed);
    let mut done = Done::default();
    if shared.parameters.onoff_interval == 0 {
        work(shared, role, &mut random, &mut done);
    }
    while !shared.stop.load(Relaxed) {
        let next = Arc::clone(shared);
        let one = thread::spawn(move || {
            work(&next, role, &mut random, &mut done);
            (random, done)
        });
        (random, done) = one.join().expect("a thread under torture panicked");
    }
    // Nobody listens any more if others have stalled.
    let _ = tell.send((role, done));
}

fn work(shared: &Shared, role: Role, random: &mut Random, done: &mut Done) {
    let _target = shared.targets.join();
    let until = match shared.parameters.onoff_interval {
        0 => u64::MAX,
        interval => done.acquired + interval,
    };
    while done.acquired < until && !shared.stop.load(Relaxed) {
        let asked = match random.below(8) {
            0 => Asked::Try,
            1 | 2 => Asked::Until(Linux::now() + random.below(50_000)),
            _ => Asked::Wait,
        };
        if take(&*shared.lock, role, &asked) {
            section(shared, role, random, done);
        } else {
            done.refused += 1;
            thread::yield_now();
        }
    }
}

fn take(lock: &dyn Ops, role: Role, asked: &Asked) -> bool {
    match (role, asked) {
        (Role::Writer, Asked::Try) => lock.try_writelock(),
        (Role::Writer, Asked::Until(deadline)) => lock.writelock_until(*deadline),
        (Role::Writer, Asked::Wait) => {
            lock.writelock();
            true
        }
        (Role::Reader, Asked::Try) => lock.try_readlock(),
        (Role::Reader, Asked::Until(deadline)) => lock.readlock_until(*deadline),
        (Role::Reader, Asked::Wait) => {
            lock.readlock();
            true
        }
    }
}

/// Uses what is under the lock, and releases it.
fn section(shared: &Shared, role: Role, random: &mut Random, done: &mut Done) {
    let Shared { lock, data, parameters, .. } = shared;
    let kind = random.below(4096);
    let delay = || match kind {
        0 => thread::sleep(parameters.long_hold),
        1..64 => thread::yield_now(),
        _ => {}
    };
    done.acquired += 1;
    match role {
        Role::Writer => {
            done.fail += u64::from(!data.write(delay));
            // SAFETY: taken by our caller.
            if random.once_in(8) && unsafe { lock.downgrade() } {
                done.fail += u64::from(!data.read(|| ()));
                // SAFETY: downgraded above.
                unsafe { lock.readunlock() };
            } else {
                // SAFETY: taken by our caller.
                unsafe { lock.writeunlock() };
            }
        }
        Role::Reader => {
            done.fail += u64::from(!data.read(delay));
            // SAFETY: taken by our caller.
            unsafe { lock.readunlock() };
        }
    }
    // As a program does: most time is spent without the lock, or nobody else would ever get an
    // unfair one.
    if random.once_in(16) {
        thread::sleep(Duration::from_nanos(1));
    }
}

//! Many locks, which threads take in orders of their own.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use lockwright::ww_mutex::Refused;

use super::case::{Class, Ctx, Faults, Parameters, Run};
use super::lock::Lock;
use crate::torture::random::Random;

/// The kernel's cases, by name.
pub fn of<L: Lock>() -> Vec<(&'static str, Run)> {
    vec![
        ("stress, 16 locks in order", |class, parameters, faults| {
            stress::<L>(class, parameters, faults, 16, &vec![Kind::InOrder; 2 * parameters.cpus]);
        }),
        ("stress, 16 locks reordered", |class, parameters, faults| {
            stress::<L>(class, parameters, faults, 16, &vec![Kind::Reorder; 2 * parameters.cpus]);
        }),
        ("stress, 4095 locks", |class, parameters, faults| {
            let all = [Kind::InOrder, Kind::Reorder, Kind::One].repeat(parameters.cpus);
            stress::<L>(class, parameters, faults, 4095, &all);
        }),
    ]
}

/// How a thread takes locks.
#[derive(Clone, Copy)]
enum Kind {
    /// All of them. What is refused is taken first in the next attempt, at its place in the order.
    InOrder,
    /// All of them. What is refused comes to the front of the order, for good.
    Reorder,
    /// One at a time, without a context.
    One,
}

/// A lock and what it guards.
struct Guarded<L> {
    lock: L,
    count: AtomicU64,
}

impl<L: Lock> Guarded<L> {
    /// Counts, in two steps, of which others that are in it meanwhile lose one; and releases it.
    fn use_and_unlock(&self) {
        // Relaxed, both: the lock orders them.
        let count = self.count.load(Relaxed);
        if count.is_multiple_of(64) {
            thread::yield_now();
        }
        self.count.store(count + 1, Relaxed);
        self.lock.unlock();
    }
}

fn stress<L: Lock>(
    class: &Class,
    parameters: &Parameters,
    faults: &Faults,
    locks: usize,
    kinds: &[Kind],
) {
    let guarded = |_| Guarded { lock: L::new(), count: AtomicU64::new(0) };
    let locks: Vec<Guarded<L>> = (0..locks).map(guarded).collect();
    let counted: u64 = thread::scope(|scope| {
        let one = |(kind, seed): (&Kind, u64)| {
            let (kind, locks) = (*kind, &locks);
            scope.spawn(move || transact(class, parameters, faults, locks, kind, seed))
        };
        let threads: Vec<_> = kinds.iter().zip(parameters.seed..).map(one).collect();
        threads.into_iter().map(|thread| thread.join().expect("it counts its faults")).sum()
    });
    let found: u64 = locks.iter().map(|lock| lock.count.load(Relaxed)).sum();
    faults.check(found == counted, "a section was lost");
}

/// One thread's transactions. Returns how many locks it has used.
fn transact<L: Lock>(
    class: &Class,
    parameters: &Parameters,
    faults: &Faults,
    locks: &[Guarded<L>],
    kind: Kind,
    seed: u64,
) -> u64 {
    let mut random = Random::new(seed);
    let mut order = random.order(locks.len());
    let (begin, mut used, mut done) = (Instant::now(), 0, 0);
    let goes_on = |done: u64| match parameters.acquisitions {
        0 => begin.elapsed() < parameters.stress,
        limit => done < limit,
    };
    while done == 0 || goes_on(done) {
        match kind {
            Kind::InOrder => in_order(class, locks, &order, faults),
            Kind::Reorder => reorder(class, locks, &mut order, faults),
            Kind::One => {
                let one = &locks[random.below(locks.len() as u64) as usize];
                faults.check(one.lock.lock(None).is_ok(), "refused without a context");
                one.use_and_unlock();
            }
        }
        used += if matches!(kind, Kind::One) { 1 } else { locks.len() as u64 };
        done += 1;
    }
    used
}

fn in_order<L: Lock>(class: &Class, locks: &[Guarded<L>], order: &[usize], faults: &Faults) {
    let ctx = Ctx::new(class);
    let mut contended = None;
    loop {
        let refused = order.iter().enumerate().position(|(place, &index)| {
            if contended == Some(place) {
                return false;
            }
            let result = locks[index].lock.lock(Some(&ctx));
            faults.check(result != Err(Refused::Already), "refused what it has not");
            result.is_err()
        });
        let Some(refused) = refused else { break };
        for (place, &index) in order.iter().enumerate() {
            if place < refused || contended == Some(place) {
                locks[index].lock.unlock();
            }
        }
        locks[order[refused]].lock.lock_slow(&ctx);
        contended = Some(refused);
    }
    order.iter().for_each(|&index| locks[index].use_and_unlock());
}

fn reorder<L: Lock>(class: &Class, locks: &[Guarded<L>], order: &mut [usize], faults: &Faults) {
    let ctx = Ctx::new(class);
    let mut place = 0;
    while place < order.len() {
        let result = locks[order[place]].lock.lock(Some(&ctx));
        if result.is_ok() {
            place += 1;
            continue;
        }
        faults.check(result == Err(Refused::Deadlock), "refused what it has not");
        order[..place].iter().for_each(|&index| locks[index].lock.unlock());
        locks[order[place]].lock.lock_slow(&ctx);
        order[..=place].rotate_right(1);
        place = 1;
    }
    order.iter().for_each(|&index| locks[index].use_and_unlock());
}

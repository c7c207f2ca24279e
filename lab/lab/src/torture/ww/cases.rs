//! The cases of few locks: that they exclude, and refuse the right context.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use lockwright::completion::RawCompletion;
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;
use lockwright::ww_mutex::Refused;

use super::case::{Class, Ctx, Faults, Run};
use super::lock::Lock;

/// How long to look for what must not happen.
const A_WHILE: Duration = Duration::from_millis(20);

/// The kernel's cases, by name.
pub fn of<L: Lock>() -> Vec<(&'static str, Run)> {
    vec![
        ("mutex", |class, _, faults| mutex::<L, false, false, false>(class, faults)),
        ("mutex, spin", |class, _, faults| mutex::<L, true, false, false>(class, faults)),
        ("mutex, try", |class, _, faults| mutex::<L, false, true, false>(class, faults)),
        ("mutex, spin, try", |class, _, faults| mutex::<L, true, true, false>(class, faults)),
        ("mutex, ctx", |class, _, faults| mutex::<L, false, false, true>(class, faults)),
        ("mutex, spin, ctx", |class, _, faults| mutex::<L, true, false, true>(class, faults)),
        ("mutex, try, ctx", |class, _, faults| mutex::<L, false, true, true>(class, faults)),
        ("mutex, spin, try, ctx", |class, _, faults| mutex::<L, true, true, true>(class, faults)),
        ("aa, lock", |class, _, faults| aa::<L>(class, faults, false)),
        ("aa, trylock", |class, _, faults| aa::<L>(class, faults, true)),
        ("abba, lock", |class, _, faults| abba::<L>(class, faults, false, false)),
        ("abba, lock, resolve", |class, _, faults| abba::<L>(class, faults, false, true)),
        ("abba, trylock", |class, _, faults| abba::<L>(class, faults, true, false)),
        ("abba, trylock, resolve", |class, _, faults| abba::<L>(class, faults, true, true)),
        ("cycle", |class, parameters, faults| {
            (2..=parameters.cpus + 1).for_each(|count| cycle::<L>(class, count, faults));
        }),
    ]
}

/// `SPIN`: the holder spins meanwhile, or sleeps; `TRY`: the other one tries, or waits; `CTX`: the
/// holder has a context.
fn mutex<L: Lock, const SPIN: bool, const TRY: bool, const CTX: bool>(
    class: &Class,
    faults: &Faults,
) {
    let mutex = L::new();
    let (ready, go, done) = (RawCompletion::new(), RawCompletion::new(), RawCompletion::new());
    let ctx = CTX.then(|| Ctx::new(class));
    thread::scope(|scope| {
        scope.spawn(|| {
            ready.complete();
            go.wait();
            if TRY {
                while !mutex.try_lock(None) {
                    thread::yield_now();
                }
            } else {
                faults.check(mutex.lock(None).is_ok(), "refused without a context");
            }
            done.complete();
            mutex.unlock();
        });
        ready.wait();
        faults.check(mutex.lock(ctx.as_ref()).is_ok(), "refused a free lock");
        go.complete();
        let overtaken = if SPIN {
            let begin = Instant::now();
            while begin.elapsed() < A_WHILE && !done.is_done() {
                core::hint::spin_loop();
            }
            done.is_done()
        } else {
            let deadline = Linux::now() + A_WHILE.as_nanos() as u64;
            let taken = done.wait_until(Some(deadline));
            // The thread that waits for it at the end must find it done.
            if taken {
                done.complete();
            }
            taken
        };
        faults.check(!overtaken, "mutual exclusion failure");
        mutex.unlock();
        done.wait();
    });
}

fn aa<L: Lock>(class: &Class, faults: &Faults, trylock: bool) {
    let mutex = L::new();
    let ctx = Ctx::new(class);
    if trylock {
        faults.check(mutex.try_lock(Some(&ctx)), "initial trylock failed");
    } else {
        faults.check(mutex.lock(Some(&ctx)).is_ok(), "initial lock failed");
    }
    faults.check(!mutex.try_lock(None), "trylocked itself without context");
    faults.check(!mutex.try_lock(Some(&ctx)), "trylocked itself with context");
    faults.check(mutex.lock(Some(&ctx)) == Err(Refused::Already), "missed recursion");
    faults.check(ctx.acquired() == 1, "the context has lost count");
    mutex.unlock();
    faults.check(ctx.acquired() == 0, "the context has lost count");
}

/// Two, each of which has one and wants that of the other.
fn abba<L: Lock>(class: &Class, faults: &Faults, trylock: bool, resolve: bool) {
    let crossing = Crossing {
        class,
        locks: [L::new(), L::new()],
        everybody: Barrier::new(2),
        trylock,
        resolve,
    };
    let results = thread::scope(|scope| {
        let other = scope.spawn(|| crossing.cross([1, 0], faults));
        [crossing.cross([0, 1], faults), other.join().expect("it counts its faults")]
    });
    let refused = results.iter().filter(|crossed| crossed.refused).count();
    faults.check(refused > 0, "missed ABBA deadlock");
    faults.check(refused < 2 || resolve, "refused both");
    let has_both = results.iter().filter(|crossed| crossed.has_both).count();
    faults.check(!resolve || has_both == 2, "failed to resolve ABBA deadlock");
    faults.check(crossing.locks.iter().all(|lock| !lock.is_locked()), "locked for ever");
}

struct Crossing<'c, L> {
    class: &'c Class,
    locks: [L; 2],
    everybody: Barrier,
    /// The first one is taken by trying.
    trylock: bool,
    /// A refused context begins again.
    resolve: bool,
}

/// What has become of one of the two.
struct Crossed {
    /// It was refused the second lock at first.
    refused: bool,
    has_both: bool,
}

impl<L: Lock> Crossing<'_, L> {
    /// Takes the first lock, and the second when everybody has a first one.
    fn cross(&self, order: [usize; 2], faults: &Faults) -> Crossed {
        let [mine, other] = order.map(|index| &self.locks[index]);
        let ctx = Ctx::new(self.class);
        let got =
            if self.trylock { mine.try_lock(Some(&ctx)) } else { mine.lock(Some(&ctx)).is_ok() };
        faults.check(got, "refused a free lock");
        self.everybody.wait();
        let result = other.lock(Some(&ctx));
        let refused = result == Err(Refused::Deadlock);
        let mut has_both = result.is_ok();
        let (mut first, mut second) = (mine, other);
        while self.resolve && !has_both {
            first.unlock();
            second.lock_slow(&ctx);
            (first, second) = (second, first);
            has_both = second.lock(Some(&ctx)).is_ok();
        }
        if has_both {
            second.unlock();
        }
        first.unlock();
        Crossed { refused, has_both }
    }
}

/// Each has one, and wants that of the next.
fn cycle<L: Lock>(class: &Class, count: usize, faults: &Faults) {
    let everybody = Barrier::new(count);
    let mutexes: Vec<L> = (0..count).map(|_| L::new()).collect();
    let refusals: usize = thread::scope(|scope| {
        let one = |place: usize| {
            let (mine, next) = (&mutexes[place], &mutexes[(place + 1) % count]);
            let everybody = &everybody;
            move || {
                let ctx = Ctx::new(class);
                faults.check(mine.lock(Some(&ctx)).is_ok(), "refused a free lock");
                everybody.wait();
                let (mut first, mut second, mut refusals) = (mine, next, 0);
                while second.lock(Some(&ctx)).is_err() {
                    refusals += 1;
                    first.unlock();
                    second.lock_slow(&ctx);
                    (first, second) = (second, first);
                }
                mine.unlock();
                next.unlock();
                refusals
            }
        };
        let threads: Vec<_> = (0..count).map(|place| scope.spawn(one(place))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it counts its faults")).sum()
    });
    faults.check(refusals > 0, "missed a cyclic deadlock");
    faults.check(mutexes.iter().all(|mutex| !mutex.is_locked()), "locked for ever");
}

//! The rtmutex on threads of Linux, with priorities of the test's own.

use std::cell::Cell;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lockwright::platform::linux::Linux;
use lockwright::platform::{Platform, Task};
use lockwright::rtmutex::{Error, RawRtMutex};

mod platform;

use platform::as_linux;

/// Linux with recorded priorities.
#[derive(Debug)]
struct Recorded;

const NONE: i32 = i32::MIN;

std::thread_local! {
    static OWN: Cell<i32> = const { Cell::new(0) };
}

/// What each task inherits now.
static INHERITED: [AtomicI32; 2048] = [const { AtomicI32::new(NONE) }; 2048];

fn inherited(task: Task) -> Option<i32> {
    let priority = INHERITED[task.number() / Task::ALIGN].load(Ordering::SeqCst);
    (priority != NONE).then_some(priority)
}

impl Platform for Recorded {
    as_linux!();

    fn need_resched(rounds: u32) -> bool {
        Linux::need_resched(rounds)
    }
    fn now() -> u64 {
        Linux::now()
    }
    fn priority() -> i32 {
        OWN.get()
    }
    fn set_priority(task: Task, inherited: Option<i32>) {
        INHERITED[task.number() / Task::ALIGN].store(inherited.unwrap_or(NONE), Ordering::SeqCst);
    }
}

type Lock = Arc<RawRtMutex<Recorded>>;

fn lock() -> Lock {
    Arc::new(RawRtMutex::new_in())
}

/// A thread that runs the closures sent to it, one after the other.
struct Actor {
    orders: Sender<Box<dyn FnOnce() + Send>>,
    done: Receiver<()>,
    task: Task,
    thread: JoinHandle<()>,
}

impl Actor {
    fn new(priority: i32) -> Self {
        let (orders, received) = channel::<Box<dyn FnOnce() + Send>>();
        let (tell, done) = channel();
        let (introduce, introduced) = channel();
        let thread = std::thread::Builder::new().stack_size(1 << 16).spawn(move || {
            OWN.set(priority);
            introduce.send(Linux::current()).unwrap();
            for order in received {
                order();
                tell.send(()).unwrap();
            }
        });
        let task = introduced.recv().unwrap();
        Self { orders, done, task, thread: thread.unwrap() }
    }

    fn begin(&self, order: impl FnOnce() + Send + 'static) {
        self.orders.send(Box::new(order)).unwrap();
    }

    fn finish(&self) {
        self.done.recv_timeout(Duration::from_secs(60)).expect("it waits for ever");
    }

    fn run(&self, order: impl FnOnce() + Send + 'static) {
        self.begin(order);
        self.finish();
    }

    fn lock(&self, lock: &Lock) {
        let lock = Arc::clone(lock);
        self.run(move || lock.lock());
    }

    /// Lets it wait for a lock, and returns when it does.
    fn wait_for(&self, lock: &Lock) {
        let lock = Arc::clone(lock);
        self.begin(move || lock.lock());
        self.await_sleep();
    }

    fn await_sleep(&self) {
        await_that(|| !Linux::is_running(self.task));
    }

    fn unlock(&self, lock: &Lock) {
        let lock = Arc::clone(lock);
        // SAFETY: the tests keep to the order.
        self.run(move || unsafe { lock.unlock() });
    }

    fn end(self) {
        drop(self.orders);
        self.thread.join().unwrap();
    }
}

fn await_that(condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// `chain[n]` owns `locks[n]` and waits for `locks[n - 1]`.
fn chain(priorities: &[i32]) -> (Vec<Actor>, Vec<Lock>) {
    let locks: Vec<_> = priorities.iter().map(|_| lock()).collect();
    let actors: Vec<_> = priorities.iter().map(|priority| Actor::new(*priority)).collect();
    for (n, actor) in actors.iter().enumerate() {
        actor.lock(&locks[n]);
        if n != 0 {
            actor.wait_for(&locks[n - 1]);
        }
    }
    (actors, locks)
}

fn unwind(actors: Vec<Actor>, locks: &[Lock]) {
    for (n, actor) in actors.iter().enumerate() {
        if n != 0 {
            actor.finish();
            actor.unlock(&locks[n - 1]);
        }
        actor.unlock(&locks[n]);
    }
    assert!(actors.iter().all(|actor| inherited(actor.task).is_none()), "something is left");
    assert!(!locks.iter().any(|lock| lock.is_locked()));
    actors.into_iter().for_each(Actor::end);
}

#[test]
fn pi_chain_of_depth_3() {
    let (actors, locks) = chain(&[1, 2, 3]);
    assert_eq!(inherited(actors[0].task), Some(3));
    assert_eq!(inherited(actors[1].task), Some(3));
    let high = Actor::new(9);
    high.wait_for(&locks[2]);
    for actor in &actors {
        assert_eq!(inherited(actor.task), Some(9));
    }
    actors[0].unlock(&locks[0]);
    assert_eq!(inherited(actors[0].task), None, "its boost ends with its lock");
    actors[1].finish();
    assert_eq!(inherited(actors[1].task), Some(9), "still in the way of 9");
    actors[1].unlock(&locks[1]);
    actors[2].finish();
    actors[2].unlock(&locks[2]);
    high.finish();
    high.unlock(&locks[2]);
    actors[1].unlock(&locks[0]);
    actors[2].unlock(&locks[1]);
    for actor in actors.into_iter().chain([high]) {
        assert_eq!(inherited(actor.task), None);
        actor.end();
    }
}

#[test]
fn a_deadlock_in_a_pi_chain_of_depth_3() {
    let (actors, locks) = chain(&[1, 2, 3]);
    let last = Arc::clone(&locks[2]);
    actors[0].run(move || assert_eq!(last.lock_checked(), Err(Error::Deadlock)));
    assert_eq!(inherited(actors[2].task), None, "who was refused does not wait");
    unwind(actors, &locks);
}

#[test]
fn aa_is_a_deadlock() {
    let lock = RawRtMutex::<Recorded>::new_in();
    lock.lock();
    assert_eq!(lock.lock_checked(), Err(Error::Deadlock));
    assert!(!lock.try_lock());
    // SAFETY: this thread took `lock` with `lock` above and still holds it.
    unsafe { lock.unlock() };
    assert!(!lock.is_locked());
}

#[test]
fn a_chain_of_1024_is_walked_to_its_end_and_a_longer_one_is_refused() {
    let (actors, locks) = chain(&[0; 1026]);
    let newcomer = Actor::new(0);
    for (end, expected) in [(1024, Error::TimedOut), (1025, Error::Deadlock)] {
        let lock = Arc::clone(&locks[end]);
        newcomer.run(move || {
            // Long enough for the walk, which comes before it.
            let result = lock.lock_until(Some(Linux::now() + 10_000_000));
            assert_eq!(result, Err(expected));
        });
    }
    newcomer.end();
    unwind(actors, &locks);
}

#[test]
fn waiters_are_served_by_priority_then_by_arrival() {
    let lock = lock();
    let owner = Actor::new(0);
    owner.lock(&lock);
    let order = Arc::new(Mutex::new(Vec::new()));
    let waiters: Vec<_> = [(2, 'c'), (5, 'a'), (2, 'd'), (5, 'b')]
        .map(|(priority, name)| {
            let actor = Actor::new(priority);
            let (lock, order) = (Arc::clone(&lock), Arc::clone(&order));
            actor.begin(move || {
                lock.lock();
                order.lock().unwrap().push(name);
                // SAFETY: this thread took `lock` with `lock` above and still holds it.
                unsafe { lock.unlock() };
            });
            actor.await_sleep();
            actor
        })
        .into();
    owner.unlock(&lock);
    for waiter in waiters {
        waiter.finish();
        waiter.end();
    }
    assert_eq!(*order.lock().unwrap(), ['a', 'b', 'c', 'd']);
    owner.end();
}

#[test]
fn a_deadline_takes_the_boost_back_along_the_chain() {
    let (actors, locks) = chain(&[1, 2, 3]);
    let high = Actor::new(9);
    let last = Arc::clone(&locks[2]);
    high.run(move || {
        let result = last.lock_until(Some(Linux::now() + 20_000_000));
        assert_eq!(result, Err(Error::TimedOut));
    });
    await_that(|| inherited(actors[2].task).is_none());
    assert_eq!(inherited(actors[1].task), Some(3));
    assert_eq!(inherited(actors[0].task), Some(3));
    high.end();
    unwind(actors, &locks);
}

#[test]
fn a_boost_moves_a_waiter_to_the_front() {
    let [contended, own] = [lock(), lock()];
    let [owner, low, middle, high] = [0, 1, 5, 9].map(Actor::new);
    owner.lock(&contended);
    low.lock(&own);
    low.wait_for(&contended);
    middle.wait_for(&contended);
    assert_eq!(inherited(owner.task), Some(5));
    high.wait_for(&own);
    assert_eq!(inherited(owner.task), Some(9), "by way of the low one");
    owner.unlock(&contended);
    low.finish();
    assert_eq!(contended.owner(), Some(low.task));
    low.unlock(&contended);
    middle.finish();
    low.unlock(&own);
    high.finish();
    middle.unlock(&contended);
    high.unlock(&own);
    for actor in [owner, low, middle, high] {
        actor.end();
    }
}

/// Chains that come, cross, close and fall apart, all at once: each thread wants three locks in any
/// order.
#[test]
fn stress_of_chains() {
    const LOCKS: usize = 5;
    const THREADS: i32 = 6;
    let locks: Arc<[(RawRtMutex<Recorded>, AtomicU32); LOCKS]> =
        Arc::new(std::array::from_fn(|_| (RawRtMutex::new_in(), AtomicU32::new(0))));
    let outcomes = Arc::new([const { AtomicU32::new(0) }; 3]);
    let actors: Vec<_> = (0..THREADS).map(Actor::new).collect();
    for (seed, actor) in actors.iter().enumerate() {
        let (locks, outcomes) = (Arc::clone(&locks), Arc::clone(&outcomes));
        let mut random = seed as u64 + 1;
        let mut below = move |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % limit
        };
        actor.begin(move || {
            for _ in 0..2_000 {
                let mut held = Vec::new();
                for _ in 0..3 {
                    let (lock, users) = &locks[below(LOCKS)];
                    let wait = [10_000, 1_000_000][below(2)];
                    match lock.lock_until(Some(Linux::now() + wait)) {
                        Ok(()) => {
                            assert_eq!(users.fetch_add(1, Ordering::Relaxed), 0, "two have it");
                            held.push((lock, users));
                            outcomes[0].fetch_add(1, Ordering::Relaxed);
                        }
                        Err(Error::TimedOut) => {
                            outcomes[1].fetch_add(1, Ordering::Relaxed);
                        }
                        Err(Error::Deadlock) => {
                            outcomes[2].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    if below(8) == 0 {
                        std::thread::yield_now();
                    }
                }
                while !held.is_empty() {
                    let (lock, users) = held.swap_remove(below(held.len()));
                    users.fetch_sub(1, Ordering::Relaxed);
                    // SAFETY: `held` has only locks that this thread took and has not released.
                    unsafe { lock.unlock() };
                }
            }
        });
    }
    for actor in actors {
        actor.finish();
        assert_eq!(inherited(actor.task), None, "a boost is left");
        actor.end();
    }
    assert!(locks.iter().all(|(lock, _)| !lock.is_locked() && lock.try_lock()));
    let [had, late, refused] =
        [0, 1, 2].map(|outcome: usize| outcomes[outcome].load(Ordering::Relaxed));
    println!("{had} had, {late} too late, {refused} deadlocks");
    assert!(had > 0 && refused > 0, "to lock the same lock again is a deadlock as well");
}

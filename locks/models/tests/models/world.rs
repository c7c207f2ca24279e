//! The model checker's world: loom tries every interleaving of a few threads, with what a weak
//! memory may show them. The locks run in it as they are.
//!
//! It can also make a fault, one per process ([`mutant`]): every atomic operation is known by its
//! place in the source, so the list of faults is the code itself.
//!
//! A wait is a queue that only `wait` and `wake` touch, in steps that loom cannot interrupt. loom
//! lets a thread that is woken see what its waker did; a futex promises nothing of the kind. So a
//! model must have interleavings in which the same code comes to the value without having slept;
//! those of a wait that looks first have.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::Ordering;

use lockwright::platform::{Atomic, PerCpu, PerTask, Platform, Task, Waited, Word};
use lockwright::preference_rwlock::{Half, Halves};
use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use loom::thread::Thread;

use crate::{mutant, stores};

/// Threads that a model may have.
pub const CPUS: u32 = 4;

/// The world of loom.
#[derive(Debug)]
pub struct Loom;

/// A loom atomic that can be weakened.
#[derive(Debug)]
pub struct Cell<A> {
    atomic: A,
    /// What was stored last, whichever thread has seen it: what a futex' wait looks at.
    last: std::sync::atomic::AtomicUsize,
}

macro_rules! atomic {
    ($atomic:ident, $value:ty) => {
        impl Cell<$atomic> {
            fn stored(&self, value: $value) {
                assert_alive(ptr::from_ref(self).addr());
                self.last.store(value as usize, Ordering::Relaxed);
                stores::note();
            }
        }

        impl Atomic<$value> for Cell<$atomic> {
            fn new(value: $value) -> Self {
                Self { atomic: $atomic::new(value), last: (value as usize).into() }
            }
            #[track_caller]
            fn load(&self, order: Ordering) -> $value {
                let value = self.atomic.load(mutant::load(order, Location::caller()));
                assert_alive(ptr::from_ref(self).addr());
                value
            }
            #[track_caller]
            fn store(&self, value: $value, order: Ordering) {
                self.atomic.store(value, mutant::store(order, Location::caller()));
                self.stored(value);
            }
            #[track_caller]
            fn swap(&self, value: $value, order: Ordering) -> $value {
                let old = self.atomic.swap(value, mutant::both(order, Location::caller()));
                self.stored(value);
                old
            }
            #[track_caller]
            fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (success, failure) = mutant::exchange(success, failure, Location::caller());
                let result = self.atomic.compare_exchange(current, new, success, failure);
                assert_alive(ptr::from_ref(self).addr());
                result.inspect(|_| self.stored(new))
            }
            #[track_caller]
            fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                let old = self.atomic.fetch_add(value, mutant::both(order, Location::caller()));
                self.stored(old.wrapping_add(value));
                old
            }
            #[track_caller]
            fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                let old = self.atomic.fetch_sub(value, mutant::both(order, Location::caller()));
                self.stored(old.wrapping_sub(value));
                old
            }
            #[track_caller]
            fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                let old = self.atomic.fetch_and(value, mutant::both(order, Location::caller()));
                self.stored(old & value);
                old
            }
            #[track_caller]
            fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                let old = self.atomic.fetch_or(value, mutant::both(order, Location::caller()));
                self.stored(old | value);
                old
            }
        }
    };
}

atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
atomic!(AtomicUsize, usize);

std::thread_local! {
    /// Memory that is said to be freed.
    static FREED: RefCell<Vec<Range<usize>>> = RefCell::default();
}

/// From here on in this execution, nobody may use the atomics in `value`: its memory would be
/// freed. It is not, so that nothing else can take its place.
pub fn free<T>(value: &'static T) {
    let from = ptr::from_ref(value).addr();
    FREED.with_borrow_mut(|freed| freed.push(from..from + size_of::<T>()));
}

/// Asked after each operation: loom may switch threads at its beginning.
fn assert_alive(address: usize) {
    let freed = FREED.with_borrow(|freed| freed.iter().any(|range| range.contains(&address)));
    assert!(!freed, "used after it was freed");
}

/// A wait under way.
struct Wait {
    number: u64,
    bits: u32,
    thread: Thread,
}

std::thread_local! {
    /// The waiters, by address of the word. Changes only between two steps of loom.
    static WAITING: RefCell<HashMap<usize, Vec<Wait>>> = RefCell::default();
    static WAITS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

fn waiting<R>(address: usize, f: impl FnOnce(&mut Vec<Wait>) -> R) -> R {
    WAITING.with_borrow_mut(|waiting| f(waiting.entry(address).or_default()))
}

/// Waits at the address for one of the bits, if `is_expected` there.
fn wait_at(
    address: usize,
    bits: u32,
    deadline: Option<u64>,
    is_expected: impl FnOnce() -> bool,
) -> Waited {
    if !is_expected() {
        // The caller's next look sees more than its last one.
        loom::thread::yield_now();
        return Waited::Changed;
    }
    let number = WAITS.replace(WAITS.get() + 1);
    waiting(address, |queue| queue.push(Wait { number, bits, thread: loom::thread::current() }));
    let queued = || waiting(address, |queue| queue.iter().any(|other| other.number == number));
    if deadline.is_some() {
        // All others may run until they end or wait; or it comes at once, in another interleaving.
        loom::thread::yield_now();
        let in_time = !queued();
        waiting(address, |queue| queue.retain(|other| other.number != number));
        return if in_time { Waited::Woken } else { Waited::TooLate };
    }
    while queued() {
        loom::thread::park();
    }
    Waited::Woken
}

/// Wakes at most `count` of those who wait at the address for one of the bits.
fn wake_at(address: usize, count: u32, bits: u32) {
    let mut left = count;
    let mut wakes = |wait: &Wait| {
        let wakes = left > 0 && wait.bits & bits != 0;
        left -= u32::from(wakes);
        wakes
    };
    let woken: Vec<_> = waiting(address, |queue| {
        let (woken, others) = queue.drain(..).partition(|wait| wakes(wait));
        *queue = others;
        woken
    });
    woken.iter().for_each(|wait| wait.thread.unpark());
}

impl Word for Cell<AtomicU32> {
    #[track_caller]
    fn wait(&self, expected: u32, deadline: Option<u64>) -> bool {
        self.wait_bitset(expected, u32::MAX, deadline) != Waited::TooLate
    }

    #[track_caller]
    fn wake(word: *const Self, count: u32) {
        Self::wake_bitset(word, count, u32::MAX);
    }

    #[track_caller]
    fn wait_bitset(&self, expected: u32, bits: u32, deadline: Option<u64>) -> Waited {
        // The load lets loom switch here. What counts is what was stored last: the kernel looks at
        // the word under the lock that a wake takes too, and sees what was stored before that wake.
        self.atomic.load(Ordering::Relaxed);
        assert_alive(ptr::from_ref(self).addr());
        wait_at(ptr::from_ref(self).addr(), bits, deadline, || {
            self.last.load(Ordering::Relaxed) == expected as usize
        })
    }

    #[track_caller]
    fn wake_bitset(word: *const Self, count: u32, bits: u32) {
        if mutant::dropped(Location::caller()) {
            return;
        }
        wake_at(word.addr(), count, bits);
    }
}

/// The bits of a half, and where its waiters are.
fn half_at(state: usize, half: Half) -> (u32, usize) {
    match half {
        Half::Low => (0, state),
        Half::High => (32, state + 4),
    }
}

impl Halves for Loom {
    type Platform = Self;
    type State = Cell<AtomicU64>;
    type Deadline = u64;

    #[track_caller]
    fn wait(
        state: &Cell<AtomicU64>,
        half: Half,
        expected: u32,
        bits: u32,
        deadline: Option<&u64>,
    ) -> Waited {
        // As for a word.
        state.atomic.load(Ordering::Relaxed);
        assert_alive(ptr::from_ref(state).addr());
        let (shift, address) = half_at(ptr::from_ref(state).addr(), half);
        wait_at(address, bits, deadline.copied(), || {
            (state.last.load(Ordering::Relaxed) >> shift) as u32 == expected
        })
    }

    #[track_caller]
    fn wake(state: *const Cell<AtomicU64>, half: Half, count: u32, bits: u32) {
        if mutant::dropped(Location::caller()) {
            return;
        }
        wake_at(half_at(state.addr(), half).1, count, bits);
    }
}

loom::lazy_static! {
    static ref STORAGE: Vec<PerCpu<Cell<AtomicU32>, Cell<AtomicUsize>>> =
        (0..CPUS).map(|_| PerCpu::new()).collect();
}

impl Platform for Loom {
    type Word = Cell<AtomicU32>;
    type Long = Cell<AtomicUsize>;

    const CPUS_ARE_THREADS: bool = true;
    /// A round is a chance for all others: more show nothing new.
    const SPIN_THRESHOLD: u32 = 1;
    const PENDING_LOOPS: u32 = 1;

    fn relax() {
        stores::await_next();
    }

    /// Others come in between them, however many they are.
    fn pause(_: u32) {
        Self::relax();
    }

    #[track_caller]
    fn fence(order: Ordering) {
        if let Some(order) = mutant::fence(order, Location::caller()) {
            loom::sync::atomic::fence(order);
        }
    }

    fn cpu() -> Option<u32> {
        Some(stores::thread())
    }

    fn cpus() -> u32 {
        CPUS
    }

    fn per_cpu(cpu: u32) -> &'static PerCpu<Self::Word, Self::Long> {
        let storage: *const PerCpu<_, _> = &raw const STORAGE[cpu as usize];
        // SAFETY: loom keeps its statics to the end of the execution, after all its threads.
        unsafe { &*storage }
    }

    fn current() -> Task {
        Task::new((stores::thread() as usize + 1) * Task::ALIGN)
    }

    fn is_running(_task: Task) -> bool {
        RUNNING.get()
    }

    fn per_task(task: Task) -> Option<&'static PerTask<Self::Word, Self::Long>> {
        Some(&Self::per_cpu((task.number() / Task::ALIGN - 1) as u32).task)
    }

    fn need_resched(rounds: u32) -> bool {
        rounds >= PATIENCE.get()
    }

    fn yield_now() {
        stores::await_next();
    }

    fn now() -> u64 {
        TIME.replace(TIME.get() + TICK.get())
    }

    fn in_interrupt() -> bool {
        INTERRUPT.with(std::cell::Cell::get)
    }

    fn priority() -> i32 {
        PRIORITY.with(std::cell::Cell::get)
    }
}

loom::thread_local! {
    static INTERRUPT: std::cell::Cell<bool> = std::cell::Cell::new(false);
}

/// Runs `handler` as that of a signal that has come to the calling thread.
pub fn in_interrupt(handler: impl FnOnce()) {
    INTERRUPT.with(|interrupt| interrupt.set(true));
    handler();
    INTERRUPT.with(|interrupt| interrupt.set(false));
}

loom::thread_local! {
    static PRIORITY: std::cell::Cell<i32> = std::cell::Cell::new(0);
}

/// Sets the calling thread's own priority.
pub fn set_priority(priority: i32) {
    PRIORITY.with(|own| own.set(priority));
}

std::thread_local! {
    /// Nanoseconds, and how many of them pass from one look at the clock to the next.
    static TIME: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    static TICK: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

std::thread_local! {
    /// Rounds that spinning lasts.
    static PATIENCE: std::cell::Cell<u32> = const { std::cell::Cell::new(2) };
}

std::thread_local! {
    /// Whether tasks are said to be on a CPU.
    static RUNNING: std::cell::Cell<bool> = const { std::cell::Cell::new(true) };
}

/// From here on in this execution, tasks are said to be on a CPU, or not to be; they are in the
/// beginning.
pub fn set_running(running: bool) {
    RUNNING.set(running);
}

/// Runs a model in which spinning lasts so many rounds; 0: nobody spins before sleeping. Rounds
/// wait for stores ([`stores::await_next`]), so that a thread that spins for an unlock hardly ever
/// comes to sleep.
pub fn with_patience(rounds: u32, model: impl FnOnce()) {
    let usual = PATIENCE.replace(rounds);
    model();
    PATIENCE.set(usual);
}

/// Runs a model in which everybody's patience is over at the second look at the clock. Otherwise
/// time stands still.
pub fn with_time_flying(model: impl FnOnce()) {
    TICK.set(1_000_000_000);
    model();
    TICK.set(0);
}

/// Runs all interleavings of `body` that differ, with at most `preemptions` switches away from
/// threads that could go on (none given: all).
pub fn check(preemptions: Option<usize>, body: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.check(move || {
        // What a failed or an earlier execution has left.
        WAITING.take();
        FREED.take();
        RUNNING.set(true);
        TIME.set(0);
        stores::begin();
        body();
    });
}

//! The platform that locks live in here.

use core::panic::Location;
use core::sync::atomic::Ordering::{self, Relaxed};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::cell::Cell as StdCell;
use std::ptr;

use lockwright::event::Event;
use lockwright::platform::{self, Atomic, PerCpu, PerTask, Platform, Task, Waited};

use crate::cache::Operation;
use crate::cell::{Cell, Long, Word};
use crate::cna::Sockets;
use crate::explore::{SourceLine, cells};
use crate::store::Write;
use crate::time::{NANOSECOND, Time};
use crate::world::{Progress, World};

/// The simulated machine of the calling thread.
///
/// Outside of a simulation's threads its cells are plain memory, so that locks can be made and
/// looked at; waiting is not possible there.
#[derive(Debug)]
pub struct Sim;

std::thread_local! {
    /// The simulation of this thread, if there is one.
    static WORLD: StdCell<*mut World> = const { StdCell::new(ptr::null_mut()) };
}

/// Makes a simulation that of this thread, until dropped.
pub(crate) struct Entered;

impl Entered {
    pub(crate) fn new(world: *mut World) -> Self {
        assert!(WORLD.get().is_null(), "a simulation within a simulation");
        WORLD.set(world);
        Self
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        WORLD.set(ptr::null_mut());
    }
}

/// The simulation, if one of its threads is calling.
#[inline]
fn running() -> Option<*mut World> {
    let world = WORLD.get();
    // SAFETY: it is there until `Entered` is dropped; nobody has a reference while fibers or their
    // callers run.
    (!world.is_null() && unsafe { (*world).running.is_some() }).then_some(world)
}

/// Asks the simulation something. None of what is asked switches fibers.
#[inline]
fn with<R>(ask: impl FnOnce(&mut World) -> R) -> Option<R> {
    // SAFETY: the world is there until `Entered` is dropped: this is the only reference, and ends
    // with the question.
    running().map(|world| ask(unsafe { &mut *world }))
}

/// Leaves the fiber until the main loop comes back to it.
fn switch(world: *mut World) {
    // SAFETY: the task that runs is this fiber, which has set its yielder as it began.
    unsafe {
        let me = (*world).running.expect("a task runs");
        let yielder = (&(*world).tasks)[me].yielder;
        (*yielder).suspend(());
    }
}

/// Waits for the fiber's turn: all that comes before has happened.
#[inline]
fn await_turn(world: *mut World) {
    // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
    // meanwhile.
    if !unsafe { (*world).is_my_turn() } {
        switch(world);
    }
}

/// What an operation on a word does to its line.
#[inline]
pub(crate) fn access(
    address: usize,
    size: usize,
    operation: Operation,
    source: impl FnOnce() -> SourceLine,
) {
    let Some(world) = running() else {
        return cells::access(operation, address, size, source());
    };
    // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
    // meanwhile.
    unsafe { (*world).approach() };
    await_turn(world);
    await_stores(world, (operation == Operation::Load).then_some((address, size)));
    // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
    // meanwhile.
    let mut progress = unsafe { (*world).access(address, operation) };
    if progress == Progress::Waits {
        switch(world);
        // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
        // meanwhile.
        progress = unsafe { (*world).access_first(address, operation) };
    }
    if progress == Progress::UnderWay {
        await_turn(world);
        // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
        // meanwhile.
        unsafe { (*world).complete(address, operation) };
    }
}

/// In the fiber's turn, waits for its stores; a load waits for those to its word only.
#[inline]
fn await_stores(world: *mut World, load_of: Option<(usize, usize)>) {
    // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
    // meanwhile.
    if unsafe { (*world).waits_for_stores(load_of) } {
        switch(world);
    }
}

/// Waits until all of the fiber's stores have taken effect.
#[inline]
pub(crate) fn drain() {
    let Some(world) = running() else { return };
    // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
    // meanwhile. Without a store there is nothing to take a turn for.
    if unsafe { (*world).has_stores() } {
        await_turn(world);
        await_stores(world, None);
    }
}

/// A store, which its fiber does not wait for.
#[inline]
pub(crate) fn store(write: Write, source: impl FnOnce() -> SourceLine) {
    let Some(world) = running() else {
        cells::access(Operation::Store, write.address(), write.size(), source());
        return write.apply();
    };
    // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
    // meanwhile.
    unsafe { (*world).approach() };
    await_turn(world);
    // It waits for place only.
    await_stores(world, Some((0, 0)));
    // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
    // meanwhile.
    unsafe { (*world).post(write) };
}

impl<A> Cell<A> {
    #[inline]
    #[track_caller]
    fn access(&self, operation: Operation) -> &A {
        let caller = Location::caller();
        access(ptr::from_ref(self).addr(), size_of::<A>(), operation, || caller.into());
        &self.0
    }
}

impl Word {
    /// The value, as no event: Relaxed, as one thread of the host does all.
    pub(crate) fn peek(&self) -> u32 {
        self.0.load(Relaxed)
    }

    /// As [`platform::Word::wait_bitset`], of a line of the source.
    pub(crate) fn wait_from(
        &self,
        source: SourceLine,
        expected: u32,
        bits: u32,
        deadline: Option<u64>,
    ) -> Waited {
        let Some(world) = running() else {
            return cells::wait(self, expected, bits, deadline, source);
        };
        let asleep = Sim::cpu().map(|cpu| &Sim::per_cpu(cpu).sleeping);
        // Relaxed, all: a hint for those who spin.
        if let Some(asleep) = asleep {
            asleep.store(1, Relaxed);
        }
        drain();
        with(World::enter_system);
        // The kernel looks at the word and lets the task sleep in one step.
        let waited = if self.load(Relaxed) == expected {
            let address = ptr::from_ref(self).addr();
            let deadline = deadline.map(|time| time.saturating_mul(NANOSECOND));
            await_turn(world);
            // Nobody came in between, or the value is another.
            if self.0.load(Relaxed) == expected {
                with(|world| world.sleep(address, bits, deadline));
                switch(world);
                with(World::slept).expect("a simulated thread")
            } else {
                Waited::Changed
            }
        } else {
            Waited::Changed
        };
        if let Some(asleep) = asleep {
            asleep.store(0, Relaxed);
        }
        waited
    }

    /// As [`platform::Word::wake_bitset`], of a line of the source.
    pub(crate) fn wake_from(source: SourceLine, word: *const Self, count: u32, bits: u32) {
        let Some(world) = running() else {
            return cells::wake(word.addr(), count, bits, source);
        };
        drain();
        with(World::enter_system);
        await_turn(world);
        with(|world| world.wake_at(word.addr(), count, bits));
    }
}

// Relaxed, all: one thread of the host runs the whole simulation, which is sequentially consistent.
macro_rules! atomic {
    ($atomic:ident, $value:ty) => {
        impl Atomic<$value> for Cell<$atomic> {
            fn new(value: $value) -> Self {
                Self($atomic::new(value))
            }
            fn load(&self, _: Ordering) -> $value {
                self.access(Operation::Load).load(Relaxed)
            }
            fn store(&self, value: $value, order: Ordering) {
                if order == Ordering::SeqCst {
                    // An exchange, on x86.
                    self.access(Operation::Exchange).store(value, Relaxed);
                } else {
                    let address = ptr::from_ref(self).addr();
                    let size = size_of::<$value>();
                    let caller = Location::caller();
                    let value = value as u64;
                    store(Write::Value { address, size, value }, || caller.into());
                }
            }
            fn swap(&self, value: $value, _: Ordering) -> $value {
                self.access(Operation::Exchange).swap(value, Relaxed)
            }
            fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                _: Ordering,
                _: Ordering,
            ) -> Result<$value, $value> {
                self.access(Operation::Exchange).compare_exchange(current, new, Relaxed, Relaxed)
            }
            fn fetch_add(&self, value: $value, _: Ordering) -> $value {
                self.access(Operation::Exchange).fetch_add(value, Relaxed)
            }
            fn fetch_sub(&self, value: $value, _: Ordering) -> $value {
                self.access(Operation::Exchange).fetch_sub(value, Relaxed)
            }
            fn fetch_and(&self, value: $value, _: Ordering) -> $value {
                self.access(Operation::Exchange).fetch_and(value, Relaxed)
            }
            fn fetch_or(&self, value: $value, _: Ordering) -> $value {
                self.access(Operation::Exchange).fetch_or(value, Relaxed)
            }
        }
    };
}

atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
atomic!(AtomicUsize, usize);

impl platform::Word for Word {
    fn wait(&self, expected: u32, deadline: Option<u64>) -> bool {
        self.wait_bitset(expected, u32::MAX, deadline) != Waited::TooLate
    }

    fn wake(word: *const Self, count: u32) {
        Self::wake_bitset(word, count, u32::MAX);
    }

    fn wait_bitset(&self, expected: u32, bits: u32, deadline: Option<u64>) -> Waited {
        self.wait_from(Location::caller().into(), expected, bits, deadline)
    }

    fn wake_bitset(word: *const Self, count: u32, bits: u32) {
        Self::wake_from(Location::caller().into(), word, count, bits);
    }

    fn clear_byte(&self, _: Ordering) {
        // x86 stores bytes.
        let caller = Location::caller();
        store(Write::Byte(&raw const self.0), || caller.into());
    }

    fn swap_byte(&self, value: u8, _: Ordering) -> u8 {
        let word = self.access(Operation::Exchange);
        let old = word.load(Relaxed);
        word.store((old & !0xff) | u32::from(value), Relaxed);
        old as u8
    }

    fn compare_exchange_byte(&self, current: u8, new: u8, _: Ordering) -> Result<u8, u8> {
        let word = self.access(Operation::Exchange);
        let old = word.load(Relaxed);
        if old as u8 != current {
            return Err(old as u8);
        }
        word.store((old & !0xff) | u32::from(new), Relaxed);
        Ok(current)
    }
}

/// Whether there is a simulated machine, though none of its threads may be calling.
pub(crate) fn is_machine() -> bool {
    !WORLD.get().is_null()
}

/// The number of the running task.
fn me() -> Option<usize> {
    with(|world| world.running.expect("a task runs"))
}

impl Platform for Sim {
    type Word = Word;
    type Long = Long;

    const CPUS_ARE_THREADS: bool = true;

    fn relax() {
        let Some(world) = running() else { return };
        // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
        // meanwhile.
        let exits = unsafe { (*world).pause() };
        if exits {
            await_turn(world);
            // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
            // meanwhile.
            if unsafe { (*world).exit_pause_loop() } {
                switch(world);
            }
        }
    }

    fn relax_rounds(most: u32) -> u32 {
        let Some(world) = running() else { return 1 };
        // SAFETY: `world` stays until `Entered` is dropped, and no other reference to it exists
        // meanwhile.
        if !unsafe { (*world).park(most) } {
            Self::relax();
            return 1;
        }
        switch(world);
        with(World::parked_rounds).expect("a simulated thread")
    }

    fn fence(order: Ordering) {
        // x86 has one fence that costs something.
        if order == Ordering::SeqCst {
            drain();
            with(World::fence);
        }
    }

    fn fence_after_atomic() {
        // x86's locked instructions are fences.
    }

    fn cpu() -> Option<u32> {
        me().map(|number| number as u32)
    }

    fn cpus() -> u32 {
        let world = WORLD.get();
        // SAFETY: `world` is not null, so it stays until `Entered` is dropped.
        if world.is_null() { 0 } else { unsafe { &*world }.per_cpu.len() as u32 }
    }

    fn per_cpu(cpu: u32) -> &'static PerCpu<Word, Long> {
        let world = WORLD.get();
        assert!(!world.is_null(), "no simulation");
        // SAFETY: `world` is not null, so it stays until `Entered` is dropped.
        unsafe { (&(*world).per_cpu)[cpu as usize] }
    }

    fn current() -> Task {
        // The thread that prepares a simulation is a task as well, without a number.
        Task::new((me().map_or(1 << 20, |number| number + 1)) * Task::ALIGN)
    }

    fn per_task(task: Task) -> Option<&'static PerTask<Word, Long>> {
        let number = task.number() / Task::ALIGN - 1;
        (number < Self::cpus() as usize).then(|| &Self::per_cpu(number as u32).task)
    }

    fn is_running(task: Task) -> bool {
        let number = task.number() / Task::ALIGN - 1;
        // As on Linux: what a thread reports about itself. Relaxed: a hint.
        number >= Self::cpus() as usize || Self::per_cpu(number as u32).sleeping.load(Relaxed) == 0
    }

    fn need_resched(rounds: u32) -> bool {
        with(|world| world.need_resched(rounds)).unwrap_or(false)
    }

    fn patience() -> u32 {
        with(|world| world.prices.patience_rounds).unwrap_or(1)
    }

    fn yield_now() {
        let Some(world) = running() else { return };
        drain();
        with(World::enter_system);
        await_turn(world);
        if with(World::give_way) == Some(true) {
            switch(world);
        }
    }

    fn now() -> u64 {
        with(World::clock).unwrap_or(0)
    }

    fn count(event: Event, n: usize) {
        with(|world| world.counts[event as usize] += n as u64);
    }
}

impl Sockets for Sim {
    fn socket() -> u32 {
        with(|world| world.socket()).unwrap_or(0)
    }
}

impl Sim {
    /// The line of what is there is prefetched to be written to (PREFETCHW), which the calling thread
    /// does not wait for.
    pub fn prefetch<T>(of: &T) {
        let address = ptr::from_ref(of).addr();
        if running().is_some() {
            let caller = Location::caller();
            store(Write::Nothing(address), || caller.into());
        }
    }

    /// The calling thread computes for so long.
    pub fn compute(time: Time) {
        with(|world| world.compute(time));
    }

    /// Whether the time that is simulated is over: a workload's threads end then.
    pub fn is_over() -> bool {
        with(|world| world.is_past_end()).unwrap_or(true)
    }

    /// The calling thread's time, in picoseconds. Unlike [`Platform::now`] it is no lock's business.
    pub fn time() -> Time {
        with(|world| world.time()).unwrap_or(0)
    }
}

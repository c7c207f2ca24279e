//! The world of the locks in here: a process that others have written. Waits are futexes private
//! to it, by system calls that leave errno alone.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use lockwright::platform::patience::Patience;
use lockwright::platform::{Atomic, PerCpu, PerTask, Platform, Task, Waited, Word, low_byte};
use lockwright::preference_rwlock::{Half, Halves};

use crate::deadline::Deadline;
use crate::os::{self, Slept};
use crate::thread_numbers::Storage;
use crate::{era, thread_numbers};

/// How the words of a sort of locks lie in memory.
pub trait Layout: Send + Sync + 'static {
    /// A bit that a word in memory has beyond what the lock knows of it. The lock never sets it.
    const MARK: u32;
    /// The locks' data for each thread.
    fn storage() -> &'static Storage<PerCpu<Cell<Self>, AtomicUsize>>
    where
        Self: Sized;
}

/// As they are: a new lock's word is 0.
pub struct Plain;

/// With a bit that tells them from the C library's spinlocks, whose words are 1, 0 or negative.
pub struct Marked;

/// The bit.
pub const MARK: u32 = 1 << 30;

macro_rules! layout {
    ($layout:ident, $mark:expr) => {
        impl Layout for $layout {
            const MARK: u32 = $mark;

            #[inline(always)]
            fn storage() -> &'static Storage<PerCpu<Cell<Self>, AtomicUsize>> {
                type Kept = PerCpu<Cell<$layout>, AtomicUsize>;
                // SAFETY: made of atomics; zeroed memory is a valid PerCpu, by its invariant, as
                // zeroed words are words of 0.
                static STORAGE: Storage<Kept> = unsafe { Storage::new() };
                &STORAGE
            }
        }
    };
}

layout!(Plain, 0);
layout!(Marked, MARK);

/// A word.
#[repr(transparent)]
pub struct Cell<L: Layout>(AtomicU32, PhantomData<L>);

impl<L: Layout> Atomic<u32> for Cell<L> {
    #[inline(always)]
    fn new(value: u32) -> Self {
        Self(AtomicU32::new(value | L::MARK), PhantomData)
    }
    #[inline(always)]
    fn load(&self, order: Ordering) -> u32 {
        self.0.load(order) & !L::MARK
    }
    #[inline(always)]
    fn store(&self, value: u32, order: Ordering) {
        self.0.store(value | L::MARK, order);
    }
    #[inline(always)]
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.0.swap(value | L::MARK, order) & !L::MARK
    }
    #[inline(always)]
    fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        let result = self.0.compare_exchange(current | L::MARK, new | L::MARK, success, failure);
        result.map(|old| old & !L::MARK).map_err(|seen| seen & !L::MARK)
    }
    #[inline(always)]
    fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_add(value, order) & !L::MARK
    }
    #[inline(always)]
    fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_sub(value, order) & !L::MARK
    }
    #[inline(always)]
    fn fetch_and(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_and(value | L::MARK, order) & !L::MARK
    }
    #[inline(always)]
    fn fetch_or(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_or(value, order) & !L::MARK
    }
}

impl<L: Layout> Cell<L> {
    fn sleep(&self, expected: u32, bits: u32, deadline: Option<u64>) -> Slept {
        let until = deadline.map(|at| libc::timespec {
            tv_sec: (at / 1_000_000_000) as libc::time_t,
            tv_nsec: (at % 1_000_000_000) as libc::c_long,
        });
        os::futex_wait(&self.0, expected | L::MARK, bits, libc::CLOCK_MONOTONIC, until.as_ref())
    }
}

impl<L: Layout> Word for Cell<L> {
    fn wait(&self, expected: u32, deadline: Option<u64>) -> bool {
        self.sleep(expected, os::ANY, deadline) != Slept::TooLate
    }

    fn wake(word: *const Self, count: u32) {
        os::futex_wake(word.cast(), count, os::ANY);
    }

    fn wait_bitset(&self, expected: u32, bits: u32, deadline: Option<u64>) -> Waited {
        self.sleep(expected, bits, deadline).into()
    }

    fn wake_bitset(word: *const Self, count: u32, bits: u32) {
        os::futex_wake(word.cast(), count, bits);
    }

    #[inline(always)]
    fn clear_byte(&self, order: Ordering) {
        low_byte::clear(&self.0, order);
    }

    #[inline(always)]
    fn swap_byte(&self, value: u8, order: Ordering) -> u8 {
        low_byte::swap(&self.0, value, order)
    }

    #[inline(always)]
    fn compare_exchange_byte(&self, current: u8, new: u8, success: Ordering) -> Result<u8, u8> {
        low_byte::compare_exchange(&self.0, current, new, success)
    }
}

/// An owner in 4 bytes: the thread's id, and the lock's flags in the uppermost [`OWNER_FLAGS`] bits, so
/// that without any it is what the C library has there.
#[repr(transparent)]
pub struct OwnerWord(AtomicU32);

/// How many flags there are. An id has at most 22 bits.
pub const OWNER_FLAGS: u32 = Task::ALIGN.trailing_zeros();

impl OwnerWord {
    /// As the lock has it: a multiple of [`Task::ALIGN`], and flags.
    const fn of(word: u32) -> usize {
        word.rotate_left(OWNER_FLAGS) as usize
    }

    /// As it lies in memory.
    const fn word(value: usize) -> u32 {
        (value as u32).rotate_right(OWNER_FLAGS)
    }

    fn update(&self, order: Ordering, new: impl Fn(usize) -> usize) -> usize {
        let change = |word| Some(Self::word(new(Self::of(word))));
        match self.0.fetch_update(order, Ordering::Relaxed, change) {
            Ok(old) | Err(old) => Self::of(old),
        }
    }
}

impl Atomic<usize> for OwnerWord {
    fn new(value: usize) -> Self {
        Self(AtomicU32::new(Self::word(value)))
    }
    #[inline(always)]
    fn load(&self, order: Ordering) -> usize {
        Self::of(self.0.load(order))
    }
    #[inline(always)]
    fn store(&self, value: usize, order: Ordering) {
        self.0.store(Self::word(value), order);
    }
    fn swap(&self, value: usize, order: Ordering) -> usize {
        Self::of(self.0.swap(Self::word(value), order))
    }
    #[inline(always)]
    fn compare_exchange(
        &self,
        current: usize,
        new: usize,
        success: Ordering,
        failure: Ordering,
    ) -> Result<usize, usize> {
        let result =
            self.0.compare_exchange(Self::word(current), Self::word(new), success, failure);
        result.map(Self::of).map_err(Self::of)
    }
    fn fetch_add(&self, value: usize, order: Ordering) -> usize {
        self.update(order, |old| old.wrapping_add(value))
    }
    fn fetch_sub(&self, value: usize, order: Ordering) -> usize {
        self.update(order, |old| old.wrapping_sub(value))
    }
    fn fetch_and(&self, value: usize, order: Ordering) -> usize {
        Self::of(self.0.fetch_and(Self::word(value), order))
    }
    fn fetch_or(&self, value: usize, order: Ordering) -> usize {
        Self::of(self.0.fetch_or(Self::word(value), order))
    }
}

/// The tail of a queue in 2 bytes: the number of a thread, plus 1.
#[repr(transparent)]
pub struct Tail(AtomicU16);

const _: () = assert!(thread_numbers::MOST < u16::MAX as u32);

impl Atomic<u32> for Tail {
    fn new(value: u32) -> Self {
        Self(AtomicU16::new(value as u16))
    }
    fn load(&self, order: Ordering) -> u32 {
        self.0.load(order).into()
    }
    fn store(&self, value: u32, order: Ordering) {
        self.0.store(value as u16, order);
    }
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.0.swap(value as u16, order).into()
    }
    fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        let result = self.0.compare_exchange(current as u16, new as u16, success, failure);
        result.map(u32::from).map_err(u32::from)
    }
    fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_add(value as u16, order).into()
    }
    fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_sub(value as u16, order).into()
    }
    fn fetch_and(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_and(value as u16, order).into()
    }
    fn fetch_or(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_or(value as u16, order).into()
    }
}

/// The world of locks whose words lie so.
pub struct Guest<L: Layout>(PhantomData<L>);

/// How long threads spin.
static PATIENCE: Patience = Patience::new();

/// The halves of a word of 64 bits as futexes, for locks whose waits end by any clock.
pub struct Futexes;

impl Futexes {
    const fn at(state: *const AtomicU64, half: Half) -> *const AtomicU32 {
        match half {
            Half::Low => state.cast(),
            Half::High => state.cast::<AtomicU32>().wrapping_add(1),
        }
    }
}

impl Halves for Futexes {
    type Platform = Guest<Plain>;
    type State = AtomicU64;
    type Deadline = Deadline;

    fn wait(
        state: &AtomicU64,
        half: Half,
        expected: u32,
        bits: u32,
        deadline: Option<&Deadline>,
    ) -> Waited {
        let (clock, time) = match deadline {
            Some(deadline) if deadline.is_negative() => return Waited::TooLate,
            Some(deadline) => (deadline.clock, Some(&deadline.time)),
            None => (libc::CLOCK_MONOTONIC, None),
        };
        os::futex_wait(Self::at(state, half), expected, bits, clock, time).into()
    }

    fn wake(state: *const AtomicU64, half: Half, count: u32, bits: u32) {
        os::futex_wake(Self::at(state, half), count, bits);
    }
}

impl From<Slept> for Waited {
    fn from(slept: Slept) -> Self {
        match slept {
            Slept::Woken => Self::Woken,
            Slept::Changed => Self::Changed,
            Slept::TooLate => Self::TooLate,
        }
    }
}

impl<L: Layout> Platform for Guest<L> {
    type Word = Cell<L>;
    type Long = AtomicUsize;

    #[inline(always)]
    fn relax() {
        core::hint::spin_loop();
    }

    #[inline(always)]
    fn fence(order: Ordering) {
        fence(order);
    }

    #[inline]
    fn cpu() -> Option<u32> {
        thread_numbers::current()
    }

    fn cpus() -> u32 {
        thread_numbers::bound()
    }

    #[inline]
    fn per_cpu(cpu: u32) -> &'static PerCpu<Cell<L>, AtomicUsize> {
        L::storage().of(cpu)
    }

    fn current() -> Task {
        Task::new(era::thread() as usize * Task::ALIGN)
    }

    fn per_task(_: Task) -> Option<&'static PerTask<Cell<L>, AtomicUsize>> {
        None
    }

    #[inline]
    fn need_resched(rounds: u32) -> bool {
        PATIENCE.is_over(rounds, os::now)
    }

    #[inline]
    fn patience() -> u32 {
        PATIENCE.rounds(os::now)
    }

    fn yield_now() {
        os::sched_yield();
    }

    fn now() -> u64 {
        os::now()
    }

    #[inline]
    fn generation() -> u32 {
        era::current()
    }
}

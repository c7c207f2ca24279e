//! The platform of a library's locks: the simulator that has loaded it.

use core::ffi::{c_int, c_void};
use core::panic::Location;
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicUsize};

use super::abi::{self, Modify};
use crate::platform::{self, Atomic, PerCpu, PerTask, Task, Waited};

/// The simulator, as a platform of locks in a library that [`crate::lock_library!`] makes.
///
/// Its functions panic where no simulator has loaded the library; cells can be made anywhere.
#[derive(Debug)]
pub struct Hosted;

/// A word of the simulated machine.
#[derive(Debug)]
#[repr(transparent)]
pub struct Cell<A>(A);

type Word = Cell<AtomicU32>;
type Long = Cell<AtomicUsize>;

/// The simulator's table.
static PLATFORM: AtomicPtr<abi::Platform> = AtomicPtr::new(ptr::null_mut());

/// Takes the simulator's table, for ever. [`crate::lock_library!`] calls it.
///
/// # Safety
/// The table stays for ever. If its version and size are those of [`abi`], it is one.
pub unsafe fn enter(platform: *const abi::Platform) {
    // Release: pairs with the Acquire in `host`.
    PLATFORM.store(platform.cast_mut(), Release);
}

fn host() -> &'static abi::Platform {
    // Acquire: pairs with the Release in `enter`.
    let platform = PLATFORM.load(Acquire);
    assert!(!platform.is_null(), "no simulator has loaded this library");
    // SAFETY: a simulator that this library is no match for does not call its locks; it stays.
    unsafe { &*platform }
}

/// As C's `memory_order`.
const fn order(order: Ordering) -> c_int {
    match order {
        Relaxed => 0,
        Acquire => 2,
        Release => 3,
        AcqRel => 4,
        _ => 5,
    }
}

#[track_caller]
fn here() -> abi::Place {
    let place = Location::caller();
    abi::Place {
        file: place.file().as_ptr().cast(),
        length: place.file().len(),
        line: place.line(),
    }
}

impl<A> Cell<A> {
    const SIZE: u32 = size_of::<A>() as u32;

    fn at(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }

    #[track_caller]
    fn modify(&self, how: Modify, value: u64, by: Ordering) -> u64 {
        let modify = host().modify;
        // SAFETY: it is a word of this size, which is an atomic of the simulator's.
        unsafe { modify(self.at(), Self::SIZE, how as u32, value, order(by), &here()) }
    }
}

macro_rules! atomic {
    ($atomic:ident, $value:ty) => {
        impl Atomic<$value> for Cell<$atomic> {
            fn new(value: $value) -> Self {
                Self($atomic::new(value))
            }
            fn load(&self, by: Ordering) -> $value {
                let load = host().load;
                // SAFETY: `self` is a word of `SIZE` bytes, which the simulator accesses as an
                // atomic.
                unsafe { load(self.at(), Self::SIZE, order(by), &here()) as $value }
            }
            fn store(&self, value: $value, by: Ordering) {
                let store = host().store;
                // SAFETY: `self` is a word of `SIZE` bytes, which the simulator accesses as an
                // atomic.
                unsafe { store(self.at(), Self::SIZE, value as u64, order(by), &here()) };
            }
            fn swap(&self, value: $value, by: Ordering) -> $value {
                self.modify(Modify::Exchange, value as u64, by) as $value
            }
            fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                _: Ordering,
            ) -> Result<$value, $value> {
                let compare_exchange = host().compare_exchange;
                let mut seen = current;
                let expected = (&raw mut seen).cast();
                // SAFETY: `self` is a word of `SIZE` bytes, which the simulator accesses as an
                // atomic; what is expected is of the word's size.
                let done = unsafe {
                    compare_exchange(
                        self.at(),
                        Self::SIZE,
                        expected,
                        new as u64,
                        order(success),
                        &here(),
                    )
                };
                if done != 0 { Ok(current) } else { Err(seen) }
            }
            fn fetch_add(&self, value: $value, by: Ordering) -> $value {
                self.modify(Modify::Add, value as u64, by) as $value
            }
            fn fetch_sub(&self, value: $value, by: Ordering) -> $value {
                self.modify(Modify::Sub, value as u64, by) as $value
            }
            fn fetch_and(&self, value: $value, by: Ordering) -> $value {
                self.modify(Modify::And, value as u64, by) as $value
            }
            fn fetch_or(&self, value: $value, by: Ordering) -> $value {
                self.modify(Modify::Or, value as u64, by) as $value
            }
        }
    };
}

atomic!(AtomicU32, u32);
atomic!(AtomicUsize, usize);

impl platform::Word for Word {
    fn wait(&self, expected: u32, deadline: Option<u64>) -> bool {
        self.wait_bitset(expected, u32::MAX, deadline) != Waited::TooLate
    }

    fn wake(word: *const Self, count: u32) {
        Self::wake_bitset(word, count, u32::MAX);
    }

    fn wait_bitset(&self, expected: u32, bits: u32, deadline: Option<u64>) -> Waited {
        let wait = host().wait;
        let deadline = deadline.unwrap_or(abi::NEVER);
        // SAFETY: `self` is a live 32-bit word, and the simulator's `wait` reads only that.
        match unsafe { wait(self.at().cast(), expected, bits, deadline, &here()) } {
            1 => Waited::Changed,
            2 => Waited::TooLate,
            _ => Waited::Woken,
        }
    }

    fn wake_bitset(word: *const Self, count: u32, bits: u32) {
        let wake = host().wake;
        // SAFETY: the word is not read.
        unsafe { wake(word.cast(), count, bits, &here()) };
    }

    // A byte of the word, as x86 has it.
    #[cfg(target_endian = "little")]
    fn clear_byte(&self, by: Ordering) {
        let store = host().store;
        // SAFETY: it is the word's lowest byte.
        unsafe { store(self.at(), 1, 0, order(by), &here()) };
    }

    #[cfg(target_endian = "little")]
    fn swap_byte(&self, value: u8, by: Ordering) -> u8 {
        let modify = host().modify;
        let how = Modify::Exchange as u32;
        // SAFETY: the pointer is that of the word's lowest byte, which the simulator accesses as an
        // atomic.
        unsafe { modify(self.at(), 1, how, value.into(), order(by), &here()) as u8 }
    }

    #[cfg(target_endian = "little")]
    fn compare_exchange_byte(&self, current: u8, new: u8, success: Ordering) -> Result<u8, u8> {
        let compare_exchange = host().compare_exchange;
        let mut seen = current;
        let expected = (&raw mut seen).cast();
        // SAFETY: the pointer is that of the word's lowest byte, which the simulator accesses as an
        // atomic.
        let done = unsafe {
            compare_exchange(self.at(), 1, expected, new.into(), order(success), &here())
        };
        if done != 0 { Ok(current) } else { Err(seen) }
    }
}

type Kept = PerCpu<Word, Long>;

/// # Safety
/// `at` points to page-aligned memory for a `Kept`, which nobody uses.
unsafe extern "C" fn make_kept(at: *mut c_void) {
    // SAFETY: the simulator gives memory of the size that `per_cpu` asks for, aligned to a page.
    unsafe { at.cast::<Kept>().write(PerCpu::new()) };
}

/// The number of a task's thread.
const fn number(task: Task) -> u32 {
    (task.number() / Task::ALIGN - 1) as u32
}

// SAFETY, of all calls: the simulator's functions can be called by its threads at any time, and say
// so and end the process if another one calls.
impl platform::Platform for Hosted {
    type Word = Word;
    type Long = Long;

    const CPUS_ARE_THREADS: bool = true;

    fn relax() {
        Self::relax_rounds(1);
    }

    fn relax_rounds(most: u32) -> u32 {
        let relax = host().relax;
        // SAFETY: the simulator's threads may call this function at any time; it reports any other
        // caller.
        unsafe { relax(most) }
    }

    fn fence(by: Ordering) {
        let fence = host().fence;
        // SAFETY: the simulator's threads may call this function at any time; it reports any other
        // caller.
        unsafe { fence(order(by)) };
    }

    fn fence_after_atomic() {
        // The simulated machine is an x86: its locked instructions are fences.
    }

    fn cpu() -> Option<u32> {
        let cpu = host().cpu;
        // SAFETY: the simulator's threads may call this function at any time; it reports any other
        // caller.
        let cpu = unsafe { cpu() };
        (cpu != abi::NO_CPU).then_some(cpu)
    }

    fn cpus() -> u32 {
        let cpus = host().cpus;
        // SAFETY: the simulator's threads may call this function at any time; it reports any other
        // caller.
        unsafe { cpus() }
    }

    fn per_cpu(cpu: u32) -> &'static Kept {
        const { assert!(size_of::<Kept>() <= abi::MOST_PER_CPU) };
        let per_cpu = host().per_cpu;
        // SAFETY: `make_kept` has made one there.
        unsafe { &*per_cpu(cpu, size_of::<Kept>(), Some(make_kept)).cast() }
    }

    fn current() -> Task {
        let cpu = host().cpu;
        // SAFETY: the simulator's threads may call this function at any time; it reports any other
        // caller.
        Task::new((unsafe { cpu() } as usize + 1) * Task::ALIGN)
    }

    fn per_task(task: Task) -> Option<&'static PerTask<Word, Long>> {
        Some(&Self::per_cpu(number(task)).task)
    }

    fn is_running(task: Task) -> bool {
        let is_running = host().is_running;
        // SAFETY: the simulator's threads may call this function at any time; it reports any other
        // caller.
        unsafe { is_running(number(task)) != 0 }
    }

    fn need_resched(rounds: u32) -> bool {
        let need_resched = host().need_resched;
        // SAFETY: the simulator's threads may call this function at any time; it reports any other
        // caller.
        unsafe { need_resched(rounds) != 0 }
    }

    fn yield_now() {
        let yield_now = host().yield_now;
        // SAFETY: the simulator's threads may call this function at any time; it reports any other
        // caller.
        unsafe { yield_now() };
    }

    fn now() -> u64 {
        let now = host().now;
        // SAFETY: the simulator's threads may call this function at any time; it reports any other
        // caller.
        unsafe { now() }
    }
}

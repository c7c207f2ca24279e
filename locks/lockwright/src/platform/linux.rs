//! Linux' processes: futexes, threads for CPUs, membarrier.

use core::cell::Cell;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::{self, Relaxed};
use core::sync::atomic::{AtomicU32, AtomicUsize, compiler_fence, fence};

pub use super::cpus::CPUS;
use super::numbers::Numbers;
use super::patience::Patience;
use super::system_call::quiet;
use super::{PerCpu, PerTask, Platform, Task, Waited, Word, arch, boost, fork, low_byte, pi_futex};

/// The platform of an ordinary process. Waits are futexes private to it.
///
/// A thread gets the lowest free number when it first needs one, and keeps it to its end. [`CPUS`]
/// threads can have one at a time.
#[derive(Debug)]
pub struct Linux;

/// How long threads spin.
static PATIENCE: Patience = Patience::new();

/// Waits on a futex, to be woken for `bits`. The error is the system call's.
fn futex_wait(
    word: &AtomicU32,
    expected: u32,
    bits: u32,
    deadline: Option<u64>,
) -> Result<libc::c_long, libc::c_int> {
    let until = deadline.map(|at| libc::timespec {
        tv_sec: (at / 1_000_000_000) as libc::time_t,
        tv_nsec: (at % 1_000_000_000) as libc::c_long,
    });
    let until = until.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    let unused = core::ptr::null::<u32>();
    quiet(|| {
        // SAFETY: a live word, and a time or null. The absolute time of FUTEX_WAIT_BITSET is
        // CLOCK_MONOTONIC's.
        unsafe {
            libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, until, unused, bits)
        }
    })
}

/// Wakes at most `count` of those who wait at the address for one of `bits`.
fn futex_wake(word: *const AtomicU32, count: u32, bits: u32) {
    let count = count.min(i32::MAX as u32);
    let operation = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
    let unused = core::ptr::null::<u32>();
    // An address that is gone is not the kernel's to complain of.
    let _ = quiet(|| {
        // SAFETY: the kernel takes any address; that of a word that is gone wakes nobody, or
        // somebody who takes it for an early return.
        unsafe {
            libc::syscall(libc::SYS_futex, word.addr(), operation, count, unused, unused, bits)
        }
    });
}

/// All of a futex' bits.
const ANY: u32 = libc::FUTEX_BITSET_MATCH_ANY as u32;

impl Word for AtomicU32 {
    fn wait(&self, expected: u32, deadline: Option<u64>) -> bool {
        let sleeping = Linux::cpu().map(|cpu| &Linux::per_cpu(cpu).sleeping);
        // Relaxed, here and below: a hint for who might spin for us.
        sleeping.inspect(|sleeping| sleeping.store(1, Relaxed));
        let result = futex_wait(self, expected, ANY, deadline);
        sleeping.inspect(|sleeping| sleeping.store(0, Relaxed));
        result != Err(libc::ETIMEDOUT)
    }

    fn wake(word: *const Self, count: u32) {
        futex_wake(word, count, ANY);
    }

    /// Not noted anywhere: no owner field names such a waiter.
    fn wait_bitset(&self, expected: u32, bits: u32, deadline: Option<u64>) -> Waited {
        match futex_wait(self, expected, bits, deadline) {
            Err(libc::EAGAIN) => Waited::Changed,
            Err(libc::ETIMEDOUT) => Waited::TooLate,
            _ => Waited::Woken,
        }
    }

    fn wake_bitset(word: *const Self, count: u32, bits: u32) {
        futex_wake(word, count, bits);
    }

    #[inline(always)]
    fn clear_byte(&self, order: Ordering) {
        low_byte::clear(self, order);
    }

    #[inline(always)]
    fn swap_byte(&self, value: u8, order: Ordering) -> u8 {
        low_byte::swap(self, value, order)
    }

    #[inline(always)]
    fn compare_exchange_byte(&self, current: u8, new: u8, success: Ordering) -> Result<u8, u8> {
        low_byte::compare_exchange(self, current, new, success)
    }
}

/// The storage of all numbers: zeroed, hence valid by [`PerCpu`]'s invariant, and without memory
/// until used.
struct Storage([MaybeUninit<PerCpu<AtomicU32, AtomicUsize>>; CPUS as usize]);

// SAFETY: a `PerCpu` consists of atomics only, and nothing else accesses the storage.
unsafe impl Sync for Storage {}

static STORAGE: Storage = Storage([const { MaybeUninit::zeroed() }; CPUS as usize]);

/// The threads' numbers.
static NUMBERS: Numbers<{ CPUS.div_ceil(64) as usize }> = Numbers::new();

/// For threads without a number: tasks beyond those with one.
static UNNUMBERED: AtomicUsize = AtomicUsize::new((CPUS as usize + 1) * Task::ALIGN);

std::thread_local! {
    /// The thread's task, 0 as long as it has none.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    /// Gives the number back when the thread ends.
    static NUMBER: Number = const { Number(Cell::new(None)) };
}

struct Number(Cell<Option<u32>>);

impl Drop for Number {
    fn drop(&mut self) {
        if let Some(number) = self.0.take() {
            if Linux::per_cpu(number).visible_readers.is_reading_any() {
                // A later destructor of this thread may drop the guard: the number is its for ever.
                return;
            }
            // Other destructors of this thread take locks as another task.
            CURRENT.set(0);
            boost::end(number);
            NUMBERS.give_back(number);
        }
    }
}

/// The thread's first use of a lock that needs to know it.
#[cold]
fn introduce() -> usize {
    // A thread whose destructors have run has no place to keep a number that it could give back.
    let number = NUMBER.try_with(|kept| {
        let number = NUMBERS.take(CPUS).inspect(|number| boost::begin(*number));
        kept.0.set(number);
        number
    });
    let task = match number {
        Ok(Some(number)) => (number as usize + 1) * Task::ALIGN,
        // Relaxed: only to be unique.
        _ => UNNUMBERED.fetch_add(Task::ALIGN, Relaxed),
    };
    CURRENT.set(task);
    task
}

/// The number of a task that has one.
#[inline(always)]
fn number(task: usize) -> Option<u32> {
    let number = task / Task::ALIGN - 1;
    (number < CPUS as usize).then_some(number as u32)
}

impl Platform for Linux {
    type Word = AtomicU32;
    type Long = AtomicUsize;

    const CPUS_ARE_THREADS: bool = true;
    const COUNTS: bool = cfg!(feature = "lock_events");

    #[inline(always)]
    fn relax() {
        core::hint::spin_loop();
    }

    #[inline(always)]
    fn fence(order: Ordering) {
        fence(order);
    }

    #[inline(always)]
    fn fence_after_atomic() {
        arch::fence_after_atomic();
    }

    #[inline(always)]
    fn light_barrier() {
        compiler_fence(Ordering::SeqCst);
    }

    fn heavy_barrier() {
        const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
        const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
        let membarrier = |command: libc::c_int| {
            // SAFETY: membarrier takes a command and two integers, and no pointer.
            quiet(|| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) })
        };
        if membarrier(PRIVATE_EXPEDITED).is_err() {
            // The first time in this process, which has to register.
            let _ = membarrier(REGISTER_PRIVATE_EXPEDITED);
            assert!(
                membarrier(PRIVATE_EXPEDITED).is_ok(),
                "the system call membarrier (Linux 4.14) is missing or forbidden: a percpu-rwsem needs it"
            );
        }
    }

    #[inline(always)]
    fn cpu() -> Option<u32> {
        number(Self::current().number())
    }

    fn cpus() -> u32 {
        NUMBERS.bound()
    }

    #[inline]
    fn per_cpu(cpu: u32) -> &'static PerCpu<AtomicU32, AtomicUsize> {
        // SAFETY: zeroed memory is a valid PerCpu.
        unsafe { STORAGE.0[cpu as usize].assume_init_ref() }
    }

    #[inline(always)]
    fn current() -> Task {
        let task = CURRENT.get();
        Task::new(if task == 0 { introduce() } else { task })
    }

    fn per_task(task: Task) -> Option<&'static PerTask<AtomicU32, AtomicUsize>> {
        number(task.number()).map(|number| &Self::per_cpu(number).task)
    }

    fn is_running(task: Task) -> bool {
        number(task.number()).is_none_or(|number| Self::per_cpu(number).sleeping.load(Relaxed) == 0)
    }

    #[inline]
    fn need_resched(rounds: u32) -> bool {
        PATIENCE.is_over(rounds, Self::now)
    }

    #[inline]
    fn patience() -> u32 {
        PATIENCE.rounds(Self::now)
    }

    fn yield_now() {
        std::thread::yield_now();
    }

    fn now() -> u64 {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: writes the time; this clock is always there.
        let time = unsafe {
            libc::clock_gettime(libc::CLOCK_MONOTONIC, time.as_mut_ptr());
            time.assume_init()
        };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    #[inline]
    fn generation() -> u32 {
        fork::generation()
    }

    fn priority() -> i32 {
        boost::own_priority(Self::cpu())
    }

    fn set_priority(task: Task, inherited: Option<i32>) {
        if let Some(number) = number(task.number()) {
            boost::inherit(number, inherited);
        }
    }

    #[inline]
    fn raw_lock(word: &AtomicU32) -> u32 {
        pi_futex::lock::<Self>(word)
    }

    /// # Safety
    /// The contract is that of `Platform::raw_unlock`.
    #[inline]
    unsafe fn raw_unlock(word: *const AtomicU32, key: u32) {
        // SAFETY: by the trait's contract this thread holds the lock in `word`, and `raw_lock`
        // returned `key`.
        unsafe { pi_futex::unlock(word, key) }
    }

    #[cfg(feature = "lock_events")]
    #[inline]
    fn count(event: crate::event::Event, n: usize) {
        crate::event::Counted::<Self>::count(event, n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_given_back() {
        let mine = Linux::cpu().unwrap();
        let other = std::thread::spawn(|| Linux::cpu().unwrap()).join().unwrap();
        assert_ne!(mine, other);
        assert!(other < Linux::cpus());
        assert_eq!(number(Linux::current().number()), Some(mine));
    }

    #[test]
    fn a_wait_ends_at_its_deadline_and_at_another_value() {
        let word = AtomicU32::new(1);
        assert!(!word.wait(1, Some(Linux::now() + 1_000_000)));
        assert!(word.wait(2, None));
    }

    #[test]
    fn errno_stays_as_it_was() {
        // SAFETY: `errno` is this thread's own, and the test has no other reference to it.
        let errno = unsafe { &mut *libc::__errno_location() };
        *errno = libc::EXDEV;
        let word = AtomicU32::new(1);
        assert!(!word.wait(1, Some(Linux::now())));
        assert!(word.wait(2, None));
        Word::wake(core::ptr::null::<AtomicU32>(), 1);
        Linux::heavy_barrier();
        assert_eq!(*errno, libc::EXDEV);
    }

    #[test]
    fn bytes_of_a_word_change_alone() {
        let word = AtomicU32::new(0xabcd_ef01);
        assert_eq!(word.compare_exchange_byte(2, 3, Ordering::AcqRel), Err(1));
        assert_eq!(word.compare_exchange_byte(1, 3, Ordering::AcqRel), Ok(1));
        assert_eq!(word.swap_byte(7, Ordering::AcqRel), 3);
        assert_eq!(word.load(Relaxed), 0xabcd_ef07);
        word.clear_byte(Ordering::Release);
        assert_eq!(word.load(Relaxed), 0xabcd_ef00);
    }
}

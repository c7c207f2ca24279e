//! The checks of CPUs, on a platform whose threads change them.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use lockwright::debug::{Misuse, RawDebug};
use lockwright::exclusive::Exclusive;
use lockwright::mutex::RawMutex;
use lockwright::platform::linux::Linux;
use lockwright::platform::{PerCpu, PerTask, Platform, Task};
use lockwright::ticket::RawTicket;

/// Linux with tasks and CPUs of the test's own.
#[derive(Debug)]
struct Staged;

std::thread_local! {
    static TASK: Cell<usize> = const { Cell::new(1) };
    static CPU: Cell<u32> = const { Cell::new(0) };
}

impl Platform for Staged {
    type Word = AtomicU32;
    type Long = AtomicUsize;

    fn relax() {}
    fn fence(order: Ordering) {
        Linux::fence(order);
    }
    fn cpu() -> Option<u32> {
        Some(CPU.get())
    }
    fn cpus() -> u32 {
        4
    }
    fn per_cpu(cpu: u32) -> &'static PerCpu<AtomicU32, AtomicUsize> {
        Linux::per_cpu(cpu)
    }
    fn current() -> Task {
        Task::new(TASK.get() * Task::ALIGN)
    }
    fn per_task(_task: Task) -> Option<&'static PerTask<AtomicU32, AtomicUsize>> {
        None
    }
    fn need_resched(rounds: u32) -> bool {
        Linux::need_resched(rounds)
    }
    fn yield_now() {}
    fn now() -> u64 {
        Linux::now()
    }
}

/// The same for all tests: task 1 has taken the lock on CPU 0.
fn taken<L: Exclusive>() -> RawDebug<Staged, L> {
    TASK.set(1);
    CPU.set(0);
    let lock = RawDebug::new_in(L::new());
    assert_eq!(lock.lock(), Ok(()));
    lock
}

#[test]
fn cpu_recursion() {
    let lock = taken::<RawTicket<Staged>>();
    TASK.set(2);
    assert_eq!(lock.lock(), Err(Misuse::CpuRecursion));
    assert_eq!(lock.try_lock(), Ok(false), "to try is no misuse");
    TASK.set(1);
    assert_eq!(lock.lock(), Err(Misuse::Recursion));
    assert_eq!(lock.unlock(), Ok(()));
}

#[test]
fn wrong_cpu() {
    let lock = taken::<RawTicket<Staged>>();
    CPU.set(1);
    assert_eq!(lock.unlock(), Err(Misuse::WrongCpu));
    CPU.set(0);
    assert_eq!(lock.unlock(), Ok(()));
    CPU.set(1);
    assert_eq!(lock.lock(), Ok(()), "each hold has a CPU of its own");
    assert_eq!(lock.unlock(), Ok(()));
}

#[test]
fn a_mutex_may_be_unlocked_on_another_cpu() {
    let lock = taken::<RawMutex<Staged>>();
    CPU.set(1);
    assert_eq!(lock.unlock(), Ok(()));
}

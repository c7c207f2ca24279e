//! The platform of locks that are explored: each access to a word is a scheduling point.
//!
//! The words are those of the simulated machine ([`crate::Sim`]), which ask here where no machine is
//! simulated. All is sequentially consistent.

use core::sync::atomic::Ordering;
use std::cell::Cell as StdCell;
use std::ptr;

use lockwright::platform::{Atomic, PerCpu, PerTask, Platform, Task, Waited};

use super::execution::{Awakening, Execution, Stop};
use super::trace::{SourceLine, What};
use crate::cache::Operation;
use crate::cell::{Long, Word};
use crate::cna::Sockets;

/// For how many rounds waiters spin before they sleep: few, so that schedules of a few hundred
/// points come to it.
const PATIENCE: u32 = 3;

/// The threads that are explored, as a platform.
///
/// Outside of them its cells are plain memory.
#[derive(Debug)]
pub struct Explored;

std::thread_local! {
    static EXECUTION: StdCell<*mut Execution> = const { StdCell::new(ptr::null_mut()) };
}

/// Makes an execution that of this thread, until dropped.
pub(super) struct Entered;

impl Entered {
    pub(super) fn new(execution: *mut Execution) -> Self {
        assert!(EXECUTION.get().is_null(), "an exploration within an exploration");
        EXECUTION.set(execution);
        Self
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        EXECUTION.set(ptr::null_mut());
    }
}

/// Asks the execution something, if one of its threads is calling. What is asked switches no fibers.
#[inline]
pub(super) fn with<R>(ask: impl FnOnce(&mut Execution) -> R) -> Option<R> {
    let execution = EXECUTION.get();
    // SAFETY: it is there until `Entered` is dropped; only this reference to it exists, and ends with
    // the question. Where it is set and no fiber runs, nobody calls this.
    (!execution.is_null()).then(|| ask(unsafe { &mut *execution }))
}

/// A scheduling point of the calling thread. Others may have run when it returns.
fn stop(stop: Stop) {
    if with(|execution| execution.leaves(stop)) == Some(true) {
        let execution = EXECUTION.get();
        // SAFETY: the running thread is this fiber, which has set its yielder as it began. No
        // reference to the execution lives while it is suspended.
        unsafe {
            let yielder = (*execution).yielder();
            (*yielder).suspend(());
        }
    }
}

fn note(what: What, address: usize, size: usize, source: SourceLine) {
    with(|execution| execution.note(what, address, size, Some(source)));
}

/// A word is about to be accessed.
pub fn access(operation: Operation, address: usize, size: usize, source: SourceLine) {
    if !is_running() {
        return;
    }
    stop(Stop::Access);
    let what = match operation {
        Operation::Load => What::Load,
        Operation::Store => What::Store,
        Operation::Exchange => What::Exchange,
    };
    note(what, address, size, source);
}

/// Whether one of the explored threads is calling.
pub fn is_running() -> bool {
    !EXECUTION.get().is_null()
}

/// As [`lockwright::platform::Word::wait_bitset`].
pub fn wait(
    word: &Word,
    expected: u32,
    bits: u32,
    deadline: Option<u64>,
    source: SourceLine,
) -> Waited {
    assert!(is_running(), "only a simulated thread can wait");
    let address = ptr::from_ref(word).addr();
    with(Execution::waits);
    let sleeping = Explored::cpu().map(|cpu| &Explored::per_cpu(cpu).sleeping);
    // Relaxed, here and below: one thread of the host runs all.
    if let Some(sleeping) = sleeping {
        sleeping.store(1, Ordering::Relaxed);
    }
    stop(Stop::Access);
    note(What::Wait, address, 4, source);
    let waited = if word.peek() == expected {
        with(|execution| execution.sleep(address, bits, deadline));
        stop(Stop::Sleep);
        let (what, waited) = match with(Execution::slept).expect("an explored thread") {
            Awakening::Woken => (What::Woken, Waited::Woken),
            Awakening::TooLate => (What::TooLate, Waited::TooLate),
            Awakening::Early => (What::Early, Waited::Woken),
        };
        note(what, address, 4, source);
        waited
    } else {
        Waited::Changed
    };
    if let Some(sleeping) = sleeping {
        sleeping.store(0, Ordering::Relaxed);
    }
    waited
}

/// As [`lockwright::platform::Word::wake_bitset`].
pub fn wake(address: usize, count: u32, bits: u32, source: SourceLine) {
    if is_running() {
        stop(Stop::Access);
        with(|execution| execution.note(What::Wake, address, 0, Some(source)));
        with(|execution| execution.wake(address, count, bits));
    }
}

/// A round of spinning.
pub fn spin() {
    with(Execution::waits);
    stop(Stop::Spin);
    with(|execution| execution.note(What::Spin, 0, 0, None));
}

/// The number of the calling thread.
pub fn me() -> Option<u32> {
    with(|execution| execution.running())
}

/// Threads are on two of them, in turns.
impl Sockets for Explored {
    fn socket() -> u32 {
        Self::cpu().unwrap_or(0) % 2
    }
}

impl Platform for Explored {
    type Word = Word;
    type Long = Long;

    // Few, as PATIENCE is.
    const SPIN_THRESHOLD: u32 = PATIENCE;
    const PENDING_LOOPS: u32 = PATIENCE;
    const CPUS_ARE_THREADS: bool = true;

    fn relax() {
        spin();
    }

    fn fence(_: Ordering) {}

    fn cpu() -> Option<u32> {
        me()
    }

    fn cpus() -> u32 {
        with(|execution| execution.per_cpu.len() as u32).unwrap_or(0)
    }

    fn per_cpu(cpu: u32) -> &'static PerCpu<Word, Long> {
        with(|execution| execution.per_cpu[cpu as usize]).expect("no exploration")
    }

    fn current() -> Task {
        Task::new((me().map_or(1 << 20, |number| number as usize + 1)) * Task::ALIGN)
    }

    fn per_task(task: Task) -> Option<&'static PerTask<Word, Long>> {
        let number = task.number() / Task::ALIGN - 1;
        (number < Self::cpus() as usize).then(|| &Self::per_cpu(number as u32).task)
    }

    fn is_running(task: Task) -> bool {
        let number = task.number() / Task::ALIGN - 1;
        // As on Linux: what a thread reports about itself. Relaxed: a hint.
        number >= Self::cpus() as usize
            || Self::per_cpu(number as u32).sleeping.load(Ordering::Relaxed) == 0
    }

    fn need_resched(rounds: u32) -> bool {
        rounds >= PATIENCE
    }

    fn yield_now() {
        spin();
    }

    fn now() -> u64 {
        with(|execution| execution.now()).unwrap_or(0)
    }
}

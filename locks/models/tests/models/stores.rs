//! Spinning in the model: a thread spins no more rounds than others have stored values that it
//! could see, then sleeps until they store another. Further rounds would show it nothing new, and
//! two spinners could take turns for ever: the models had no end.
//!
//! What is here changes only between two steps of loom, which runs the threads of a model in turns
//! on one thread of the test program.

use std::cell::{Cell, RefCell};

use loom::thread::Thread;

use crate::world::CPUS;

#[derive(Clone, Copy, Default)]
struct Counts {
    /// Stores of this execution.
    stores: u64,
    /// Rounds of spinning.
    rounds: u64,
}

std::thread_local! {
    static COUNTS: Cell<[Counts; CPUS as usize]> = Cell::default();
    static SPINNERS: RefCell<Vec<Thread>> = RefCell::default();
    static KNOWN: Cell<u32> = const { Cell::new(0) };
}

loom::thread_local! {
    static THREAD: u32 = KNOWN.replace(KNOWN.get() + 1);
}

/// Begins an execution.
pub fn begin() {
    COUNTS.take();
    SPINNERS.take();
    KNOWN.set(0);
}

/// The number of this thread, in the order in which they first ask.
pub fn thread() -> u32 {
    THREAD.with(|thread| *thread)
}

fn with<R>(f: impl FnOnce(usize, &mut [Counts]) -> R) -> R {
    let mut counts = COUNTS.get();
    let result = f(thread() as usize, &mut counts);
    COUNTS.set(counts);
    result
}

/// The calling thread has stored something.
pub fn note() {
    with(|me, counts| counts[me].stores += 1);
    // Unparking orders memory where a store does not. No model rests on it alone: the first looks
    // of a spinner come without.
    SPINNERS.take().iter().for_each(Thread::unpark);
}

/// Lets others run, until they have stored more often than this was called.
pub fn await_next() {
    loom::thread::yield_now();
    loop {
        let news = with(|me, counts| {
            let others = counts.iter().enumerate().filter(|(thread, _)| *thread != me);
            let stores: u64 = others.map(|(_, other)| other.stores).sum();
            let news = counts[me].rounds < stores;
            counts[me].rounds += u64::from(news);
            news
        });
        if news {
            return;
        }
        SPINNERS.with_borrow_mut(|spinners| spinners.push(loom::thread::current()));
        loom::thread::park();
    }
}

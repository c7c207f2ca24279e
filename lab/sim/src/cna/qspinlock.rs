//! The queued spinlock with CNA as its queue, as the series for the kernel has it (A. Kogan and D. Dice, *Add
//! NUMA-awareness to qspinlock*, version 10, linux-kernel, 2020).
//!
//! The first waiter in the queue waits for the word, takes it, and makes the next one the head before its own section
//! begins. No newcomer takes the word past a queue.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright::exclusive::Exclusive;
use lockwright::platform::{Atomic, Platform, await_until};

use super::{Cna, Node, Sockets};

const FREE: u32 = 0;
const HELD: u32 = 1;

/// A queued spinlock that prefers the holder's socket. Not recursive.
pub struct CnaQspinlock<P: Platform> {
    word: P::Word,
    queue: Cna<P>,
}

impl<P: Sockets> CnaQspinlock<P> {
    fn take(&self) -> bool {
        // Acquire: pairs with the Release in `unlock`.
        self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }
}

// SAFETY: the word is taken by an exchange, and by nobody else until it is free again; `sim --explore` checks it.
unsafe impl<P: Sockets> Exclusive for CnaQspinlock<P> {
    const SPINS: bool = true;

    fn new() -> Self {
        Self { word: P::Word::new(FREE), queue: Cna::new_in() }
    }

    fn lock(&self) {
        if self.try_lock() {
            return;
        }
        let node = Node::new();
        // SAFETY: it is in no other queue, and stays where it is until it is unlocked.
        unsafe { self.queue.lock(&node) };
        // Relaxed: a look; `take` has the ordering.
        await_until::<P>(|| self.word.load(Relaxed) == FREE && self.take());
        // SAFETY: locked above, with this node.
        unsafe { self.queue.unlock(&node) };
    }

    fn try_lock(&self) -> bool {
        self.queue.is_free() && self.take()
    }

    /// # Safety
    /// The contract is that of `Exclusive::unlock`.
    unsafe fn unlock(&self) {
        // Release: pairs with the Acquire in `take`.
        self.word.store(FREE, Release);
    }

    fn is_locked(&self) -> bool {
        // Relaxed: tells nothing of what the holder has done.
        self.word.load(Relaxed) == HELD
    }
}

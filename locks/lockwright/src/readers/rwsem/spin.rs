//! Optimistic spinning: a new writer spins as long as the writer that has the lock runs. It spins a
//! little while on readers, as it cannot know whether they run.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use super::owner::Holder;
use super::{HANDOFF, READER, RawRwSem, WRITER, is_held};
use crate::event::Event;
use crate::platform::{Atomic, Platform};

/// How often a look at the clock is worth it: once in so many rounds.
const ROUNDS_PER_LOOK: u32 = 16;

/// Until when to spin on the readers of `count`: 10 us, and half a microsecond for each, 25 us at
/// most.
fn reader_deadline<P: Platform>(count: usize) -> u64 {
    let readers = (count / READER).min(30) as u64;
    P::now() + (20 + readers) * 1000 / 2
}

impl<P: Platform> RawRwSem<P> {
    /// Spins for the lock. True: the caller has it to write.
    ///
    /// A free lock is taken before the queue of spinners, whose first may have been preempted.
    pub(super) fn spin(&self) -> bool {
        if self.try_write_unqueued() {
            P::count(Event::RwsemOptLock, 1);
            return true;
        }
        if !self.is_spinnable() {
            P::count(Event::RwsemOptNospin, 1);
            return false;
        }
        let taken = self.osq.lock() && {
            let taken = self.spin_as_first();
            // SAFETY: the queue's `lock` above succeeded in this thread, which has not left the
            // queue since.
            unsafe { self.osq.unlock() };
            taken
        };
        P::count(if taken { Event::RwsemOptLock } else { Event::RwsemOptFail }, 1);
        taken
    }

    /// Whether to begin. Readers may have left: they are tried.
    fn is_spinnable(&self) -> bool {
        match self.owner.holder() {
            Holder::Nonspinnable => false,
            Holder::Writer(task) => P::is_running(task),
            Holder::Nobody | Holder::Readers => true,
        }
    }

    fn spin_as_first(&self) -> bool {
        let mut rounds = 0;
        let mut before = Holder::Nobody;
        let mut deadline = 0;
        loop {
            let holder = self.spin_on_owner(&mut rounds);
            if holder == Holder::Nonspinnable {
                return false;
            }
            if self.try_write_unqueued() {
                return true;
            }
            if holder == Holder::Readers {
                if before != Holder::Readers {
                    deadline = reader_deadline::<P>(self.count.load(Relaxed));
                } else if rounds % ROUNDS_PER_LOOK == 0 && P::now() > deadline {
                    self.owner.set_nonspinnable();
                    P::count(Event::RwsemOptNospin, 1);
                    return false;
                }
            }
            before = holder;
            if P::need_resched(rounds) {
                return false;
            }
            rounds += 1;
            P::relax();
        }
    }

    /// Spins while the same writer has the lock and runs, `rounds` counted on. Returns the holder
    /// after that.
    pub(super) fn spin_on_owner(&self, rounds: &mut u32) -> Holder {
        let holder = self.owner.holder();
        let Holder::Writer(task) = holder else { return holder };
        loop {
            if P::need_resched(*rounds) || !P::is_running(task) {
                return Holder::Nonspinnable;
            }
            *rounds += 1;
            P::relax();
            let now = self.owner.holder();
            if now != holder {
                return now;
            }
        }
    }

    /// Takes the lock ahead of those who wait, unless it is kept for the first of them.
    fn try_write_unqueued(&self) -> bool {
        let mut count = self.count.load(Relaxed);
        while !is_held(count) && count & HANDOFF == 0 {
            // Acquire: pairs with the Releases in `up_write` and `leave_readers`.
            match self.count.compare_exchange(count, count | WRITER, Acquire, Relaxed) {
                Ok(_) => {
                    self.owner.set_writer();
                    return true;
                }
                Err(seen) => count = seen,
            }
        }
        false
    }
}

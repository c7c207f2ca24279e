//! Misuses of locks, and questions about their holders.

use lockwright_ledger::rows::Held;

use super::Core;
use crate::capture::Capture;
use crate::lockdep::acquire::Ident;
use crate::lockdep::checks::left_held::{self, Leaving};
use crate::lockdep::checks::{abandoned, atomic_sleep, futex_wait};
use crate::lockdep::recorder::holders::Holder;
use crate::lockdep::recorder::misuse::Misuse;
use crate::lockdep::thread::entry::ROBUST;
use crate::lockdep::thread::{FutexWait, ThreadState};

impl Core {
    /// Records a misuse by `thread`, with what it holds and where it is. Returns the row that has
    /// it, 0 if there is no room.
    pub fn misuse(
        &mut self,
        thread: &mut ThreadState,
        what: &Misuse,
        now_ns: u64,
        capture: Capture<'_>,
    ) -> u32 {
        self.recorder.misuse(thread, what, now_ns, capture)
    }

    /// The thread is about to make a call that may sleep, number `call` of the blocking calls, at
    /// `site`: records it if it holds a lock whose waiters spin.
    pub fn sleeps(
        &mut self,
        thread: &mut ThreadState,
        call: u32,
        site: u64,
        now_ns: u64,
        capture: Capture<'_>,
    ) {
        atomic_sleep::sleeps(&mut self.recorder, thread, call, site, now_ns, capture);
    }

    /// The thread is about to wait at a futex, without a time limit: records it if it holds a lock. False if it is not recorded.
    pub fn waits_at_futex(&mut self, thread: &mut ThreadState, wait: &FutexWait) -> bool {
        futex_wait::waits(&mut self.recorder, thread, wait)
    }

    /// A lock is unlocked that the calling thread does not hold: its holder no longer holds it.
    /// Says who that was: first of all a thread that has ended and left it locked.
    pub fn released_by_other(&mut self, addr: u64, ident: Ident) -> Option<Holder> {
        let Self { recorder, abandoned, left, .. } = self;
        if let Some(holder) = abandoned.take(recorder, addr, ident) {
            return Some(holder);
        }
        let (holder, gave_up) = recorder.take_from_holder(addr)?;
        if gave_up {
            left.released(recorder, holder.thread, holder.ident.inst());
        }
        recorder.mark_unlocked_by_another(&holder)?;
        Some(holder)
    }

    /// Records every lock that the thread still holds at its end. `is_gone` says whether the lock
    /// at an address has gone with the thread's stack: a later thread cannot even wait for it.
    pub fn exits(
        &mut self,
        thread: &mut ThreadState,
        now_ns: u64,
        is_gone: impl Fn(u64) -> bool,
        capture: Capture<'_>,
    ) {
        self.abandoned.exits(&mut self.recorder, thread, now_ns, is_gone, capture);
        let last = thread.segment();
        for held in (1..=thread.depth()).map(|i| thread.held_at(i)) {
            if held.is_held() && held.flags & ROBUST != 0 {
                self.dead_owners.add(&mut self.recorder, held.inst, last);
            }
        }
    }

    /// The memory of a lock that the thread holds at `addr` was part of a frame whose function has
    /// returned: records that, and it is held no more.
    pub fn frame_gone(
        &mut self,
        thread: &mut ThreadState,
        addr: u64,
        now_ns: u64,
        capture: Capture<'_>,
    ) {
        abandoned::frame_gone(&mut self.recorder, thread, addr, now_ns, capture);
    }

    /// The stack on which a held lock was taken, of which as much is stored as there is room for.
    /// `None` for what excludes nobody, where the stack is not known, and for user-defined locks: the
    /// functions that their stacks begin in are the locks' own, and return with them by right.
    pub fn taken_on(&self, held: &Held, frames: &mut [u64]) -> Option<usize> {
        left_held::taken_on(&self.recorder, held, frames)
    }

    /// The thread idles with the lock of entry `i`, whose function has returned.
    pub fn leaves(
        &mut self,
        thread: &mut ThreadState,
        i: u32,
        leaving: Leaving,
        now_ns: u64,
        capture: Capture<'_>,
    ) {
        self.left.leaves(&mut self.recorder, thread, i, leaving, now_ns, capture);
    }

    /// A recorded hold is released. The row that has it, 0 if there is none.
    pub fn left_released(&mut self, thread: u32, inst: u32) -> u32 {
        self.left.released(&mut self.recorder, thread, inst)
    }

    /// The stack on which the lock of such a row was taken, and which frame of it is the
    /// function's.
    pub fn left_by(&self, row: u32, frames: &mut [u64]) -> Option<u64> {
        left_held::left_by(&self.recorder, row, frames)
    }

    /// A lock of the call that returns to `address`, which has a recorded hold, was released: after
    /// the function had returned (`outside`), or before.
    pub fn left_elsewhere(&mut self, address: u64, outside: bool) {
        self.left.elsewhere(&mut self.recorder, address, outside);
    }

    /// The thread that holds a lock with an address in `[from, to)`, given-up ones in a condition
    /// wait not counted, nor routines that run once: what becomes of their controls is debugobjects'
    /// to tell. Other threads run meanwhile: it is what was seen, not a guarantee.
    pub fn holder_in(&self, from: u64, to: u64) -> Option<Holder> {
        self.recorder.holder_in(from, to)
    }

    /// The acquisition of a thread that waits for a lock at one of these addresses; 0 if it is in no context. Other threads
    /// run meanwhile: it is what was seen, not a guarantee.
    pub fn waiter_for(&self, addrs: &[u64]) -> Option<u32> {
        self.recorder.waiter_for(addrs)
    }

    /// Calls `f` with the thread, for every lock that a thread other than `own` holds, and with the
    /// return address of the call that took it.
    pub fn held_by_others(&self, own: u32, f: impl FnMut(u32, &Held, u64)) {
        self.recorder.held_by_others(own, f);
    }

    /// A thread other than `not` that waits on the condition variable at `addr`, and where.
    pub fn cond_waiter(&self, addr: u64, not: u32) -> Option<(u32, u32)> {
        self.recorder.cond_waiter(addr, not)
    }

    /// A thread that waits on the condition variable at `addr` without a time limit, and elsewhere
    /// than in the context `node`, and where.
    pub fn cond_waiter_elsewhere(&self, addr: u64, node: u32) -> Option<(u32, u32)> {
        self.recorder.cond_waiter_elsewhere(addr, node)
    }
}

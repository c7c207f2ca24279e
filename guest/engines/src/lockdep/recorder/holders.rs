//! Questions about what the threads hold, and which of them wait on a condition variable, at this moment.
//! Other threads run meanwhile, so an answer is what was seen, and no guarantee.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::{Held, Lock, Stack, lock_flag, mode, waits_for_lock};

use super::Recorder;
use crate::lockdep::acquire::{Acquire, Ident};
use crate::lockdep::thread::entry::NOT_KEPT;
use crate::lockdep::thread::{ThreadRow, Wait};

/// A thread that holds a lock, and where it took it.
#[derive(Clone, Copy, Debug)]
pub struct Holder {
    /// The thread's row.
    pub thread: u32,
    /// Stack of the acquisition, 0 if unknown.
    pub stack: u32,
    /// Address of the lock.
    pub addr: u64,
    /// Which lock.
    pub ident: Ident,
    /// How it holds it: [`lockwright_ledger::rows::mode`] bits.
    pub mode: u16,
}

impl Recorder {
    /// The thread that holds a lock with an address in `[from, to)`, given-up ones in a condition
    /// wait not counted, nor routines that run once: what becomes of their controls is debugobjects'
    /// to tell. Other threads run meanwhile: it is what was seen, not a guarantee.
    pub(crate) fn holder_in(&self, from: u64, to: u64) -> Option<Holder> {
        for thread in self.live() {
            for (_, held) in thread.held() {
                let is_lock = held.flags & NOT_KEPT == 0 && held.mode & mode::ONCE == 0;
                if from <= held.addr && held.addr < to && held.addr != 0 && is_lock {
                    let stack = self.stack_of(held.node);
                    let ident = Ident::new(held.inst, held.class);
                    let (thread, addr) = (thread.id(), held.addr);
                    return Some(Holder { thread, stack, addr, ident, mode: held.mode });
                }
            }
        }
        None
    }

    /// Calls `f` with the thread, for every lock that a thread other than `own` holds, and with the
    /// return address of the call that took it.
    pub(crate) fn held_by_others(&self, own: u32, mut f: impl FnMut(u32, &Held, u64)) {
        for thread in self.live().filter(|thread| thread.id() != own) {
            for (_, held) in thread.held() {
                if held.is_held() && held.flags & NOT_KEPT == 0 {
                    f(thread.id(), &held, self.call_of(&held));
                }
            }
        }
    }

    /// Return address of the call that took a held lock, 0 if it was not recorded.
    fn call_of(&self, held: &Held) -> u64 {
        let stack = self.stack_of(held.node);
        self.writer.get::<Stack>(stack).map_or(0, |stack| self.writer.frame(stack.first))
    }

    /// A thread other than `not` that waits on the condition variable at `addr`, and where.
    pub(crate) fn cond_waiter(&self, addr: u64, not: u32) -> Option<(u32, u32)> {
        let (thread, wait) = self.cond_waiters(addr).find(|(it, _)| it.id() != not)?;
        Some((thread.id(), self.stack_of(wait.node)))
    }

    /// A thread that waits on the condition variable at `addr` without a time limit, and elsewhere
    /// than in the context `node`, and where.
    pub(crate) fn cond_waiter_elsewhere(&self, addr: u64, node: u32) -> Option<(u32, u32)> {
        let here = self.stack_of(node);
        self.cond_waiters(addr)
            .filter(|(_, wait)| wait.mode & mode::TIMED == 0)
            .map(|(it, wait)| (it.id(), self.stack_of(wait.node)))
            .find(|&(_, stack)| stack != 0 && stack != here)
    }

    /// The acquisition of a thread that waits for a lock at one of these addresses; 0 if it is in no context.
    pub(crate) fn waiter_for(&self, addrs: &[u64]) -> Option<u32> {
        let waits = self.live().map(|thread| thread.wait());
        let mut waits = waits.filter(|wait| wait.is_under_way() && waits_for_lock(wait.mode));
        waits.find(|wait| addrs.contains(&wait.addr)).map(|wait| wait.node)
    }

    fn cond_waiters(&self, addr: u64) -> impl Iterator<Item = (ThreadRow, Wait)> {
        let waits = self.live().map(|thread| (thread, thread.wait()));
        waits.filter(move |(_, wait)| {
            wait.addr == addr && wait.is_under_way() && wait.mode & mode::COND_WAIT != 0
        })
    }

    /// A lock at `addr` is unlocked by a thread that does not hold it: its holder, if there is one,
    /// holds it no longer. Who that was, and whether it held it until now.
    pub(crate) fn take_from_holder(&self, addr: u64) -> Option<(Holder, bool)> {
        let holder = self.holder_in(addr, addr + 1)?;
        let gave_up = self.thread(holder.thread)?.give_up(addr).is_some();
        Some((holder, gave_up))
    }

    /// Records that the lock of `holder` was unlocked by another thread.
    pub(crate) fn mark_unlocked_by_another(&mut self, holder: &Holder) -> Option<()> {
        // Relaxed: threads change segments with the core's lock held.
        let segment = self.thread(holder.thread)?.segment().load(Relaxed);
        let lock = Acquire { addr: holder.addr, ident: holder.ident, mode: 0, site: 0 };
        let lock = self.lock_row(&lock, segment);
        self.writer.update::<Lock>(lock, |row| row.flags |= lock_flag::UNLOCKED_BY_ANOTHER);
        Some(())
    }
}

//! A thread waits: what it waits for stands in its row, for other threads to see as long as it
//! does.

use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use core::sync::atomic::fence;

use lockwright_ledger::rows::{held_flag, mode, waits_for_lock};

use super::entry::{DEAD, change_flags};
use super::state::ThreadState;
use crate::held::addr_of;
use crate::lockdep::acquire::{Acquire, Ident};

/// A wait at a futex that begins.
#[derive(Clone, Copy, Debug)]
pub struct FutexWait {
    /// Address of the word.
    pub addr: u64,
    /// What it was.
    pub word: u32,
    /// How it waits, one of [`lockwright_ledger::rows::meter::futex_call`].
    pub call: u32,
    /// It ends by itself.
    pub is_timed: bool,
    /// Row of its stack.
    pub stack: u32,
    /// CLOCK_MONOTONIC, ns.
    pub since_ns: u64,
}

impl ThreadState {
    /// Publishes that the thread is about to wait in context `node`; it can be seen by
    /// [`crate::lockdep::Core::find_deadlock`] of other threads from here on.
    pub fn wait_begin(&mut self, lock: &Acquire, node: u32) {
        self.row.contended += u64::from(waits_for_lock(lock.mode));
        self.wait_begin_uncounted(lock, node);
    }

    /// As [`ThreadState::wait_begin`], for what may not have to be waited for.
    pub fn wait_begin_uncounted(&mut self, lock: &Acquire, node: u32) {
        let row = self.shared();
        // Relaxed: others believe them by the word stored last.
        row.wait_addr().store(lock.addr, Relaxed);
        row.wait_inst().store(lock.ident.inst(), Relaxed);
        row.wait_class().store(lock.ident.class(), Relaxed);
        row.wait_mode().store(lock.mode.into(), Relaxed);
        row.wait_node().store(node, Relaxed);
        let frame = 0u8;
        self.row.wait_frame = (&raw const frame) as u64;
        self.row.wait_depth = self.depth();
        let seq = row.wait_seq();
        // Release pairs with the Acquire in `ThreadRow::wait`.
        seq.store(seq.load(Relaxed) | 1, Release);
        // If two threads close a cycle at once, the later sees the other's wait: store own
        // wait, fence, read the others'. Pairs with the same fence in the other thread.
        fence(SeqCst);
    }

    /// As [`ThreadState::wait_begin`], of a wait that is at a futex and has no context.
    pub fn futex_wait_begin(&mut self, wait: &FutexWait) {
        self.row.wait_since_ns = wait.since_ns;
        self.row.wait_word = wait.word;
        self.row.wait_stack = wait.stack;
        let timed = if wait.is_timed { mode::TIMED } else { 0 };
        let mode = mode::FUTEX_WAIT | timed;
        self.wait_begin(
            &Acquire { addr: wait.addr, ident: Ident::new(wait.call, 0), mode, site: 0 },
            0,
        );
    }

    /// The wait under way, if there is one, is over because the thread is being unwound out of it.
    /// Its address and [`mode`] bits.
    pub fn wait_unwound(&mut self) -> Option<(u64, u16)> {
        if self.row.wait_seq & 1 == 0 {
            return None;
        }
        for i in 1..=self.depth() {
            // A cancelled condition wait takes its mutex back, for the cleanup handlers.
            // SAFETY: `i` runs from 1 to the depth, so the entry lies in this thread's array.
            unsafe { change_flags(self.entry(i), 0, held_flag::IN_COND_WAIT) };
        }
        self.wait_end();
        Some((self.row.wait_addr, self.row.wait_mode as u16))
    }

    /// An address within the frame of the function that waits; `None` if the thread is in no wait.
    pub fn wait_frame(&mut self) -> Option<u64> {
        (self.row.wait_seq & 1 == 1).then_some(self.row.wait_frame)
    }

    /// The acquisition that the thread waited in comes to nothing: the wait was left by a long jump
    /// or by cancellation. What a signal's handler took meanwhile lies above its entry, and stays.
    pub fn abandon_waited(&mut self) {
        let i = self.row.wait_depth;
        // SAFETY: `i` was just checked to be from 1 to the depth, so the entry lies in this
        // thread's array.
        if i == 0 || i > self.depth() || unsafe { addr_of(self.entry(i)) } != 0 {
            return;
        }
        if i == self.depth() {
            return self.abandon();
        }
        // SAFETY: `i` is from 1 to the depth, so the entry lies in this thread's array.
        unsafe { change_flags(self.entry(i), DEAD, 0) };
        self.set_dirty();
    }

    /// The wait is over.
    pub fn wait_end(&mut self) {
        let row = self.shared();
        let seq = row.wait_seq();
        // Release pairs with the Acquire in `ThreadRow::wait`.
        seq.store((seq.load(Relaxed) | 1).wrapping_add(1), Release);
        // Pairs with the fence in `ThreadRow::is_still_in`: whoever sees what the thread does from here on
        // sees that the wait is over.
        fence(Release);
    }

    /// The thread's row says that it waits for `addr`.
    pub fn is_waiting_for(&self, addr: u64) -> bool {
        self.row.wait_seq & 1 == 1 && self.row.wait_addr == addr
    }
}

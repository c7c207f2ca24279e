//! A semaphore that begins at 1 is a lock, as long as every post is by the thread that has taken
//! it.
//!
//! Nothing but its use tells it from a semaphore that hands something over. So it is taken for a
//! lock at first, and [`Core::hand_over`] ends that for good once it is used otherwise: posted by a
//! thread that does not hold it, or waited for by the one that does, which only another's post can
//! end. What has been recorded by then stays in the ledger, marked, for the reader to leave out.
//!
//! As a lock it orders no threads, as no lock does; nor does it afterwards, since a wait that the
//! initial value or any thread's post may have granted follows no post in particular.

use lockwright_ledger::rows::{Class, Held, Lock, held_flag, lock_flag};

use super::Ident;
use super::core::{Core, acquire_of};
use super::entry::change_flags;
use super::thread::ThreadState;

impl ThreadState {
    /// The reserved entry is a semaphore's.
    #[inline(always)]
    pub fn mark_semaphore(&mut self) {
        let handler = if self.in_signal() == 0 { 0 } else { held_flag::IN_HANDLER };
        // SAFETY: the top is the reserved entry.
        unsafe { change_flags(self.top(), held_flag::SEMAPHORE | handler, 0) };
    }

    /// Whether a post of the semaphore at `addr` is the release of a lock: the thread has taken it,
    /// and not only what a handler interrupts has.
    pub fn releases_semaphore(&self, addr: u64) -> bool {
        self.held_of(addr).is_some_and(|held| {
            let taken_in_handler = held.flags & held_flag::IN_HANDLER != 0;
            self.in_signal() == 0 || taken_in_handler
        })
    }

    /// A trylock of a semaphore has failed, and nothing has followed that yet.
    #[inline(always)]
    pub fn has_tried(&self) -> bool {
        self.row.tried != 0
    }

    /// Remembers a failed trylock of a semaphore, and whether the thread holds that itself. Returns
    /// the one before, if no wait for the same semaphore followed it.
    pub fn try_failed(&mut self, addr: u64, is_own: bool, site: u64) -> Option<Tried> {
        let before = self.tried();
        // Semaphores are aligned.
        self.row.tried = addr | u64::from(is_own);
        self.row.tried_site = site;
        before
    }

    /// The thread is about to wait: its last failed trylock, if nothing has followed that yet.
    pub fn tried_before_wait(&mut self) -> Option<Tried> {
        let tried = self.tried();
        self.row.tried = 0;
        tried
    }

    fn tried(&self) -> Option<Tried> {
        let (addr, site) = (self.row.tried & !1, self.row.tried_site);
        (addr != 0).then_some(Tried { addr, is_own: self.row.tried & 1 != 0, site })
    }
}

/// A trylock of a semaphore that failed.
#[derive(Clone, Copy, Debug)]
pub struct Tried {
    /// Address of the semaphore.
    pub addr: u64,
    /// The thread holds it itself.
    pub is_own: bool,
    /// Return address of the call.
    pub site: u64,
}

impl Core {
    /// The semaphore proved to be no lock: its class is marked so, and no thread holds it any more.
    pub fn hand_over(&mut self, thread: Option<&mut ThreadState>, addr: u64, ident: Ident) {
        self.writer.update::<Class>(ident.class(), |row| {
            row.handed_over = row.handed_over.saturating_add(1);
        });
        let is_held = self.give_up(thread, addr);
        if let Some(held) = is_held.filter(|held| held.inst == ident.inst()) {
            // Its holder may be recording an order with it just now.
            self.lock_row(&acquire_of(&Held { addr, ..held }), 0);
        }
        if let Some(id) = self.recorded_lock(ident.inst()) {
            self.writer.update::<Lock>(id, |row| row.flags |= lock_flag::HANDED_OVER);
        }
    }

    /// Nobody holds the semaphore at `addr` any more. Returns another thread's entry of it.
    pub fn give_up(&mut self, thread: Option<&mut ThreadState>, addr: u64) -> Option<Held> {
        let own = thread.map_or(0, |thread| {
            while thread.release(addr) {}
            thread.id()
        });
        let mut found = None;
        for thread in self.live().filter(|thread| thread.id() != own) {
            while let Some(held) = thread.give_up(addr) {
                found = Some(held);
            }
        }
        found
    }
}

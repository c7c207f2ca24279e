//! Annotated acquisitions: between their steps, the program may take other locks, so the reserved
//! entry need not be the innermost.

use lockwright_ledger::rows::Held;

use super::entry::{DEAD, change_flags};
use super::state::ThreadState;
use crate::held::{Entry, set_addr};

/// An acquisition of `inst` is under way by this entry.
fn is_reserved(held: &Held, inst: u32) -> bool {
    held.addr == 0 && held.inst == inst && held.flags & DEAD == 0
}

impl ThreadState {
    /// The reserved entry of instance `inst`, wherever it is: most often it is the innermost.
    #[inline(always)]
    fn reserved_entry(&self, inst: u32) -> Option<*mut Held> {
        // SAFETY: the top is an entry of this thread's own array, or "nothing held".
        let is_top = !self.is_idle() && is_reserved(&unsafe { Held::load(self.top()) }, inst);
        if is_top { Some(self.top()) } else { self.reserved_below(inst) }
    }

    #[cold]
    fn reserved_below(&self, inst: u32) -> Option<*mut Held> {
        let i = self.held().rposition(|held| is_reserved(&held, inst))?;
        Some(self.entry(i as u32 + 1))
    }

    /// An acquisition of `inst` is under way.
    pub fn has_reserved(&self, inst: u32) -> bool {
        self.reserved_entry(inst).is_some()
    }

    /// The lock whose acquisition is under way is held now. False if none is under way.
    pub fn acquired_reserved(&mut self, addr: u64, inst: u32) -> bool {
        let Some(at) = self.reserved_entry(inst) else { return false };
        if at == self.top() {
            self.acquired(addr);
            return true;
        }
        self.count(at);
        // SAFETY: `reserved_entry` returns an entry in this thread's own array.
        unsafe { set_addr(at, addr) };
        true
    }

    /// The lock whose acquisition is under way could not be taken.
    pub fn abandon_reserved(&mut self, inst: u32) {
        let Some(at) = self.reserved_entry(inst) else { return };
        if at == self.top() {
            self.abandon();
        } else {
            // SAFETY: `reserved_entry` returns an entry in this thread's own array.
            unsafe { change_flags(at, DEAD, 0) };
            self.set_dirty();
        }
    }
}

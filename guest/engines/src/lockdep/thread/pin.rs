//! Pins: a held lock that must not be released before its pin is taken back.

use lockwright_ledger::rows::Held;

use super::entry::{PINNED, is_last_release, mark, unmark};
use super::state::ThreadState;
use crate::held::update;

impl ThreadState {
    /// Pins the held lock `addr`: it must not be released before [`ThreadState::unpin`]. `stack`
    /// says where, and is not 0. Gives what unpinning wants; `None` if the lock is not held.
    pub fn pin(&mut self, addr: u64, stack: u32) -> Option<u32> {
        let i = self.find(addr)?;
        let mut before = 0;
        let pin = |held: &mut Held| {
            before = if held.flags & PINNED != 0 { held.pin } else { 0 };
            held.pin = stack;
            mark(held, PINNED);
        };
        // SAFETY: `find` gave a valid position.
        unsafe { update(self.entry(i), pin) };
        Some(before)
    }

    /// Takes the last pin back, `before` being what pinning gave. False if the lock is not held.
    pub fn unpin(&mut self, addr: u64, before: u32) -> bool {
        let Some(i) = self.find(addr) else { return false };
        let unpin = |held: &mut Held| {
            held.pin = before;
            if before == 0 {
                unmark(held, PINNED);
            }
        };
        // SAFETY: `find` gave a valid position.
        unsafe { update(self.entry(i), unpin) };
        true
    }

    /// Where the held lock `addr`, which is about to be released for good, was pinned.
    pub fn pinned(&self, addr: u64) -> Option<u32> {
        let held = self.held_of(addr)?;
        (held.flags & PINNED != 0 && is_last_release(&held)).then_some(held.pin)
    }
}

//! A section of a mutex that may be a monitor's: its entry, and that of the monitor.

use lockwright_ledger::rows::{Held, held_flag};

use super::entry::{PINNED, RELEASES, TAKES, change_flags, mark, unmark};
use super::state::ThreadState;
use crate::held::{set_addr, update};
use crate::lockdep::acquire::Ident;

/// What the end of a section does to the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// It takes it, if it is free. The stack at which the section began.
    Takes(u32),
    /// It releases it.
    Releases,
}

impl ThreadState {
    /// The innermost lock is of the class of the last call of [`ThreadState::signals_no_monitor`], or there is none.
    #[inline]
    pub fn is_in_no_monitor(&self) -> bool {
        // SAFETY: the top is an entry or "nothing held", whose class is 0.
        let class = unsafe { (*self.top()).class };
        u64::from(class) == self.row.no_monitor
    }

    /// A signal in a section of a mutex of the class says nothing of a monitor.
    pub fn signals_no_monitor(&mut self, class: u32) {
        self.row.no_monitor = class.into();
    }

    /// The thread is in a section of the mutex at `addr`, which began at `stack`. `takes`: it takes the monitor unless it signals.
    pub(crate) fn in_section(&mut self, addr: u64, stack: u32, takes: bool) {
        self.change_held(addr, |held| {
            // A pinned one has another stack there.
            if held.flags & PINNED == 0 {
                held.pin = stack;
                if takes {
                    mark(held, TAKES);
                }
            }
        });
    }

    /// The thread waits in its section of the mutex at `addr`. The stack at which that began, 0 if it is not known.
    pub(crate) fn leaves_section(&mut self, addr: u64) -> u32 {
        let mut stack = 0;
        self.change_held(addr, |held| {
            stack = if held.flags & PINNED == 0 { held.pin } else { 0 };
            unmark(held, TAKES | RELEASES);
        });
        stack
    }

    /// The thread's section of the mutex at `addr` releases the monitor.
    pub(crate) fn releases_monitor(&mut self, addr: u64) {
        self.change_held(addr, |held| {
            unmark(held, TAKES);
            mark(held, RELEASES);
        });
    }

    /// The mutex at `addr`, and what its section does, which is about to end.
    pub fn section(&self, addr: u64) -> Option<(Ident, Section)> {
        let held = self.held_of(addr)?;
        let section = match held.flags & (TAKES | RELEASES | PINNED) {
            TAKES => Section::Takes(held.pin),
            flags if flags & RELEASES != 0 => Section::Releases,
            _ => return None,
        };
        Some((Ident::new(held.inst, held.class), section))
    }

    /// The reserved entry is a monitor's, which the thread has taken. It is no acquisition of the program's, and tells nobody
    /// anything.
    pub(crate) fn holds_monitor(&mut self, addr: u64) {
        // The entry is one more in the stack, so that the stretch stays the same.
        self.row.shared += 1;
        self.row.told_before += 1;
        // SAFETY: the top is the reserved entry.
        unsafe {
            change_flags(self.top(), held_flag::SEMAPHORE | held_flag::MONITOR, 0);
            set_addr(self.top(), addr);
        }
    }

    fn change_held(&mut self, addr: u64, change: impl FnOnce(&mut Held)) {
        if let Some(i) = self.find(addr) {
            // SAFETY: `find` gave a valid position.
            unsafe { update(self.entry(i), change) };
        }
    }
}

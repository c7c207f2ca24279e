//! Sections of mutexes that may be monitors' ([`crate::lockdep::checks::monitors`]).

use super::Core;
use crate::capture::{Capture, recorded_as};
use crate::lockdep::acquire::{Acquire, Ident};
use crate::lockdep::checks::monitors::Watch;
use crate::lockdep::thread::{Probe, Section, ThreadState};

impl Core {
    /// The thread is about to signal a condition variable; the mutex at `addr` is its innermost lock.
    pub fn monitor_signals(&mut self, thread: &mut ThreadState, addr: u64) -> Watch {
        self.monitors.signals(&mut self.recorder, thread, addr)
    }

    /// The thread has taken the mutex at `addr`, whose sections are to be reported.
    pub fn monitor_enters(
        &mut self,
        thread: &mut ThreadState,
        addr: u64,
        capture: Capture<'_>,
    ) -> Watch {
        self.monitors.enters(&mut self.recorder, thread, addr, capture)
    }

    /// The thread is about to wait on a condition variable with the mutex at `addr`. What [`Core::monitor_woken`] and
    /// [`Core::monitor_blocks`] want.
    pub fn monitor_waits(
        &mut self,
        thread: &mut ThreadState,
        addr: u64,
        is_timed: bool,
    ) -> Option<u32> {
        self.monitors.waits(&mut self.recorder, thread, addr, is_timed)
    }

    /// The thread waits for the monitor of the mutex at `addr`, which it has given up, with other locks held: the order is
    /// recorded before it blocks.
    pub fn monitor_blocks(
        &mut self,
        thread: &mut ThreadState,
        addr: u64,
        mutex: Ident,
        stack: u32,
    ) {
        if let Some(lock) = self.monitors.taken(&self.recorder, addr, mutex, stack) {
            self.monitor_context(thread, &lock, stack);
        }
    }

    /// That wait is over: `how` is whether it had a time limit, and whether that ended it.
    pub fn monitor_woken(
        &mut self,
        thread: &mut ThreadState,
        addr: u64,
        how: (bool, bool),
        stack: u32,
        capture: Capture<'_>,
    ) {
        self.monitors.woken(&mut self.recorder, thread, addr, how, stack, capture);
    }

    /// The thread has released the mutex `mutex`, at `addr`, at the end of a section that does that.
    pub fn monitor_section_ends(
        &mut self,
        thread: &mut ThreadState,
        addr: u64,
        mutex: Ident,
        section: Section,
    ) {
        let held_as = addr | 1;
        let stack = match section {
            Section::Releases => {
                if thread.orders(held_as) {
                    self.hands_over(thread, held_as);
                }
                thread.release(held_as);
                return;
            }
            // It is taken again: a recursive one.
            Section::Takes(_) if thread.find(held_as).is_some() => return,
            Section::Takes(stack) => stack,
        };
        let Some(lock) = self.monitors.taken(&self.recorder, addr, mutex, stack) else { return };
        loop {
            let probe = self.monitor_context(thread, &lock, stack);
            if thread.reserve(lock.ident, lock.mode, lock.site, probe) {
                return thread.holds_monitor(held_as);
            }
            if !self.grow_held(thread) {
                return;
            }
        }
    }

    fn monitor_context(&mut self, thread: &mut ThreadState, lock: &Acquire, stack: u32) -> Probe {
        let probe = thread.probe(lock.ident, lock.mode, lock.site);
        if probe.is_hit() {
            return probe;
        }
        self.enter(thread, lock, probe, &mut recorded_as(stack))
    }
}

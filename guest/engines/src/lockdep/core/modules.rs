//! Modules that come and go.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::Module;

use super::Core;
use crate::lockdep::recorder::{Image, Loaded, Shift};

impl Core {
    /// The module table changed: stacks taken from now on are resolved against the new one.
    pub fn next_epoch(&mut self) -> u32 {
        self.recorder.next_epoch()
    }

    /// Asks `shift` from now on how far lasting addresses lie above addresses.
    pub fn shifted_by(&mut self, shift: Shift) {
        self.recorder.modules.set_shift(shift);
    }

    /// A module was found, in this epoch.
    pub fn module_loaded(&mut self, image: &Image<'_>, epoch: u32) -> Loaded {
        self.recorder.modules.load(&mut self.recorder.writer, image, epoch)
    }

    /// A module of the process that this one was forked from: `row` has its texts in this ledger. Its row here.
    pub fn module_inherited(&mut self, row: Module) -> u32 {
        self.recorder.modules.inherit(&mut self.recorder.writer, row)
    }

    /// The module of this row is gone from this epoch on.
    pub fn module_unloaded(&mut self, row: u32, epoch: u32) {
        self.recorder.modules.unload(&mut self.recorder.writer, row, epoch);
    }

    /// Other code may come to lie where some lay: every thread validates its chains again.
    pub fn code_is_gone(&mut self) {
        for thread in self.recorder.live() {
            // Relaxed: its thread only reads the word, and this one has the core's lock.
            thread.unloads().store(thread.unloads().load(Relaxed).wrapping_add(1), Relaxed);
            thread.set_dirty();
        }
    }
}

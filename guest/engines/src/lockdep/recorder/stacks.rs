//! Call stacks: each is in the ledger once for each epoch, that is, state of the module table. Once modules have been unloaded
//! it is once for all epochs in which its addresses mean the same: programs that load and unload without end have few stacks.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::Stack;
use lockwright_ledger::{Writer, layout};

use super::modules::Modules;
use crate::index::{Index, hash};

/// The recorded call stacks.
pub(super) struct Stacks {
    index: Index,
    epoch: u32,
}

impl Stacks {
    pub(super) const fn new() -> Self {
        Self { index: Index::new(), epoch: 1 }
    }

    /// Interns a call stack.
    pub(super) fn intern(&mut self, writer: &mut Writer, modules: &Modules, frames: &[u64]) -> u32 {
        if frames.is_empty() {
            return 0;
        }
        let key = self.key(modules, frames);
        if let Some(id) = self.index.get(writer, key) {
            return id;
        }
        let Some(first) = writer.frames(frames) else { return 0 };
        let row = Stack {
            len: frames.len() as u32,
            first,
            epoch: self.epoch,
            hash: key,
            ..Stack::default()
        };
        let Some(id) = writer.push(row) else { return 0 };
        self.index.insert(writer, key, id);
        id
    }

    fn key(&self, modules: &Modules, frames: &[u64]) -> u64 {
        let is_known = |&pc: &u64| layout::interpreted(pc).is_some() || modules.shift(pc).is_some();
        match modules.were_unloaded() && frames.iter().all(is_known) {
            true => hash(&[hash(frames), modules.lasting_hash(frames)]),
            false => hash(frames) ^ u64::from(self.epoch),
        }
    }

    /// The module table changed: stacks taken from now on are resolved against the new one.
    pub(super) fn next_epoch(&mut self, writer: &Writer) -> u32 {
        self.epoch += 1;
        writer.header().epoch.store(self.epoch, Relaxed);
        self.epoch
    }

    /// Reads the return addresses of an interned call stack, as many as `frames` holds, and says
    /// how many these are.
    pub(super) fn read(writer: &Writer, stack: u32, frames: &mut [u64]) -> usize {
        let Some(stack) = writer.get::<Stack>(stack) else { return 0 };
        let n = frames.len().min(stack.len as usize);
        for (frame, index) in frames[..n].iter_mut().zip(stack.first..) {
            *frame = writer.frame(index);
        }
        let is_address = |frame: &u64| layout::interpreted(*frame).is_none();
        frames[..n].partition_point(is_address)
    }
}

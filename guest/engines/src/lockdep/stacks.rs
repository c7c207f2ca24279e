//! Call stacks: each is in the ledger once for each epoch, that is, state of the module table.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::Stack;
use lockwright_ledger::{Writer, layout};

use super::core::Core;
use super::key::hash;
use crate::index::Index;

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
    pub(super) fn intern(&mut self, writer: &mut Writer, frames: &[u64]) -> u32 {
        if frames.is_empty() {
            return 0;
        }
        let key = hash(frames) ^ u64::from(self.epoch);
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

    fn next_epoch(&mut self, writer: &Writer) -> u32 {
        self.epoch += 1;
        writer.header().epoch.store(self.epoch, Relaxed);
        self.epoch
    }
}

impl Core {
    /// The module table changed: stacks taken from now on are resolved against the new one.
    pub fn next_epoch(&mut self) -> u32 {
        self.stacks.next_epoch(&self.writer)
    }

    /// Interns a call stack.
    pub fn stack(&mut self, frames: &[u64]) -> u32 {
        self.stacks.intern(&mut self.writer, frames)
    }

    /// Reads the return addresses of an interned call stack, as many as `frames` holds, and says
    /// how many these are.
    pub fn read_stack(&self, stack: u32, frames: &mut [u64]) -> usize {
        let Some(stack) = self.writer.get::<Stack>(stack) else { return 0 };
        let n = frames.len().min(stack.len as usize);
        for (frame, index) in frames[..n].iter_mut().zip(stack.first..) {
            *frame = self.writer.frame(index);
        }
        let is_address = |frame: &u64| layout::interpreted(*frame).is_none();
        frames[..n].partition_point(is_address)
    }
}

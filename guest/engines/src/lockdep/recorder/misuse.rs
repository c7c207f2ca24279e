//! Misuse of locks, as it is seen while it happens: one row per kind, lock class and place.

use lockwright_ledger::rows::Finding;

use super::Recorder;
use crate::capture::Capture;
use crate::lockdep::acquire::Ident;
use crate::lockdep::thread::ThreadState;

/// What happened, for [`crate::lockdep::Core::misuse`].
#[derive(Clone, Copy, Debug)]
pub struct Misuse {
    /// One of [`lockwright_ledger::rows::finding_kind`].
    pub kind: u8,
    /// How the lock was held or is waited for: [`lockwright_ledger::rows::mode`] bits.
    pub mode: u16,
    /// Address of the object.
    pub addr: u64,
    /// The lock, [`Ident::NONE`] if it is none.
    pub ident: Ident,
    /// The other thread that it takes, 0 if none.
    pub other_thread: u32,
    /// Where that was, 0 if unknown.
    pub other_stack: u32,
    /// See the kind.
    pub detail: u64,
}

impl Misuse {
    /// A misuse of a lock by the calling thread alone.
    pub const fn new(kind: u8, addr: u64, ident: Ident) -> Self {
        Self { kind, mode: 0, addr, ident, other_thread: 0, other_stack: 0, detail: 0 }
    }
}

impl Recorder {
    /// Records a misuse by `thread`, with what it holds and where it is. Returns the row that has
    /// it, 0 if there is no room.
    pub(crate) fn misuse(
        &mut self,
        thread: &mut ThreadState,
        what: &Misuse,
        now_ns: u64,
        capture: Capture<'_>,
    ) -> u32 {
        let stack = self.captured(capture);
        let node = self.held_context(thread);
        self.push_misuse(Finding {
            kind: what.kind,
            mode: what.mode,
            thread: thread.id(),
            segment: thread.segment(),
            addr: what.addr,
            class: what.ident.class(),
            inst: what.ident.inst(),
            stack,
            node,
            time_ns: now_ns,
            other_thread: what.other_thread,
            other_stack: what.other_stack,
            detail: what.detail,
            ..Finding::default()
        })
    }

    /// Records a misuse, or that it was met again. Returns its row, 0 if there is no room.
    pub(crate) fn push_misuse(&mut self, row: Finding) -> u32 {
        self.findings.push(&mut self.writer, row)
    }
}

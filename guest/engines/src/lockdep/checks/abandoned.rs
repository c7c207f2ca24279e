//! Locks that no thread can release any more: the thread that holds them ends, or the memory of the lock goes with
//! the frame that it is part of.

use lockwright_ledger::rows::{Finding, Held, finding_kind, freed, held_flag, mode};

use crate::capture::Capture;
use crate::index::{Index, hash};
use crate::lockdep::acquire::Ident;
use crate::lockdep::recorder::Recorder;
use crate::lockdep::recorder::holders::Holder;
use crate::lockdep::recorder::misuse::Misuse;
use crate::lockdep::thread::ThreadState;
use crate::lockdep::thread::entry::ROBUST;

/// What is stored of a lock that was held by threads that have ended.
#[derive(Clone, Copy)]
enum Stored {
    /// The finding that has the first of them.
    Row,
    /// How many of them nobody has released yet.
    Count,
}

impl Stored {
    fn key(self, inst: u32) -> u64 {
        hash(&[u64::from(inst), self as u64])
    }
}

/// Locks that threads held when they ended, and that nobody has released since.
pub(crate) struct Abandoned {
    /// By instance.
    index: Index,
}

impl Abandoned {
    pub(crate) const fn new() -> Self {
        Self { index: Index::new() }
    }

    /// The thread has ended with a lock of instance `inst` held, which the finding `row` says.
    fn add(&mut self, recorder: &mut Recorder, inst: u32, row: u32) {
        let [first, count] = [Stored::Row, Stored::Count].map(|of| of.key(inst));
        let left = self.index.get(&recorder.writer, count).unwrap_or(0);
        if row != 0 {
            self.index.insert(&mut recorder.writer, first, row);
            self.index.insert(&mut recorder.writer, count, left + 1);
        }
    }

    /// A hold of the lock that a thread left behind when it ended is released.
    pub(crate) fn take(
        &mut self,
        recorder: &mut Recorder,
        addr: u64,
        ident: Ident,
    ) -> Option<Holder> {
        let [row, count] = [Stored::Row, Stored::Count].map(|of| of.key(ident.inst()));
        let left = self.index.get(&recorder.writer, count).filter(|&left| left != 0)?;
        let id = self.index.get(&recorder.writer, row)?;
        let &Finding { thread, other_stack: stack, mode, .. } =
            recorder.writer.get::<Finding>(id)?;
        self.index.insert(&mut recorder.writer, count, left - 1);
        recorder.writer.update::<Finding>(id, |row| row.detail = row.detail.saturating_add(1));
        Some(Holder { thread, stack, addr, ident, mode })
    }

    /// Records every lock that the thread still holds at its end. `is_gone` says whether the lock
    /// at an address has gone with the thread's stack: a later thread cannot even wait for it.
    pub(crate) fn exits(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        now_ns: u64,
        is_gone: impl Fn(u64) -> bool,
        capture: Capture<'_>,
    ) {
        thread.close_gaps();
        for i in 1..=thread.depth() {
            let held = thread.held_at(i);
            // A semaphore may be another thread's to post.
            let excused = held.flags & (ROBUST | held_flag::SEMAPHORE) != 0;
            if !held.is_held() || excused {
                continue;
            }
            let stack = recorder.stack_of(held.node);
            let ident = Ident::new(held.inst, held.class);
            if is_gone(held.addr) {
                let what = gone_with_frame(thread, &held, stack);
                recorder.misuse(thread, &what, now_ns, &mut *capture);
                continue;
            }
            let what = Misuse {
                mode: held.mode & (mode::READ | mode::READ_RECURSIVE),
                other_stack: stack,
                ..Misuse::new(finding_kind::EXIT_HELD, held.addr, ident)
            };
            let row = recorder.misuse(thread, &what, now_ns, &mut *capture);
            self.add(recorder, held.inst, row);
        }
    }
}

/// The memory of a lock that the thread holds at `addr` was part of a frame whose function has
/// returned: records that, and it is held no more.
pub(crate) fn frame_gone(
    recorder: &mut Recorder,
    thread: &mut ThreadState,
    addr: u64,
    now_ns: u64,
    capture: Capture<'_>,
) {
    let Some(held) = thread.held_of(addr) else { return };
    let stack = recorder.stack_of(held.node);
    let what = gone_with_frame(thread, &held, stack);
    recorder.misuse(thread, &what, now_ns, capture);
    while thread.release(addr) {}
}

/// The memory of a held lock went with the frame that it was part of.
fn gone_with_frame(thread: &ThreadState, held: &Held, stack: u32) -> Misuse {
    Misuse {
        mode: held.mode & (mode::READ | mode::READ_RECURSIVE),
        other_thread: thread.id(),
        other_stack: stack,
        detail: freed::FRAME,
        ..Misuse::new(finding_kind::HELD_FREED, held.addr, Ident::new(held.inst, held.class))
    }
}

//! A thread's signals: those that are open (handled by the program, not blocked in the thread), and the
//! handler that runs. Both go into the key that a thread's chains begin with, so that each chain is
//! validated once per such context.

use core::sync::atomic::Ordering::Relaxed;

use super::debug_lockdep::{MaskCall, count_mask_call};
use super::state::ThreadState;

/// What a thread was doing when a handler began, to be restored at its end.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted {
    in_signal: u32,
    handler_sp: u64,
    open: u64,
}

impl ThreadState {
    /// Sets the signals that are open in this thread: bit `n - 1` for signal `n`.
    pub fn set_open_signals(&mut self, open: u64) {
        if self.open_signals() != open {
            self.store_open_signals(open);
            self.rekey();
        }
    }

    fn store_open_signals(&mut self, open: u64) {
        // Relaxed: as in `checks::usage::signals_changed`.
        self.shared().open_signals().store(open, Relaxed);
    }

    /// Sets the signals that this thread blocks.
    pub fn set_blocked_signals(&mut self, blocked: u64) {
        // Relaxed: as in `ThreadRow::open_with`.
        self.shared().blocked_signals().store(blocked, Relaxed);
    }

    /// The signals that this thread blocks.
    pub fn blocked_signals(&self) -> u64 {
        self.row.blocked_signals
    }

    /// The handler of `signal` begins, with its frame at `sp` and the signals `open`.
    pub fn enter_signal(&mut self, signal: u32, sp: u64, open: u64) -> Interrupted {
        let before = Interrupted {
            in_signal: self.row.in_signal,
            handler_sp: self.row.handler_sp,
            open: self.open_signals(),
        };
        self.row.in_signal = signal;
        self.row.handler_sp = sp;
        self.store_open_signals(open);
        self.rekey();
        before
    }

    /// The handler ends.
    pub fn leave_signal(&mut self, before: Interrupted) {
        self.row.in_signal = before.in_signal;
        self.row.handler_sp = before.handler_sp;
        self.store_open_signals(before.open);
        self.rekey();
    }

    /// Signal whose handler runs, 0 for none.
    #[inline(always)]
    pub fn in_signal(&self) -> u32 {
        self.row.in_signal
    }

    /// The thread may have left its handler: the next acquisition is not one for the fast path, so
    /// that the host is asked to look.
    pub fn may_have_left_signal(&mut self) {
        if self.row.in_signal != 0 {
            self.set_dirty();
        }
    }

    /// Stack pointer at the running handler's entry.
    pub fn handler_sp(&self) -> u64 {
        self.row.handler_sp
    }

    /// The handler was left by a long jump: its frame is gone although it never ended.
    pub fn left_signal(&mut self) {
        self.row.in_signal = 0;
        self.row.handler_sp = 0;
        self.rekey();
    }

    /// Counts a call that changed the thread's signal mask, by the signals that were open before
    /// and after.
    pub fn count_mask_call(&mut self, call: MaskCall, before: u64, now: u64) {
        if let Some(counts) = self.counts() {
            count_mask_call(counts, call, before, now);
        }
    }
}

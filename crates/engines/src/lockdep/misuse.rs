//! Misuse of locks, as it is seen while it happens: one row per kind, lock class and place.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::{
    Finding, Held, Lock, Node, Stack, Thread, finding_kind, held_flag, lock_flag, mode,
};

use super::core::{Core, acquire_of, held_of};
use super::key::hash;
use super::thread::ThreadState;
use super::{Capture, Ident};

/// What happened, for [`Core::misuse`].
#[derive(Clone, Copy, Debug)]
pub struct Misuse {
    /// One of [`finding_kind`].
    pub kind: u8,
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
    /// Of a lock, by the calling thread alone.
    pub const fn new(kind: u8, addr: u64, ident: Ident) -> Self {
        Self { kind, addr, ident, other_thread: 0, other_stack: 0, detail: 0 }
    }
}

/// A thread that holds a lock, and where it took it.
#[derive(Clone, Copy, Debug)]
pub struct Holder {
    /// The thread's row.
    pub thread: u32,
    /// Stack of the acquisition, 0 if unknown.
    pub stack: u32,
    /// Address of the lock.
    pub addr: u64,
    /// Which lock.
    pub ident: Ident,
}

impl Core {
    /// Records a misuse by `thread`, with what it holds and where it is.
    pub fn misuse(
        &mut self,
        thread: &mut ThreadState,
        what: &Misuse,
        now_ns: u64,
        capture: Capture<'_>,
    ) {
        let stack = self.captured(capture);
        let node = self.held_context(thread);
        self.push_misuse(Finding {
            kind: what.kind,
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
        });
    }

    /// The context of what the thread holds now, 0 if that is nothing.
    pub fn held_context(&mut self, thread: &mut ThreadState) -> u32 {
        // What has been released is not held, though its entry may still be there.
        thread.close_gaps();
        self.place_held(thread)
    }

    /// Records a misuse, or that it was met again.
    pub(super) fn push_misuse(&mut self, row: Finding) {
        // A function may handle several signals.
        let signal = if row.kind == finding_kind::UNSAFE_CALL { row.detail } else { 0 };
        let key = hash(&[
            u64::from(row.kind) << 32 | u64::from(row.class),
            u64::from(row.stack) << 32 | u64::from(row.other_stack),
            signal,
        ]);
        if let Some(id) = self.misuses.get(&self.writer, key) {
            self.writer.update::<Finding>(id, |row| row.repeats = row.repeats.saturating_add(1));
            return;
        }
        if let Some(id) = self.writer.push(row) {
            self.misuses.insert(&mut self.writer, key, id);
        }
    }

    /// The thread that holds a lock with an address in `[from, to)`, given-up ones in a condition wait
    /// not counted. Other threads run meanwhile: it is what was seen, not a guarantee.
    pub fn holder_in(&self, from: u64, to: u64) -> Option<Holder> {
        let mut next = self.first_live();
        while let Some(&thread) = self.writer.get::<Thread>(next) {
            next = thread.next_live;
            for at in held_of(&self.writer, &thread) {
                // SAFETY: within the thread's held array; may be changing, the address decides.
                let held: Held = unsafe { at.read_volatile() };
                let given_up = held.flags & held_flag::IN_COND_WAIT != 0;
                if from <= held.addr && held.addr < to && held.addr != 0 && !given_up {
                    let stack = self.writer.get::<Node>(held.node).map_or(0, |node| node.stack);
                    let ident = Ident::new(held.inst, held.class);
                    return Some(Holder { thread: thread.id, stack, addr: held.addr, ident });
                }
            }
        }
        None
    }

    /// Calls `f` with the thread, for every lock that a thread other than `own` holds, and with the return
    /// address of the call that took it.
    pub fn held_by_others(&self, own: u32, mut f: impl FnMut(u32, &Held, u64)) {
        let mut next = self.first_live();
        while let Some(&thread) = self.writer.get::<Thread>(next) {
            next = thread.next_live;
            for at in held_of(&self.writer, &thread).filter(|_| thread.id != own) {
                // SAFETY: within the thread's held array; may be changing, the address decides.
                let held: Held = unsafe { at.read_volatile() };
                if held.is_held() && held.flags & held_flag::IN_COND_WAIT == 0 {
                    f(thread.id, &held, self.call_of(&held));
                }
            }
        }
    }

    /// Return address of the call that took a held lock, 0 if it is not on record.
    fn call_of(&self, held: &Held) -> u64 {
        let stack = self.writer.get::<Node>(held.node).map_or(0, |node| node.stack);
        self.writer.get::<Stack>(stack).map_or(0, |stack| self.writer.frame(stack.first))
    }

    /// A thread other than `not` that waits on the condition variable at `addr`, and where.
    pub fn cond_waiter(&self, addr: u64, not: u32) -> Option<(u32, u32)> {
        let mut next = self.first_live();
        while let Some(thread) = self.writer.get::<Thread>(next) {
            next = thread.next_live;
            if thread.id != not
                && thread.wait_addr == addr
                && thread.wait_seq & 1 == 1
                && thread.wait_mode as u16 & mode::COND_WAIT != 0
            {
                let stack = self.writer.get::<Node>(thread.wait_node).map_or(0, |node| node.stack);
                return Some((thread.id, stack));
            }
        }
        None
    }

    /// A lock is unlocked that the calling thread does not hold: whoever does holds it no more.
    /// Says who that was.
    pub fn released_by_other(&mut self, addr: u64) -> Option<Holder> {
        let holder = self.holder_in(addr, addr + 1)?;
        let thread = *self.writer.get::<Thread>(holder.thread)?;
        for at in held_of(&self.writer, &thread) {
            // SAFETY: within the thread's held array; the word is only accessed atomically.
            let word = unsafe { core::sync::atomic::AtomicU64::from_ptr(&raw mut (*at).addr) };
            if word.compare_exchange(addr, 0, Relaxed, Relaxed).is_ok() {
                break;
            }
        }
        let held = Held {
            addr,
            inst: holder.ident.inst(),
            class: holder.ident.class(),
            ..Held::default()
        };
        let lock = self.lock_row(&acquire_of(&held), thread.segment);
        self.writer.update::<Lock>(lock, |row| row.flags |= lock_flag::UNLOCKED_BY_ANOTHER);
        Some(holder)
    }

    /// Records every lock that the thread still holds at its end.
    pub fn exits(&mut self, thread: &mut ThreadState, now_ns: u64, capture: Capture<'_>) {
        thread.close_gaps();
        for i in 1..=thread.depth() {
            // SAFETY: up to depth.
            let held = unsafe { thread.entry(i).read() };
            // A semaphore may be another thread's to post.
            let excused = held.flags & (super::thread::ROBUST | held_flag::SEMAPHORE) != 0;
            if !held.is_held() || excused {
                continue;
            }
            let stack = self.writer.get::<Node>(held.node).map_or(0, |node| node.stack);
            let what = Misuse {
                other_stack: stack,
                ..Misuse::new(finding_kind::EXIT_HELD, held.addr, Ident::new(held.inst, held.class))
            };
            self.misuse(thread, &what, now_ns, &mut *capture);
        }
    }
}

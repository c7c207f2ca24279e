//! Misuse of locks, as it is seen while it happens: one row per kind, lock class and place.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::{
    Class, Finding, Held, Lock, Node, Stack, finding_kind, freed, held_flag, lock_flag, mode,
};

use super::acquire::{Acquire, Ident};
use super::core::Core;
use super::key::hash;
use super::thread::ThreadState;
use super::thread::{ThreadRow, Wait};
use crate::capture::Capture;
use crate::index::Index;

/// What happened, for [`Core::misuse`].
#[derive(Clone, Copy, Debug)]
pub struct Misuse {
    /// One of [`finding_kind`].
    pub kind: u8,
    /// How the lock was held or is waited for: [`mode`] bits.
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
    /// How it holds it: [`mode`] bits.
    pub mode: u16,
}

/// [`Core::abandoned`]: what is stored of a lock that was held by threads that have ended.
#[derive(Clone, Copy)]
enum Abandoned {
    /// The finding that has the first of them.
    Row,
    /// How many of them nobody has released yet.
    Count,
}

impl Abandoned {
    fn key(self, inst: u32) -> u64 {
        hash(&[u64::from(inst), self as u64])
    }
}

/// The recorded misuses, and locks that no thread can release any more.
pub(super) struct Misuses {
    recorded: Index,
    /// By instance: locks that threads held when they ended, and that nobody has released since.
    abandoned: Index,
}

impl Misuses {
    pub(super) const fn new() -> Self {
        Self { recorded: Index::new(), abandoned: Index::new() }
    }
}

impl Core {
    /// Records a misuse by `thread`, with what it holds and where it is. Returns the row that has
    /// it, 0 if there is no room.
    pub fn misuse(
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

    /// The context of what the thread holds now, 0 if that is nothing.
    pub fn held_context(&mut self, thread: &mut ThreadState) -> u32 {
        // What has been released is not held, though its entry may still be there.
        thread.close_gaps();
        self.place_held(thread)
    }

    /// Records a misuse, or that it was met again. Returns its row, 0 if there is no room.
    pub(super) fn push_misuse(&mut self, row: Finding) -> u32 {
        // A function may handle several signals, and a tail call has the return address of another
        // call.
        let what = match row.kind {
            finding_kind::UNSAFE_CALL | finding_kind::SLEEPS => row.detail,
            _ => 0,
        };
        let key = hash(&[
            u64::from(row.kind) << 32 | u64::from(row.class),
            u64::from(row.stack) << 32 | u64::from(row.other_stack),
            what,
            // A read hold that is released is no write hold that is.
            u64::from(row.mode),
        ]);
        if let Some(id) = self.misuses.recorded.get(&self.writer, key) {
            self.writer.update::<Finding>(id, |row| row.repeats = row.repeats.saturating_add(1));
            return id;
        }
        let Some(id) = self.writer.push(row) else { return 0 };
        self.misuses.recorded.insert(&mut self.writer, key, id);
        id
    }

    /// The thread that holds a lock with an address in `[from, to)`, given-up ones in a condition
    /// wait not counted, nor routines that run once: what becomes of their controls is debugobjects'
    /// to tell. Other threads run meanwhile: it is what was seen, not a guarantee.
    pub fn holder_in(&self, from: u64, to: u64) -> Option<Holder> {
        for thread in self.live() {
            for (_, held) in thread.held() {
                let is_lock =
                    held.flags & held_flag::IN_COND_WAIT == 0 && held.mode & mode::ONCE == 0;
                if from <= held.addr && held.addr < to && held.addr != 0 && is_lock {
                    let stack = self.stack_of(held.node);
                    let ident = Ident::new(held.inst, held.class);
                    let (thread, addr) = (thread.id(), held.addr);
                    return Some(Holder { thread, stack, addr, ident, mode: held.mode });
                }
            }
        }
        None
    }

    /// Calls `f` with the thread, for every lock that a thread other than `own` holds, and with the
    /// return address of the call that took it.
    pub fn held_by_others(&self, own: u32, mut f: impl FnMut(u32, &Held, u64)) {
        for thread in self.live().filter(|thread| thread.id() != own) {
            for (_, held) in thread.held() {
                if held.is_held() && held.flags & held_flag::IN_COND_WAIT == 0 {
                    f(thread.id(), &held, self.call_of(&held));
                }
            }
        }
    }

    /// Return address of the call that took a held lock, 0 if it was not recorded.
    fn call_of(&self, held: &Held) -> u64 {
        let stack = self.stack_of(held.node);
        self.writer.get::<Stack>(stack).map_or(0, |stack| self.writer.frame(stack.first))
    }

    /// Stack of a context, 0 if there is none.
    fn stack_of(&self, node: u32) -> u32 {
        self.writer.get::<Node>(node).map_or(0, |node| node.stack)
    }

    /// A thread other than `not` that waits on the condition variable at `addr`, and where.
    pub fn cond_waiter(&self, addr: u64, not: u32) -> Option<(u32, u32)> {
        let (thread, wait) = self.cond_waiters(addr).find(|(it, _)| it.id() != not)?;
        Some((thread.id(), self.stack_of(wait.node)))
    }

    /// A thread that waits on the condition variable at `addr` without a time limit, and elsewhere
    /// than in the context `node`, and where.
    pub fn cond_waiter_elsewhere(&self, addr: u64, node: u32) -> Option<(u32, u32)> {
        let here = self.stack_of(node);
        self.cond_waiters(addr)
            .filter(|(_, wait)| wait.mode & mode::TIMED == 0)
            .map(|(it, wait)| (it.id(), self.stack_of(wait.node)))
            .find(|&(_, stack)| stack != 0 && stack != here)
    }

    fn cond_waiters(&self, addr: u64) -> impl Iterator<Item = (ThreadRow, Wait)> {
        let waits = self.live().map(|thread| (thread, thread.wait()));
        waits.filter(move |(_, wait)| {
            wait.addr == addr && wait.is_under_way() && wait.mode & mode::COND_WAIT != 0
        })
    }

    /// A lock is unlocked that the calling thread does not hold: its holder no longer holds it.
    /// Says who that was: first of all a thread that has ended and left it locked.
    pub fn released_by_other(&mut self, addr: u64, ident: Ident) -> Option<Holder> {
        if let Some(holder) = self.take_abandoned(addr, ident) {
            return Some(holder);
        }
        let holder = self.holder_in(addr, addr + 1)?;
        let thread = self.thread(holder.thread)?;
        if thread.give_up(addr).is_some() {
            self.left_released(holder.thread, holder.ident.inst());
        }
        let held = Held {
            addr,
            inst: holder.ident.inst(),
            class: holder.ident.class(),
            ..Held::default()
        };
        let lock = self.lock_row(&Acquire::of(&held), thread.segment().load(Relaxed));
        self.writer.update::<Lock>(lock, |row| row.flags |= lock_flag::UNLOCKED_BY_ANOTHER);
        Some(holder)
    }

    /// A hold of the lock that a thread left behind when it ended is released.
    fn take_abandoned(&mut self, addr: u64, ident: Ident) -> Option<Holder> {
        let [row, count] = [Abandoned::Row, Abandoned::Count].map(|of| of.key(ident.inst()));
        let left = self.misuses.abandoned.get(&self.writer, count).filter(|&left| left != 0)?;
        let id = self.misuses.abandoned.get(&self.writer, row)?;
        let &Finding { thread, other_stack: stack, mode, .. } = self.writer.get::<Finding>(id)?;
        self.misuses.abandoned.insert(&mut self.writer, count, left - 1);
        self.writer.update::<Finding>(id, |row| row.detail = row.detail.saturating_add(1));
        Some(Holder { thread, stack, addr, ident, mode })
    }

    /// Records every lock that the thread still holds at its end. `is_gone` says whether the lock
    /// at an address has gone with the thread's stack: a later thread cannot even wait for it.
    pub fn exits(
        &mut self,
        thread: &mut ThreadState,
        now_ns: u64,
        is_gone: impl Fn(u64) -> bool,
        capture: Capture<'_>,
    ) {
        thread.close_gaps();
        for i in 1..=thread.depth() {
            let held = thread.held_at(i);
            // A semaphore may be another thread's to post.
            let excused = held.flags & (super::thread::entry::ROBUST | held_flag::SEMAPHORE) != 0;
            if !held.is_held() || excused {
                continue;
            }
            let stack = self.stack_of(held.node);
            let ident = Ident::new(held.inst, held.class);
            if is_gone(held.addr) {
                self.misuse(thread, &frame_gone(thread, &held, stack), now_ns, &mut *capture);
                continue;
            }
            let what = Misuse {
                mode: held.mode & (mode::READ | mode::READ_RECURSIVE),
                other_stack: stack,
                ..Misuse::new(finding_kind::EXIT_HELD, held.addr, ident)
            };
            let id = self.misuse(thread, &what, now_ns, &mut *capture);
            let [row, count] = [Abandoned::Row, Abandoned::Count].map(|of| of.key(held.inst));
            let left = self.misuses.abandoned.get(&self.writer, count).unwrap_or(0);
            if id != 0 {
                self.misuses.abandoned.insert(&mut self.writer, row, id);
                self.misuses.abandoned.insert(&mut self.writer, count, left + 1);
            }
        }
    }

    /// The memory of a lock that the thread holds at `addr` was part of a frame whose function has
    /// returned: records that, and it is held no more.
    pub fn frame_gone(
        &mut self,
        thread: &mut ThreadState,
        addr: u64,
        now_ns: u64,
        capture: Capture<'_>,
    ) {
        let Some(held) = thread.held_of(addr) else { return };
        let stack = self.stack_of(held.node);
        let what = frame_gone(thread, &held, stack);
        self.misuse(thread, &what, now_ns, capture);
        while thread.release(addr) {}
    }

    /// Whether the calling thread, which is at `frames`, is in the very call of the function that
    /// began the life of class `class`'s locks: at another place of it. Another call of the same
    /// function comes to the same place, or by another way.
    pub fn is_same_call(&self, class: u32, frames: &[u64]) -> bool {
        let stack = self.writer.get::<Class>(class).map_or(0, |class| class.stack);
        let Some(stack) = self.writer.get::<Stack>(stack) else { return false };
        stack.len as usize == frames.len()
            && frames
                .iter()
                .enumerate()
                .all(|(i, &frame)| (self.writer.frame(stack.first + i as u32) == frame) == (i != 0))
    }
}

/// The memory of a held lock went with the frame that it was part of.
fn frame_gone(thread: &ThreadState, held: &Held, stack: u32) -> Misuse {
    Misuse {
        mode: held.mode & (mode::READ | mode::READ_RECURSIVE),
        other_thread: thread.id(),
        other_stack: stack,
        detail: freed::FRAME,
        ..Misuse::new(finding_kind::HELD_FREED, held.addr, Ident::new(held.inst, held.class))
    }
}

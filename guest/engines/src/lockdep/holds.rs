//! Orders that come from locks held across an event that orders threads.
//!
//! A thread that holds A creates another: whatever the other does after it has acquired A itself,
//! it does after the creator has released A, in every run. The same goes for barriers and
//! semaphores, and for a thread that learns of it through a third thread. So at every such event
//! each lock held gets a [`Hold`], and what comes after the event awaits it. No fast path knows
//! this: the release of a lock that has a hold takes the slow path, and the first acquisition in a
//! new segment is one anyway. Either begins a new segment, and the reader draws the order between
//! them.

use lockwright_ledger::layout::bounded;
use lockwright_ledger::rows::{
    self, Awaited, Class, Held, Hold, Segment, held_flag, lock_kind, mode, segment_kind,
};

use super::acquire::Acquire;
use super::bounds::{MOST_HOLDS, MOST_IN_LISTS, MOST_PASSES, reached};
use super::core::Core;
use super::key::hash;
use super::thread::ThreadState;
use super::thread::entry::{LENT, PASSING, is_last_release, mark, unmark};
use crate::held::update;
use crate::index::Index;

/// What of a mode says how a lock is shared.
const READER: u16 = mode::READ | mode::READ_RECURSIVE | mode::UPGRADABLE;

/// Holds that one thread awaits at most; of more, the order goes unrecorded.
const MOST_AWAITED: usize = 16;

/// Locks that get a hold at one event, the innermost.
const MOST_LENT: u32 = 16;

/// Lengths of chains of holds, each begun before the last one ended, that still order: a thread
/// that goes along a list hand over hand is not to begin a segment at each step for ever.
const MOST_LINKS: u32 = 8;

/// Acquisitions that go unremembered because a hold of another lock of their class is awaited: with
/// nothing held, what is remembered is the class, and would hide the lock that is awaited.
const MOST_LOOKS: u32 = 64;

/// The recorded holds.
pub(super) struct Holds {
    /// The open ones by thread and lock, those that a thread has passed, and the elements of lists.
    index: Index,
    /// Those that threads have passed.
    passes: u32,
}

impl Holds {
    pub(super) const fn new() -> Self {
        Self { index: Index::new(), passes: 0 }
    }
}

impl Core {
    /// The thread's segment ends in what others come after: the locks that it holds, and the holds
    /// that it awaits itself, are awaited by them.
    pub(super) fn hand_on(&mut self, thread: &mut ThreadState) {
        self.hand_on_but(thread, 0, 0);
    }

    /// As [`Core::hand_on`], without the lock at `but`; new holds have `links`.
    fn hand_on_but(&mut self, thread: &mut ThreadState, but: u64, links: u32) {
        self.pass_held(thread);
        let mut list = thread.row.awaited;
        let depth = thread.depth();
        for i in depth.saturating_sub(MOST_LENT) + 1..=depth {
            let held = thread.held_at(i);
            let is_held = held.is_held() && held.flags & held_flag::IN_COND_WAIT == 0;
            if !is_held || held.addr == but {
                continue;
            }
            let hold = self.hold_of(thread, &held, links);
            if hold == 0 {
                continue;
            }
            // SAFETY: `i` runs from 1 to the depth, so the entry lies in the array of `thread`.
            unsafe { update(thread.entry(i), |held| mark(held, LENT)) };
            list = self.awaited_too(hold, list);
        }
        if list != 0 {
            self.writer.update::<Segment>(thread.segment(), |row| row.awaited = list);
        }
    }

    /// The hold of a held lock, a new one if it has none. 0 if it is nothing that excludes others.
    fn hold_of(&mut self, thread: &ThreadState, held: &Held, links: u32) -> u32 {
        let key = hold_key(thread, held.inst);
        if thread.lends(held.inst)
            && let Some(hold) = self.holds.index.get(&self.writer, key)
        {
            return hold;
        }
        let kind = self.writer.get::<Class>(held.class).map_or(0, |class| class.kind);
        if matches!(kind, lock_kind::RESOURCE | lock_kind::COMPLETION) || links > MOST_LINKS {
            return 0;
        }
        if self.writer.len_of::<Hold>() > MOST_HOLDS {
            reached(&mut self.writer, bounded::HOLDS);
            return 0;
        }
        let row = Hold {
            inst: held.inst,
            class: held.class,
            shared: u32::from(held.mode & READER),
            thread: thread.id(),
            first: thread.segment(),
            links,
            ..Hold::default()
        };
        let Some(hold) = self.writer.push(row) else { return 0 };
        self.holds.index.insert(&mut self.writer, key, hold);
        hold
    }

    /// The list `next` with one hold more in front. Equal lists are one.
    fn awaited_too(&mut self, hold: u32, next: u32) -> u32 {
        let key = hash(&[u64::from(hold) << 32 | u64::from(next), 2]);
        if let Some(list) = self.holds.index.get(&self.writer, key) {
            return list;
        }
        if self.writer.len_of::<Awaited>() > MOST_IN_LISTS {
            reached(&mut self.writer, bounded::HOLDS);
            return next;
        }
        let Some(list) = self.writer.push(Awaited { hold, next, ..Awaited::default() }) else {
            return next;
        };
        self.holds.index.insert(&mut self.writer, key, list);
        list
    }

    /// The holds of a list.
    fn awaited(&self, mut list: u32) -> impl Iterator<Item = (u32, Hold)> {
        core::iter::from_fn(move || {
            let row = self.writer.get::<Awaited>(list)?;
            list = row.next;
            Some((row.hold, self.writer.get::<Hold>(row.hold).copied().unwrap_or_default()))
        })
        .take(MOST_AWAITED)
    }

    /// The thread's segment comes after segment `peer`: what was handed on there is awaited. If the
    /// thread holds such a lock already, that hold has ended before it acquired it.
    pub(super) fn comes_after(&mut self, thread: &mut ThreadState, peer: u32) {
        let list = self.writer.get::<Segment>(peer).map_or(0, |segment| segment.awaited);
        let mut new = [0; MOST_AWAITED];
        let mut count = 0;
        for (id, hold) in self.awaited(list) {
            if hold.thread != thread.id()
                && self.holds.index.get(&self.writer, self.passed_key(thread, id)).is_none()
                && self.awaited(thread.row.awaited).all(|(other, _)| other != id)
            {
                new[count] = id;
                count += 1;
            }
        }
        // From the last to the first, so that the nearest come first.
        for &id in new[..count].iter().rev() {
            thread.row.awaited = self.awaited_too(id, thread.row.awaited);
        }
        if count == 0 {
            return;
        }
        thread.row.awaited_looks = MOST_LOOKS;
        for i in 1..=thread.depth() {
            let held = thread.held_at(i);
            if held.is_held() && self.is_awaited(thread, held.inst, held.mode) {
                self.pass(thread, held.inst, held.mode);
            }
        }
    }

    fn is_awaited(&self, thread: &ThreadState, inst: u32, mode: u16) -> bool {
        thread.row.awaited != 0
            && self.awaited(thread.row.awaited).any(|(_, hold)| excludes(&hold, inst, mode))
    }

    /// Whether the lock about to be acquired is one of a hold that the thread awaits.
    pub(super) fn awaits(&self, thread: &ThreadState, lock: &Acquire) -> bool {
        self.is_awaited(thread, lock.ident.inst(), lock.mode)
    }

    /// Whether a hold of the lock's class is awaited, so that the lock's acquisition must not stand
    /// for all of its class. Only so many times.
    pub(super) fn awaits_class(&self, thread: &mut ThreadState, lock: &Acquire) -> bool {
        if thread.row.awaited == 0 || thread.row.awaited_looks == 0 {
            return false;
        }
        let awaits =
            self.awaited(thread.row.awaited).any(|(_, hold)| hold.class == lock.ident.class());
        if awaits {
            thread.row.awaited_looks -= 1;
        }
        awaits
    }

    /// Before the thread acquires something more: what it holds has ended the holds that it
    /// awaited. Returns whether it is in another segment now.
    pub(super) fn pass_held(&mut self, thread: &mut ThreadState) -> bool {
        if thread.row.awaited == 0 {
            return false;
        }
        let mut passed = false;
        for i in 1..=thread.depth() {
            let held = thread.held_at(i);
            if held.is_held() && held.flags & PASSING != 0 {
                // SAFETY: `i` runs from 1 to the depth, so the entry lies in the array of `thread`.
                unsafe { update(thread.entry(i), |held| unmark(held, PASSING)) };
                self.pass(thread, held.inst, held.mode);
                passed = true;
            }
        }
        passed
    }

    /// The awaited holds of a lock have ended.
    fn pass(&mut self, thread: &mut ThreadState, inst: u32, mode: u16) {
        let mut list = 0;
        let mut peers = [0; MOST_AWAITED];
        let mut old = thread.row.awaited;
        for peer in &mut peers {
            let Some(&Awaited { hold: id, next, .. }) = self.writer.get::<Awaited>(old) else {
                break;
            };
            old = next;
            let hold = self.writer.get::<Hold>(id).copied().unwrap_or_default();
            if excludes(&hold, inst, mode) {
                if self.holds.passes >= MOST_PASSES {
                    reached(&mut self.writer, bounded::HOLDS);
                    continue;
                }
                self.holds.passes += 1;
                let key = self.passed_key(thread, id);
                self.holds.index.insert(&mut self.writer, key, id);
                self.next_segment_of(thread, segment_kind::PASSED, 0, 0, id);
                *peer = hold.last;
            } else {
                list = self.awaited_too(id, list);
            }
        }
        thread.row.awaited = list;
        for peer in peers.into_iter().filter(|&peer| peer != 0) {
            self.comes_after(thread, peer);
        }
    }

    /// Key of a hold that the thread has passed since it last came after another: not twice, as of
    /// two holds each may have been handed on at the end of the other.
    fn passed_key(&self, thread: &ThreadState, hold: u32) -> u64 {
        let mut at = thread.segment();
        while let Some(row) = self.writer.get::<Segment>(at)
            && row.kind == segment_kind::PASSED
        {
            at = row.prev;
        }
        hash(&[u64::from(at) << 32 | u64::from(hold), 1])
    }

    /// The thread is about to release, for good or for a condition wait, a lock of which
    /// [`ThreadState::orders`] says that others may come after that.
    pub fn hands_over(&mut self, thread: &mut ThreadState, addr: u64) {
        self.pass_held(thread);
        let Some(i) = thread.find(addr) else { return };
        let Held { flags, inst, .. } = thread.held_at(i);
        if flags & LENT == 0 {
            return;
        }
        // SAFETY: `find` gave a valid position.
        unsafe { update(thread.entry(i), |held| unmark(held, LENT)) };
        // A reader's other entries of the lock: it is held as long as there is one.
        if thread.lends(inst) {
            return;
        }
        if let Some(hold) = self.holds.index.get(&self.writer, hold_key(thread, inst)) {
            let last = thread.segment();
            let links = self.writer.get::<Hold>(hold).map_or(0, |row| row.links);
            self.writer.update::<Hold>(hold, |row| row.last = last);
            self.holds.index.remove(&self.writer, hold_key(thread, inst));
            self.hand_on_but(thread, addr, links + 1);
            self.next_segment(thread, segment_kind::RELEASED, 0, 0);
        }
    }
}

impl ThreadState {
    /// Whether giving up the held lock `addr` now is for [`Core::hands_over`] to know.
    pub fn orders(&self, addr: u64) -> bool {
        let is_it = |held: Held| held.flags & (LENT | PASSING) != 0 && is_last_release(&held);
        self.held_of(addr).is_some_and(is_it)
    }

    /// A recorded hold of the lock has not ended.
    fn lends(&self, inst: u32) -> bool {
        self.held().any(|held| held.is_held() && held.inst == inst && held.flags & LENT != 0)
    }
}

/// Whether nobody acquires the lock so during the hold.
fn excludes(hold: &Hold, inst: u32, mode: u16) -> bool {
    hold.inst == inst && inst != 0 && rows::excludes(mode, hold.shared as u16)
}

/// Key of a thread's open hold of a lock.
fn hold_key(thread: &ThreadState, inst: u32) -> u64 {
    hash(&[u64::from(thread.id()) << 32 | u64::from(inst)])
}

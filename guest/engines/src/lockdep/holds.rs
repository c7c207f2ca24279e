//! Orders that come from locks held across an event that orders threads.
//!
//! A thread that holds A creates another: whatever the other does after it has acquired A itself,
//! it does after the creator has released A, in every run. The same goes for barriers and
//! semaphores, and for a thread that learns of it through a third thread. So at every such event
//! each lock held gets a [`Hold`], and what comes after the event awaits it. No fast path knows
//! this: the release of a lock that has a hold takes the slow path, and the first acquisition in a
//! new segment is one anyway. Either begins a new segment, and the reader draws the order between
//! them.

use lockwright_ledger::Writer;
use lockwright_ledger::layout::bounded;
use lockwright_ledger::rows::{
    self, Awaited, Class, Held, Hold, Segment, held_flag, lock_kind, mode, segment_kind,
};

use super::acquire::Acquire;
use super::bounds::{MOST_HOLDS, MOST_IN_LISTS, MOST_PASSES, reached};
use super::key::hash;
use super::recorder::Recorder;
use super::thread::ThreadState;
use super::thread::entry::{LENT, PASSING, is_last_release, mark, unmark};
use crate::held::update;
use crate::index::Index;

/// What of a mode says how a lock is shared.
const READER: u16 = mode::READ | mode::READ_RECURSIVE | mode::UPGRADABLE;

/// Holds that one thread awaits at most; of more, the order goes unrecorded.
pub(super) const MOST_AWAITED: usize = 16;

/// Locks that get a hold at one event, the innermost.
const MOST_LENT: u32 = 16;

/// Lengths of chains of holds, each begun before the last one ended, that still order: a thread
/// that goes along a list hand over hand is not to begin a segment at each step for ever.
const MOST_LINKS: u32 = 8;

/// Acquisitions that go unremembered because a hold of another lock of their class is awaited: with
/// nothing held, what is remembered is the class, and would hide the lock that is awaited.
const MOST_LOOKS: u32 = 64;

/// Holds that a thread passes one after the other, with nothing else between them. The order of
/// more is not recorded.
const MOST_IN_RUN: usize = 64;

/// The recorded holds.
pub(super) struct Holds {
    /// The open ones by thread and lock, and the elements of lists.
    pub(super) index: Index,
    /// Segments that begin with a hold that the thread has passed.
    pub(super) passes: u32,
}

impl Holds {
    pub(super) const fn new() -> Self {
        Self { index: Index::new(), passes: 0 }
    }
}

impl Holds {
    /// The thread's segment ends in what others come after: the locks that it holds, and the holds
    /// that it awaits itself, are awaited by them.
    pub(super) fn hand_on(&mut self, recorder: &mut Recorder, thread: &mut ThreadState) {
        self.hand_on_but(recorder, thread, 0, 0);
    }

    /// As [`Holds::hand_on`], without the lock at `but`; new holds have `links`.
    fn hand_on_but(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        but: u64,
        links: u32,
    ) {
        self.pass_held(recorder, thread);
        let mut list = thread.row.awaited;
        let depth = thread.depth();
        for i in depth.saturating_sub(MOST_LENT) + 1..=depth {
            let held = thread.held_at(i);
            let is_held = held.is_held() && held.flags & held_flag::IN_COND_WAIT == 0;
            if !is_held || held.addr == but {
                continue;
            }
            let hold = self.hold_of(recorder, thread, &held, links);
            if hold == 0 {
                continue;
            }
            // SAFETY: `i` runs from 1 to the depth, so the entry lies in the array of `thread`.
            unsafe { update(thread.entry(i), |held| mark(held, LENT)) };
            list = self.awaited_too(recorder, hold, list);
        }
        if list != 0 {
            recorder.writer.update::<Segment>(thread.segment(), |row| row.awaited = list);
        }
    }

    /// The hold of a held lock, a new one if it has none. 0 if it is nothing that excludes others.
    fn hold_of(
        &mut self,
        recorder: &mut Recorder,
        thread: &ThreadState,
        held: &Held,
        links: u32,
    ) -> u32 {
        let key = hold_key(thread.id(), held.inst);
        if thread.lends(held.inst)
            && let Some(hold) = self.index.get(&recorder.writer, key)
        {
            return hold;
        }
        let kind = recorder.writer.get::<Class>(held.class).map_or(0, |class| class.kind);
        if matches!(kind, lock_kind::RESOURCE | lock_kind::COMPLETION) || links > MOST_LINKS {
            return 0;
        }
        if recorder.writer.count_of::<Hold>() >= MOST_HOLDS {
            reached(&mut recorder.writer, bounded::HOLDS);
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
        let Some(hold) = recorder.writer.push(row) else { return 0 };
        // It may have no row of its own. A thread that awaits this hold has learnt of it here, after that.
        recorder.note_recorded(held.inst);
        self.index.insert(&mut recorder.writer, key, hold);
        hold
    }

    /// The list `next` with one hold more in front. Equal lists are one.
    fn awaited_too(&mut self, recorder: &mut Recorder, hold: u32, next: u32) -> u32 {
        let key = list_key(hold, next);
        if let Some(list) = self.index.get(&recorder.writer, key) {
            return list;
        }
        if recorder.writer.count_of::<Awaited>() >= MOST_IN_LISTS {
            reached(&mut recorder.writer, bounded::HOLDS);
            return next;
        }
        let Some(list) = recorder.writer.push(Awaited { hold, next, ..Awaited::default() }) else {
            return next;
        };
        self.index.insert(&mut recorder.writer, key, list);
        list
    }

    /// The holds of a list.
    fn awaited(&self, recorder: &Recorder, mut list: u32) -> impl Iterator<Item = (u32, Hold)> {
        core::iter::from_fn(move || {
            let row = recorder.writer.get::<Awaited>(list)?;
            list = row.next;
            Some((row.hold, recorder.writer.get::<Hold>(row.hold).copied().unwrap_or_default()))
        })
        .take(MOST_AWAITED)
    }

    /// The thread's segment comes after segment `peer`: what was handed on there is awaited. If the
    /// thread holds such a lock already, that hold has ended before it acquired it.
    pub(super) fn comes_after(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        peer: u32,
    ) {
        let list = recorder.writer.get::<Segment>(peer).map_or(0, |segment| segment.awaited);
        let mut new = [0; MOST_AWAITED];
        let mut count = 0;
        for (id, hold) in self.awaited(recorder, list) {
            let is_own = hold.thread == thread.id();
            if !is_own && self.awaited(recorder, thread.row.awaited).all(|(other, _)| other != id) {
                new[count] = id;
                count += 1;
            }
        }
        let found = core::mem::take(&mut count);
        for i in 0..found {
            if !self.has_passed(recorder, thread, new[i]) {
                new[count] = new[i];
                count += 1;
            }
        }
        // From the last to the first, so that the nearest come first.
        for &id in new[..count].iter().rev() {
            thread.row.awaited = self.awaited_too(recorder, id, thread.row.awaited);
        }
        if count == 0 {
            return;
        }
        thread.row.awaited_looks = MOST_LOOKS;
        for i in 1..=thread.depth() {
            let held = thread.held_at(i);
            if held.is_held() && self.is_awaited(recorder, thread, held.inst, held.mode) {
                self.pass(recorder, thread, held.inst, held.mode);
            }
        }
    }

    fn is_awaited(&self, recorder: &Recorder, thread: &ThreadState, inst: u32, mode: u16) -> bool {
        thread.row.awaited != 0
            && self
                .awaited(recorder, thread.row.awaited)
                .any(|(_, hold)| excludes(&hold, inst, mode))
    }

    /// Whether the lock about to be acquired is one of a hold that the thread awaits.
    pub(super) fn awaits(&self, recorder: &Recorder, thread: &ThreadState, lock: &Acquire) -> bool {
        self.is_awaited(recorder, thread, lock.ident.inst(), lock.mode)
    }

    /// Whether a hold of the lock's class is awaited, so that the lock's acquisition must not stand
    /// for all of its class. Only so many times.
    pub(super) fn awaits_class(
        &self,
        recorder: &Recorder,
        thread: &mut ThreadState,
        lock: &Acquire,
    ) -> bool {
        if thread.row.awaited == 0 || thread.row.awaited_looks == 0 {
            return false;
        }
        let awaits = self
            .awaited(recorder, thread.row.awaited)
            .any(|(_, hold)| hold.class == lock.ident.class());
        if awaits {
            thread.row.awaited_looks -= 1;
        }
        awaits
    }

    /// Before the thread acquires something more: what it holds has ended the holds that it
    /// awaited. Returns whether it is in another segment now.
    pub(super) fn pass_held(&mut self, recorder: &mut Recorder, thread: &mut ThreadState) -> bool {
        if thread.row.awaited == 0 {
            return false;
        }
        let mut passed = false;
        for i in 1..=thread.depth() {
            let held = thread.held_at(i);
            if held.is_held() && held.flags & PASSING != 0 {
                // SAFETY: `i` runs from 1 to the depth, so the entry lies in the array of `thread`.
                unsafe { update(thread.entry(i), |held| unmark(held, PASSING)) };
                self.pass(recorder, thread, held.inst, held.mode);
                passed = true;
            }
        }
        passed
    }

    /// The awaited holds of a lock have ended.
    fn pass(&mut self, recorder: &mut Recorder, thread: &mut ThreadState, inst: u32, mode: u16) {
        let mut list = 0;
        let mut peers = [0; MOST_AWAITED];
        let mut old = thread.row.awaited;
        for peer in &mut peers {
            let Some(&Awaited { hold: id, next, .. }) = recorder.writer.get::<Awaited>(old) else {
                break;
            };
            old = next;
            let hold = recorder.writer.get::<Hold>(id).copied().unwrap_or_default();
            if excludes(&hold, inst, mode) {
                if self.passes >= MOST_PASSES {
                    reached(&mut recorder.writer, bounded::HOLDS);
                    continue;
                }
                self.passes += 1;
                self.next_segment_of(recorder, thread, segment_kind::PASSED, 0, 0, id);
                *peer = hold.last;
            } else {
                list = self.awaited_too(recorder, id, list);
            }
        }
        thread.row.awaited = list;
        for peer in peers.into_iter().filter(|&peer| peer != 0) {
            self.comes_after(recorder, thread, peer);
        }
    }

    /// Whether the thread has passed a hold since it last did something else that orders threads:
    /// it does not pass one twice, because each of two holds may have been handed on at the end of
    /// the other.
    fn has_passed(&mut self, recorder: &mut Recorder, thread: &ThreadState, hold: u32) -> bool {
        let mut at = thread.segment();
        for _ in 0..MOST_IN_RUN {
            match recorder.writer.get::<Segment>(at) {
                Some(row) if row.kind == segment_kind::HANDED => at = row.prev,
                Some(row) if row.kind != segment_kind::PASSED => return false,
                Some(row) if row.sync == hold => return true,
                Some(row) => at = row.prev,
                None => return false,
            }
        }
        reached(&mut recorder.writer, bounded::HOLDS);
        true
    }

    /// The thread is about to release, for good or for a condition wait, a lock of which
    /// [`ThreadState::orders`] says that others may come after that.
    pub(super) fn hands_over(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        addr: u64,
    ) {
        self.pass_held(recorder, thread);
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
        if let Some(hold) = self.index.get(&recorder.writer, hold_key(thread.id(), inst)) {
            let last = thread.segment();
            let links = recorder.writer.get::<Hold>(hold).map_or(0, |row| row.links);
            recorder.writer.update::<Hold>(hold, |row| row.last = last);
            self.index.remove(&recorder.writer, hold_key(thread.id(), inst));
            self.hand_on_but(recorder, thread, addr, links + 1);
            self.join_run(recorder, thread, hold);
            self.next_segment(recorder, thread, segment_kind::RELEASED, 0, 0);
        }
    }

    /// The thread is in a new segment, once it has passed what it holds.
    pub(super) fn next_segment(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        kind: u32,
        peer: u32,
        stack: u32,
    ) {
        self.next_segment_of(recorder, thread, kind, peer, stack, 0);
    }

    /// As [`Holds::next_segment`], by what is done with `sync`.
    pub(super) fn next_segment_of(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        kind: u32,
        peer: u32,
        stack: u32,
        sync: u32,
    ) {
        self.pass_held(recorder, thread);
        recorder.begin_segment(thread, kind, peer, stack, sync);
    }
}

impl Holds {
    /// The hold ends. Another one that began within it and has not ended is in one run with it: the
    /// two together may enclose what neither of them does.
    fn join_run(&mut self, recorder: &mut Recorder, thread: &ThreadState, hold: u32) {
        let first = recorder.writer.get::<Hold>(hold).map_or(0, |row| row.first);
        for held in thread.held().filter(|held| held.is_held() && held.flags & LENT != 0) {
            let other = self.index.get(&recorder.writer, hold_key(thread.id(), held.inst));
            let Some(other) = other.filter(|&other| other != hold) else { continue };
            if recorder.writer.get::<Hold>(other).is_none_or(|row| row.first <= first) {
                continue;
            }
            let [run, joins] = [hold, other].map(|id| run_of(&recorder.writer, id));
            if run != joins {
                recorder.writer.update::<Hold>(joins, |row| row.run = run);
            }
        }
    }
}

/// The hold that stands for all of a run.
pub(super) fn run_of(writer: &Writer, mut hold: u32) -> u32 {
    while let Some(&Hold { run, .. }) = writer.get::<Hold>(hold)
        && run != 0
    {
        hold = run;
    }
    hold
}

impl ThreadState {
    /// Whether giving up the held lock `addr` now is for [`super::Core::hands_over`] to know.
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
pub(super) fn hold_key(thread: u32, inst: u32) -> u64 {
    hash(&[u64::from(thread) << 32 | u64::from(inst)])
}

/// Key of an element of a list.
pub(super) fn list_key(hold: u32, next: u32) -> u64 {
    hash(&[u64::from(hold) << 32 | u64::from(next), 2])
}

//! Locks that a thread holds on when the function that took them has returned, and idles with.
//!
//! That is a leak, where a way out of the function forgot the unlock, or it is meant so: a function
//! that is called for the lock, whose caller releases it. What becomes of the hold tells the two
//! apart, so its entry is marked and its release noted; and so is what other passes of the same
//! call do. The reader judges, at the end.

use lockwright_ledger::rows::{
    Class, Finding, Held, LeftHeld, Node, finding_kind, held_flag, lock_kind, mode,
};

use crate::capture::Capture;
use crate::held::update;
use crate::index::{Index, hash};
use crate::lockdep::acquire::Ident;
use crate::lockdep::recorder::Recorder;
use crate::lockdep::recorder::misuse::Misuse;
use crate::lockdep::thread::ThreadState;
use crate::lockdep::thread::entry::{is_last_release, mark, unmark};

/// A lock is held on: what the host knows of that.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// The return address, within the function that has returned, by which its calls are known.
    pub address: u64,
    /// See [`LeftHeld`].
    pub what: LeftHeld,
}

/// The rows of such holds.
pub(crate) struct LeftHolds {
    /// By thread and lock: the row of a hold that has not been released; by address: the first row.
    rows: Index,
}

impl LeftHolds {
    pub(crate) const fn new() -> Self {
        Self { rows: Index::new() }
    }
}

fn hold_key(thread: u32, inst: u32) -> u64 {
    hash(&[u64::from(thread) << 32 | u64::from(inst)])
}

fn address_key(address: u64) -> u64 {
    hash(&[address, u64::from(finding_kind::LEFT_HELD)])
}

impl ThreadState {
    /// The outermost held lock beyond position `after` that the thread has no record of idling
    /// with, and its position. A semaphore may be another thread's to post.
    pub fn next_not_left(&self, after: u32) -> Option<(u32, Held)> {
        const SKIPPED: u16 = held_flag::LEFT | held_flag::SEMAPHORE | held_flag::IN_COND_WAIT;
        let mut held = (1..).zip(self.held()).skip(after as usize);
        held.find(|(_, held)| held.is_held() && held.flags & SKIPPED == 0)
    }

    /// The instance of a lock with a recorded hold, if it is about to be released for good.
    pub fn ends_left(&mut self, addr: u64) -> Option<u32> {
        let i = self.find(addr)?;
        let held = self.held_at(i);
        let ends = held.flags & held_flag::LEFT != 0 && is_last_release(&held);
        ends.then(|| {
            // SAFETY: `find` gave a valid position.
            unsafe { update(self.entry(i), |held| unmark(held, held_flag::LEFT)) };
            held.inst
        })
    }
}

impl LeftHolds {
    /// The thread idles with the lock of entry `i`, whose function has returned.
    pub(crate) fn leaves(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        i: u32,
        leaving: Leaving,
        now_ns: u64,
        capture: Capture<'_>,
    ) {
        // Positions change where gaps are closed, which the record of what is held begins with.
        let inst = thread.held_at(i).inst;
        thread.close_gaps();
        let is_it = |held: &Held| held.is_held() && held.inst == inst;
        let Some((at, held)) = (1..).zip(thread.held()).find(|(_, held)| is_it(held)) else {
            return;
        };
        let what = Misuse {
            mode: held.mode & (mode::READ | mode::READ_RECURSIVE),
            other_thread: thread.id(),
            other_stack: recorder.stack_of(held.node),
            detail: leaving.what.bits(),
            ..Misuse::new(finding_kind::LEFT_HELD, held.addr, Ident::new(held.inst, held.class))
        };
        let row = recorder.misuse(thread, &what, now_ns, capture);
        if row == 0 {
            return;
        }
        // SAFETY: a position among those held.
        unsafe { update(thread.entry(at), |held| mark(held, held_flag::LEFT)) };
        self.rows.insert(&mut recorder.writer, hold_key(thread.id(), inst), row);
        let key = address_key(recorder.modules.lasting(leaving.address));
        if self.rows.get(&recorder.writer, key).is_none() {
            self.rows.insert(&mut recorder.writer, key, row);
        }
    }

    /// A recorded hold is released. The row that has it, 0 if there is none.
    pub(crate) fn released(&mut self, recorder: &mut Recorder, thread: u32, inst: u32) -> u32 {
        let key = hold_key(thread, inst);
        let Some(row) = self.rows.get(&recorder.writer, key) else { return 0 };
        self.rows.remove(&recorder.writer, key);
        change(recorder, row, |what| what.released = what.released.saturating_add(1));
        row
    }

    /// A lock of the call that returns to `address`, which has a recorded hold, was released: after
    /// the function had returned (`outside`), or before.
    pub(crate) fn elsewhere(&mut self, recorder: &mut Recorder, address: u64, outside: bool) {
        let key = address_key(recorder.modules.lasting(address));
        let Some(row) = self.rows.get(&recorder.writer, key) else { return };
        change(recorder, row, |what| match outside {
            true => what.outside = true,
            false => what.inside = what.inside.saturating_add(1),
        });
    }
}

/// The stack on which a held lock was taken, of which as much is stored as there is room for.
/// `None` for what excludes nobody, where the stack is not known, and for user-defined locks: the
/// functions that their stacks begin in are the locks' own, and return with them by right.
pub(crate) fn taken_on(recorder: &Recorder, held: &Held, frames: &mut [u64]) -> Option<usize> {
    let kind = recorder.writer.get::<Class>(held.class)?.kind;
    let site = recorder.modules.lasting(held.site);
    let node = recorder.writer.get::<Node>(held.node).filter(|node| node.site == site)?;
    const NO: [u8; 4] =
        [lock_kind::RESOURCE, lock_kind::COMPLETION, lock_kind::OWN, lock_kind::ONCE];
    let n = (!NO.contains(&kind)).then(|| recorder.read_stack(node.stack, frames))?;
    // Taken where the module was another time, the stack has addresses that mean something else now.
    (n != 0 && (site == held.site || frames[0] == held.site)).then_some(n)
}

/// The stack on which the lock of such a row was taken, and which frame of it is the
/// function's.
pub(crate) fn left_by(recorder: &Recorder, row: u32, frames: &mut [u64]) -> Option<u64> {
    let row = recorder.writer.get::<Finding>(row)?;
    let n = recorder.read_stack(row.other_stack, frames);
    frames[..n].get(usize::from(LeftHeld::from_bits(row.detail).level)).copied()
}

fn change(recorder: &mut Recorder, row: u32, change: impl FnOnce(&mut LeftHeld)) {
    recorder.writer.update::<Finding>(row, |row| {
        let mut what = LeftHeld::from_bits(row.detail);
        change(&mut what);
        row.detail = what.bits();
    });
}

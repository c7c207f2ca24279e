//! What orders threads beside creation and join: barriers, and semaphores used as a plain hand-over.
//!
//! A barrier always separates what its threads do before from what they do after. A semaphore only
//! does if a wait cannot be granted by another post in another run: it begins at 0, and one thread
//! alone posts it. The k-th wait then follows the k-th post if one thread alone waits, else the
//! first. Whether that stays so is known at the end: the reader decides, by the [`Sync`] row.
//!
//! Each such event begins a new segment, and with it new chain keys; so only the first
//! [`SYNC_ROUNDS`] of each object are recorded. Start-up and phases are ordered by few events; a
//! semaphore in a hot loop costs a look-up, as long as the same threads use it.

use lockwright_ledger::rows::{SYNC_ROUNDS, Segment, Sync, segment_kind, sync_kind};

use super::core::Core;
use super::key::hash;
use super::thread::ThreadState;

/// Which further posts, or waits, of a semaphore need telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// All.
    All,
    /// Those of other threads: from here on they would be news, and no more.
    OfOthers,
    /// None.
    Nothing,
}

/// A barrier's round that a thread has arrived in: [`Core::barrier_passed`] wants it back.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    sync: u32,
    round: u32,
}

impl Core {
    /// A barrier or semaphore begins its life.
    pub fn sync_init(&mut self, kind: u32, addr: u64, size: u32) {
        let mixed = u32::from(kind == sync_kind::SEMAPHORE && size != 0);
        let row = Sync { kind, addr, size, mixed, ..Sync::default() };
        if let Some(id) = self.writer.push(row) {
            self.syncs.insert(&mut self.writer, hash(&[addr]), id);
        }
    }

    fn sync(&self, kind: u32, addr: u64) -> Option<(u32, Sync)> {
        let id = self.syncs.get(&self.writer, hash(&[addr]))?;
        let row = *self.writer.get::<Sync>(id)?;
        (row.kind == kind && row.addr == addr).then_some((id, row))
    }

    /// The thread is about to wait at a barrier. `None` if that is not recorded (any more).
    pub fn barrier_arrives(&mut self, thread: &ThreadState, addr: u64) -> Option<Round> {
        let (id, row) = self.sync(sync_kind::BARRIER, addr)?;
        if row.rounds as usize >= SYNC_ROUNDS {
            return None;
        }
        let head = self.writer.push(Segment {
            kind: segment_kind::MEETING,
            peer: thread.segment(),
            prev: row.head,
            ..Segment::default()
        })?;
        let is_last = row.arrived + 1 >= row.size;
        self.writer.update::<Sync>(id, |row| {
            row.segments[row.rounds as usize] = head;
            (row.head, row.arrived) = if is_last { (0, 0) } else { (head, row.arrived + 1) };
            row.rounds += u32::from(is_last);
        });
        Some(Round { sync: id, round: row.rounds })
    }

    /// The thread has passed the barrier.
    pub fn barrier_passed(&mut self, thread: &mut ThreadState, round: Round) {
        let row = self.writer.get::<Sync>(round.sync);
        let head = row.map_or(0, |row| row.segments[round.round as usize]);
        if head != 0 {
            self.next_segment(thread, segment_kind::BARRIER, head, 0);
        }
    }

    /// The thread is about to post a semaphore. Returns which later posts need telling.
    pub fn sem_posts(&mut self, thread: &mut ThreadState, addr: u64) -> Tell {
        let Some((id, row)) = self.sync(sync_kind::SEMAPHORE, addr) else {
            return Tell::Nothing;
        };
        let foreign = row.poster != 0 && row.poster != thread.id();
        let k = row.rounds as usize;
        self.writer.update::<Sync>(id, |row| {
            row.poster = thread.id();
            row.mixed |= u32::from(foreign);
            row.rounds = row.rounds.saturating_add(1);
            if k < SYNC_ROUNDS && row.mixed == 0 {
                row.segments[k] = thread.segment();
            }
        });
        let mixed = foreign || row.mixed != 0;
        if k < SYNC_ROUNDS && !mixed {
            self.next_segment(thread, segment_kind::POSTS, 0, 0);
        }
        match mixed {
            true => Tell::Nothing,
            false => Tell::after(k),
        }
    }

    /// The thread's wait on a semaphore was granted. Returns which later waits need telling.
    pub fn sem_granted(&mut self, thread: &mut ThreadState, addr: u64) -> Tell {
        let Some((id, row)) = self.sync(sync_kind::SEMAPHORE, addr) else {
            return Tell::Nothing;
        };
        if row.mixed != 0 {
            return Tell::Nothing;
        }
        let shared = row.shared != 0 || row.waiter != 0 && row.waiter != thread.id();
        let k = row.waits as usize;
        self.writer.update::<Sync>(id, |row| {
            row.waiter = thread.id();
            row.shared = u32::from(shared);
            row.waits = row.waits.saturating_add(1);
        });
        let peer = if shared { row.segments[0] } else { row.segments.get(k).copied().unwrap_or(0) };
        if k < SYNC_ROUNDS && peer != 0 {
            self.next_segment_of(thread, segment_kind::POSTED, peer, 0, id);
        }
        Tell::after(k)
    }
}

impl Tell {
    /// Of one thread's posts, or waits, after the `k`th.
    fn after(k: usize) -> Self {
        if k + 1 < SYNC_ROUNDS { Self::All } else { Self::OfOthers }
    }
}

//! Events that order threads, apart from creation and join: barriers, and semaphores used as a
//! plain hand-over.
//!
//! A barrier always separates what its threads do before from what they do after. A semaphore that
//! begins at 0 does so as far as too few posts can come without what a thread did before: which
//! those are is known at the end, so the reader decides.
//!
//! Each such event begins a new segment, and with it new chain keys; so only the first
//! [`SYNC_ROUNDS`] of each object are recorded. Start-up and phases are ordered by few events; a
//! semaphore in a hot loop costs a look-up, as long as the same threads use it.

use lockwright_ledger::layout::bounded;
use lockwright_ledger::rows::{SYNC_ROUNDS, Segment, Sync, segment_kind, sync_kind};

use super::acquire::Ident;
use super::bounds::{MOST_SYNCS, reached};
use super::core::Core;
use super::key::hash;
use super::thread::ThreadState;
use crate::index::Index;

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
    is_kept: bool,
}

impl Round {
    /// What a thread waits for that waits for the others of the round.
    pub fn ident(self) -> Ident {
        Ident::new(self.round.wrapping_add(1), self.sync)
    }
}

/// The recorded barriers, semaphores and the like.
pub(super) struct Syncs {
    /// By address.
    index: Index,
}

impl Syncs {
    pub(super) const fn new() -> Self {
        Self { index: Index::new() }
    }
}

impl Core {
    /// A barrier or semaphore begins its life.
    pub fn sync_init(&mut self, kind: u32, addr: u64, size: u32) {
        let before = self.syncs.index.get(&self.writer, hash(&[addr]));
        let row = Sync { kind, addr, size, ..Sync::default() };
        if let Some(id) = before
            && self.writer.get::<Sync>(id).is_some_and(is_untouched)
        {
            // Nothing refers to it.
            let change = |old: &mut Sync| (old.kind, old.size, old.shared) = (kind, size, 0);
            return self.writer.update::<Sync>(id, change);
        }
        if self.writer.count_of::<Sync>() >= MOST_SYNCS {
            reached(&mut self.writer, bounded::SYNCS);
            return self.syncs.index.remove(&self.writer, hash(&[addr]));
        }
        if let Some(id) = self.writer.push(row) {
            self.syncs.index.insert(&mut self.writer, hash(&[addr]), id);
        }
    }

    fn sync(&self, kind: u32, addr: u64) -> Option<(u32, Sync)> {
        let id = self.syncs.index.get(&self.writer, hash(&[addr]))?;
        let row = *self.writer.get::<Sync>(id)?;
        (row.kind == kind && row.addr == addr).then_some((id, row))
    }

    /// Other processes meet at the barrier, too.
    pub fn barrier_is_shared(&mut self, addr: u64) {
        if let Some((id, _)) = self.sync(sync_kind::BARRIER, addr) {
            self.writer.update::<Sync>(id, |row| row.shared = 1);
        }
    }

    /// The thread is about to wait at a barrier. `None` if its beginning was not recorded. The
    /// first [`SYNC_ROUNDS`] rounds are recorded with what they order.
    pub fn barrier_arrives(&mut self, thread: &mut ThreadState, addr: u64) -> Option<Round> {
        let (id, row) = self.sync(sync_kind::BARRIER, addr)?;
        let is_kept = (row.rounds as usize) < SYNC_ROUNDS;
        let mut head = 0;
        if is_kept {
            self.hand_on(thread);
            head = self.push_segment(Segment {
                kind: segment_kind::MEETING,
                peer: thread.segment(),
                prev: row.head,
                ..Segment::default()
            })?;
        }
        let is_last = row.arrived + 1 >= row.size;
        self.writer.update::<Sync>(id, |row| {
            if is_kept {
                row.segments[row.rounds as usize] = head;
            }
            (row.head, row.arrived) = if is_last { (0, 0) } else { (head, row.arrived + 1) };
            if is_last {
                row.rounds = row.rounds.wrapping_add(1);
            }
        });
        Some(Round { sync: id, round: row.rounds, is_kept })
    }

    /// Threads of this process are still to come in the round that a thread waits in, according to
    /// [`Round::ident`].
    pub(super) fn is_round_open(&self, addr: u64, ident: Ident) -> bool {
        self.sync(sync_kind::BARRIER, addr).is_some_and(|(id, row)| {
            let round = Round { sync: id, round: row.rounds, is_kept: false };
            row.shared == 0 && round.ident() == ident
        })
    }

    /// The thread has passed the barrier.
    pub fn barrier_passed(&mut self, thread: &mut ThreadState, round: Round) {
        if !round.is_kept {
            return;
        }
        let row = self.writer.get::<Sync>(round.sync);
        let head = row.map_or(0, |row| row.segments[round.round as usize]);
        if head != 0 {
            self.next_segment(thread, segment_kind::BARRIER, head, 0);
            let mut at = head;
            while let Some(&Segment { peer, prev, .. }) = self.writer.get::<Segment>(at) {
                self.comes_after(thread, peer);
                at = prev;
            }
        }
    }

    /// The thread is about to post a semaphore. Returns which later posts need telling.
    pub fn sem_posts(&mut self, thread: &mut ThreadState, addr: u64) -> Tell {
        let Some((id, row)) = self.sync(sync_kind::SEMAPHORE, addr) else {
            return Tell::Nothing;
        };
        let is_shared = row.shared != 0 || row.poster != 0 && row.poster != thread.id();
        let k = row.rounds as usize;
        let is_kept = k < SYNC_ROUNDS;
        if is_kept {
            self.hand_on(thread);
        }
        self.writer.update::<Sync>(id, |row| {
            row.poster = thread.id();
            row.shared = u32::from(is_shared);
            row.rounds = row.rounds.saturating_add(1);
            if is_kept {
                row.segments[k] = thread.segment();
            }
        });
        if is_kept {
            self.next_segment(thread, segment_kind::POSTS, 0, 0);
        }
        match k + 1 < SYNC_ROUNDS {
            true => Tell::All,
            false if is_shared => Tell::Nothing,
            false => Tell::OfOthers,
        }
    }

    /// The thread's wait on a semaphore was granted. Returns which later waits need telling.
    pub fn sem_granted(&mut self, thread: &mut ThreadState, addr: u64) -> Tell {
        let Some((id, row)) = self.sync(sync_kind::SEMAPHORE, addr) else {
            return Tell::Nothing;
        };
        let k = row.waits as usize;
        if k >= SYNC_ROUNDS {
            return Tell::Nothing;
        }
        self.writer.update::<Sync>(id, |row| row.waits += 1);
        self.next_segment_of(thread, segment_kind::POSTED, 0, 0, id);
        // If one thread posts. If several do, the reader tells what does not follow.
        for &post in &row.segments[..=k] {
            self.comes_after(thread, post);
        }
        if k + 1 < SYNC_ROUNDS { Tell::All } else { Tell::Nothing }
    }
}

/// No thread has come to it yet.
fn is_untouched(row: &Sync) -> bool {
    (row.rounds, row.arrived, row.head, row.waits) == (0, 0, 0, 0)
}

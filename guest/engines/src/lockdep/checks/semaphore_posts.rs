//! Semaphores that hand something over order threads.
//!
//! A semaphore that begins at 0 does so as far as too few posts can come without what a thread did before: which
//! those are is known at the end, so the reader decides.
//!
//! Each post and each granted wait begins a new segment, and with it new chain keys; so only the first
//! [`SYNC_ROUNDS`] of each semaphore are recorded. A semaphore in a hot loop costs a look-up, as long as the same
//! threads use it.

use lockwright_ledger::rows::{SYNC_ROUNDS, Sync, sync_kind};

use crate::lockdep::recorder::Recorder;
use crate::lockdep::thread::ThreadState;

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

/// A post that is about to be made.
pub(crate) struct Post {
    id: u32,
    /// How many came before.
    number: usize,
    /// Several threads post.
    is_shared: bool,
}

/// The thread is about to post a semaphore. `None` if its beginning was not recorded.
pub(crate) fn post(recorder: &Recorder, thread: &ThreadState, addr: u64) -> Option<Post> {
    let (id, row) = recorder.sync(sync_kind::SEMAPHORE, addr)?;
    let is_shared = row.shared != 0 || row.poster != 0 && row.poster != thread.id();
    Some(Post { id, number: row.rounds as usize, is_shared })
}

impl Post {
    /// It is recorded with what it orders.
    pub(crate) fn is_kept(&self) -> bool {
        self.number < SYNC_ROUNDS
    }

    /// Records it, by the thread in its present segment.
    pub(crate) fn record(&self, recorder: &mut Recorder, thread: &ThreadState) {
        recorder.writer.update::<Sync>(self.id, |row| {
            row.poster = thread.id();
            row.shared = u32::from(self.is_shared);
            row.rounds = row.rounds.saturating_add(1);
            if self.is_kept() {
                row.segments[self.number] = thread.segment();
            }
        });
    }

    /// Which later posts need telling.
    pub(crate) fn tell(&self) -> Tell {
        match self.number + 1 < SYNC_ROUNDS {
            true => Tell::All,
            false if self.is_shared => Tell::Nothing,
            false => Tell::OfOthers,
        }
    }
}

/// A wait that was granted, one of the first.
pub(crate) struct Granted {
    /// Row of the semaphore.
    pub(crate) sync: u32,
    /// How many came before.
    number: usize,
    posts: [u32; SYNC_ROUNDS],
}

/// A wait on a semaphore was granted. `None` if later ones need no telling.
pub(crate) fn granted(recorder: &mut Recorder, addr: u64) -> Option<Granted> {
    let (sync, row) = recorder.sync(sync_kind::SEMAPHORE, addr)?;
    let number = row.waits as usize;
    if number >= SYNC_ROUNDS {
        return None;
    }
    recorder.writer.update::<Sync>(sync, |row| row.waits += 1);
    Some(Granted { sync, number, posts: row.segments })
}

impl Granted {
    /// The segments of the posts that it comes after, if one thread posts. If several do, the reader tells what
    /// does not follow.
    pub(crate) fn posts(&self) -> &[u32] {
        &self.posts[..=self.number]
    }

    /// Which later waits need telling.
    pub(crate) fn tell(&self) -> Tell {
        if self.number + 1 < SYNC_ROUNDS { Tell::All } else { Tell::Nothing }
    }
}

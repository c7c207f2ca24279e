//! Barriers order threads: a barrier separates what its threads do before from what they do after.
//!
//! Each round begins a new segment, and with it new chain keys; so only the first [`SYNC_ROUNDS`] of each
//! barrier are recorded. Start-up and phases are ordered by few events.

use lockwright_ledger::rows::{SYNC_ROUNDS, Segment, Sync, segment_kind, sync_kind};

use crate::lockdep::recorder::{Recorder, Round};
use crate::lockdep::thread::ThreadState;

/// A thread comes to a barrier whose beginning was recorded.
pub(crate) struct Arrival {
    id: u32,
    row: Sync,
}

/// The thread is about to wait at a barrier. `None` if its beginning was not recorded.
pub(crate) fn arrival(recorder: &Recorder, addr: u64) -> Option<Arrival> {
    let (id, row) = recorder.sync(sync_kind::BARRIER, addr)?;
    Some(Arrival { id, row })
}

impl Arrival {
    /// The round is recorded with what it orders.
    pub(crate) fn is_kept(&self) -> bool {
        (self.row.rounds as usize) < SYNC_ROUNDS
    }

    /// Records that the thread has come.
    pub(crate) fn record(&self, recorder: &mut Recorder, thread: &ThreadState) -> Option<Round> {
        let &Self { id, row } = self;
        let is_kept = self.is_kept();
        let mut head = 0;
        if is_kept {
            head = recorder.push_segment(Segment {
                kind: segment_kind::MEETING,
                peer: thread.segment(),
                prev: row.head,
                ..Segment::default()
            })?;
        }
        let is_last = row.arrived + 1 >= row.size;
        recorder.writer.update::<Sync>(id, |row| {
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
}

/// Other processes meet at the barrier, too.
pub(crate) fn is_shared(recorder: &mut Recorder, addr: u64) {
    if let Some((id, _)) = recorder.sync(sync_kind::BARRIER, addr) {
        recorder.writer.update::<Sync>(id, |row| row.shared = 1);
    }
}

/// The newest segment of a round in which its threads met; 0 if the round was not recorded.
pub(crate) fn meeting(recorder: &Recorder, round: Round) -> u32 {
    let row = recorder.writer.get::<Sync>(round.sync).filter(|_| round.is_kept);
    row.map_or(0, |row| row.segments[round.round as usize])
}

/// Where a thread met others, at `meeting`: its segment, and the meeting of the thread that came before.
pub(crate) fn met(recorder: &Recorder, meeting: u32) -> Option<(u32, u32)> {
    recorder.writer.get::<Segment>(meeting).map(|row| (row.peer, row.prev))
}

//! A semaphore that begins at 1 is a lock, as long as every post is by the thread that has taken
//! it.
//!
//! Nothing but its use tells it from a semaphore that hands something over. So it is taken for a
//! lock at first, and [`hand_over`] ends that for good once it is used otherwise: posted by a
//! thread that does not hold it, or waited for by the one that does, which only another's post can
//! end. What has been recorded by then stays in the ledger, marked, for the reader to leave out.
//!
//! Once nearly all semaphores of a class have proved to be none, the next count as none from the start ([`takes_for_none`]).
//! CPython makes such a semaphore for each wait for a condition.
//!
//! As a lock it orders no threads, as no lock does; nor does it afterwards, since a wait that the
//! initial value or any thread's post may have granted follows no post in particular.

use lockwright_ledger::rows::{Class, Held, Lock, lock_flag};

use crate::lockdep::acquire::{Acquire, Ident};
use crate::lockdep::recorder::Recorder;
use crate::lockdep::thread::ThreadState;

/// The semaphore proved to be no lock: its class is marked so, and no thread holds it any more.
pub(crate) fn hand_over(
    recorder: &mut Recorder,
    thread: Option<&mut ThreadState>,
    addr: u64,
    ident: Ident,
) {
    count_nones(recorder, ident.class(), 1);
    let is_held = give_up(recorder, thread, addr);
    if let Some(held) = is_held.filter(|held| held.inst == ident.inst()) {
        // Its holder may be recording an order with it just now.
        recorder.lock_row(&Acquire::of(&Held { addr, ..held }), 0);
    } else if recorder.is_shared(addr, ident) {
        // Other processes may have orders with it.
        recorder.lock_row(&Acquire { addr, ident, mode: 0, site: 0 }, 0);
    }
    if let Some(id) = recorder.recorded_lock(ident.inst()) {
        recorder.writer.update::<Lock>(id, |row| row.flags |= lock_flag::HANDED_OVER);
    }
}

/// So many of a class have to have proved to be no locks before the next is taken for none. And no more than so many may
/// not have proved it: those that live, and those that were locks.
const PROOFS: u32 = 64;

/// The first [`WATCHED`] of so many are watched as locks nonetheless: the class may change. Those that follow each other, as
/// they may be taken together.
const PERIOD: u32 = 256;
const WATCHED: u32 = 16;

/// Whether the semaphore `ident`, whose life has just begun, is taken for no lock, by all that is known of its class. Then it
/// is counted as one that has proved to be none.
pub(crate) fn takes_for_none(recorder: &mut Recorder, ident: Ident) -> bool {
    let Some(class) = recorder.writer.get::<Class>(ident.class()) else { return false };
    let is_none = is_settled(class) && class.locks % PERIOD >= WATCHED;
    if is_none {
        count_nones(recorder, ident.class(), 1);
    }
    is_none
}

/// Nearly all semaphores of the class have proved to be no locks.
fn is_settled(class: &Class) -> bool {
    let Class { locks, handed_over, .. } = *class;
    handed_over >= PROOFS && locks.saturating_sub(handed_over) <= PROOFS
}

/// How many of the semaphores of the class whose lives begin next are taken for no locks, if no other of the class begins
/// its life meanwhile. They are to be counted by [`count_new_nones`].
pub(crate) fn nones_to_come(recorder: &Recorder, class: u32) -> u32 {
    match recorder.writer.get::<Class>(class) {
        Some(class) if is_settled(class) => PERIOD - class.locks % PERIOD,
        _ => 0,
    }
}

/// Counts so many semaphores of the class that have begun their lives, and were taken for no locks.
pub(crate) fn count_new_nones(recorder: &mut Recorder, class: u32, semaphores: u32) {
    recorder.count_locks(class, semaphores);
    count_nones(recorder, class, semaphores);
}

/// Counts more of the class that are no locks.
fn count_nones(recorder: &mut Recorder, class: u32, semaphores: u32) {
    recorder.writer.update::<Class>(class, |row| {
        row.handed_over = row.handed_over.saturating_add(semaphores);
    });
}

/// A semaphore of the class begins with so many seats: the largest number that one has is known of the class.
pub(crate) fn has_seats(recorder: &mut Recorder, class: u32, seats: u32) {
    recorder.writer.update::<Class>(class, |row| row.seats = row.seats.max(seats));
}

/// Nobody holds the semaphore at `addr` any more. Returns another thread's entry of it.
pub(crate) fn give_up(
    recorder: &Recorder,
    thread: Option<&mut ThreadState>,
    addr: u64,
) -> Option<Held> {
    let own = thread.map_or(0, |thread| {
        while thread.release(addr) {}
        thread.id()
    });
    let mut found = None;
    for thread in recorder.live().filter(|thread| thread.id() != own) {
        while let Some(held) = thread.give_up(addr) {
            found = Some(held);
        }
    }
    found
}

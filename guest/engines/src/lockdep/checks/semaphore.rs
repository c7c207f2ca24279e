//! A semaphore that begins at 1 is a lock, as long as every post is by the thread that has taken
//! it.
//!
//! Nothing but its use tells it from a semaphore that hands something over. So it is taken for a
//! lock at first, and [`hand_over`] ends that for good once it is used otherwise: posted by a
//! thread that does not hold it, or waited for by the one that does, which only another's post can
//! end. What has been recorded by then stays in the ledger, marked, for the reader to leave out.
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
    recorder.writer.update::<Class>(ident.class(), |row| {
        row.handed_over = row.handed_over.saturating_add(1);
    });
    let is_held = give_up(recorder, thread, addr);
    if let Some(held) = is_held.filter(|held| held.inst == ident.inst()) {
        // Its holder may be recording an order with it just now.
        recorder.lock_row(&Acquire::of(&Held { addr, ..held }), 0);
    }
    if let Some(id) = recorder.recorded_lock(ident.inst()) {
        recorder.writer.update::<Lock>(id, |row| row.flags |= lock_flag::HANDED_OVER);
    }
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

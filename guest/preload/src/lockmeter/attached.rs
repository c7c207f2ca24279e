//! The threads that lockmeter measures: from their attaching to their end.

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use lockwright_engines::lockmeter::MeterThread;
use lockwright_ledger::rows::meter::Meter;

use super::meter::{is_wanted, with_meter, with_meter_as};
use super::{clock, hold, timeline, tls};
use crate::hosts::HasEnded;
use crate::os::sys;
use crate::recorder::state;
use crate::threads::by_tid::ByTid;
use crate::threads::lifetime;

/// Meters of threads.
static METERS: ByTid<MeterThread> = ByTid::new();

/// The calling thread's meter; the thread gets one if this is the first we hear of it.
#[inline(always)]
pub fn thread() -> Option<&'static mut MeterThread> {
    // SAFETY: set by `attach`, valid until the thread's exit; one thread, one reference at a time
    // (a signal handler's ends before ours goes on).
    match unsafe { tls::get().as_mut() } {
        Some(thread) => Some(thread),
        None => attach(),
    }
}

#[cold]
fn attach() -> Option<&'static mut MeterThread> {
    if crate::os::tls::is_barred() && is_wanted() {
        state::lose_barred();
        return None;
    }
    if tls::is_closed() || !is_wanted() || !lifetime::may_begin() {
        return None;
    }
    let tid = sys::gettid();
    let now = clock::now();
    let thread = with_meter_as(tid, |meter, core| meter.thread_start(core.writer(), tid, now))?;
    let Some(thread) = thread else {
        tls::set_closed(true);
        return None;
    };
    tls::set(thread);
    METERS.set(tid, thread);
    lifetime::hear_of_end();
    // SAFETY: the meter was just set as this thread's own, and it is valid until the thread leaves.
    Some(unsafe { &mut *thread })
}

/// In a ledger that begins, no thread is measured yet.
pub fn begin() {
    METERS.clear();
    detach();
}

/// The calling thread has no meter yet.
pub fn detach() {
    tls::set(ptr::null_mut());
    tls::set_closed(false);
}

/// The meter watches the calling thread.
pub fn is_metering() -> bool {
    is_wanted() && thread().is_some()
}

/// Kernel thread id of the calling thread, if it is measured.
pub fn own_tid() -> Option<u32> {
    // SAFETY: null or this thread's own meter, which only this thread changes; it is only read
    // here.
    unsafe { tls::get().as_ref() }.map(MeterThread::tid)
}

/// The calling thread is not to be metered any more, as it may not look at the clock. What it was
/// metered with.
pub fn leave() -> *mut MeterThread {
    let thread = tls::get();
    // SAFETY: null or this thread's own meter; no outer reference is used meanwhile.
    if let Some(thread) = unsafe { thread.as_mut() } {
        hold::end_all(thread);
    }
    tls::set(ptr::null_mut());
    tls::set_closed(true);
    thread
}

/// The calling thread may look at the clock after all; `thread` is what it was metered with.
pub fn come_back(thread: *mut MeterThread) {
    tls::set_closed(false);
    tls::set(thread);
}

/// The calling thread ends.
pub fn ended() {
    timeline::ends();
    let thread = leave();
    if !thread.is_null() {
        // SAFETY: the calling thread's own, which it has no more.
        unsafe { end(thread, sys::gettid()) };
    }
}

/// The thread of kernel thread id `tid`, whose meter this is, ends.
///
/// # Safety
/// Nobody uses the meter afterwards.
unsafe fn end(thread: *mut MeterThread, tid: u32) {
    METERS.remove(tid, thread);
    let now = clock::now();
    with_meter(|meter, _| {
        // SAFETY: the caller promises that nobody uses the meter afterwards.
        unsafe { meter.thread_exit(thread, now) };
    });
}

/// Ends the meters of threads of which `has_ended` says so.
pub fn end_those(has_ended: HasEnded<'_>) {
    let mut id = 0;
    loop {
        id += 1;
        let row = state::with_core(|core| core.ledger().row_ptr::<Meter>(id));
        let Some(row) = row.filter(|row| !row.is_null()) else { return };
        // SAFETY: a row, which stays mapped; its thread, or the thread that ends it, changes the
        // word in one step.
        let tid = unsafe { AtomicU32::from_ptr(&raw mut (*row).tid) }.load(Relaxed);
        let thread = row.cast::<MeterThread>();
        if tid != 0 && has_ended(tid, thread == tls::get()) {
            // SAFETY: its thread has ended, or is the one that ends here, so no other thread uses
            // the meter.
            unsafe {
                hold::end_all(&mut *thread);
                end(thread, tid);
            }
        }
    }
}

/// The thread of kernel id `tid` is measured here.
pub fn is_known(tid: u32) -> bool {
    !METERS.get(tid).is_null()
}

/// Site where, and since when, the thread of kernel id `tid` holds the lock at `addr`.
pub fn holder(tid: u32, addr: u64) -> Option<(u32, u64)> {
    let thread = METERS.get(tid);
    if tid == 0 || thread.is_null() {
        return None;
    }
    // SAFETY: `METERS` has only rows of the ledger, which stay mapped.
    unsafe { MeterThread::find_foreign(thread, addr) }
}

//! lockmeter in the foreign process: the functions that take and give up locks and count it.
//!
//! They wrap the C library's functions when only the meter runs, and lockdep's wrappers when both
//! do (`interpose/locks/both_engines.rs`). An acquisition is first tried for, and only what is contended
//! goes on to be waited for and timed; so a wait is known before it begins, and what does not wait
//! pays for nothing but its own counting.

pub mod acquire;
mod attached;
pub mod blocking;
pub mod bounces;
pub mod clock;
pub mod cond;
pub mod futex;
pub mod hold;
mod meter;
pub mod mutex;
mod off_cpu;
pub mod once;
mod posts;
pub mod record;
pub mod rwlock;
pub mod semaphore;
pub mod spin;
mod spots;
pub mod sync_waits;
mod target;
pub mod timeline;
pub mod tls;
pub mod user_locks;
pub mod wait;

pub use self::attached::{come_back, is_metering, leave, own_tid};
pub use self::hold::times_every;
pub use self::meter::{is_wanted, prepare, unloaded};
pub use self::spots::{spot, subject_of};
pub use self::target::{Spot, Target};

use core::ptr;
use core::sync::atomic::Ordering::*;

use lockwright_ledger::Header;
use lockwright_ledger::layout::engines;

use self::meter::{BOARDS, CLASS, CONDITIONS, HEADER, SAMPLE, WANTED, WHAT, header};
use crate::hosts::{Host, nothing};
use crate::recorder::cond_signals;

/// What the process's turns mean here.
pub const HOST: Host = Host {
    engine: engines::LOCKMETER,
    is_wanted,
    // SAFETY: as it says: no other thread is in here.
    start: |header| unsafe { start(header) },
    attach: nothing,
    forked,
    thread_ended: attached::ended,
    threads_gone: attached::end_those,
    finish,
};

/// What the user asked for.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// One hold in so many is timed; 0: none.
    pub sample: u32,
    /// Instances of a class are kept apart.
    pub by_instance: bool,
    /// The time-stamp counter is not to be used.
    pub monotonic: bool,
    /// Bounces are to be counted.
    pub bounces: bool,
    /// Bytes of a timeline, 0: none.
    pub timeline: u64,
}

/// Remembers what was asked for: at start, before any thread.
pub fn ask(wanted: Wanted) {
    SAMPLE.store(wanted.sample, Relaxed);
    WHAT.store(if wanted.by_instance { !0 } else { CLASS }, Relaxed);
    clock::choose(wanted.monotonic, wanted.timeline != 0);
    timeline::ask(wanted.timeline);
    if wanted.bounces {
        bounces::ask();
    }
    WANTED.store(true, Relaxed);
}

/// Begins on a new ledger: at start, or in a forked child.
///
/// # Safety
/// No other thread is in here.
unsafe fn start(header: &'static Header) {
    if !is_wanted() {
        return;
    }
    // SAFETY: the caller promises that no other thread is in here.
    unsafe { meter::renew() };
    attached::begin();
    timeline::start(header);
    header.hold_sample.store(SAMPLE.load(Relaxed), Relaxed);
    header.bounces.store(u32::from(bounces::is_wanted()), Relaxed);
    header.by_instance.store(u32::from(WHAT.load(Relaxed) != CLASS), Relaxed);
    clock::start(header);
    // A second reading at once, in case that no other comes.
    clock::pair(header);
    HEADER.store(ptr::from_ref(header).cast_mut(), Release);
}

/// In a forked child: what there is is the parent's.
fn forked() {
    if is_wanted() {
        attached::detach();
        HEADER.store(ptr::null_mut(), Relaxed);
        BOARDS.forget();
        // Where nobody has waited on one, its pages are not even read: the kernel would have to map them.
        if cond_signals::SIGNALS_MATTER.load(Relaxed) {
            CONDITIONS.forget();
        }
        once::forked();
    }
}

/// The calling thread makes a long jump: what it waited for, it does not wait for any more.
pub fn wait_left() {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        thread.wait_left();
        cond::left(thread);
    }
}

/// The calling thread is unwound out of a wrapper, because it was cancelled or ends.
pub fn unwound() {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        cond::unwound(thread);
    }
}

/// The process ends.
pub fn finish() {
    timeline::ends();
    if let Some(header) = header() {
        clock::pair(header);
    }
}

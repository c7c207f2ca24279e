//! Locks that are still held when the function that took them has returned, and the thread idles or
//! the process exits: a way out of the function forgot the unlock, or it was called for the lock.
//!
//! Only the stack shows whether the function has returned: it has no frame then. So nothing is
//! noted when a lock is taken, and a thread that idles with nothing held pays only for that check.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use lockwright_engines::lockdep::{Leaving, MAX_FRAMES, ThreadState};
use lockwright_ledger::rows::{Held, LeftHeld};
use lockwright_ledger::site;

use crate::callsite::{self, releases};
use crate::lock_id::inherited;
use crate::lockdep::atomic_sleep;
use crate::os::{sys, time, tls};
use crate::recorder::state;
use crate::stack::python;
use crate::stack::returned::{has_returned, is_called_by_libc};

/// How often it is looked where a thread idles with a lock that was taken at one place, if its
/// function was there each time; and then every so many times. A walk is a few microseconds.
const FIRST_LOOKS: u32 = 64;
const LATER_LOOKS: u32 = 64;

/// Those times, by a hash of the two places: where two pairs share one, each is looked at less.
const PAIRS: usize = 1 << 12;
static LOOKS: [AtomicU32; PAIRS] = [const { AtomicU32::new(0) }; PAIRS];

/// The calling thread holds a lock.
#[inline]
pub fn holds_any() -> bool {
    // SAFETY: this thread's own state, or the detached one, which is never written to and holds
    // nothing.
    !unsafe { &*tls::raw() }.is_idle()
}

/// The calling thread is about to idle in a call, number `call` of the blocking calls, which
/// returns to `site`.
#[inline]
pub fn idles(call: u32, site: u64) {
    idles_without(call, site, 0);
}

/// As [`idles`], in a wait that gives up the lock at `except`.
#[inline]
pub fn idles_without(call: u32, site: u64, except: u64) {
    atomic_sleep::check(call, site);
    if holds_any() {
        look(u64::from(call) << 48 ^ site, except, false);
    }
}

/// The calling thread is about to wait for a lock or a thread, by a call at `site`, and holds locks
/// meanwhile.
#[cold]
pub fn waits(site: u64) {
    look(site, 0, false);
}

/// The calling thread waits for ever.
#[cold]
pub fn hangs(thread: &mut ThreadState) {
    look_at_all(thread, |_| true, false);
}

/// The process exits, by the calling thread.
pub fn exits() {
    // A vforked child has its parent's memory.
    // SAFETY: `raw` is this thread's own state or the detached one, and both stay mapped.
    if holds_any() && unsafe { &*tls::raw() }.tid() == sys::gettid() {
        look(0, 0, true);
    }
}

#[cold]
#[inline(never)]
fn look(place: u64, except: u64, exits: bool) {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return };
    // A handler's frames are on top of what it interrupts, or on another stack.
    if thread.in_signal() != 0 {
        return;
    }
    let is_due = |held: &Held| {
        let pair = site::extend(held.site, place).wrapping_mul(site::MIX);
        // Relaxed: a count that says nothing about other memory.
        let looks = LOOKS[(pair >> 52) as usize].fetch_add(1, Relaxed);
        looks < FIRST_LOOKS || looks.is_multiple_of(LATER_LOOKS)
    };
    look_at_all(thread, |held| held.addr != except && (exits || is_due(held)), exits);
}

fn look_at_all(thread: &mut ThreadState, wanted: impl Fn(&Held) -> bool, exits: bool) {
    // Recording one closes gaps, so positions change: one at a time.
    let mut from = 0;
    while let Some((i, held)) = thread.next_not_left(from) {
        from = i;
        if inherited::inherited_at(held.addr).is_some() || !wanted(&held) {
            continue;
        }
        let Some(leaving) = leaving(&held, exits) else { continue };
        let now = time::now_ns();
        state::with_core(|core| core.leaves(thread, i, leaving, now, &mut python::capture));
    }
}

/// What there is to record of a held lock, if the function that took it has returned. Not inlined:
/// stacks may be small, and its own part of one is not needed later.
#[inline(never)]
fn leaving(held: &Held, exits: bool) -> Option<Leaving> {
    let mut frames = [0; MAX_FRAMES];
    let n = state::with_core(|core| core.taken_on(held, &mut frames)).flatten()?;
    let taken_on = &frames[..n];
    let wanted = callsite::wanted_by(held.site, taken_on)?;
    let has_left = |level: usize| {
        // A return from main makes the process exit, as a call of exit there would.
        let is_meant = exits && is_called_by_libc(taken_on, level);
        !is_meant && has_returned(taken_on, level) == Some(true)
    };
    if !has_left(wanted.first) {
        return None;
    }
    let outermost = (wanted.first + 1..=wanted.last).take_while(|&level| has_left(level)).last();
    let outermost = outermost.unwrap_or(wanted.first);
    let level = wanted.level.min(outermost);
    let address = taken_on[level];
    releases::record(address);
    let releases::Releases { inside, outside } = releases::of(address);
    let what = LeftHeld {
        released: 0,
        inside,
        level: level as u8,
        outside,
        exits,
        wraps: callsite::is_excused(address),
        inner: (level - wanted.first) as u8,
        outer: (outermost - level) as u8,
    };
    Some(Leaving { address, what })
}

/// The lock at `addr`, which the thread holds, is about to be released.
#[cold]
pub fn released(thread: &mut ThreadState, addr: u64) {
    let Some(inst) = thread.ends_left(addr) else { return };
    let id = thread.id();
    let mut frames = [0; MAX_FRAMES];
    let address = state::with_core(|core| {
        let row = core.left_released(id, inst);
        core.left_by(row, &mut frames)
    });
    if let Some(address) = address.flatten() {
        callsite::was_released(address, true);
    }
}

/// A lock was released that had been taken by the call that returns to `address`: see
/// [`callsite::RELEASED`].
pub fn released_elsewhere(address: u64, outside: bool) {
    state::with_core(|core| core.left_elsewhere(address, outside));
}

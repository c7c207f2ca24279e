//! `pthread_once`: its control is held while the routine runs, and other callers wait for that.
//!
//! Controls of static storage duration are all watched. `std::call_once` makes others all the time,
//! as in each `std::future`: of these only the first few of each call site are watched. Another
//! control may follow at the same address: so one that is called for again has begun a new life.
//!
//! That a routine has run matters only if it has taken a lock: then a later caller that holds that lock, or that the
//! lock's holder joins, could have hung in another run. So calls of other controls that are done cost nothing.

use core::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

use lockwright_engines::lockdep::{Acquire, Ident, ThreadState};
use lockwright_ledger::rows::mode;

use crate::callsite::Return;
use crate::lock_id::by_address::OnceControl;
use crate::lock_id::identity::{self, Birth};
use crate::lock_id::side_table::SideTable;
use crate::lock_id::unstamped;
use crate::lockdep::{attached_threads, watch};
use crate::recorder::state;
use crate::stack::modules;

/// Controls watched of one call site, in addition to static ones: what it costs to make one known
/// is some microseconds, and programs have millions.
const MOST_OF_SITE: u32 = 256;

/// PTHREAD_ONCE_INIT: no routine has begun.
const NOT_BEGUN: i32 = 0;

/// By the [lasting](modules::lasting) address of the call site: how many of these there were.
#[unsafe(link_section = "lockwright_forked")]
static OF_SITE: SideTable = SideTable::new();

/// There are controls in [`RAN`].
#[unsafe(link_section = "lockwright_forked")]
pub static HAVE_RUN: AtomicBool = AtomicBool::new(false);

/// Controls whose routine has run, in this process, and has taken locks: the instance, and the
/// segment in which it ended.
#[unsafe(link_section = "lockwright_forked")]
static RAN: SideTable = SideTable::new();

/// By the place of a thread's row and the segment in which a routine ended: the thread comes after
/// it. Exact, as a call that is recorded once more would be an order with other locks. The value
/// names the thread, as the place had another before. So the table ends at places times routines.
#[unsafe(link_section = "lockwright_forked")]
static PAST: SideTable = SideTable::new();

/// In a forked child: what has run did so before all that there is now.
pub fn forked() {
    RAN.clear();
    PAST.clear();
    OF_SITE.clear();
    HAVE_RUN.store(false, Relaxed);
}

/// The identity of a control that is not done.
///
/// # Safety
/// `control` is a control.
unsafe fn ident(control: u64, site: u64) -> Option<Ident> {
    // SAFETY: the caller promises a control, which is one aligned word. The C library changes it
    // atomically.
    let word = unsafe { AtomicI32::from_ptr(control as *mut i32) };
    // Relaxed: what is there now was so before the call, or has been begun by another thread.
    if RAN.get(control).is_some() && word.load(Relaxed) == NOT_BEGUN {
        forget(control);
    }
    unstamped::find(control).or_else(|| {
        state::with_core(|core| modules::cover(core, &[site]))?;
        if is_static(control) || is_among_first(site) {
            // SAFETY: known by its address; the memory is not looked at.
            unsafe { identity::identify(control as *const OnceControl, Birth::FirstAcquire) }
        } else {
            None
        }
    })
}

fn is_static(control: u64) -> bool {
    modules::locate(control).is_some()
}

/// Whether another control of this call site is watched, which is not static; if so it is counted.
fn is_among_first(site: u64) -> bool {
    state::with_core(|_| {
        let site = modules::lasting(site);
        let so_far = OF_SITE.get(site).map_or(0, |count| count.inst());
        let is_watched = so_far < MOST_OF_SITE;
        if is_watched {
            // A value of 0 stands for none.
            OF_SITE.insert(site, Ident::new(so_far + 1, 1));
        }
        is_watched
    })
    .unwrap_or(false)
}

/// There is another control at the address, or none.
fn forget(control: u64) {
    state::with_core(|_| RAN.remove(control));
    // SAFETY: known by its address; the memory is not looked at.
    unsafe { identity::forget(control as *const OnceControl, None) };
}

/// The calling thread calls `pthread_once`, which returns to `site`, for a control that is not done:
/// it is about to run the routine, or to wait for another thread that does. Returns whether that is
/// watched: then [`begins`] and [`ends`] are to follow around the routine, and [`returned`].
///
/// # Safety
/// The call has not returned.
pub unsafe fn enter(control: u64, site: u64, back: Return) -> bool {
    let Some(thread) = watch::thread() else { return false };
    // No acquisition of a lock, but it is given up as one is. And it may be a future that is set, of which other threads can
    // learn without a call.
    thread.shares();
    // A thread that is cancelled in a wait is unwound by a library that calls us: its wait is still
    // in its row, for the code that checks how the wait ended.
    if thread.wait_frame().is_some() {
        return false;
    }
    // SAFETY: the call is about to look at it.
    let Some(ident) = (unsafe { ident(control, site) }) else { return false };
    let Some(thread) = watch::own() else { return false };
    let lock = Acquire { addr: control, ident, mode: mode::ONCE, site };
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    if !unsafe { watch::before_past(thread, lock, back) } {
        return false;
    }
    let (lock, node) = thread.reserved(control);
    thread.wait_begin_uncounted(&lock, node);
    if thread.is_obstacle(1) {
        watch::walk_owners(thread, false);
    }
    if attached_threads::are_any_at_barriers() {
        attached_threads::look_at_barriers();
    }
    true
}

/// The routine is about to run, in the calling thread. Returns how far that has come.
pub fn begins(control: u64) -> u64 {
    let Some(thread) = watch::own() else { return 0 };
    thread.wait_end();
    thread.inherited(control);
    thread.steps()
}

/// The routine has run. The thread had come as far as `before` before it.
pub fn ends(control: u64, before: u64) {
    // In a child that was forked meanwhile the thread's state is another.
    let Some(thread) = watch::own() else { return };
    watch::released(thread, control, None);
    let ident = unstamped::find(control).filter(|_| thread.steps() > before);
    let Some(ident) = ident else {
        match is_static(control) {
            true if RAN.get(control).is_some() => _ = state::with_core(|_| RAN.remove(control)),
            true => {}
            // What is there next is another.
            false => forget(control),
        }
        return;
    };
    let has_run = state::with_core(|core| {
        let last = core.routine_ran(thread);
        PAST.insert(past_key(thread, last), which(thread));
        RAN.insert(control, Ident::new(ident.inst(), last));
    });
    if has_run.is_some() {
        // Relaxed: the C library publishes that the control is done after this, and a thread that
        // sees that sees this.
        HAVE_RUN.store(true, Relaxed);
    }
}

/// The call has returned; the calling thread has run the routine, or another had.
pub fn returned(control: u64, has_run: bool) {
    if has_run {
        return;
    }
    let Some(thread) = watch::own() else { return };
    thread.wait_end();
    thread.abandon();
    if let Some(known) = RAN.get(control) {
        comes_after(thread, known);
    }
}

/// The routine is left by an exception, or with its thread: it has not run.
pub fn unwound() {
    if let Some(thread) = watch::own()
        && let Some(control) = thread.innermost_routine()
    {
        watch::released(thread, control, None);
        if !is_static(control) {
            forget(control);
        }
    }
}

/// The calling thread calls `pthread_once`, which returns to `site`, for a control that is done.
///
/// # Safety
/// The call has not returned.
pub unsafe fn is_done(control: u64, site: u64, back: Return) {
    let Some(known) = RAN.get(control) else { return };
    // Not what is there since its memory was freed.
    let ident = unstamped::find(control).filter(|ident| ident.inst() == known.inst());
    let Some(ident) = ident else { return };
    let last = known.class();
    let Some(thread) = watch::thread().filter(|it| !is_past(it, last)) else { return };
    // As in `enter`.
    if thread.wait_frame().is_some() {
        return;
    }
    let lock = Acquire { addr: control, ident, mode: mode::ONCE, site };
    // With nothing held, too: a joiner of the thread waits for what it waits for.
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    if unsafe { watch::before_past(thread, lock, back) } {
        thread.abandon();
    }
    comes_after(thread, known);
}

/// What the thread does from here on comes after the routine.
fn comes_after(thread: &mut ThreadState, known: Ident) {
    let last = known.class();
    if !is_past(thread, last) {
        state::with_core(|core| {
            core.routine_is_past(thread, last);
            PAST.insert(past_key(thread, last), which(thread));
        });
    }
}

/// The thread comes after the routine that ended in segment `last`.
fn is_past(thread: &ThreadState, last: u32) -> bool {
    PAST.get(past_key(thread, last)) == Some(which(thread))
}

fn past_key(thread: &ThreadState, last: u32) -> u64 {
    // Rows lie in one ledger, at multiples of 64: 32 bits tell 256 GiB apart.
    (core::ptr::from_ref(thread) as u64 >> 6) << 32 | u64::from(last)
}

/// A thread's number, which no other has.
fn which(thread: &ThreadState) -> Ident {
    Ident::new(thread.id(), 1)
}

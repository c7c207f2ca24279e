//! Waits for a routine that another thread runs, by `pthread_once` or `call_once`.
//!
//! Whether a call waits is known when it returns: it has if it has not run the routine itself. So the wait is in the ledger from
//! the call on, until the routine begins. The thread that runs it leaves its site, by which its waits are charged to it.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{Call, CellRef, For, Pending, Shares, Waiting, key};
use lockwright_ledger::rows::meter::wait_kind;

use super::attached::thread;
use super::meter::is_wanted;
use super::spots::{cell_of, wait_site};
use super::{clock, record, tls, wait};
use crate::lock_id::side_table::SideTable;
use crate::os::sys;
use crate::recorder::state;

/// Sites where routines run, by their control.
#[unsafe(link_section = "lockwright_forked")]
static RUNS: SideTable = SideTable::new();

/// There are some.
static ANY: AtomicBool = AtomicBool::new(false);

/// A call that may wait.
pub struct Entered {
    cell: CellRef,
    control: u64,
    begun: u64,
    outer: Waiting,
}

/// Forgets the routines that run: in a forked child.
pub fn forked() {
    // Relaxed: a fork takes the memory as it is.
    if ANY.load(Relaxed) {
        ANY.store(false, Relaxed);
        RUNS.clear();
    }
}

/// The calling thread calls for the routine of `control`, which is not done, by a call that returns to `site`.
#[cold]
pub fn enters(control: u64, site: u64) -> Option<Entered> {
    let thread = if is_wanted() { thread() } else { None }?;
    let (address, site) = (site, wait_site(site));
    let call = Call { addr: control, wait: wait_kind::ONCE, site, ..Call::default() };
    let cell = cell_of(thread, key(wait_kind::ONCE.into(), u16::MAX, site), &call, address)?;
    let begun = clock::now();
    let outer = wait::begin_at(thread, cell, control, begun);
    Some(Entered { cell, control, begun, outer })
}

/// The calling thread runs the routine of `control`: it does not wait.
pub fn runs(control: u64) {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return };
    if let Some(site) = thread.waits_at(control) {
        thread.wait_left();
        // Relaxed: only a forked child looks at it, whose memory is as this process left it.
        ANY.store(true, Relaxed);
        state::with_core(|_| RUNS.insert(control, Ident::new(site, 1)));
    }
}

/// The call has returned; `has_run`: the thread has run the routine.
pub fn returned(entered: Entered, has_run: bool) {
    let Entered { cell, control, begun, outer } = entered;
    let ended = clock::now();
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return };
    thread.wait_ends(outer, ended);
    if has_run {
        return;
    }
    let errno = sys::errno();
    cell.begin();
    let ticks = ended.saturating_sub(begun);
    let by = RUNS.get(control).map_or(0, Ident::inst);
    let what = For { addr: control, ..For::default() };
    let waited = Pending::new(cell, ended, ticks, Shares::of(by, ticks));
    record::wait(thread, &Pending { what, ..waited });
    sys::set_errno(errno);
}

//! Waits at futexes, timed and charged to the thread's waker.

use core::ffi::c_long;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use lockwright_engines::lockmeter::{
    Call, CellRef, For, LastWord, MeterThread, Pending, Shares, key,
};
use lockwright_engines::wakes::{Place, Waker};
use lockwright_ledger::rows::meter::wait_kind;
use lockwright_ledger::timeline::event_flag;

use super::attached::thread;
use super::cond::LOOK;
use super::meter::{is_wanted, prepare};
use super::spots::cell_of;
use super::{clock, record, tls, wait};
use crate::callsite;
use crate::futex::{Stack, Wait};
use crate::os::sys;

/// Cells of threads, at places, of words: beyond so many, places do not tell words apart, nor
/// callers beyond the return address. A program may have a futex for each of a million objects.
const MOST: u32 = 1 << 14;

/// Cells made so far.
#[unsafe(link_section = "lockwright_forked")]
static CELLS: AtomicU32 = AtomicU32::new(0);

/// The cell of a call at a futex.
fn cell(thread: &mut MeterThread, call: Call, stack: &Stack, address: u64) -> Option<CellRef> {
    let what = u64::from(call.wait) | u64::from(call.inst) << 32;
    let key_of = |call: &Call| key(what, u16::MAX, call.site);
    let told = Call { site: stack.site(call.addr), ..call };
    if let Some(cell) = thread.find(key_of(&told)) {
        return Some(cell);
    }
    // Relaxed: a bound that may be missed by some.
    if CELLS.load(Relaxed) < MOST {
        CELLS.fetch_add(1, Relaxed);
        return cell_of(thread, key_of(&told), &told, address);
    }
    let at = callsite::deep(address).admitted(address).id;
    let untold = Call { addr: 0, site: at, ..call };
    cell_of(thread, key_of(&untold), &untold, address)
}

/// The calling thread is in a wait that is measured: for a lock of an interposed library that waits
/// by a futex.
pub fn is_in_wait() -> bool {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    unsafe { tls::get().as_ref() }.is_some_and(MeterThread::is_waiting)
}

/// Waits by `block` and counts it; The waker knows `place`.
pub fn during(
    begun: &Wait,
    stack: &Stack,
    place: Option<&Place>,
    block: impl FnOnce() -> c_long,
) -> c_long {
    let thread = match is_wanted() {
        true => thread(),
        false => None,
    };
    let Some(thread) = thread else { return block() };
    let call =
        Call { inst: begun.call, addr: begun.addr, wait: wait_kind::FUTEX, ..Call::default() };
    let Some(cell) = cell(thread, call, stack, begun.site) else { return block() };
    prepare(thread);
    cell.begin();
    thread.set_waiting_word(begun.word);
    let since = clock::now();
    let (result, ended) = wait::block_at(thread, cell, begun.addr, since, block);
    let errno = sys::errno();
    let ticks = ended.saturating_sub(since);
    let waker = place.and_then(Place::waker);
    let site = waker.map_or(0, |waker| waker.site);
    match (result, errno) {
        (-1, libc::EAGAIN) => cell.refuse(),
        (-1, libc::ETIMEDOUT | libc::EINTR) => {
            if errno == libc::ETIMEDOUT {
                cell.ran_out()
            } else {
                cell.interrupted()
            }
            let what = For { addr: begun.addr, flags: event_flag::GAVE_UP, ..For::default() };
            let waited = Pending::new(cell, ended, ticks, Shares::NONE);
            record::wait(thread, &Pending { what, ..waited });
        }
        // Refused for another reason: there was no wait.
        (-1, _) => cell.take_back(),
        _ => {
            let shares = Shares::of(site, ticks);
            let what = For { addr: begun.addr, ..waker.map_or(For::default(), ended_by) };
            record::wait(thread, &Pending { what, ..Pending::new(cell, ended, ticks, shares) });
            // What was done here takes longer than a look.
            let ended = clock::now();
            let last = LastWord { cell, addr: begun.addr, word: begun.word, ended, by: site };
            // A wait that no call ended was not woken in vain.
            thread.last_word().filter(|_| site != 0).into_iter().for_each(|kept| kept.put(last));
        }
    }
    sys::set_errno(errno);
    result
}

/// The thread is about to wait. If a call ended its last wait a moment ago, at the same word, which is again what it was then, and the
/// thread has woken nobody meanwhile, it was woken in vain. A thread that had taken a lock there would have let it go, and woken the next.
pub fn comes(begun: &Wait) {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return };
    let Some(last) = thread.last_word().and_then(|kept| kept.take()) else { return };
    let since = clock::now().saturating_sub(last.ended);
    if last.addr == begun.addr && last.word == begun.word && since < LOOK {
        record::in_vain(thread, last.cell, last.by, since);
    }
}

/// The calling thread wakes others, or would: it has done something.
pub fn wakes() {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(last) = unsafe { tls::get().as_mut() }.and_then(MeterThread::last_word) {
        last.take();
    }
}

/// What is known of a wait that a call woke.
fn ended_by(waker: Waker) -> For {
    For { by: waker.tid, when: waker.when_ns, flags: event_flag::WHEN_NS, ..For::default() }
}

/// The cell of a call that is about to wake somebody, which returns to `address`.
pub fn waker(stack: &Stack, address: u64) -> Option<CellRef> {
    if !is_wanted() {
        return None;
    }
    let call = Call { wait: wait_kind::FUTEX_WAKE, ..Call::default() };
    cell(thread()?, call, stack, address)
}

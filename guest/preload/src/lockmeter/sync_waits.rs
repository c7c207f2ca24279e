//! Waits for what is no lock: semaphores, barriers, the end of a thread.

use core::ffi::c_int;

use libc::{pthread_barrier_t, pthread_t, sem_t};
use lockwright_engines::lockmeter::{Call, CellRef, For, MeterThread, Pending, Shares, key};
use lockwright_glibc::table::semaphore;
use lockwright_ledger::rows::meter::wait_kind;

use super::attached::thread;
use super::meter::prepare;
use super::spots::{cell_of, wait_site};
use super::{clock, posts, record, timeline, wait};
use crate::libc::real;
use crate::os::sys;
use crate::recorder::measured::measured_short;
use crate::stack::checked_read;

type Semaphore = *mut sem_t;

/// Waits by `block` for what is at `addr`, and times it. `None` where the wait is not counted.
pub fn timed(
    thread: &mut MeterThread,
    cell: Option<CellRef>,
    addr: u64,
    block: impl FnOnce() -> c_int,
) -> (c_int, Option<Pending>) {
    let Some(cell) = cell else { return (block(), None) };
    prepare(thread);
    cell.begin();
    let begun = clock::now();
    let (result, ended) = wait::block_at(thread, cell, addr, begun, block);
    let ticks = ended.saturating_sub(begun);
    let what = For { addr, ..For::default() };
    (result, Some(Pending { what, ..Pending::new(cell, ended, ticks, Shares::NONE) }))
}

/// The cell of a wait of `kind` at `site`.
fn cell(thread: &mut MeterThread, kind: u32, addr: u64, site: u64) -> Option<CellRef> {
    measured_short(|| {
        let (address, site) = (site, wait_site(site));
        let call = Call { addr, wait: kind, site, ..Call::default() };
        cell_of(thread, key(u64::from(kind), u16::MAX, site), &call, address)
    })
}

/// A wait of `kind` that always is one.
pub fn whole(kind: u32, addr: u64, site: u64, block: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = thread() else { return block() };
    let cell = cell(thread, kind, addr, site);
    let joined = posts::joined(kind, addr);
    let (result, waited) = timed(thread, cell, addr, block);
    if let Some(mut waited) = waited {
        if timeline::is_wanted() {
            waited.what = posts::of_whole(waited.what, kind, result, joined, waited.ended);
        }
        record::wait(thread, &waited);
    }
    result
}

/// `pthread_barrier_wait`.
///
/// # Safety
/// The arguments keep the contract of `pthread_barrier_wait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn barrier_wait(b: *mut pthread_barrier_t, site: u64) -> c_int {
    // SAFETY: the next `pthread_barrier_wait` gets the program's own `b` unchanged, as without us.
    whole(wait_kind::BARRIER, b as u64, site, || unsafe { real::pthread_barrier_wait(b) })
}

/// Waits for a semaphore by `block`, if it cannot be taken at once.
///
/// # Safety
/// `s` points to the caller's semaphore; `site` is the call's return address.
pub unsafe fn sem(s: Semaphore, site: u64, block: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = thread() else { return block() };
    let Some(cell) = cell(thread, wait_kind::SEMAPHORE, s as u64, site) else { return block() };
    // A wait acts upon a cancellation that is pending even if it need not wait; trying does not.
    // SAFETY: it takes no arguments, and nothing is under way that unwinding would leave behind.
    unsafe { real::pthread_testcancel() };
    // SAFETY: `__errno_location` gives the address of this thread's own errno, which lives as long
    // as the thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: `errno` is the address of this thread's own errno, which no other thread writes.
    let before = unsafe { *errno };
    // SAFETY: the program asked to wait for its own `s`, and a trywait needs of it no more than
    // that.
    if unsafe { real::sem_trywait(s) } == 0 {
        cell.begin();
        return 0;
    }
    // SAFETY: `errno` is this thread's own: what the attempt left there is not the program's to
    // see.
    unsafe { *errno = before };
    sem_timed(thread, cell, s, block)
}

/// Waits for a semaphore by `block`, and counts the wait.
fn sem_timed(
    thread: &mut MeterThread,
    cell: CellRef,
    s: Semaphore,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let mut sleeps = 0;
    let (result, waited) =
        timed(thread, Some(cell), s as u64, || counting_sleeps(&mut sleeps, block));
    if let Some(mut waited) = waited {
        if result == 0 && timeline::is_wanted() {
            waited.what = posts::of_wait(waited.what, waited.ticks, waited.ended);
        }
        record::wait(thread, &waited);
        // Each sleep but the last ended in vain: the thread was woken, and another had taken the post.
        for _ in 1..sleeps.min(MOST_SLEEPS) {
            record::in_vain(thread, cell, 0, 1);
        }
    }
    result
}

/// Sleeps of one wait that are counted.
const MOST_SLEEPS: u64 = 1000;

/// Waits by `block`. `sleeps` becomes how often the thread slept meanwhile, as far as it may ask.
fn counting_sleeps(sleeps: &mut u64, block: impl FnOnce() -> c_int) -> c_int {
    if checked_read::is_filtered() {
        return block();
    }
    let before = measured_short(sys::sleeps_of_thread);
    let result = block();
    if let (Some(before), Some(after)) = (before, measured_short(sys::sleeps_of_thread)) {
        *sleeps = after.saturating_sub(before);
    }
    result
}

/// `pthread_join`.
///
/// # Safety
/// The arguments keep the contract of `pthread_join`; the stub passes `site`.
pub unsafe extern "C-unwind" fn pthread_join(
    t: pthread_t,
    value: *mut *mut core::ffi::c_void,
    site: u64,
) -> c_int {
    // SAFETY: the next `pthread_join` gets the program's own `t` and `value` unchanged, as without
    // us.
    whole(wait_kind::JOIN, t, site, || unsafe { real::pthread_join(t, value) })
}

/// `thrd_join`.
///
/// # Safety
/// The arguments keep the contract of `thrd_join`; the stub passes `site`.
pub unsafe extern "C-unwind" fn thrd_join(t: pthread_t, value: *mut c_int, site: u64) -> c_int {
    // SAFETY: the next `thrd_join` gets the program's own `t` and `value` unchanged, as without us.
    whole(wait_kind::JOIN, t, site, || unsafe { real::thrd_join(t, value) })
}

/// A semaphore is waited for by `block`, which may get it at once: its value tells.
///
/// # Safety
/// `s` points to the caller's semaphore; `site` is the call's return address.
pub unsafe fn sem_whole(s: Semaphore, site: u64, block: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller promises a semaphore, of which this is a field of glibc's.
    let waits =
        unsafe { s.cast::<u32>().byte_add(const { semaphore::VALUE.always() }).read_volatile() }
            == 0;
    let Some(thread) = thread() else { return block() };
    let Some(cell) = cell(thread, wait_kind::SEMAPHORE, s as u64, site) else { return block() };
    if !waits {
        cell.begin();
        return block();
    }
    sem_timed(thread, cell, s, block)
}

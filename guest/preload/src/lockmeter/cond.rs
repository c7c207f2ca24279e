//! Condition waits: the mutex' hold ends, and another begins when the wait is over. The wait is for the condition up to the signal,
//! and for the mutex after it.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};
use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{
    Call, CellRef, CondWait, For, LastWait, Left, MeterThread, On, Pending, Shares, Signal, Woken,
    key,
};
use lockwright_ledger::rows::meter::{Metered, site_flag, wait_kind};
use lockwright_ledger::rows::mode;
use lockwright_ledger::timeline::event_flag;

use super::attached::thread;
use super::meter::{BOARDS, CONDITIONS, WHAT, header, is_wanted, prepare};
use super::spots::{cell_of, wait_site};
use super::target::Spot;
use super::{clock, hold, record, tls, wait};
use crate::libc::real;
use crate::lock_id::identity::{self, Identify};
use crate::os::{deadline, time};
use crate::recorder::cond_signals;
use crate::recorder::measured::measured_short;

type Cond = *mut pthread_cond_t;
type Mutex = *mut pthread_mutex_t;

/// `pthread_cond_wait`.
///
/// # Safety
/// The arguments keep the contract of `pthread_cond_wait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn wait(c: Cond, m: Mutex, site: u64) -> c_int {
    // SAFETY: the next `pthread_cond_wait` gets the program's own `c` and `m` unchanged, as without
    // us.
    unsafe { around(c as u64, m, site, Ends::Never, || real::pthread_cond_wait(c, m)) }
}

/// `pthread_cond_timedwait`.
///
/// # Safety
/// The arguments keep the contract of `pthread_cond_timedwait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn timedwait(
    c: Cond,
    m: Mutex,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the next `pthread_cond_timedwait` gets the program's own arguments unchanged, as
    // without us.
    let block = || unsafe { real::pthread_cond_timedwait(c, m, t) };
    // SAFETY: `m` is the program's own mutex, and `t` its deadline or null.
    unsafe {
        match deadline::is_time(t) {
            true => around(c as u64, m, site, Ends::at(t), block),
            false => block(),
        }
    }
}

/// `pthread_cond_clockwait`.
///
/// # Safety
/// The arguments keep the contract of `pthread_cond_clockwait`; the stub passes `site`.
pub unsafe extern "C-unwind" fn clockwait(
    c: Cond,
    m: Mutex,
    clock: clockid_t,
    t: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the next `pthread_cond_clockwait` gets the program's own arguments unchanged, as
    // without us.
    let block = || unsafe { real::pthread_cond_clockwait(c, m, clock, t) };
    // SAFETY: `m` is the program's own mutex, and `t` its deadline or null.
    unsafe {
        match deadline::is_time(t) && deadline::is_clock(clock) {
            true => around(c as u64, m, site, Ends::at(t), block),
            false => block(),
        }
    }
}

/// When a wait ends that can, on its own clock.
#[derive(Clone, Copy)]
pub enum Ends {
    /// Not by itself.
    Never,
    /// At a time, by CLOCK_REALTIME or CLOCK_MONOTONIC. Their times are so far apart that they tell which.
    At { ns: i128 },
    /// At a time that is not known.
    Sometime,
}

impl Ends {
    /// The deadline of a call.
    ///
    /// # Safety
    /// The caller's deadline.
    pub unsafe fn at(deadline: *const timespec) -> Self {
        // SAFETY: the caller promises a deadline.
        let time = unsafe { &*deadline };
        Self::At { ns: i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec) }
    }

    /// By how many nanoseconds it is past.
    fn late_ns(self) -> Option<u64> {
        let Self::At { ns } = self else { return None };
        let late = |now: u64| u64::try_from(i128::from(now) - ns).ok();
        late(time::now_ns()).or_else(|| late(time::realtime_ns()))
    }
}

/// Sites of waits that ran out of time and then did not have the mutex for long: a bit each, by their row. There the next wait
/// asks who holds the mutex; elsewhere that would only make the mutex's releases slower.
static LATE: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// So late is no thread that only has to be woken, mostly.
const LATE_NS: u64 = 200_000;

/// The bit of a site.
fn late_bit(site: u32) -> (&'static AtomicU64, u64) {
    (&LATE[site as usize / 64 % LATE.len()], 1 << (site % 64))
}

/// Within so many ticks, 5 to 20 us, a thread that was woken can have done no more than look at what it waits for.
pub(super) const LOOK: u64 = 20_000;

/// A condition wait, by `block`, on the condition variable at `c`, that gives up `m` and takes it again.
///
/// # Safety
/// `m` points to the lock that the caller gives up; `site` is the call's return address.
pub unsafe fn around<L: Identify>(
    c: u64,
    m: *mut L,
    site: u64,
    ends: Ends,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = thread() else { return block() };
    // SAFETY: the program passed `m` to this call, so it points to its mutex, as `known` asks.
    let (Some(ident), Some(held)) = (unsafe { identity::known(m) }, thread.entry_of(m as u64))
    else {
        return block();
    };
    if MeterThread::recursion_of(&held) != 0 {
        // Given up only in part, if at all: undefined by POSIX, and left alone.
        return block();
    }
    // The wait itself is the program's.
    if !measured_short(|| begin(thread, c, m as u64, ident, &held, site, ends)) {
        // The hold ends here, and nothing more is known.
        hold::give_up(thread, m as u64);
        return block();
    }
    let result = block();
    let ended = clock::now();
    // SAFETY: null or this thread's own live state; the reference above is not used any more.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        measured_short(|| end(thread, c, result, ended, ends));
    }
    result
}

/// A condition wait begins. What is to be done when it is over is kept where a thread that is cancelled finds it. False: the wait
/// is not counted.
#[inline(never)]
fn begin(
    thread: &mut MeterThread,
    c: u64,
    mutex: u64,
    ident: Ident,
    held: &Metered,
    site: u64,
    ends: Ends,
) -> bool {
    let (address, site) = (site, wait_site(site));
    let waiting = Call {
        class: ident.class(),
        addr: mutex,
        mode: mode::COND_WAIT,
        wait: wait_kind::COND,
        site,
        ..Call::default()
    };
    let cell = cell_of(thread, key(class(ident), mode::COND_WAIT, site), &waiting, address);
    // Before the wait: the stack of a thread that is cancelled in it is being unwound.
    let again = relocks_in(thread, mutex, ident, site, address);
    prepare(thread);
    let (Some(cell), Some(waiter)) = (cell, thread.cond_waiter()) else { return false };
    looked_only(thread, c, held);
    // The hold ends here, as far as we can see: nothing comes between the mutex's release and the
    // wait, which are one call.
    hold::give_up(thread, mutex);
    cell.begin();
    let (late, bit) = late_bit(cell.site());
    // Relaxed: a hint.
    let asks = !matches!(ends, Ends::Never) && late.load(Relaxed) & bit != 0;
    let begun = clock::now();
    let place = if asks { wait::enter(thread, mutex, begun) } else { None };
    // SAFETY: `pthread_self` takes no arguments and only reads the thread's own descriptor.
    let on = On { cond: c, mutex, class: ident.class(), thread: unsafe { libc::pthread_self() } };
    cond_signals::matter();
    // SAFETY: the thread's own place.
    let is_listed = unsafe { CONDITIONS.enter(waiter, on, &BOARDS) };
    let outer = wait::begin_at(thread, cell, mutex, begun);
    let wait = CondWait { cell, again, mutex, begun, is_listed, place, outer };
    if let Some(condition) = thread.condition() {
        condition.wait.put(wait);
    }
    true
}

/// The thread is about to wait on `c` with a mutex that it holds as `held`. If it holds it since it was woken there, a moment ago,
/// it was woken in vain.
fn looked_only(thread: &mut MeterThread, c: u64, held: &Metered) {
    let Some(last) = thread.condition().and_then(|condition| condition.last.take()) else { return };
    let since = clock::now().saturating_sub(last.ended);
    if last.cond == c && MeterThread::cell_of(held) == Some(last.again) && since < LOOK {
        record::in_vain(thread, last.cell, last.by, since);
    }
}

/// A condition wait that is over.
struct Over {
    cell: CellRef,
    /// As [`CondWait::again`].
    again: Option<CellRef>,
    mutex: u64,
    begun: u64,
    ended: u64,
    /// When it was woken, or ran out of time.
    woken: u64,
    /// Site of the signal, 0 if it is not known.
    by: u32,
    what: For,
    /// The holder that let it have the mutex.
    left: Option<Left>,
}

/// The condition wait on `c` is over, at `ended`, and the thread has its mutex.
#[inline(never)]
fn end(thread: &mut MeterThread, c: u64, result: c_int, ended: u64, ends: Ends) {
    let mut shares = Shares::NONE;
    let Some(over) = leave(thread, c, result, (ended, ends), &mut shares) else { return };
    let again = relock(thread, &over, &mut shares);
    if let (0, Some(again), Some(condition)) = (result, again, thread.condition()) {
        condition.last.put(LastWait { cell: over.cell, again, cond: c, ended, by: over.by });
    }
}

/// The thread waits on `c` no more. `shares` become those of the mutex's holders since it was woken. By a function of its own, which
/// takes much of a stack.
#[inline(never)]
fn leave(
    thread: &mut MeterThread,
    c: u64,
    result: c_int,
    (ended, ends): (u64, Ends),
    shares: &mut Shares,
) -> Option<Over> {
    let wait = thread.condition().and_then(|condition| condition.wait.take())?;
    thread.wait_ends(wait.outer, ended);
    let signal = thread.cond_waiter().filter(|_| wait.is_listed).and_then(|waiter| {
        // SAFETY: the thread's own place, which is in the list.
        unsafe { CONDITIONS.leave(waiter, result == 0, &BOARDS) }
    });
    let signalled_at = signal.map(|signal| signal.at.clamp(wait.begun, ended));
    let (mut woken_at, mut left) = (signalled_at, None);
    if let Some(place) = signal.and_then(|signal| signal.place) {
        left = wait::left(&place, ended);
        *shares = BOARDS.leave(&place, None);
    }
    match wait.place {
        Some(place) if result == libc::ETIMEDOUT => {
            left = wait::left(&place, ended);
            woken_at = late_since(ends, ended).map(|at| at.clamp(wait.begun, ended));
            *shares = BOARDS.leave_from(&place, woken_at.unwrap_or(ended));
        }
        Some(place) => BOARDS.quit(&place),
        None if result == libc::ETIMEDOUT && ends.late_ns().is_some_and(|late| late > LATE_NS) => {
            let (late, bit) = late_bit(wait.cell.site());
            // Relaxed: a hint.
            late.fetch_or(bit, Relaxed);
        }
        None => {}
    }
    if result == libc::ETIMEDOUT {
        wait.cell.ran_out();
    }
    let CondWait { cell, again, mutex, begun, .. } = wait;
    let what = For {
        addr: c,
        by: signal.map_or(0, |signal| signal.tid),
        when: signalled_at.unwrap_or(0),
        flags: if result == libc::ETIMEDOUT { event_flag::GAVE_UP } else { 0 },
        ..For::default()
    };
    let by = signal.map_or(0, |signal| signal.site);
    let woken = woken_at.unwrap_or(ended);
    Some(Over { cell, again, mutex, begun, ended, woken, by, what, left })
}

/// The thread has the mutex again. The cell of that acquisition.
///
/// A thread that is woken needs time to run. If others held the mutex for most of what it took, it had to wait for the mutex; else
/// for the processor, and all of that is the condition's wait.
#[inline(never)]
fn relock(thread: &mut MeterThread, over: &Over, shares: &mut Shares) -> Option<CellRef> {
    let &Over { cell, again, begun, ended, woken, by, what, left, .. } = over;
    let ticks = ended.saturating_sub(woken);
    let spot = again.and_then(|cell| {
        cell.begin();
        thread.has_room().then_some(Spot { cell, trial: None })
    });
    let whole = ended.saturating_sub(begun);
    let Some(spot) = spot else {
        record::woken(thread, &Woken { cell, ticks: whole, by, ended, what });
        return None;
    };
    if shares.held() > ticks / 2 {
        shares.settle(ticks);
        let lock = For { addr: over.mutex, flags: event_flag::LOCK, ..For::default() };
        let lock = wait::ended_by(left, lock);
        let waited = Pending { what: lock, ..Pending::new(spot.cell, ended, ticks, *shares) };
        let before = Woken { cell, ticks: woken.saturating_sub(begun), by, ended: woken, what };
        wait::held_after(thread, Some(&waited), over.mutex, spot, false);
        if !thread.keep_woken(&before) {
            record::woken(thread, &before);
        }
    } else {
        *shares = Shares::of(by, whole);
        let waited = Pending { what, ..Pending::new(cell, ended, whole, *shares) };
        wait::held_after(thread, Some(&waited), over.mutex, spot, false);
    }
    Some(spot.cell)
}

/// The time, in ticks, at which a wait ran out that returned at `ended`.
fn late_since(ends: Ends, ended: u64) -> Option<u64> {
    Some(ended.saturating_sub(clock::ticks_of(header()?, ends.late_ns()?)?))
}

/// The calling thread was cancelled in a condition wait, and has the mutex again: for its clean-up handlers.
pub fn unwound(thread: &mut MeterThread) {
    end(thread, 0, libc::ECANCELED, clock::now(), Ends::Never);
}

/// The calling thread has left a condition wait by a long jump, and has no mutex.
pub fn left(thread: &mut MeterThread) {
    let Some(wait) = thread.condition().and_then(|condition| condition.wait.take()) else { return };
    if let Some(waiter) = thread.cond_waiter().filter(|_| wait.is_listed) {
        // SAFETY: the thread's own place, which is in the list.
        let signal = unsafe { CONDITIONS.leave(waiter, false, &BOARDS) };
        signal.and_then(|signal| signal.place).iter().for_each(|place| BOARDS.quit(place));
    }
    wait.place.iter().for_each(|place| BOARDS.quit(place));
}

/// The condition variable at `c` is about to be signalled, `to_all` or to one, by a call that returns to `site`.
pub fn signalled(c: u64, site: u64, to_all: bool) {
    if is_wanted()
        && let Some(on) = CONDITIONS.waited_for(c)
        && let Some(thread) = thread()
    {
        measured_short(|| signal(thread, &on, site, to_all));
    }
}

#[inline(never)]
fn signal(thread: &mut MeterThread, on: &On, site: u64, to_all: bool) {
    let (address, site) = (site, wait_site(site));
    let wait = if to_all { wait_kind::COND_BROADCAST } else { wait_kind::COND_SIGNAL };
    let call = Call { class: on.class, addr: on.cond, wait, site, ..Call::default() };
    let key = key(u64::from(on.class) << 32 | u64::from(wait), u16::MAX, site);
    let Some(cell) = cell_of(thread, key, &call, address) else { return };
    let at = clock::now();
    let place = wait::enter(thread, on.mutex, at);
    let signal = Signal { at, site: cell.site(), tid: thread.tid(), place };
    if CONDITIONS.signal(on.cond, to_all, signal, on.mutex, &BOARDS) > 0 {
        cell.begin();
    }
    place.iter().for_each(|place| BOARDS.quit(place));
}

/// The thread `pthread` is about to be cancelled: that ends its condition wait.
pub fn cancels(pthread: u64) {
    if !is_wanted() {
        return;
    }
    if let (Some(on), Some(thread)) = (CONDITIONS.wait_of(pthread), thread()) {
        let at = clock::now();
        let place = wait::enter(thread, on.mutex, at);
        CONDITIONS.cancel(&on, Signal { at, site: 0, tid: thread.tid(), place }, &BOARDS);
        place.iter().for_each(|place| BOARDS.quit(place));
    }
}

fn class(ident: Ident) -> u64 {
    u64::from(ident.class()) << 32
}

/// The cell of the acquisition that takes the mutex back.
fn relocks_in(
    thread: &mut MeterThread,
    addr: u64,
    ident: Ident,
    site: u64,
    address: u64,
) -> Option<CellRef> {
    let what = WHAT.load(Relaxed);
    let call = Call {
        class: ident.class(),
        inst: (ident.0 & what) as u32,
        addr,
        flags: site_flag::COND_REACQUIRE,
        site,
        ..Call::default()
    };
    cell_of(thread, key(ident.0 & what, mode::COND_REACQUIRE, site), &call, address)
}

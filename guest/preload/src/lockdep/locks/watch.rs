//! The parts of every wrapper: the thread's state, an acquisition in its steps, a release.

use core::cell::LazyCell;
use core::ffi::c_int;

use libc::{EBUSY, EOWNERDEAD};
use lockwright_engines::lockdep::{Acquire as Acquisition, Chain, Ident, MAX_FRAMES, ThreadState};

use crate::callsite::current_stack::Known;
use crate::callsite::{self, Return};
use crate::lock_id::first_use;
use crate::lock_id::identity::{self, Birth, Identify};
use crate::lock_id::inherited::{self, Inherited};
pub use crate::lockdep::attached_threads::{own, thread};
use crate::lockdep::{attached_threads, fast_path, folded, left_held, misuse, release};
use crate::os::tls;
use crate::os::upcall::Upcall;
use crate::recorder::measured::{Short, measured, measured_short};
use crate::recorder::state;
use crate::stack::unwind::Frame;
use crate::stack::{modules, python};
use crate::steering;
use crate::threads::unnoticed_ends;

/// The thread and the lock, if both are watched.
#[inline(always)]
pub fn subject<T: Identify>(lock: *const T) -> Option<(&'static mut ThreadState, Ident)> {
    // SAFETY: no call is named, so there is none that could have returned.
    unsafe { subject_of(lock, || None) }
}

/// As [`subject`], of the lock that the call which `call` finds is given, if that is known.
///
/// # Safety
/// That call has not returned. Its frame pointer may be anything.
#[inline(always)]
pub unsafe fn subject_of<T: Identify>(
    lock: *const T,
    call: impl FnOnce() -> Option<Frame>,
) -> Option<(&'static mut ThreadState, Ident)> {
    let state = tls::get();
    // SAFETY: wrappers are given valid locks; what `thread` says about the state.
    match unsafe { (state.as_mut(), identity::stamped(lock)) } {
        (Some(thread), Some(ident)) => Some((thread, ident)),
        // SAFETY: the caller promises a call that has not returned.
        _ => unsafe { subject_slow(lock, call()) },
    }
}

/// The slow path of [`subject_of`]: the thread is new, or the lock carries no stamp.
///
/// # Safety
/// As for [`subject_of`].
#[cold]
unsafe fn subject_slow<T: Identify>(
    lock: *const T,
    call: Option<Frame>,
) -> Option<(&'static mut ThreadState, Ident)> {
    // SAFETY: the caller promises a call that has not returned.
    let newborn = || unsafe { newborn(lock, call?) };
    measured_short(newborn).or_else(|| measured(|| identified(lock)))
}

/// A lock that has just begun its life, where others of its class have, with the calling thread, which is attached.
///
/// # Safety
/// As for [`subject_of`].
unsafe fn newborn<T: Identify>(
    lock: *const T,
    call: Frame,
) -> Option<(&'static mut ThreadState, Ident)> {
    // SAFETY: the thread's own state, to which there is no other reference.
    let thread = unsafe { tls::get().as_mut() }?;
    let addr = lock as u64;
    let may_be_held = !thread.is_idle() && misuse::may_be_in_frame(thread, addr);
    if may_be_held && thread.find(addr).is_some() {
        return None;
    }
    // SAFETY: wrappers are given valid locks; the caller promises a call that has not returned.
    let ident = unsafe { identity::newborn(lock, call, || first_use::tell(lock)) }?;
    // What was called may have used the thread's state.
    Some((own()?, ident))
}

/// The calling thread, attached, and the lock with an identity.
fn identified<T: Identify>(lock: *const T) -> Option<(&'static mut ThreadState, Ident)> {
    let thread = thread()?;
    // SAFETY: wrappers are given valid locks, whose bytes `destroyed` reads.
    if let Some(destroyed) = unsafe { identity::destroyed(lock) } {
        misuse::used_after_destroy(thread, lock as u64, &destroyed);
        return None;
    }
    // SAFETY: wrappers are given valid locks, whose memory tells the kind.
    unsafe { first_use::tell(lock) };
    // A lock that we have not met, where the thread holds one that we have.
    if !thread.is_idle()
        && misuse::may_be_in_frame(thread, lock as u64)
        && thread.find(lock as u64).is_some()
        // SAFETY: wrappers are given valid locks, whose stamp `known` reads.
        && unsafe { identity::known(lock) }.is_none()
    {
        misuse::frame_gone(thread, lock as u64);
    }
    // SAFETY: wrappers are given valid locks, which `identify` may stamp.
    let ident = unsafe {
        identity::stamped(lock).or_else(|| identity::identify(lock, Birth::FirstAcquire))
    }?;
    // `identify` may have used the thread's state.
    Some((own()?, ident))
}

/// The calling thread, which knows this acquisition of the lock, with its entry reserved. The fast
/// path of [`subject`] and what follows on it.
#[inline(always)]
pub fn reserve<T: Identify>(
    lock: *const T,
    mode: u16,
    site: u64,
) -> Option<&'static mut ThreadState> {
    // SAFETY: wrappers are given valid locks, whose stamp is read.
    let ident = unsafe { identity::stamped(lock) }?;
    let (thread, chain) = fast_path::chain(ident, mode)?;
    let probe = thread.known(chain, site)?;
    thread.reserve_in(chain, ident, mode, site, probe);
    Some(thread)
}

/// Looks the acquisition up, records it if it is new (before it may block), and reserves its
/// entry. False: no room, the acquisition goes unwatched.
#[inline(always)]
#[must_use]
pub fn before(thread: &mut ThreadState, addr: u64, ident: Ident, mode: u16, site: u64) -> bool {
    let lock = Acquisition { addr, ident, mode, site };
    thread.reserve_known(ident, mode, site) || before_slow(thread, lock, Return::UNKNOWN)
}

/// As [`before`] where the site is not known as it is: looks past wrappers, from the call that
/// returns to `lock.site` by way of `back`.
///
/// # Safety
/// That call has not returned.
#[inline(never)]
#[must_use]
pub unsafe fn before_past(thread: &mut ThreadState, lock: Acquisition, back: Return) -> bool {
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    unsafe { is_known_past(thread, &lock, back) || before_new(thread, lock, back) }
}

/// As [`before_past`], as a part that is timed now and then: the walk to a line of an interpreted language is long, and no loop that
/// measures the price of a lock has one.
///
/// # Safety
/// As for [`before_past`].
#[inline(always)]
#[must_use]
pub unsafe fn before_past_in(
    part: &mut Short,
    thread: &mut ThreadState,
    lock: Acquisition,
    back: Return,
) -> bool {
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    unsafe { is_known_past(thread, &lock, back) || part.outside(|| before_new(thread, lock, back)) }
}

/// Reserves the entry of an acquisition that is known by a site past its own.
///
/// # Safety
/// As for [`before_past`].
#[inline(never)]
unsafe fn is_known_past(thread: &mut ThreadState, lock: &Acquisition, back: Return) -> bool {
    let &Acquisition { ident, mode, site, .. } = lock;
    // Locks that were released in another order than taken: what is known is known of keys without gaps.
    if thread.closes_gaps() && thread.reserve_known(ident, mode, site) {
        return true;
    }
    thread
        .chain(ident, mode)
        // SAFETY: the caller promises that the call to which `back` belongs has not returned.
        .is_some_and(|chain| unsafe { reserve_past(thread, chain, ident, mode, site, back) })
}

/// Records an acquisition that is not known past wrappers either.
///
/// # Safety
/// As for [`before_past`].
#[inline(never)]
unsafe fn before_new(thread: &mut ThreadState, lock: Acquisition, back: Return) -> bool {
    measured_short(|| {
        // SAFETY: the caller promises that the call to which `back` belongs has not returned.
        unsafe { folded::reserve(thread, &lock, back) }
    }) || before_slow(thread, lock, back)
}

/// As [`reserve`], past wrappers where the site is not known as it is.
///
/// # Safety
/// As for [`before_past`].
#[inline(always)]
pub unsafe fn reserve_known_or_past(
    ident: Ident,
    mode: u16,
    site: u64,
    back: Return,
) -> Option<&'static mut ThreadState> {
    let (thread, chain) = fast_path::chain(ident, mode)?;
    if let Some(probe) = thread.known(chain, site) {
        thread.reserve_in(chain, ident, mode, site, probe);
        return Some(thread);
    }
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    unsafe { reserve_past(thread, chain, ident, mode, site, back) }.then_some(thread)
}

/// The rest of [`reserve_known_or_past`]: what `site` alone is not known for.
///
/// # Safety
/// As for [`before_past`].
#[inline(always)]
unsafe fn reserve_past(
    thread: &mut ThreadState,
    chain: Chain,
    ident: Ident,
    mode: u16,
    site: u64,
    back: Return,
) -> bool {
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    let found =
        unsafe { callsite::known_past_return(site, back, |site| thread.known(chain, site)) };
    if let Some((deep, probe)) = found {
        thread.reserve_in(chain, ident, mode, deep, probe);
    }
    found.is_some()
}

#[cold]
#[inline(never)]
fn before_slow(thread: &mut ThreadState, lock: Acquisition, back: Return) -> bool {
    measured(|| record(thread, lock, back))
}

fn record(thread: &mut ThreadState, lock: Acquisition, back: Return) -> bool {
    let Acquisition { ident, mode, site, .. } = lock;
    let call = LazyCell::new(|| back.call(site));
    if thread.in_signal() != 0 {
        crate::lockdep::signal::notice_long_jump(thread);
    } else {
        callsite::look_at_held(thread.trials(), || *call);
    }
    let mut at = callsite::deep_from(site, || *call);
    loop {
        let mut probe = thread.probe(ident, mode, at.id);
        if !probe.is_hit() {
            at = at.admitted(site);
            let lock = Acquisition { site: at.id, ..lock };
            let entered = state::with_core(|core| {
                modules::cover(core, &[site]);
                let mut stack = Known::new();
                // SAFETY: it is the call that the lock is acquired by, which has not returned.
                let mut capture = |frames: &mut [u64]| unsafe { stack.capture(frames, *call) };
                let entered = core.enter(thread, &lock, probe, &mut capture);
                stack.keep(core);
                entered
            });
            match entered {
                Some(entered) => probe = entered,
                None => return false,
            }
        }
        if thread.reserve(ident, mode, at.id, probe) {
            if let Some(trial) = at.trial {
                thread.put_on_trial(trial);
            }
            return true;
        }
        // What is closed up to make room may change the keys: look up again.
        if state::with_core(|core| core.grow_held(thread)) != Some(true) {
            return false;
        }
    }
}

/// In a forked child: the thread holds the lock as the forking thread held it.
pub fn inherit(thread: &mut ThreadState, inherited: &Inherited) {
    let Inherited { held, ident, stack, .. } = *inherited;
    let lock = Acquisition { addr: held.addr, ident, mode: held.mode, site: held.site };
    let is_reserved = state::with_core(|core| {
        let mut known = [0; MAX_FRAMES];
        let n = core.read_stack(stack, &mut known);
        let mut capture = |frames: &mut [u64]| {
            let n = n.min(frames.len());
            frames[..n].copy_from_slice(&known[..n]);
            n
        };
        loop {
            let mut probe = thread.probe(ident, lock.mode, lock.site);
            if !probe.is_hit() {
                probe = core.enter(thread, &lock, probe, &mut capture);
            }
            if thread.reserve(ident, lock.mode, lock.site, probe) {
                return true;
            }
            if !core.grow_held(thread) {
                return false;
            }
        }
    });
    if is_reserved == Some(true) {
        thread.inherited(held.addr);
    }
}

/// What to know about a lock before one waits for it.
#[derive(Clone, Copy)]
pub struct Blocking {
    /// The lock itself notices that its owner locks it again.
    pub relock_fails: bool,
    /// Kernel thread id that the lock's memory names as its owner, 0 if it does not tell.
    pub owner: u32,
}

/// An acquisition in its steps: recorded, then tried, and only if it is contended waited for. So a
/// wait is known before it begins, and what cannot block pays nothing for it.
///
/// # Safety
/// The call that returns to `lock.site` by way of `back` has not returned.
#[inline(always)]
pub unsafe fn acquire(
    thread: &mut ThreadState,
    lock: Acquisition,
    back: Return,
    blocking: impl FnOnce() -> Blocking,
    try_lock: impl FnOnce() -> c_int,
    block: impl FnOnce() -> c_int,
) -> c_int {
    if !thread.reserve_known(lock.ident, lock.mode, lock.site)
        // SAFETY: the caller promises that the call to which `back` belongs has not returned.
        && !unsafe { before_past(thread, lock, back) }
    {
        return block();
    }
    acquire_reserved(thread, lock.addr, blocking, try_lock, block)
}

/// The last step of [`acquire`]: takes the lock at `addr` that was reserved.
#[inline(always)]
pub fn acquire_reserved(
    thread: &mut ThreadState,
    addr: u64,
    blocking: impl FnOnce() -> Blocking,
    try_lock: impl FnOnce() -> c_int,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let result = try_lock();
    if result == 0 {
        thread.acquired(addr);
        return 0;
    }
    contended(thread, addr, result, blocking, block)
}

/// The slow path, when the reserved lock could not be taken at once: `result` says why.
#[cold]
#[inline(never)]
pub fn contended(
    thread: &mut ThreadState,
    addr: u64,
    mut result: c_int,
    blocking: impl FnOnce() -> Blocking,
    block: impl FnOnce() -> c_int,
) -> c_int {
    if result == EBUSY {
        result = wait_for_reserved(thread, addr, blocking(), block);
    }
    settle(thread, addr, result)
}

/// Waits by `block` for the lock at `addr`, whose entry is reserved, as [`wait`] does.
#[inline(always)]
pub fn wait_for_reserved(
    thread: &mut ThreadState,
    addr: u64,
    kind: Blocking,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let (lock, node) = thread.reserved(addr);
    let is_obstacle = thread.is_obstacle(1);
    wait(thread, &lock, node, is_obstacle, kind, block)
}

/// The reserved entry is held, or it is not.
pub fn settle(thread: &mut ThreadState, addr: u64, result: c_int) -> c_int {
    match result {
        0 | EOWNERDEAD => thread.acquired(addr),
        _ => thread.abandon(),
    }
    result
}

/// Waits by what it is given, for the lock at an address and for an owner, and measures that:
/// lockmeter's part, if that was asked for, too.
pub type Measure = fn(u64, u32, &mut dyn FnMut() -> c_int) -> c_int;

/// Known from the start on.
pub static MEASURE: Upcall<Measure> = Upcall::none();

/// Waits, visibly to the owner walks of others, after having walked the owners itself.
#[cold]
pub fn wait(
    thread: &mut ThreadState,
    lock: &Acquisition,
    node: u32,
    is_obstacle: bool,
    kind: Blocking,
    block: impl FnOnce() -> c_int,
) -> c_int {
    // The wait itself is the program's.
    measured_short(|| begin_wait(thread, lock, node, is_obstacle, kind));
    let result = match MEASURE.get() {
        None => block(),
        Some(measure) => {
            let mut block = Some(block);
            measure(lock.addr, kind.owner, &mut || block.take().map_or(0, |block| block()))
        }
    };
    thread.wait_end();
    result
}

/// Makes a wait visible, and walks the owners. To be followed by the wait and its end.
#[cold]
pub fn begin_wait(
    thread: &mut ThreadState,
    lock: &Acquisition,
    node: u32,
    is_obstacle: bool,
    kind: Blocking,
) {
    if let Some(left) = inherited::left_behind(lock.addr, lock.ident) {
        misuse::left_behind(thread, lock, &left);
    }
    unnoticed_ends::look();
    steering::waits(lock.addr, node);
    if is_obstacle {
        left_held::waits(lock.site);
    }
    thread.wait_begin(lock, node);
    // A thread that nobody can wait for closes no cycle. An owner that runs is none of ours
    // either: should it block later, it walks itself, and sees our wait (fence in `wait_begin`).
    if is_obstacle && !(kind.owner != 0 && attached_threads::is_running(kind.owner)) {
        walk_owners(thread, kind.relock_fails);
    }
    if attached_threads::are_any_at_barriers() && attached_threads::look_at_barriers() {
        left_held::hangs(thread);
    }
}

/// Checks whether the wait that the thread has made visible closes a cycle.
#[cold]
pub fn walk_owners(thread: &mut ThreadState, relock_fails: bool) {
    if attached_threads::finds_deadlock(|core, now| core.find_deadlock(thread, relock_fails, now)) {
        left_held::hangs(thread);
    }
}

/// The context of a wait that is no acquisition. Says whether this thread is there for the first
/// time.
pub fn wait_context(thread: &mut ThreadState, wait: &Acquisition) -> (u32, bool) {
    // Nothing will be released that could decide: a trial there is left to the mutex of a condition
    // wait.
    let address = wait.site;
    let at = callsite::deep(address).admitted(address);
    let probe = thread.probe(wait.ident, wait.mode, at.id);
    if probe.is_hit() {
        return (probe.node(), false);
    }
    let wait = Acquisition { site: at.id, ..*wait };
    let node = state::with_core(|core| {
        modules::cover(core, &[address]);
        core.wait_context(thread, &wait, probe, &mut python::capture)
    });
    (node.unwrap_or(0), true)
}

/// A lock acquired by a trylock: it never waited, so it is recorded after the fact.
///
/// # Safety
/// As for [`before_past`].
#[inline(always)]
pub unsafe fn tried_past(thread: &mut ThreadState, lock: Acquisition, back: Return) {
    if thread.reserve_known(lock.ident, lock.mode, lock.site) {
        return thread.acquired(lock.addr);
    }
    // SAFETY: the caller promises that the call to which `back` belongs has not returned.
    if unsafe { before_past(thread, lock, back) } {
        thread.acquired(lock.addr);
    }
}

/// A try has failed. If the lock was never met before, its bytes may be no lock's.
///
/// # Safety
/// `lock` points to the caller's lock, of which the call under way has not returned.
#[cold]
pub unsafe fn refused<T: Identify>(lock: *const T) {
    // SAFETY: the caller promises its lock, whose stamp is read, and whose memory tells its kind.
    unsafe {
        if !tls::get().is_null() && identity::known(lock).is_none() {
            first_use::tell(lock);
        }
    }
}

/// The lock at `address` has been unlocked. It may be gone by now: only its address is used.
#[inline(always)]
pub fn released(thread: &mut ThreadState, address: u64, ident: Option<Ident>) {
    if !thread.release_innermost(address) {
        release::any(thread, address, ident);
    }
}

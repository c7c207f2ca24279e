//! pthread_mutex_*: all types and forms.

use core::ffi::c_int;

use libc::pthread_mutex_t;
use lockwright_engines::lockdep::{Acquire, Chain, Ident, ThreadState};
use lockwright_glibc::table::mutex;
use lockwright_ledger::rows::mode;

use crate::arch::Arrived;
use crate::callsite::{self, Return};
use crate::libc::real;
use crate::lock_id::identity::{self, Birth, is_locked, kind_of, mutex_kind};
use crate::lock_id::{first_use, inherited};
use crate::lockdep::acquire::Watched;
use crate::lockdep::watch::{self, Blocking};
use crate::lockdep::{fast_path, misuse, monitors, release};
use crate::os::{sys, tls};
use crate::recorder::state;
use crate::stack::unwind::Frame;

type Mutex = *mut pthread_mutex_t;

/// The fast path: an ordinary mutex that we know, taken in a chain that we know. `stack` is where
/// the call has put `site`, its return address.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_lock`; `stack` is where the call has put
/// `site`.
pub unsafe extern "C-unwind" fn lock(m: Mutex, site: u64, stack: *const u64) -> c_int {
    // SAFETY: `m` is the program's mutex, whose stamp is read.
    let ident = unsafe { identity::stamped_plain(m) };
    let known = ident.and_then(|ident| Some((ident, fast_path::chain(ident, 0)?)));
    let Some((ident, (thread, chain))) = known else {
        // SAFETY: the program's own arguments go on unchanged, and `stack` is where its call put
        // `site`.
        return unsafe { lock_slow_with_frame(m, site, stack) };
    };
    let Some(probe) = thread.known(chain, site) else {
        // SAFETY: the program's own arguments go on unchanged, and `chain` is that of `ident` in
        // `thread`.
        return unsafe { lock_past_wrappers(m, site, stack, thread, ident, chain) };
    };
    thread.reserve_in(chain, ident, 0, site, probe);
    // SAFETY: the entry was just reserved for the program's mutex, as `lock_reserved` asks.
    unsafe { lock_reserved(m, thread) }
}

/// As [`lock`], past wrappers.
///
/// # Safety
/// As for [`lock`]; `chain` is that of `ident` in `thread`, the calling thread's state.
#[inline(never)]
unsafe extern "C-unwind" fn lock_past_wrappers(
    m: Mutex,
    site: u64,
    stack: *const u64,
    thread: &mut ThreadState,
    ident: Ident,
    chain: Chain,
) -> c_int {
    // SAFETY: the caller promises that `stack` is where the call put `site`, and it has not
    // returned.
    let found = unsafe { callsite::known_past(site, stack, |site| thread.known(chain, site)) };
    let Some((deep, probe)) = found else {
        // SAFETY: the program's own `m` goes on unchanged, and `chain` is that of `ident` in
        // `thread`.
        return unsafe { lock_past_frames(m, site, thread, ident, chain) };
    };
    thread.reserve_in(chain, ident, 0, deep, probe);
    // SAFETY: the entry was just reserved for the program's mutex, as `lock_reserved` asks.
    unsafe { lock_reserved(m, thread) }
}

/// Takes the mutex that was reserved.
///
/// # Safety
/// `m` is the caller's mutex, whose entry `thread` has reserved.
#[inline(always)]
unsafe fn lock_reserved(m: Mutex, thread: &mut ThreadState) -> c_int {
    // SAFETY: the program asked to lock its own `m`, and a trylock needs of it no more than that.
    let result = unsafe { real::pthread_mutex_trylock(m) };
    if result == 0 {
        thread.acquired(m as u64);
        return 0;
    }
    // SAFETY: the entry of the program's `m` is reserved, and the mutex is an ordinary one.
    unsafe { lock_contended(m, thread, result) }
}

/// # Safety
/// `m` is the caller's ordinary mutex, whose entry `thread` has reserved.
#[cold]
#[inline(never)]
unsafe fn lock_contended(m: Mutex, thread: &mut ThreadState, result: c_int) -> c_int {
    // SAFETY: the program asked to lock its own `m`, which stays during the wait.
    let blocking = || unsafe { Blocking { relock_fails: false, owner: owner_here(m) } };
    // SAFETY: the next `pthread_mutex_lock` gets the program's own `m` unchanged, as without us.
    let block = move || unsafe { real::pthread_mutex_lock(m) };
    let result = watch::contended(thread, m as u64, result, blocking, block);
    if result == 0 {
        // SAFETY: the program's own mutex, which the thread has taken.
        unsafe { monitors::entered(m, thread) };
    }
    result
}

/// As [`lock`], past wrappers that may have a frame pointer. It is jumped to, as the last thing
/// that is done before, when stack and registers are again as the program called: so its frame is
/// at hand here.
///
/// # Safety
/// As for [`lock_past_wrappers`]; jumped to, stack and registers are as the program called.
#[unsafe(naked)]
unsafe extern "C-unwind" fn lock_past_frames(
    m: Mutex,
    site: u64,
    thread: &mut ThreadState,
    ident: Ident,
    chain: Chain,
) -> c_int {
    code!(past_frames, slow = sym lock_slow, here = sym lock_past_frames_at)
}

/// # Safety
/// As for [`lock_past_wrappers`]; `arrived` is of the call, and `fp` the caller's.
unsafe extern "C-unwind" fn lock_past_frames_at(
    m: Mutex,
    arrived: Arrived,
    thread: &mut ThreadState,
    ident: Ident,
    chain: Chain,
    fp: u64,
) -> c_int {
    // SAFETY: the caller promises a call that has not returned.
    let call = unsafe { Frame::arrived(arrived, fp) };
    // SAFETY: the frame of the call to us.
    let found = unsafe { callsite::known_past_frames(call, |site| thread.known(chain, site)) };
    let Some((deep, probe)) = found else {
        // SAFETY: the program's own `m` goes on unchanged, and `site` is the return address of its
        // call.
        return unsafe { lock_slow(m, call.pc, Return::UNKNOWN) };
    };
    thread.reserve_in(chain, ident, 0, deep, probe);
    // SAFETY: the entry was just reserved for the program's mutex, as `lock_reserved` asks.
    unsafe { lock_reserved(m, thread) }
}

/// [`lock_slow`] with the caller's frame pointer: as [`lock_past_frames`], it is jumped to.
///
/// # Safety
/// As for [`lock`]; jumped to, stack and registers are as the program called.
#[unsafe(naked)]
unsafe extern "C-unwind" fn lock_slow_with_frame(m: Mutex, site: u64, stack: *const u64) -> c_int {
    code!(with_frame, slow = sym lock_slow)
}

/// The slow path of [`lock`], for any mutex.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_lock`; the stub passes `site` and `back`.
#[inline(never)]
unsafe extern "C-unwind" fn lock_slow(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: `m` is the program's own mutex, which goes on unchanged; the stub passed `site` and
    // `back`.
    unsafe {
        <pthread_mutex_t as Watched>::acquire(m, 0, site, back, |m| real::pthread_mutex_lock(m))
    }
}

impl Watched for pthread_mutex_t {
    unsafe fn may_be_held(m: Mutex) -> bool {
        // SAFETY: the caller promises memory that is large enough for a mutex, which both only
        // read.
        unsafe { identity::stamped(m).is_some() && is_locked(m) }
    }

    #[inline(always)]
    unsafe fn acquire(
        m: Mutex,
        mode: u16,
        site: u64,
        back: Return,
        block: impl FnOnce(Mutex) -> c_int,
    ) -> c_int {
        // SAFETY: the stub's `site` and `back` are of the call under way.
        let subject = unsafe { watch::subject_of(m, || back.frame(site)) };
        let Some((thread, ident)) = subject else { return block(m) };
        let lock = Acquire { addr: m as u64, ident, mode, site };
        // SAFETY: the caller promises its mutex, and the stub passed `back`.
        unsafe { acquire(m, thread, lock, back, || block(m)) }
    }

    /// The fast path of [`lock`], after the trylock succeeded.
    #[inline(always)]
    unsafe fn try_acquire(m: Mutex, _mode: u16, site: u64, back: Return) -> c_int {
        // SAFETY: the caller promises its mutex, and the stub's `site` and `back`, as `trylock`
        // asks.
        unsafe { trylock(m, site, back) }
    }
}

/// Kernel thread id of the owner, as the mutex names it; it is a thread of this process. That of
/// an inherited mutex may be its parent's.
///
/// # Safety
/// `m` points to the caller's mutex.
#[cold]
unsafe fn owner_here(m: Mutex) -> u32 {
    match inherited::is_inherited(m as u64) {
        true => 0,
        // SAFETY: the program passed `m` to this call, so it points to its mutex, as `owner` asks.
        false => unsafe { owner(m) },
    }
}

/// Kernel thread id of the owner, as the mutex names it.
///
/// # Safety
/// `m` points to the caller's mutex.
unsafe fn owner(m: Mutex) -> u32 {
    // SAFETY: the caller promises a mutex's memory, of which this is a field of glibc's.
    unsafe { m.cast::<u32>().byte_add(const { mutex::OWNER.always() }).read_volatile() }
}

/// # Safety
/// `m` points to the caller's mutex, which `lock` describes; the stub passes `back`.
#[inline(always)]
unsafe fn acquire(
    m: Mutex,
    thread: &mut ThreadState,
    lock: Acquire,
    back: Return,
    block: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the program passed `m` to this call, so it points to its mutex, as `kind_of` asks.
    let kind = unsafe { kind_of(m) };
    if kind & mutex_kind::TYPE == mutex_kind::RECURSIVE
        && !thread.is_idle()
        && thread.find(lock.addr).is_some()
        // SAFETY: the program passed `m` to this call, so it points to its mutex, as `is_parents`
        // asks.
        && !unsafe { is_parents(m) }
    {
        let result = block();
        if result == 0 {
            thread.recurse(lock.addr);
        }
        return result;
    }
    let relock_fails = kind & mutex_kind::TYPE == mutex_kind::ERRORCHECK
        // SAFETY: the program passed `m` to this call, so it points to its mutex, as `is_parents`
        // asks.
        && !unsafe { is_parents(m) };
    // SAFETY: the caller promises its mutex, and the stub's `back`, as both functions ask.
    unsafe {
        match kind & mutex_kind::SPECIAL {
            0 => {
                let result = acquire_plain(m, thread, lock, back, relock_fails, block);
                if result == 0 {
                    monitors::entered(m, thread);
                }
                result
            }
            _ => acquire_special(m, thread, lock, back, relock_fails, block),
        }
    }
}

/// In a forked child: the mutex is inherited, and still locked by its parent's word. The calling
/// thread holds it, but its kernel thread id is another: the mutex does not take it for its owner.
///
/// # Safety
/// `m` points to the caller's mutex.
unsafe fn is_parents(m: Mutex) -> bool {
    // SAFETY: the program passed `m` to this call, so it points to its mutex, as `owner` asks.
    inherited::is_inherited(m as u64) && unsafe { owner(m) } != sys::gettid()
}

/// # Safety
/// As for [`acquire`]; the mutex is neither robust nor has it a priority protocol.
#[inline(always)]
unsafe fn acquire_plain(
    m: Mutex,
    thread: &mut ThreadState,
    lock: Acquire,
    back: Return,
    relock_fails: bool,
    block: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the program passed `m` to this call, so it points to its mutex, as `owner_here` asks.
    let blocking = move || unsafe { Blocking { relock_fails, owner: owner_here(m) } };
    // SAFETY: the program asked to lock its own `m`, and a trylock needs of it no more than that.
    let try_lock = move || unsafe { real::pthread_mutex_trylock(m) };
    // SAFETY: the stub passed `back`, and the call that it belongs to has not returned.
    unsafe { watch::acquire(thread, lock, back, blocking, try_lock, block) }
}

/// Robust, PI, PP: a trylock is not just a lock that does not wait.
///
/// # Safety
/// As for [`acquire`].
#[cold]
unsafe fn acquire_special(
    m: Mutex,
    thread: &mut ThreadState,
    lock: Acquire,
    back: Return,
    relock_fails: bool,
    block: impl FnOnce() -> c_int,
) -> c_int {
    if !thread.reserve_known(lock.ident, lock.mode, lock.site)
        // SAFETY: the stub passed `back`, and the call that it belongs to has not returned.
        && !unsafe { watch::before_past(thread, lock, back) }
    {
        return block();
    }
    // SAFETY: the caller's mutex, of which this is a field, with the owner's thread id in it.
    let word = unsafe { m.cast::<u32>().byte_add(const { mutex::LOCK.always() }).read_volatile() };
    let result = match word & libc::FUTEX_TID_MASK {
        0 => block(),
        _ => {
            let owner =
                if inherited::is_inherited(m as u64) { 0 } else { word & libc::FUTEX_TID_MASK };
            watch::wait_for_reserved(thread, lock.addr, Blocking { relock_fails, owner }, block)
        }
    };
    watch::settle(thread, lock.addr, result);
    // SAFETY: the program passed `m` to this call, so it points to its mutex, as `kind_of` asks.
    let robust = unsafe { kind_of(m) } & mutex_kind::ROBUST != 0;
    if robust && (result == 0 || result == libc::EOWNERDEAD) {
        taken_robust(thread, lock.ident, result == libc::EOWNERDEAD);
    }
    result
}

/// The thread has taken a robust mutex, its innermost lock, whose last owner `died` or not.
fn taken_robust(thread: &mut ThreadState, ident: Ident, died: bool) {
    thread.mark_robust(died);
    if died {
        state::with_core(|core| core.owner_died(thread, ident.inst()));
    }
}

/// `pthread_mutex_setprioceiling`: takes the mutex for it, and gives it up again.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_setprioceiling`; the stub passes `site`.
pub unsafe extern "C-unwind" fn setprioceiling(
    m: Mutex,
    ceiling: c_int,
    old: *mut c_int,
    site: u64,
) -> c_int {
    // SAFETY: the next `pthread_mutex_setprioceiling` gets the program's own arguments unchanged,
    // as without us.
    let block = || unsafe { real::pthread_mutex_setprioceiling(m, ceiling, old) };
    // SAFETY: the program passed `m` to this call, so it points to its mutex, as `kind_of` asks.
    if unsafe { identity::kind_of(m) } & mutex_kind::PROTECT == 0 {
        // It fails, and leaves the mutex alone.
        return block();
    }
    let Some((thread, ident)) = watch::subject(m) else { return block() };
    // What it holds it does not take.
    if !thread.is_idle() && thread.find(m as u64).is_some() {
        return block();
    }
    let lock = Acquire { addr: m as u64, ident, mode: 0, site };
    // SAFETY: the caller's mutex; no frame is known beyond the call's.
    let result = unsafe { acquire_special(m, thread, lock, Return::UNKNOWN, true, block) };
    if result == 0 {
        watch::released(thread, m as u64, None);
    }
    result
}

/// `pthread_mutex_trylock`.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_trylock`; the stub passes `site` and `back`.
#[inline(always)]
unsafe fn trylock(m: Mutex, site: u64, back: Return) -> c_int {
    // SAFETY: the next `pthread_mutex_trylock` gets the program's own `m` unchanged, as without us.
    let result = unsafe { real::pthread_mutex_trylock(m) };
    if result == 0 {
        // SAFETY: `m` is the program's mutex, just taken, whose stamp is read.
        let ident = unsafe { identity::stamped_plain(m) };
        let reserved = ident.and_then(|ident| {
            // SAFETY: the stub passed `back`, and the call that it belongs to has not returned.
            unsafe { watch::reserve_known_or_past(ident, mode::TRY, site, back) }
        });
        if let Some(thread) = reserved {
            thread.acquired(m as u64);
            return 0;
        }
    }
    // SAFETY: the program's own `m` goes on unchanged, with the answer that its trylock got.
    unsafe { trylock_slow(m, site, back, result) }
}

/// The slow path of [`trylock`], for any mutex and `result`.
///
/// # Safety
/// As for [`trylock`], of which `result` is the answer.
#[inline(never)]
unsafe fn trylock_slow(m: Mutex, site: u64, back: Return, result: c_int) -> c_int {
    if (result == 0 || result == libc::EOWNERDEAD)
        // SAFETY: the stub's `site` and `back` are of the call under way.
        && let Some((thread, ident)) = unsafe { watch::subject_of(m, || back.frame(site)) }
    {
        // SAFETY: the program passed `m` to this call, so it points to its mutex, as `kind_of`
        // asks.
        let kind = unsafe { kind_of(m) };
        let recursive = kind & mutex_kind::TYPE == mutex_kind::RECURSIVE;
        if recursive && thread.recurse(m as u64) {
            return result;
        }
        let lock = Acquire { addr: m as u64, ident, mode: mode::TRY, site };
        // SAFETY: the stub passed `back`, and the call that it belongs to has not returned.
        unsafe { watch::tried_past(thread, lock, back) };
        // What could not be recorded is not held.
        if kind & mutex_kind::ROBUST != 0 && thread.find(m as u64).is_some() {
            taken_robust(thread, ident, result == libc::EOWNERDEAD);
        }
        if result == 0 {
            // SAFETY: the program's own mutex, which the thread has taken.
            unsafe { monitors::entered(m, thread) };
        }
    }
    match result {
        // Tells if it was destroyed.
        libc::EINVAL => drop(watch::subject(m)),
        // SAFETY: the program's own mutex, which the call under way has tried.
        libc::EBUSY => unsafe { watch::refused(m) },
        _ => {}
    }
    result
}

/// # Safety
/// The arguments keep the contract of `pthread_mutex_unlock`.
pub unsafe extern "C-unwind" fn unlock(m: Mutex, _site: u64) -> c_int {
    // SAFETY: the next `pthread_mutex_unlock` gets the program's own `m` unchanged, as without us.
    let forward = |_: &mut ThreadState| unsafe { real::pthread_mutex_unlock(m) };
    match fast_path::unlock(m as u64, forward, release::innermost) {
        Some(result) => result,
        // SAFETY: the program's own `m` goes on unchanged, as `pthread_mutex_unlock` would get it.
        None => unsafe { unlock_slow(m) },
    }
}

/// The slow path of [`unlock`]: the mutex is not the innermost that is held, or is not held at all.
///
/// # Safety
/// `m` is the mutex of the program's call of `pthread_mutex_unlock`.
#[inline(never)]
unsafe fn unlock_slow(m: Mutex) -> c_int {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else {
        // SAFETY: the program's own `m` goes on unchanged, as `pthread_mutex_unlock` would get it.
        return unsafe { unlock_detached(m) };
    };
    // SAFETY: the program passed `m` to this call, so it points to its mutex, as `destroyed` asks.
    if let Some(destroyed) = unsafe { identity::destroyed(m) } {
        misuse::used_after_destroy(thread, m as u64, &destroyed);
        // SAFETY: the next `pthread_mutex_unlock` gets the program's own `m` unchanged, as without
        // us.
        return unsafe { real::pthread_mutex_unlock(m) };
    }
    let held = thread.find(m as u64).is_some();
    // SAFETY: the program passed `m` to be unlocked, so it points to its mutex, which is not yet
    // unlocked.
    let (locked, known) = unsafe { (held || is_locked(m), identity::known(m)) };
    if known.is_none() {
        // SAFETY: `m` points to the program's mutex, whose memory tells its kind.
        unsafe { first_use::tell(m) };
    }
    let ident = match known {
        // Nobody has locked it yet: that is the news.
        // SAFETY: the program passed `m` to this call, so it points to its mutex, as `identify`
        // asks.
        None if !locked => unsafe { identity::identify(m, Birth::FirstAcquire) },
        _ => known,
    };
    // SAFETY: the next `pthread_mutex_unlock` gets the program's own `m` unchanged, as without us.
    let result = unsafe { real::pthread_mutex_unlock(m) };
    let Some(thread) = watch::own() else { return result };
    match (result, ident) {
        // As in `release::innermost`.
        (0 | libc::ENOTRECOVERABLE, _) if held => release::any_held(thread, m as u64),
        (0, Some(ident)) => misuse::bad_unlock(thread, m as u64, ident, locked),
        // A mutex that checks its owner.
        (libc::EPERM, Some(ident)) => misuse::unlock_refused(thread, m as u64, ident, result),
        _ => {}
    }
    result
}

/// By a thread that is not watched: a child's, perhaps, that has it from its parent.
///
/// # Safety
/// `m` is the mutex of the program's call of `pthread_mutex_unlock`.
#[cold]
unsafe fn unlock_detached(m: Mutex) -> c_int {
    // SAFETY: the next `pthread_mutex_unlock` gets the program's own `m` unchanged, as without us.
    let result = unsafe { real::pthread_mutex_unlock(m) };
    match result {
        0 => inherited::unlocked(m as u64),
        libc::EPERM => {
            if inherited_holder(m as u64).is_some()
                // The child has not met it: its stamp is the parent's.
                // SAFETY: the program passed `m` to this call, so it points to its mutex, as
                // `identify` asks.
                && let Some(ident) = unsafe { identity::identify(m, Birth::FirstAcquire) }
                && let Some(thread) = watch::own()
            {
                misuse::unlock_refused(thread, m as u64, ident, result);
            }
        }
        _ => {}
    }
    result
}

/// A robust mutex whose owner died is usable again.
///
/// # Safety
/// The arguments keep the contract of `pthread_mutex_consistent`.
pub unsafe extern "C-unwind" fn consistent(m: Mutex, _site: u64) -> c_int {
    // SAFETY: the next `pthread_mutex_consistent` gets the program's own `m` unchanged, as without
    // us.
    let result = unsafe { real::pthread_mutex_consistent(m) };
    if result == 0
        && let Some(thread) = watch::thread()
    {
        thread.mark_consistent(m as u64);
    }
    result
}

/// In a child that is not watched yet: its thread, if it holds the lock at `addr` from before the
/// fork.
fn inherited_holder(addr: u64) -> Option<&'static mut ThreadState> {
    let is_held = state::status() == state::FORKED
        && inherited::inherited().iter().any(|lock| lock.held.addr == addr);
    is_held.then(watch::thread)?
}

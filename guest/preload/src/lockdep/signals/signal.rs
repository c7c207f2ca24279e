//! Signals: which have handlers, which a thread blocks, and when a handler runs. For lockdep
//! a handler is what an interrupt is to the kernel.
//!
//! The program's handlers are kept in a table and one of ours is installed in their place; it marks
//! the thread, calls the program's, and unmarks it. What the program asks back is its own.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::*};

use libc::{sigaction as SigAction, siginfo_t, sigset_t};
use lockwright_engines::lockdep::{DEBUG_LOCKDEP, MaskCall, ThreadState};

use crate::arch::stack_pointer;
use crate::libc::real;
use crate::lockdep::attached_threads::{self, thread};
use crate::lockdep::is_wanted;
use crate::lockdep::open_signals::{inherit_mask, now_handled, open_with};
use crate::os::upcall::Upcall;
use crate::os::{sys, tls};
use crate::recorder::state;
use crate::stack::cpython;

/// A handler as the kernel calls it; one without SA_SIGINFO ignores the further arguments.
type Handler = unsafe extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void);

/// Signals there are: 1 to 64.
pub const SIGNALS: usize = 65;

/// Called when the program is about to install its first handler, and any later one.
pub static HANDLERS_BEGIN: Upcall<fn()> = Upcall::none();

/// The program's handler of each signal, 0 if it never installed one.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

/// # Safety
/// The kernel calls it as the handler of a signal that `install` was called for.
unsafe extern "C-unwind" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // Acquire pairs with the Release in `install`.
    let handler = HANDLERS[signal as usize % SIGNALS].load(Acquire);
    if handler == 0 {
        return;
    }
    // SAFETY: what the program installed for this signal.
    let handler: Handler = unsafe { core::mem::transmute(handler) };
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else {
        // SAFETY: the kernel gave these arguments for this signal, and the program's handler gets
        // them unchanged.
        return unsafe { handler(signal, info, context) };
    };
    let before = thread.enter_signal(signal as u32, stack_pointer(), open_with(sys::signal_mask()));
    // SAFETY: the kernel gave these arguments for this signal, and the program's handler gets them
    // unchanged.
    unsafe { handler(signal, info, context) };
    // A handler may end its thread's watching (pthread_exit) or begin it again (fork).
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        thread.leave_signal(before);
    }
    if state::header().is_some_and(|header| header.deadlocks.load(Relaxed) != 0) {
        // A handler may arm its timer again: the deadlock that lasts now may still end.
        attached_threads::note_timers();
    }
}

/// The handler is one that the program wants called.
fn is_function(handler: usize) -> bool {
    handler != libc::SIG_DFL && handler != libc::SIG_IGN && handler != libc::SIG_ERR
}

fn ours() -> usize {
    on_signal as *const () as usize
}

/// The program's handler instead of ours.
pub fn translate(signal: c_int, handler: usize) -> usize {
    match handler == ours() {
        true => HANDLERS[signal as usize % SIGNALS].load(Acquire),
        false => handler,
    }
}

/// Remembers the program's handler; returns what to install.
fn install(signal: c_int, handler: usize) -> usize {
    if is_function(handler) && handler != ours() {
        cpython::handler_begins(handler as u64);
    }
    if !is_function(handler) || handler == ours() || state::status() == state::OFF || !is_wanted() {
        return handler;
    }
    if let Some(begin) = HANDLERS_BEGIN.get() {
        begin();
    }
    // Release pairs with the Acquire in `on_signal`.
    HANDLERS[signal as usize].store(handler, Release);
    ours()
}

/// # Safety
/// The arguments keep the contract of `sigaction`.
pub unsafe extern "C-unwind" fn sigaction(
    signal: c_int,
    new: *const SigAction,
    old: *mut SigAction,
    _site: u64,
) -> c_int {
    if !(1..SIGNALS as c_int).contains(&signal) {
        // SAFETY: for a signal that is none the call fails; the program's own arguments go on
        // unchanged.
        return unsafe { real::sigaction(signal, new, old) };
    }
    let before = HANDLERS[signal as usize].load(Acquire);
    // SAFETY: `new` is null or the program's own action, which `sigaction` would read, too.
    let mut action = unsafe { new.as_ref() }.copied();
    let mut installed = false;
    if let Some(action) = &mut action {
        let handler = install(signal, action.sa_sigaction);
        installed = handler == ours();
        action.sa_sigaction = handler;
    }
    let new = action.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: `new` is null or our copy of the program's action, and `old` is the program's own.
    let result = unsafe { real::sigaction(signal, new, old) };
    if result != 0 {
        HANDLERS[signal as usize].store(before, Release);
        return result;
    }
    // SAFETY: `old` is null or the program's own, and `sigaction` has just written there.
    if let Some(old) = unsafe { old.as_mut() }
        && old.sa_sigaction == ours()
    {
        old.sa_sigaction = before;
    }
    if installed {
        now_handled(signal);
    }
    result
}

/// # Safety
/// The arguments keep the contract of `signal`.
pub unsafe extern "C-unwind" fn signal(signal: c_int, handler: usize, _site: u64) -> usize {
    // SAFETY: the next `signal` gets the program's own `signal` and `handler` unchanged, as without
    // us.
    let call = |handler| unsafe { real::signal(signal, handler) };
    if !(1..SIGNALS as c_int).contains(&signal) {
        // It fails.
        return call(handler);
    }
    replace(signal, handler, call)
}

/// `sysv_signal`, which `signal` is to programs that ask for X/Open's: the handler is called once.
///
/// # Safety
/// The arguments keep the contract of `sysv_signal`.
pub unsafe extern "C-unwind" fn sysv_signal(signal: c_int, handler: usize, _site: u64) -> usize {
    // SAFETY: the next `sysv_signal` gets the program's own `signal` and `handler` unchanged, as
    // without us.
    let call = |handler| unsafe { real::sysv_signal(signal, handler) };
    if !(1..SIGNALS as c_int).contains(&signal) {
        // It fails.
        return call(handler);
    }
    replace(signal, handler, call)
}

/// Replaces a handler by `call`, which is given the one to install and answers the one before.
pub fn replace(signal: c_int, handler: usize, call: impl FnOnce(usize) -> usize) -> usize {
    let before = HANDLERS[signal as usize].load(Acquire);
    let wanted = install(signal, handler);
    let old = call(wanted);
    if old == libc::SIG_ERR {
        HANDLERS[signal as usize].store(before, Release);
        return old;
    }
    if wanted == ours() {
        now_handled(signal);
    }
    if old == ours() { before } else { old }
}

/// # Safety
/// The arguments keep the contract of `pthread_sigmask`.
pub unsafe extern "C-unwind" fn pthread_sigmask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
    _site: u64,
) -> c_int {
    // SAFETY: the next `pthread_sigmask` gets the program's own arguments unchanged, as without us.
    let result = unsafe { real::pthread_sigmask(how, new, old) };
    if !new.is_null() {
        mask_changed(asked(how));
    }
    result
}

/// # Safety
/// The arguments keep the contract of `sigprocmask`.
pub unsafe extern "C-unwind" fn sigprocmask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
    _site: u64,
) -> c_int {
    // SAFETY: the next `sigprocmask` gets the program's own arguments unchanged, as without us.
    let result = unsafe { real::sigprocmask(how, new, old) };
    if !new.is_null() {
        mask_changed(asked(how));
    }
    result
}

/// What [`pthread_sigmask`] is asked for by `how`.
fn asked(how: c_int) -> MaskCall {
    match how {
        libc::SIG_BLOCK => MaskCall::Block,
        libc::SIG_UNBLOCK => MaskCall::Unblock,
        _ => MaskCall::Set,
    }
}

/// The calling thread has changed its mask by `call`.
pub fn mask_changed(call: MaskCall) {
    if state::status() == state::ACTIVE
        && let Some(thread) = thread()
    {
        mask_becomes(thread, call, sys::signal_mask());
    }
}

fn mask_becomes(thread: &mut ThreadState, call: MaskCall, mask: u64) {
    thread.set_blocked_signals(mask);
    let (before, now) = (thread.open_signals(), open_with(mask));
    if DEBUG_LOCKDEP {
        thread.count_mask_call(call, before, now);
    }
    if now & !before != 0 {
        opened(thread, now & !before);
    }
    thread.set_open_signals(now);
}

/// A long jump is about to be made, with which `mask` comes in force, if it is given.
pub fn jumps(mask: Option<u64>) {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return };
    if let Some(mask) = mask {
        mask_becomes(thread, MaskCall::Set, mask);
    }
    thread.may_have_left_signal();
}

/// Signals may arrive from here on that could not while the thread took what it holds.
fn opened(thread: &mut ThreadState, open: u64) {
    if !thread.is_idle() {
        state::with_core(|core| core.note_held_usage(thread, open));
    }
}

/// A call waits with `mask` instead of the thread's.
pub fn waits_with(mask: u64) {
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        let open = open_with(mask) & !thread.open_signals();
        if open != 0 {
            opened(thread, open);
        }
    }
}

/// The calling thread's running handler was left by a long jump, if its frame is gone: the stack
/// pointer is above it, or on another stack. Says whether that is so.
#[cold]
pub fn notice_long_jump(thread: &mut ThreadState) -> bool {
    let (sp, entry) = (stack_pointer(), thread.handler_sp());
    let (alternate, len) = sys::alternate_stack();
    let on_alternate = |at: u64| at.wrapping_sub(alternate) < len;
    let left = on_alternate(sp) != on_alternate(entry) || sp > entry;
    if left {
        thread.left_signal();
        inherit_mask(thread);
    }
    left
}

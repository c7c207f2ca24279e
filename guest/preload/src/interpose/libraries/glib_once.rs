//! GLib's one-time initialisation: GOnce, and gates (`g_once_init_enter`). The thread that has to
//! initialise holds it until that is done, and others wait. Neither has a trylock: the wrappers
//! remember which thread initialises.
//!
//! GLib's headers call only for what is not done, as far as they can see. So do we look: a call for
//! what is done waits for nobody, and whether it could have had to depends on calls that nobody sees.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Acquire};

use super::steps::{self, Call};
use crate::callsite::Return;

/// A word that is not 0 once it is initialised.
pub type Gate = *mut c_void;
/// A GOnce, which begins with its status.
pub type Once = *mut c_void;
/// What initialises.
pub type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

next_functions! {
    g_once_impl(once: Once, f: Routine, arg: *mut c_void) -> *mut c_void;
    g_once_init_enter(gate: Gate) -> c_int;
    g_once_init_enter_impl(gate: Gate) -> c_int;
    g_once_init_enter_pointer(gate: Gate) -> c_int;
    g_once_init_leave(gate: Gate, result: usize) -> ();
    g_once_init_leave_pointer(gate: Gate, result: usize) -> ();
}

/// `name = function`: says whether the caller is to initialise.
macro_rules! enters {
    ($($name:ident = $next:ident;)*) => { $(
        #[doc = concat!("`", stringify!($next), "`.")]
        ///
        /// # Safety
        /// The arguments keep the contract of the function of that name; the stub passes `site` and
        /// `back`.
        pub unsafe extern "C-unwind" fn $name(gate: Gate, site: u64, back: Return) -> c_int {
            // SAFETY: the caller's word, aligned. Acquire, as GLib's headers have it.
            let is_done = unsafe { AtomicUsize::from_ptr(gate.cast()) }.load(Acquire) != 0;
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            let next = || unsafe { next::$next(gate) };
            if is_done {
                return next();
            }
            let mut begins = 0;
            let call = Call { lock: gate as u64, flags: 0, site, back };
            steps::take_untried(call, || begins = next());
            if begins == 0 {
                steps::give_back(gate as u64, site);
            }
            begins
        }
    )* };
}

enters! {
    enter = g_once_init_enter;
    enter_impl = g_once_init_enter_impl;
    enter_pointer = g_once_init_enter_pointer;
}

/// `g_once_init_leave`.
///
/// # Safety
/// The arguments keep the contract of `g_once_init_leave`; the stub passes `site`.
pub unsafe extern "C-unwind" fn leave(gate: Gate, result: usize, site: u64) {
    steps::give_back(gate as u64, site);
    // SAFETY: the next `g_once_init_leave` gets the program's own `gate` and `result` unchanged, as
    // without us.
    unsafe { next::g_once_init_leave(gate, result) };
}

/// `g_once_init_leave_pointer`.
///
/// # Safety
/// The arguments keep the contract of `g_once_init_leave_pointer`; the stub passes `site`.
pub unsafe extern "C-unwind" fn leave_pointer(gate: Gate, result: usize, site: u64) {
    steps::give_back(gate as u64, site);
    // SAFETY: the next `g_once_init_leave_pointer` gets the program's own `gate` and `result`
    // unchanged, as without us.
    unsafe { next::g_once_init_leave_pointer(gate, result) };
}

/// G_ONCE_STATUS_READY.
const READY: i32 = 2;

/// A call of `g_once_impl` that may run its routine.
struct Watched {
    call: Call,
    routine: Routine,
    arg: *mut c_void,
    has_run: Cell<bool>,
}

/// GLib runs this instead of the program's routine.
///
/// # Safety
/// `watched` is the address of the `Watched` in the frame of `once`, which waits for this.
unsafe extern "C-unwind" fn runs(watched: *mut c_void) -> *mut c_void {
    // SAFETY: `once` has passed it, whose frame is there as long as this runs.
    let watched = unsafe { &*watched.cast::<Watched>() };
    watched.has_run.set(true);
    steps::had_untried(watched.call);
    // SAFETY: the program's, which GLib would have called here.
    let result = unsafe { (watched.routine)(watched.arg) };
    steps::give_back(watched.call.lock, watched.call.site);
    result
}

/// `g_once_impl`, which the macro `g_once` calls.
///
/// # Safety
/// The arguments keep the contract of `g_once_impl`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn once(
    once: Once,
    routine: Routine,
    arg: *mut c_void,
    site: u64,
    back: Return,
) -> *mut c_void {
    // SAFETY: the caller's GOnce. Acquire, as GLib's headers have it.
    let is_done = unsafe { AtomicI32::from_ptr(once.cast()) }.load(Acquire) == READY;
    let call = Call { lock: once as u64, flags: 0, site, back };
    if is_done {
        // SAFETY: the next `g_once_impl` gets the program's own arguments unchanged, as without us.
        return unsafe { next::g_once_impl(once, routine, arg) };
    }
    if !steps::begin_untried(call) {
        // SAFETY: the next `g_once_impl` gets the program's own arguments unchanged, as without us.
        let result = unsafe { next::g_once_impl(once, routine, arg) };
        steps::give_back(call.lock, site);
        return result;
    }
    let watched = Watched { call, routine, arg, has_run: Cell::new(false) };
    // SAFETY: the next function gets the program's own `once`, and `runs` with a record that
    // outlives the call.
    let result = unsafe { next::g_once_impl(once, runs, (&raw const watched) as *mut c_void) };
    if !watched.has_run.get() {
        steps::had_untried(call);
        steps::give_back(call.lock, site);
    }
    result
}

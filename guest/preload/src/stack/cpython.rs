//! What finds the frames of CPython's functions in the calling thread. [`lockwright_cpython`] has the layouts.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::*};

use lockwright_cpython::{Layout, OFFSETS_BYTES};

use super::modules;
use crate::os::{loader, tls};

/// Frames that are kept of a stack: as far out as one looks for who called.
pub const MOST: usize = 8;

static LAYOUT: AtomicPtr<Layout> = AtomicPtr::new(core::ptr::null_mut());
/// `PyGILState_GetThisThreadState`: the calling thread's state, without a lock.
static THREAD_STATE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
/// `_PyThreadState_UncheckedGet`, since 3.13 `PyThreadState_GetUnchecked`: the state of the thread that has the interpreter's
/// lock: of 3.11 whichever that is, since 3.12 null in all others.
static LOCK_HOLDER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
/// `PyCode_Type`.
static CODE_TYPE: AtomicU64 = AtomicU64::new(0);
/// Where the interpreter's own code lies.
static RANGE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The program has had a handler of a signal that is not the interpreter's own.
static HAS_HANDLERS: AtomicBool = AtomicBool::new(false);

/// The version of the program's CPython, as `Py_Version` has it. To be called at start.
pub fn version() -> Option<u64> {
    // SAFETY: a constant of that type in every CPython that has it.
    loader::anywhere(c"Py_Version").map(|version| unsafe { *version.cast::<u64>() })
}

/// The lines of Python that threads run are known.
pub fn has_lines() -> bool {
    !LAYOUT.load(Relaxed).is_null()
}

/// Checks whether the program is CPython, or linked with it. To be called at start, when the list
/// of modules is there.
pub fn start() {
    let Some(version) = version() else { return };
    let agrees = |layout: &&Layout| match loader::anywhere(c"_PyRuntime") {
        // SAFETY: a variable of every CPython that has the constant, of more bytes than these. It is written while
        // interpreters and threads come and go, these bytes not.
        Some(runtime) => layout.agrees(unsafe { &*runtime.cast::<[u8; OFFSETS_BYTES]>() }),
        None => false,
    };
    let (Some(layout), Some(state), Some(holder), Some(code)) = (
        Layout::of(version).filter(agrees),
        loader::anywhere(c"PyGILState_GetThisThreadState"),
        loader::anywhere(c"PyThreadState_GetUnchecked")
            .or_else(|| loader::anywhere(c"_PyThreadState_UncheckedGet")),
        loader::anywhere(c"PyCode_Type"),
    ) else {
        return;
    };
    let Some((from, to)) = modules::range_of(state as u64) else { return };
    RANGE[0].store(from, Relaxed);
    RANGE[1].store(to, Relaxed);
    CODE_TYPE.store(code as u64, Relaxed);
    THREAD_STATE.store(state, Relaxed);
    LOCK_HOLDER.store(holder, Relaxed);
    // Release pairs with the Acquire in `thread`: the others are there.
    LAYOUT.store(core::ptr::from_ref(layout).cast_mut(), Release);
}

/// The program is about to have `handler` called for a signal. The interpreter's own handlers begin and end no lives of
/// locks: they take note of the signal, or write a traceback.
pub fn handler_begins(handler: u64) {
    if !is_own_code(handler) {
        // Relaxed: the kernel hears of the handler after this, and calls none before.
        HAS_HANDLERS.store(true, Relaxed);
    }
}

/// The address is of the interpreter's code.
pub(super) fn is_own_code(pc: u64) -> bool {
    (RANGE[0].load(Relaxed)..RANGE[1].load(Relaxed)).contains(&pc)
}

/// What is at `code` is of the type of code, as far as its word `kind` says.
pub(super) fn is_code_type(kind: u64) -> bool {
    kind == CODE_TYPE.load(Relaxed)
}

/// The calling thread, as CPython knows it.
pub(super) struct Interpreting {
    pub(super) layout: &'static Layout,
    /// The address of its state, never 0.
    pub(super) state: u64,
    /// It has the interpreter's lock.
    pub(super) has_lock: bool,
    /// Whether it runs a signal's handler, which has interrupted CPython somewhere. `None`: nobody knows.
    pub(super) in_handler: Option<bool>,
}

/// `None`: CPython knows nothing of the thread, or we know nothing of this CPython.
pub(super) fn thread() -> Option<Interpreting> {
    // Acquire pairs with the Release in `start`.
    // SAFETY: null, or one of the table.
    let layout = unsafe { LAYOUT.load(Acquire).as_ref() }?;
    let state = state_of(&THREAD_STATE);
    if state == 0 {
        return None;
    }
    let has_lock = state == state_of(&LOCK_HOLDER);
    let in_handler = tls::in_handler().or_else(|| (!HAS_HANDLERS.load(Relaxed)).then_some(false));
    Some(Interpreting { layout, state, has_lock, in_handler })
}

/// What one of CPython's two functions says, once `start` has found them: the address of a thread's
/// state, or 0.
fn state_of(function: &AtomicPtr<c_void>) -> u64 {
    // SAFETY: a function of that type, which reads one word and takes no lock.
    unsafe { core::mem::transmute::<*mut c_void, extern "C" fn() -> u64>(function.load(Relaxed))() }
}

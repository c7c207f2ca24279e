//! What we know of CPython: where its structures have what, and what finds the calling thread's frames.
//!
//! CPython keeps the frames of its functions in a list of its own for each thread. Its headers have the layout of its
//! structures (`cpython/pystate.h`, `cpython/code.h`, `internal/pycore_frame.h` of the version; [`LAYOUTS`] has the
//! offsets). We look at nothing of a version that is not in the table.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::*};

use super::modules;
use crate::os::{loader, tls};

/// Frames that are kept of a stack: as far out as one looks for who called.
pub const MOST: usize = 8;

/// Where in CPython's structures what is.
pub(super) struct Layout {
    /// Major and minor version.
    pub(super) version: u64,
    pub(super) thread: Thread,
    pub(super) frame: Offsets,
    pub(super) code: Code,
    pub(super) text: Text,
}

/// `PyThreadState` and what leads on to the frame that runs.
pub(super) struct Thread {
    pub(super) cframe: u64,
    pub(super) current_frame: u64,
}

/// `_PyInterpreterFrame`.
pub(super) struct Offsets {
    pub(super) code: usize,
    pub(super) previous: usize,
    pub(super) prev_instr: usize,
    /// A byte that says that a call of the interpreter's loop began with it.
    pub(super) is_entry: Option<usize>,
    pub(super) owner: usize,
}

/// `PyCodeObject`.
pub(super) struct Code {
    pub(super) first_line: usize,
    pub(super) file: usize,
    pub(super) qualified_name: usize,
    pub(super) line_table: usize,
    pub(super) instructions: u64,
}

/// Strings: where the characters lie, of those that are all ASCII and of others.
pub(super) struct Text {
    pub(super) ascii: u64,
    pub(super) other: u64,
}

static LAYOUTS: [Layout; 2] = [
    Layout {
        version: 0x030b,
        thread: Thread { cframe: 56, current_frame: 8 },
        frame: Offsets { code: 32, previous: 48, prev_instr: 56, is_entry: Some(68), owner: 69 },
        code: Code {
            first_line: 72,
            file: 112,
            qualified_name: 128,
            line_table: 136,
            instructions: 184,
        },
        text: Text { ascii: 48, other: 72 },
    },
    Layout {
        version: 0x030c,
        thread: Thread { cframe: 56, current_frame: 0 },
        frame: Offsets { code: 0, previous: 8, prev_instr: 56, is_entry: None, owner: 70 },
        code: Code {
            first_line: 68,
            file: 112,
            qualified_name: 128,
            line_table: 136,
            instructions: 192,
        },
        text: Text { ascii: 40, other: 56 },
    },
];

/// The same in all of these versions: `PyObject.ob_type`; `PyASCIIObject.length` and `.state`;
/// `PyBytesObject.ob_sval`.
pub(super) const TYPE: usize = 8;
pub(super) const LENGTH: usize = 16;
pub(super) const STATE: usize = 32;
pub(super) const BYTES: u64 = 32;

/// `_PyInterpreterFrame.owner` of a frame that stands for the C stack below, and for no frame of
/// the program's (since 3.12).
pub(super) const OWNED_BY_C_STACK: u8 = 3;

static LAYOUT: AtomicPtr<Layout> = AtomicPtr::new(core::ptr::null_mut());
/// `PyGILState_GetThisThreadState`: the calling thread's state, without a lock.
static THREAD_STATE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
/// `_PyThreadState_UncheckedGet`: the state of the thread that has the interpreter's lock: of 3.11
/// whichever that is, since 3.12 null in all others.
static LOCK_HOLDER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
/// `PyCode_Type`.
static CODE_TYPE: AtomicU64 = AtomicU64::new(0);
/// Where the interpreter's own code lies.
static RANGE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The program has had a handler of a signal that is not the interpreter's own.
static HAS_HANDLERS: AtomicBool = AtomicBool::new(false);

/// Checks whether the program is CPython, or linked with it. To be called at start, when the list
/// of modules is there.
pub fn start() {
    let Some(version) = loader::anywhere(c"Py_Version") else { return };
    // SAFETY: a constant of that type in every CPython that has it.
    let version = unsafe { *version.cast::<u64>() } >> 16;
    let found = LAYOUTS.iter().find(|layout| layout.version == version);
    let (Some(layout), Some(state), Some(holder), Some(code)) = (
        found,
        loader::anywhere(c"PyGILState_GetThisThreadState"),
        loader::anywhere(c"_PyThreadState_UncheckedGet"),
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
